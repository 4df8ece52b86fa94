//! Everything a change must pass.

use std::process::Command;
use std::time::Instant;

use crate::generate::{python, schema, warnings};
use crate::shell::{self, Result, cargo};
use crate::tally::Tally;
use crate::{fuzz, layers, levels, licences, line_limits, portability, prose, readme};

/// Runs all checks and all tests, and goes on after a failure.
pub(crate) fn all() -> Tally {
    let mut tally = check();
    step(&mut tally, "tests", || match levels::test(&[]) {
        Ok(tests) => tests,
        Err(error) => one("tests", Err(error)),
    });
    tally
}

/// Runs all checks but the tests, the quick ones first, and goes on after a failure.
pub(crate) fn check() -> Tally {
    let mut tally = Tally::default();
    step(&mut tally, "formatting", || one("formatting", format()));
    step(&mut tally, "line limits", || {
        one("line limits", line_limits::check())
    });
    step(&mut tally, "pages", || one("pages", prose::check()));
    step(&mut tally, "folders and imports", layers::check_all);
    step(&mut tally, "dependencies", licences::check);
    step(&mut tally, "lints", || one("lints", lint()));
    step(&mut tally, "documentation", || {
        one("documentation", document())
    });
    step(&mut tally, "Windows", portability::check);
    step(&mut tally, "README", readme::check);
    step(&mut tally, "schema", || one("schema", schema::check()));
    step(&mut tally, "Python classes", || {
        one("Python classes", python::check())
    });
    step(&mut tally, "warnings", || {
        one("warnings", warnings::check())
    });
    tally
}

/// Compiles what a change rarely breaks: for every system, with the oldest compiler, statically, and for
/// the fuzzer. It takes twelve minutes on two cores.
pub(crate) fn compile_all() -> Tally {
    let mut tally = Tally::default();
    step(&mut tally, "portability", portability::check_all);
    step(&mut tally, "fuzz targets", fuzz::check);
    tally
}

fn step(tally: &mut Tally, name: &str, check: impl FnOnce() -> Tally) {
    println!("\n==== {name}");
    let begin = Instant::now();
    let result = check();
    let verdict = if result.failed() == 0 {
        "good"
    } else {
        "FAILED"
    };
    println!("==== {name}: {verdict} ({:.0?})", begin.elapsed());
    tally.add(result);
}

/// A check that is one thing to count.
fn one(name: &str, result: Result<()>) -> Tally {
    let mut tally = Tally::default();
    match result {
        Ok(()) => tally.pass(),
        Err(error) => {
            println!("{error}");
            tally.fail(format!("{name}: {error}"));
        }
    }
    tally
}

fn format() -> Result<()> {
    shell::run(cargo().args(["fmt", "--all", "--check"]))
}

/// Everything with all features, as the tests are built, so that both compile the same crates.
fn lint() -> Result<()> {
    let deny = ["--", "-D", "warnings"];
    shell::run(
        cargo()
            .args(["clippy", "--quiet", "--workspace", "--all-targets"])
            .arg("--all-features")
            .args(deny),
    )?;
    // The smallest build.
    shell::run(
        cargo()
            .args(["clippy", "--quiet", "--package", "tapeline"])
            .arg("--no-default-features")
            .args(deny),
    )
}

fn document() -> Result<()> {
    let mut command: Command = cargo();
    command
        .args(["doc", "--quiet", "--workspace", "--all-features"])
        .arg("--no-deps")
        .env("RUSTDOCFLAGS", "-D warnings");
    shell::run(&mut command)
}
