//! File systems by the numbers of `statfs` (statfs(2)).

use std::path::Path;

/// `f_type` of those whose files other hosts may hold, or whose kind only a process knows.
const NETWORK: [(u32, &str); 6] = [
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "cifs"),
    (0x517b, "cifs"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
];

pub(crate) fn network(path: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(path).ok()?.f_type;
    name(kind as u32)
}

fn name(kind: u32) -> Option<&'static str> {
    let known = NETWORK.iter().find(|(number, _)| *number == kind);
    known.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_apart() {
        assert_eq!(name(0x6969), Some("nfs"));
        assert_eq!(name(0x6573_5546), Some("fuse"));
        // tmpfs, ext4
        assert_eq!((name(0x0102_1994), name(0xef53)), (None, None));
    }
}
