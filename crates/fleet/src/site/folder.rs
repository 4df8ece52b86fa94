//! The folder of a site: files that are there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A file cannot be written.
#[derive(Debug, Error)]
#[error("cannot write {}: {cause}", path.display())]
pub struct FolderError {
    /// Which.
    pub path: PathBuf,
    /// The system's reason.
    pub cause: io::Error,
}

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Its owner.
    Owner,
    /// All, as the process's mask has it.
    All,
}

/// Makes a folder with those above it, if it is not there.
pub(crate) fn make(folder: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(folder).map_err(|cause| FolderError {
        path: folder.to_owned(),
        cause,
    })
}

/// Writes a file of the folder; one that is there is replaced at once.
pub(crate) fn write(
    folder: &Path,
    name: &str,
    text: &str,
    readers: Readers,
) -> Result<(), FolderError> {
    let path = folder.join(name);
    let part = folder.join(format!(".{name}.{}.part", std::process::id()));
    let written = create(&part, readers).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, &path)
    });
    written.map_err(|cause| {
        // What is left over is no file of the site.
        let _ = fs::remove_file(&part);
        FolderError { path, cause }
    })
}

fn create(part: &Path, readers: Readers) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(match readers {
            Readers::Owner => 0o600,
            Readers::All => 0o666,
        });
    }
    #[cfg(not(unix))]
    let _ = readers;
    options.open(part)
}

/// A text as a value of TOML, and of the server's configuration.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Texts as a list.
pub(crate) fn quoted_list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}
