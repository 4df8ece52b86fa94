//! File systems by the names of `statfs` (statfs(2)); NetBSD has another call.

use std::path::Path;

#[cfg(not(target_os = "netbsd"))]
pub(crate) fn network(path: &Path) -> Option<&'static str> {
    let found = rustix::fs::statfs(path).ok()?;
    let letters = found.f_fstypename.iter().map(|letter| *letter as u8);
    let name: Vec<u8> = letters.take_while(|letter| *letter != 0).collect();
    let is = |known: &&str| name.starts_with(known.as_bytes());
    let known = ["nfs", "smbfs", "cifs", "p9fs", "fuse", "macfuse", "osxfuse"];
    known.into_iter().find(is)
}

#[cfg(target_os = "netbsd")]
pub(crate) fn network(_path: &Path) -> Option<&'static str> {
    None
}
