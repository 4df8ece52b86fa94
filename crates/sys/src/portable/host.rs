//! Hosts that tell little about themselves.

use crate::host::{HostCounters, HostFacts};

pub(crate) fn counters() -> HostCounters {
    HostCounters::default()
}

pub(crate) fn facts() -> HostFacts {
    HostFacts {
        system: std::env::consts::OS.to_owned(),
        ..HostFacts::default()
    }
}

pub(crate) fn information() -> String {
    format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
}
