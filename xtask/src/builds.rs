//! The builds of the program and its helpers, and where they are.

use std::path::PathBuf;
use std::process::Command;

use crate::shell::{self, Result, cargo};

/// The version of everything.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Features that a package has in addition to the default ones.
pub(crate) const EVERYTHING: [&str; 1] = ["fleet"];

/// Where everything is built.
pub(crate) fn target_directory() -> PathBuf {
    let folder = interop::target_directory();
    std::path::absolute(&folder).unwrap_or(folder)
}

/// Where the program is as it is shipped.
pub(crate) fn release_binary() -> PathBuf {
    target_directory().join("release/tapeline")
}

/// Where the program with all features is that the tests are built with.
pub(crate) fn test_binary() -> PathBuf {
    target_directory().join("debug/tapeline")
}

/// Builds the program as it is shipped, with more `features` where there are any, and says where it is.
///
/// # Errors
/// It does not compile.
pub(crate) fn release(features: &[&str]) -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "--package", "tapeline"]);
    for feature in features {
        build.args(["--features", feature]);
    }
    shell::run(&mut build)?;
    Ok(release_binary())
}

/// `TAPELINE_BIN`, which may be an older program, else the shipped one, built now.
///
/// # Errors
/// As [`release`].
pub(crate) fn under_test() -> Result<PathBuf> {
    match std::env::var_os("TAPELINE_BIN") {
        Some(program) => {
            let program = PathBuf::from(program);
            std::path::absolute(&program).map_err(|error| format!("{}: {error}", program.display()))
        }
        None => release(&[]),
    }
}

/// Builds the program with all features, as the tests are built, and says where it is.
///
/// # Errors
/// It does not compile.
pub(crate) fn with_all_features() -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--quiet", "--workspace", "--all-features"]);
    shell::read(build.args(["--bin", "tapeline"]))?;
    Ok(test_binary())
}

/// Builds an example as the tests are built, and returns a call of it.
///
/// # Errors
/// It does not compile.
pub(crate) fn example(name: &str) -> Result<Command> {
    let mut build = cargo();
    build.args(["build", "--quiet", "--workspace", "--all-features"]);
    shell::read(build.args(["--example", name]))?;
    Ok(Command::new(
        target_directory().join("debug/examples").join(name),
    ))
}
