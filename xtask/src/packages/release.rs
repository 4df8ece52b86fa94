//! Whether everything has the same version, before it is released.

use std::path::Path;
use std::process::Command;

use super::tree::files;
use crate::builds::{self, VERSION};
use crate::shell::{self, Result};
use crate::tally::Tally;

/// Folders with a crate in each of theirs, and crates beside them.
const CRATES: &str = "crates";
const MORE_CRATES: [&str; 3] = ["interop", "relay", "xtask"];

/// Compares all manifests, the changelog, the README's sample and the program itself.
///
/// # Errors
/// A file cannot be read, or the program cannot be built.
pub(crate) fn check() -> Result<Tally> {
    let mut tally = Tally::default();
    let mut manifests = files(CRATES)?;
    manifests.extend(MORE_CRATES.map(|name| Path::new(name).to_owned()));
    for folder in manifests {
        let path = folder.join("Cargo.toml");
        let text = read(&path)?;
        count(
            &mut tally,
            &path,
            inherits(&text),
            "has a version of its own",
        );
    }
    for (file, wanted) in [
        (
            "packaging/python/pyproject.toml",
            "dynamic = [\"version\"]".to_owned(),
        ),
        ("CHANGELOG.md", format!("\n## [{VERSION}] - 2")),
        ("README.md", format!("server is tapeline {VERSION}\n")),
    ] {
        let path = Path::new(file);
        let has = read(path)?.contains(&wanted);
        count(
            &mut tally,
            path,
            has,
            &format!("has no {:?}", wanted.trim()),
        );
    }
    let program = builds::release(&[])?;
    for name in ["tapeline", "iperf", "iperf3"] {
        let said = shell::read(Command::new(&program).args(["--as", name, "--version"]))?;
        let has = said.contains(&format!("tapeline {VERSION}"));
        count(&mut tally, Path::new(name), has, &format!("says {said:?}"));
    }
    Ok(tally)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Whether a manifest takes the version of the workspace.
fn inherits(manifest: &str) -> bool {
    manifest
        .lines()
        .any(|line| line == "version.workspace = true")
}

fn count(tally: &mut Tally, path: &Path, is_right: bool, wrong: &str) {
    if is_right {
        tally.pass();
    } else {
        tally.fail(format!("release: {} {wrong}", path.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_its_own_is_found() {
        assert!(inherits(
            "[package]\nname = \"a\"\nversion.workspace = true\n"
        ));
        assert!(!inherits("[package]\nname = \"a\"\nversion = \"0.2.0\"\n"));
    }
}
