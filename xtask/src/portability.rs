//! Other operating systems, the oldest compiler, and the static build.

use std::process::Command;

use crate::builds;
use crate::shell::{self, cargo, on_path};
use crate::tally::Tally;

/// The target that is least like this one: nothing can be linked or run for it here, but it must compile.
const WINDOWS: &str = "x86_64-pc-windows-gnu";
/// More of the kind.
const OTHERS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-unknown-freebsd"];

/// The default features that need no C compiler.
const WITHOUT_C: &str = "prometheus,tui";

/// Target of the static build.
const STATIC: &str = "x86_64-unknown-linux-musl";

/// The oldest compiler that is promised: `rust-version` of the workspace.
const OLDEST: &str = concat!(env!("CARGO_PKG_RUST_VERSION"), ".0");

/// What most often breaks.
pub(crate) fn check() -> Tally {
    compiles_for(WINDOWS)
}

/// All of it.
pub(crate) fn check_all() -> Tally {
    let mut tally = check();
    tally.add(compiles_with_the_oldest());
    for target in OTHERS {
        tally.add(compiles_for(target));
    }
    tally.add(builds_statically());
    tally
}

/// Compiles the shipped crates for a target whose standard library can be had.
fn compiles_for(target: &str) -> Tally {
    let mut tally = Tally::default();
    if !available(target) {
        tally.skip(format!(
            "portability: no Rust standard library for {target}; NOT CHECKED"
        ));
        return tally;
    }
    let mut check = cargo();
    check.args(["check", "--package", "tapeline", "--target", target]);
    // SQLite is C: without a compiler for the target its users are not checked.
    if !has_c_compiler(target) {
        check.args(["--no-default-features", "--features", WITHOUT_C]);
        tally.skip(format!(
            "portability: no C compiler for {target}; history, web, mesh and logins were NOT CHECKED"
        ));
    }
    match shell::run(&mut check) {
        Ok(()) => tally.pass(),
        Err(error) => tally.fail(format!("portability: {error}")),
    }
    tally
}

fn compiles_with_the_oldest() -> Tally {
    let mut tally = Tally::default();
    if !has_oldest() {
        tally.skip(format!("oldest compiler: no Rust {OLDEST}; NOT CHECKED"));
        return tally;
    }
    // Its own folder: no compiler can use what another one has made.
    let folder = builds::target_directory().join("oldest");
    let mut check = Command::new("rustup");
    check.args(["run", OLDEST, "cargo", "check", "--quiet"]);
    check.args(["--package", "tapeline", "--target-dir"]);
    match shell::run(check.arg(folder)) {
        Ok(()) => tally.pass(),
        Err(error) => tally.fail(format!("oldest compiler: {error}")),
    }
    tally
}

fn builds_statically() -> Tally {
    let mut tally = Tally::default();
    if !has_c_compiler(STATIC) {
        tally.skip(format!(
            "static build: no C compiler for {STATIC} (musl-tools); NOT BUILT"
        ));
    } else if !available(STATIC) {
        tally.skip(format!(
            "static build: no Rust standard library for {STATIC}; NOT BUILT"
        ));
    } else {
        match static_build() {
            Ok(()) => tally.pass(),
            Err(error) => tally.fail(format!("static build: {error}")),
        }
    }
    tally
}

/// Whether C can be compiled for a target.
fn has_c_compiler(target: &str) -> bool {
    match target {
        WINDOWS => on_path("x86_64-w64-mingw32-gcc"),
        STATIC => on_path("musl-gcc"),
        _ => std::env::var_os(format!("CC_{}", target.replace('-', "_"))).is_some(),
    }
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
    let binary = builds::target_directory()
        .join(STATIC)
        .join("debug/tapeline");
    let version = shell::read(Command::new(binary).arg("-v"))?;
    println!("{}", version.trim());
    Ok(())
}
