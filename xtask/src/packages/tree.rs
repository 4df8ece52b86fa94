//! The files of a package, all of one time, so that packages of the same sources are alike.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{self, Result};

/// The time of all files, unless `SOURCE_DATE_EPOCH` says otherwise.
const EPOCH: &str = "1767225600";

/// Seconds since 1970 of all files.
pub(crate) fn epoch() -> String {
    std::env::var("SOURCE_DATE_EPOCH").unwrap_or_else(|_| EPOCH.to_owned())
}

/// What a folder holds, in order.
///
/// # Errors
/// It cannot be read.
pub(crate) fn files(folder: &str) -> Result<Vec<PathBuf>> {
    let failed = |error| format!("{folder}: {error}");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        files.push(entry.map_err(failed)?.path());
    }
    files.sort();
    Ok(files)
}

/// The last part of a path.
pub(crate) fn name_of(file: &Path) -> String {
    file.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The files of a package, below a folder.
pub(crate) struct Tree(PathBuf);

impl Tree {
    /// A folder that is empty.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn new(folder: PathBuf) -> Result<Self> {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self(folder))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    fn place(&self, path: &str) -> Result<PathBuf> {
        let place = self.0.join(path);
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|error| format!("{}: {error}", parent.display()))?;
        }
        Ok(place)
    }

    pub(crate) fn write(&self, path: &str, content: &[u8], mode: u32) -> Result<()> {
        let place = self.place(path)?;
        let failed = |error| format!("{}: {error}", place.display());
        std::fs::write(&place, content).map_err(failed)?;
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(mode)).map_err(failed)
    }

    pub(crate) fn copy(&self, path: &str, from: &Path, mode: u32) -> Result<()> {
        let content =
            std::fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
        self.write(path, &content, mode)
    }

    /// Packed without name and time, so that it is the same each time.
    pub(crate) fn write_packed(&self, path: &str, content: &[u8]) -> Result<()> {
        self.write(path, content, 0o644)?;
        shell::read(
            Command::new("gzip")
                .args(["-9", "-n", "-f"])
                .arg(self.0.join(path)),
        )
        .map(drop)
    }

    pub(crate) fn link(&self, path: &str, to: &str) -> Result<()> {
        let place = self.place(path)?;
        std::os::unix::fs::symlink(to, &place)
            .map_err(|error| format!("{}: {error}", place.display()))
    }

    pub(crate) fn kilobytes(&self) -> Result<u64> {
        let said = shell::read(
            Command::new("du")
                .args(["-k", "-s", "--apparent-size"])
                .arg(&self.0),
        )?;
        let number = said
            .split_whitespace()
            .next()
            .and_then(|word| word.parse().ok());
        number.ok_or_else(|| format!("du said {said}"))
    }

    /// Gives all files the packages' time, and folders the usual rights.
    pub(crate) fn age(&self) -> Result<()> {
        let at = format!("@{}", epoch());
        let mut find = Command::new("find");
        find.arg(&self.0)
            .args(["-exec", "touch", "-h", "-d", &at, "{}", "+"]);
        shell::read(&mut find)?;
        let mut find = Command::new("find");
        find.arg(&self.0)
            .args(["-type", "d", "-exec", "chmod", "755", "{}", "+"]);
        shell::read(&mut find).map(drop)
    }
}
