//! The archives that are tested.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Builds the archives below a target folder of its own, and returns where they are.
#[track_caller]
pub(crate) fn build(target: Option<&Path>) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--package", "xtask", "--", "dist"]);
    if let Some(target) = target {
        command.env("CARGO_TARGET_DIR", target);
    }
    let built = command.current_dir(root()).status().expect("cargo");
    assert!(built.success(), "cargo xtask dist: {built}");
    root().join("target/dist").canonicalize().expect("archives")
}

/// The folder that the archive of a platform (`x86_64-linux`) holds; none where it could not be built.
pub(crate) fn folder(platform: &str) -> Option<PathBuf> {
    let folder = build(None).join(format!("tapeline-{VERSION}-{platform}"));
    folder.is_dir().then_some(folder)
}

/// That of this machine.
pub(crate) fn own_folder() -> Option<PathBuf> {
    folder(&format!("{}-linux", std::env::consts::ARCH))
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What a command prints; it succeeds.
#[track_caller]
pub(crate) fn printed(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let said = said.concat();
    assert!(output.status.success(), "{command:?}\n{said}");
    said
}
