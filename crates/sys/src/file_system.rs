//! What kind of file system a file is on.

use std::path::Path;

use crate::platform::file_system;

/// The kind of network file system that a file is on, `nfs`, `cifs`, `9p` or `fuse`; `None` of
/// local ones, and where the system does not say.
#[must_use]
pub fn network_file_system(path: &Path) -> Option<&'static str> {
    file_system::network(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_local_has_no_network() {
        for path in ["/proc/self/stat", "/nowhere/at/all"] {
            assert_eq!(network_file_system(Path::new(path)), None, "{path}");
        }
    }
}
