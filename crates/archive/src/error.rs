//! Why the history cannot be had.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why something could not be done with the history; a sentence that names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// There is no file.
    #[error("{} does not exist: no result has been saved there", .0.display())]
    Missing(PathBuf),
    /// There is a folder in its place.
    #[error("{} is a folder, not a history", .0.display())]
    Folder(PathBuf),
    /// The file is something else.
    #[error("{} is no history of tapeline, and is left alone", .0.display())]
    Foreign(PathBuf),
    /// A later version of the program wrote it.
    #[error("{} has format {found}; this tapeline knows {known} and leaves it alone", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format that is known.
        known: i64,
    },
    /// Others write to it, for longer than was waited.
    #[error("{} is busy: other programs write to it", .0.display())]
    Busy(PathBuf),
    /// Its file system is full.
    #[error("no space is left for {}", .0.display())]
    Full(PathBuf),
    /// It may not be written.
    #[error("{} may not be written", .0.display())]
    ReadOnly(PathBuf),
    /// It is damaged.
    #[error("{} is damaged: {cause}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        cause: String,
    },
    /// The system's SQLite can damage files that several programs write to.
    #[error("SQLite {0} can damage a history that several programs write to; 3.51.3 cannot")]
    OldLibrary(&'static str),
    /// An operation of the file system failed.
    #[error("cannot {operation} {}: {cause}", path.display())]
    Io {
        /// What was tried: `create`, `write`.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// Another failure of SQLite.
    #[error("{}: {cause}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        cause: String,
    },
    /// It has no such run, series or baseline.
    #[error("{}: no {what}", path.display())]
    NoSuch {
        /// The file.
        path: PathBuf,
        /// What is missing: `run r42`.
        what: String,
    },
}

impl ArchiveError {
    /// Of a failure of SQLite.
    pub(crate) fn sqlite(path: &Path, cause: &rusqlite::Error) -> Self {
        let owned = || path.to_owned();
        match cause.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(owned()),
            Some(ErrorCode::DiskFull) => Self::Full(owned()),
            Some(ErrorCode::ReadOnly) => Self::ReadOnly(owned()),
            Some(ErrorCode::NotADatabase) => Self::Foreign(owned()),
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged {
                path: owned(),
                cause: cause.to_string(),
            },
            _ => Self::Sqlite {
                path: owned(),
                cause: cause.to_string(),
            },
        }
    }

    /// Of a failure of the file system.
    pub(crate) fn io(operation: &'static str, path: &Path, cause: io::Error) -> Self {
        if cause.kind() == io::ErrorKind::StorageFull {
            return Self::Full(path.to_owned());
        }
        Self::Io {
            operation,
            path: path.to_owned(),
            cause,
        }
    }
}
