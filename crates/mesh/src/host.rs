//! Hosts, and what stands between two of them.

use serde::{Deserialize, Serialize};

/// A host by its place in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HostId(pub usize);

/// Who sends to whom. In full duplex both send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The client of the test.
    pub from: HostId,
    /// Its server.
    pub to: HostId,
}

impl Pair {
    /// Whether the host takes part.
    #[must_use]
    pub fn has(self, host: HostId) -> bool {
        self.from == host || self.to == host
    }

    /// Whom a host of the pair meets in it.
    #[must_use]
    pub fn partner(self, host: HostId) -> HostId {
        if self.from == host {
            self.to
        } else {
            self.from
        }
    }
}

/// How a host is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// With the system's ssh.
    Ssh,
    /// With this command, in which `{host}` stands for the destination.
    Command(String),
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name in the table.
    pub name: String,
    /// What ssh, or the command, is given.
    pub destination: String,
    /// How it is reached.
    pub via: Via,
    /// What others test towards, if that was said.
    pub address: Option<String>,
    /// The groups that it belongs to, directly or through others.
    pub groups: Vec<String>,
}

/// A link that carries only so many tests at a time. A test needs it if one of its hosts does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedLink {
    /// The hosts behind it.
    pub hosts: Vec<HostId>,
    /// Tests at a time; at least 1.
    pub at_once: usize,
}
