//! How long quotas of processor time have held this process back, from its control groups
//! (`cgroups(7)`, versions 1 and 2).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Time under the hold of quotas since the groups began, microseconds: of the one that was held longest
/// of the process's own group and those above it; 0 without any quota. `None` where no tree of
/// groups for processors can be read.
pub(crate) fn throttled_micros() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let trees = trees(mounts()?, &groups);
    // Another mount may hide a tree.
    let seen = trees.iter().filter(|tree| tree.group.is_dir());
    let held = seen.map(|tree| {
        let groups = tree.group.ancestors();
        let inside = groups.take_while(|group| group.starts_with(&tree.top));
        let stat = inside.filter_map(|group| fs::read_to_string(group.join("cpu.stat")).ok());
        stat.filter_map(|stat| throttled(&stat)).max().unwrap_or(0)
    });
    held.max()
}

/// The lines of `/proc/self/mountinfo` that name trees of groups. They stay, and a host of many containers
/// has thousands of others, which each reading would cost.
fn mounts() -> Option<&'static str> {
    static MOUNTS: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let all = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let trees = all.lines().filter(|line| line.contains(" - cgroup"));
        Some(trees.collect::<Vec<_>>().join("\n"))
    };
    MOUNTS.get_or_init(read).as_deref()
}

/// A tree of groups, as this process sees it.
#[derive(Debug, PartialEq)]
struct Tree {
    top: PathBuf,
    /// The process's own group.
    group: PathBuf,
}

/// The trees that account processor time.
fn trees(mounts: &str, groups: &str) -> Vec<Tree> {
    mounts
        .lines()
        .filter_map(|line| tree(line, groups))
        .collect()
}

/// The tree that a line of `mountinfo` (`proc(5)`) names, if it accounts processor time.
fn tree(line: &str, groups: &str) -> Option<Tree> {
    let (mount, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let controllers = match kind.next()? {
        "cgroup2" => "",
        "cgroup" if kind.nth(1)?.split(',').any(|word| word == "cpu") => "cpu",
        _ => return None,
    };
    let mut mount = mount.split(' ').skip(3);
    let (root, top) = (Path::new(mount.next()?), PathBuf::from(mount.next()?));
    let own = groups.lines().find_map(|line| {
        let (names, path) = line.split_once(':')?.1.split_once(':')?;
        names
            .split(',')
            .any(|name| name == controllers)
            .then_some(path)
    })?;
    // A group outside what is mounted here can be read at the top at best.
    let inside = Path::new(own).strip_prefix(root).unwrap_or(Path::new(""));
    Some(Tree {
        group: top.join(inside),
        top,
    })
}

/// What `cpu.stat` says, microseconds.
fn throttled(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let value: u64 = value.trim().parse().ok()?;
        match name {
            "throttled_usec" => Some(value),
            // Version 1 counts nanoseconds.
            "throttled_time" => Some(value / 1000),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_versions_are_found() {
        let mounts = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
            32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
            34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
            40 31 0:37 /box /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let groups = "5:cpuset:/\n1:cpu,cpuacct:/jobs/one\n0::/box/inner\n";
        let tree = |top: &str, group: &str| Tree {
            top: top.into(),
            group: group.into(),
        };
        assert_eq!(
            trees(mounts, groups),
            [
                tree("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu/jobs/one"),
                tree("/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/inner"),
            ]
        );
        let outside = trees(mounts, "0::/../elsewhere\n");
        assert_eq!(
            outside,
            [tree("/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified")]
        );
        assert_eq!(trees("", groups), []);
    }

    #[test]
    fn held_time_is_read_in_either_unit() {
        let two = "usage_usec 5\nnr_periods 2\nnr_throttled 1\nthrottled_usec 1234\n";
        assert_eq!(throttled(two), Some(1234));
        assert_eq!(
            throttled("nr_periods 3\nthrottled_time 5000000\n"),
            Some(5000)
        );
        assert_eq!(throttled("usage_usec 5\n"), None);
    }
}
