//! The one place that chooses a platform. Each branch offers the same modules and names.

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux/mod.rs"]
mod chosen;

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
#[path = "bsd/mod.rs"]
mod chosen;

#[cfg(windows)]
#[path = "windows/mod.rs"]
mod chosen;

pub(crate) use chosen::*;
