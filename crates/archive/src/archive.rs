//! The file: opened for writing or for reading.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use tapeline_sys::network_file_system;

use crate::error::ArchiveError;
use crate::format;

/// Earlier versions of SQLite can damage a file with a write-ahead log that several connections
/// write to (sqlite.org/releaselog/3_51_3.html).
const OLDEST_SAFE: i32 = 3_051_003;

/// The file.
#[derive(Debug)]
pub struct Archive {
    connection: Connection,
    path: PathBuf,
    network: Option<&'static str>,
}

impl Archive {
    /// Opens the file for writing; makes it, its folder and its tables where they are missing.
    /// Other writers are waited for up to `busy`.
    ///
    /// # Errors
    /// The folder or the file cannot be had, or the file is something else.
    pub fn open_to_write(path: &Path, busy: Duration) -> Result<Self, ArchiveError> {
        if path.is_dir() {
            return Err(ArchiveError::Folder(path.to_owned()));
        }
        let network = make(path)?;
        if network.is_none() && rusqlite::version_number() < OLDEST_SAFE {
            return Err(ArchiveError::OldLibrary(rusqlite::version()));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let archive = Self::connect(path, flags, network)?;
        archive.wait(busy)?;
        format::look(&archive.connection, path)?;
        archive.set_journal()?;
        format::bring_up(&archive.connection, path)?;
        Ok(archive)
    }

    /// Opens the file for reading; nothing is changed.
    ///
    /// # Errors
    /// There is no file, it is of an earlier or later format, or something else.
    pub fn open_to_read(path: &Path) -> Result<Self, ArchiveError> {
        if path.is_dir() {
            return Err(ArchiveError::Folder(path.to_owned()));
        }
        match fs::symlink_metadata(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ArchiveError::Missing(path.to_owned()));
            }
            Err(error) => return Err(ArchiveError::io("read", path, error)),
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let archive = Self::connect(path, flags, None)?;
        archive.wait(Duration::from_secs(5))?;
        match format::look(&archive.connection, path) {
            Ok(format::Found::Format(format::FORMAT)) => Ok(archive),
            // What an earlier version wrote is brought up by opening it.
            Ok(format::Found::Format(_)) => Self::open_to_write(path, Duration::from_secs(5)),
            Ok(format::Found::Empty) => Err(ArchiveError::Missing(path.to_owned())),
            // A log needs a folder that may be written; without a log there is nothing to miss.
            Err(ArchiveError::Sqlite { .. } | ArchiveError::ReadOnly(_)) if !log(path).exists() => {
                let uri = format!("file:{}?immutable=1", escaped(path));
                let flags = flags | OpenFlags::SQLITE_OPEN_URI;
                let archive = Self::connect(Path::new(&uri), flags, None)?;
                format::look(&archive.connection, path)?;
                Ok(Self {
                    path: path.to_owned(),
                    ..archive
                })
            }
            Err(error) => Err(error),
        }
    }

    fn connect(
        path: &Path,
        flags: OpenFlags,
        network: Option<&'static str>,
    ) -> Result<Self, ArchiveError> {
        let failed = |cause: rusqlite::Error| ArchiveError::sqlite(path, &cause);
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        Ok(Self {
            connection,
            path: path.to_owned(),
            network,
        })
    }

    /// What holds for this connection alone.
    fn wait(&self, busy: Duration) -> Result<(), ArchiveError> {
        self.connection
            .busy_timeout(busy)
            .and_then(|()| {
                self.connection.execute_batch(
                    "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;",
                )
            })
            .map_err(|cause| self.failed(&cause))
    }

    /// A write-ahead log needs memory that all writers share: none is on a network.
    fn set_journal(&self) -> Result<(), ArchiveError> {
        let wanted = match self.network {
            Some(_) => "delete",
            None => "wal",
        };
        let mode = || {
            self.connection
                .query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0))
        };
        // Setting it takes a lock even where it stays.
        let set = mode().and_then(|is| {
            if is == wanted {
                return Ok(());
            }
            let statement = format!("PRAGMA journal_mode = {wanted}");
            self.connection.query_row(&statement, [], |_| Ok(()))
        });
        set.map_err(|cause| self.failed(&cause))
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of the network file system that it is on.
    #[must_use]
    pub fn network(&self) -> Option<&'static str> {
        self.network
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Begins to write. It waits for other writers now: one that had read first would fail at once.
    pub(crate) fn transaction(&self) -> Result<Transaction<'_>, ArchiveError> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
            .map_err(|cause| self.failed(&cause))
    }

    pub(crate) fn failed(&self, cause: &rusqlite::Error) -> ArchiveError {
        ArchiveError::sqlite(&self.path, cause)
    }

    /// Nothing of this name is there.
    pub(crate) fn no(&self, what: String) -> ArchiveError {
        ArchiveError::NoSuch {
            path: self.path.clone(),
            what,
        }
    }
}

/// Makes the file and its folder, for nobody else; returns the network file system it is on.
fn make(path: &Path) -> Result<Option<&'static str>, ArchiveError> {
    let folder = folder(path);
    if !folder.is_dir() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(folder)
            .map_err(|error| ArchiveError::io("create", folder, error))?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(path)
        .map_err(|error| ArchiveError::io("write", path, error))?;
    Ok(network_file_system(path))
}

/// The folder of a file.
pub(crate) fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    folder.unwrap_or(Path::new("."))
}

/// The file's write-ahead log.
fn log(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// A path in an address of SQLite.
fn escaped(path: &Path) -> String {
    let path = path.to_string_lossy();
    path.replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23")
}
