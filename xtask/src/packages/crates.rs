//! The crates of others that the program holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::builds::EVERYTHING;
use crate::shell::{self, Result, cargo};

/// A crate of others, of one version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression.
    pub(crate) licence: String,
    /// SHA-256 of its archive, in hexadecimal digits.
    pub(crate) checksum: Option<String>,
    /// Where its source is.
    pub(crate) folder: PathBuf,
}

/// Those of a build for `target`, or for this machine; what only builds or tests need is none of them.
///
/// # Errors
/// cargo does not say, or no longer as it used to.
pub(crate) fn of_others(target: Option<&str>) -> Result<BTreeSet<Crate>> {
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--package", "tapeline"]);
    tree.args(["--features", &EVERYTHING.join(",")]);
    tree.args([
        "--edges", "normal", "--prefix", "none", "--format", "{p}|{l}",
    ]);
    if let Some(target) = target {
        tree.args(["--target", target]);
    }
    let listed = shell::read(&mut tree)?;
    let metadata = shell::read(cargo().args(["metadata", "--format-version", "1", "--locked"]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let folders = folders(&metadata);
    let lock = std::fs::read_to_string("Cargo.lock");
    let checksums = checksums(&lock.map_err(|error| format!("Cargo.lock: {error}"))?);
    let mut crates = BTreeSet::new();
    for line in listed.lines() {
        let (package, licence) = line.split_once('|').unwrap_or((line, ""));
        let mut words = package.split_whitespace();
        let (Some(name), Some(version)) = (words.next(), words.next()) else {
            continue;
        };
        if name.starts_with("tapeline") {
            continue;
        }
        let version = version.trim_start_matches('v');
        let key = (name.to_owned(), version.to_owned());
        let folder = folders.get(&key);
        crates.insert(Crate {
            name: name.to_owned(),
            version: version.to_owned(),
            // A slash is an old way to write it.
            licence: licence.trim().replace('/', " OR "),
            checksum: checksums.get(&key).cloned(),
            folder: folder
                .ok_or_else(|| format!("{name} {version} has no folder"))?
                .clone(),
        });
    }
    Ok(crates)
}

fn folders(metadata: &Value) -> BTreeMap<(String, String), PathBuf> {
    let packages = metadata["packages"].as_array();
    let packages = packages.map_or(&[][..], Vec::as_slice).iter();
    packages
        .filter_map(|package| {
            let name = package["name"].as_str()?.to_owned();
            let version = package["version"].as_str()?.to_owned();
            let manifest = Path::new(package["manifest_path"].as_str()?);
            Some(((name, version), manifest.parent()?.to_owned()))
        })
        .collect()
}

/// The checksums in a Cargo.lock, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut known = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let value = |key: &str| {
            let begin = format!("{key} = \"");
            let line = package.lines().find_map(|line| line.strip_prefix(&begin))?;
            Some(line.trim_end_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(sum)) =
            (value("name"), value("version"), value("checksum"))
        {
            known.insert((name, version), sum);
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_belongs_to_a_version() {
        let lock = "version = 4\n\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n\n\
                    [[package]]\nname = \"libc\"\nversion = \"0.2.1\"\nsource = \"r\"\nchecksum = \"ab12\"\n";
        let known = checksums(lock);
        let key = ("libc".to_owned(), "0.2.1".to_owned());
        assert_eq!(known.get(&key).map(String::as_str), Some("ab12"));
        assert_eq!(known.len(), 1);
    }
}
