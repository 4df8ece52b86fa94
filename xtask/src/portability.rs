//! Other operating systems, the oldest compiler, and the static build.

use std::process::Command;

use crate::shell::{self, cargo};
use crate::tally::Tally;

/// Targets that must compile, though nothing can be linked or run for them here.
const CHECKED: [&str; 3] = [
    "x86_64-pc-windows-gnu",
    "aarch64-apple-darwin",
    "x86_64-unknown-freebsd",
];

/// Target of the static build.
const STATIC: &str = "x86_64-unknown-linux-musl";

/// The oldest compiler that is promised: `rust-version` of the workspace.
const OLDEST: &str = concat!(env!("CARGO_PKG_RUST_VERSION"), ".0");

/// Compiles the shipped crates for each target whose standard library can be had.
pub(crate) fn check() -> Tally {
    let mut tally = Tally::default();
    for target in CHECKED {
        if !available(target) {
            tally.skip(format!(
                "portability: no Rust standard library for {target}; NOT CHECKED"
            ));
            continue;
        }
        let check =
            shell::run(cargo().args(["check", "--package", "tapeline", "--target", target]));
        match check {
            Ok(()) => tally.pass(),
            Err(error) => tally.fail(format!("portability: {error}")),
        }
    }
    if has_oldest() {
        // Its own folder: no compiler can use what another one has made.
        let folder = crate::levels::target_directory().join("oldest");
        let mut check = Command::new("rustup");
        check.args(["run", OLDEST, "cargo", "check", "--quiet"]);
        check.args(["--package", "tapeline", "--target-dir"]);
        match shell::run(check.arg(folder)) {
            Ok(()) => tally.pass(),
            Err(error) => tally.fail(format!("oldest compiler: {error}")),
        }
    } else {
        tally.skip(format!("oldest compiler: no Rust {OLDEST}; NOT CHECKED"));
    }
    if available(STATIC) {
        match static_build() {
            Ok(()) => tally.pass(),
            Err(error) => tally.fail(format!("static build: {error}")),
        }
    } else {
        tally.skip(format!(
            "static build: no Rust standard library for {STATIC}; NOT BUILT"
        ));
    }
    tally
}

/// Whether the target's standard library is there, or could be installed.
fn available(target: &str) -> bool {
    let installed = || {
        shell::read(Command::new("rustup").args(["target", "list", "--installed"]))
            .is_ok_and(|list| list.lines().any(|line| line == target))
    };
    installed()
        || (shell::run(Command::new("rustup").args(["target", "add", target])).is_ok()
            && installed())
}

/// Whether the oldest compiler is there, or could be installed.
fn has_oldest() -> bool {
    let installed = || shell::read(Command::new("rustup").args(["run", OLDEST, "cargo", "-V"]));
    let install = ["toolchain", "install", OLDEST, "--profile", "minimal"];
    installed().is_ok()
        || (shell::run(Command::new("rustup").args(install)).is_ok() && installed().is_ok())
}

fn static_build() -> shell::Result<()> {
    shell::run(cargo().args(["build", "--package", "tapeline", "--target", STATIC]))?;
    let release = crate::levels::release_binary();
    let target = release
        .parent()
        .and_then(std::path::Path::parent)
        .unwrap_or(shell::root());
    let binary = target.join(STATIC).join("debug/tapeline");
    let version = shell::read(Command::new(binary).arg("-v"))?;
    println!("{}", version.trim());
    Ok(())
}
