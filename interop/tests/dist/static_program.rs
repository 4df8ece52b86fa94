//! The static programs: nothing around them, another processor, the same each time.

use std::process::Command;

use interop::{Invocation, installed, skip};

use crate::archives::{VERSION, build, folder, is_root, own_folder, printed};
use crate::every_peer;

#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn it_runs_where_nothing_else_is() {
    let Some(folder) = own_folder().filter(|_| is_root()) else {
        skip("an empty root", "chroot needs root");
        return;
    };
    let empty = tempfile::tempdir().expect("a folder");
    std::fs::copy(folder.join("tapeline"), empty.path().join("tapeline")).expect("a copy");
    let within = |words: &[&str]| {
        let mut chroot = Command::new("chroot");
        printed(chroot.arg(empty.path()).arg("/tapeline").args(words))
    };
    assert!(within(&["--version"]).contains(VERSION));
    let said = within(&["try", "-t", "2"]);
    assert!(said.contains("bit/s"), "{said}");
    // Everything is in it.
    let said = within(&["--as", "iperf3", "--version"]);
    assert!(said.contains("authentication"), "{said}");
    let said = within(&["fleet", "--help"]);
    assert!(said.contains("tapeline fleet ACTION"), "{said}");
}

/// Tests in both roles on another processor, with this machine's programs at the other side.
#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn arm_measures_with_every_peer() {
    const EMULATOR: &str = "qemu-aarch64-static";
    const NAME: &str = "aarch64";
    if installed(EMULATOR).is_none() {
        skip(
            NAME,
            "no qemu-aarch64-static: apt-get install qemu-user-static",
        );
        return;
    }
    if let Some(reason) = every_peer::missing() {
        skip(NAME, &reason);
        return;
    }
    let Some(folder) = folder("aarch64-linux") else {
        skip(
            NAME,
            "it was not built: apt-get install gcc-aarch64-linux-gnu",
        );
        return;
    };
    let program = folder.join("tapeline");
    let program = program.to_str().expect("a path");
    every_peer::measure_with(|line| {
        Invocation::for_executable(EMULATOR, EMULATOR)
            .args([program])
            .line(line)
    });
}

/// Built twice, in different folders, they are the same to the byte.
#[test]
#[ignore = "builds the program twice: cargo xtask test packages"]
fn two_builds_are_alike() {
    let sums = || {
        let target = tempfile::tempdir().expect("a folder");
        let built = build(Some(target.path()));
        std::fs::read_to_string(built.join("SHA256SUMS")).expect("checksums")
    };
    let (first, second) = (sums(), sums());
    assert!(first.contains(std::env::consts::ARCH), "{first}");
    assert_eq!(first, second);
}
