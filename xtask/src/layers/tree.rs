//! The Rust files of a checkout.

use std::collections::BTreeMap;
use std::path::Path;

use crate::shell::Result;

/// Folders that hold a crate, or crates.
const PLACES: [&str; 5] = ["crates", "interop", "relay", "xtask", "fuzz"];

/// Rust files by their paths from the root, with `/` between the parts.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads all Rust files below `root` that belong to a crate.
    ///
    /// # Errors
    /// A folder or file that cannot be read.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        for place in PLACES {
            if root.join(place).is_dir() {
                tree.read_folder(root, place)?;
            }
        }
        Ok(tree)
    }

    fn read_folder(&mut self, root: &Path, folder: &str) -> Result<()> {
        let failed = |error| format!("{folder}: {error}");
        for entry in std::fs::read_dir(root.join(folder)).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{folder}/{name}");
            if entry.path().is_dir() {
                if name != "target" && name != "corpus" {
                    self.read_folder(root, &path)?;
                }
            } else if name.ends_with(".rs") {
                let text = std::fs::read_to_string(entry.path())
                    .map_err(|error| format!("{path}: {error}"))?;
                self.files.insert(path, text);
            }
        }
        Ok(())
    }

    /// A tree of these paths and texts.
    #[cfg(test)]
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let owned = |&(path, text): &(&str, &str)| (path.to_owned(), text.to_owned());
        Self {
            files: files.iter().map(owned).collect(),
        }
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Paths of all files below a folder.
    pub(crate) fn below(&self, folder: &str) -> impl Iterator<Item = &str> {
        let prefix = format!("{folder}/");
        self.files
            .keys()
            .filter(move |path| path.starts_with(&prefix))
            .map(String::as_str)
    }

    /// Folders of the crates, such as `crates/base`.
    pub(crate) fn crates(&self) -> Vec<&str> {
        let mut crates: Vec<&str> = self
            .files
            .keys()
            .filter_map(|path| crate_of(path))
            .collect();
        crates.dedup();
        crates
    }
}

/// The folder of the crate that a file belongs to.
pub(crate) fn crate_of(path: &str) -> Option<&str> {
    let depth = if path.starts_with("crates/") { 2 } else { 1 };
    let (end, _) = path.match_indices('/').nth(depth - 1)?;
    Some(&path[..end])
}

/// The folder of a file.
pub(crate) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of a path.
pub(crate) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// A path relative to a folder, without `.` and `..`.
pub(crate) fn join(folder: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
