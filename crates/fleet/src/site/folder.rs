//! The folder of a site: files that are there whole or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::whole_file::{Readers, write_whole};

/// A file cannot be written.
#[derive(Debug, Error)]
#[error("cannot write {}: {cause}", path.display())]
pub struct FolderError {
    /// Which.
    pub path: PathBuf,
    /// The system's reason.
    pub cause: io::Error,
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
    let written = write_whole(&path, text.as_bytes(), readers);
    written.map_err(|cause| FolderError { path, cause })
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
