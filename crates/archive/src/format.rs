//! The tables of the file, and how a file of an earlier version becomes one of this.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::ArchiveError;

/// The newest format: `user_version` of a file of this version.
pub const FORMAT: i64 = STEPS.len() as i64;

/// `TPLH`: what tells the file from other programs' files.
const APPLICATION: i64 = 0x5450_4c48;

/// From each format to the next, the first from an empty file. A step that was published stays.
const STEPS: &[&str] = &[FORMAT_1];

const FORMAT_1: &str = "
CREATE TABLE series (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid BLOB NOT NULL UNIQUE,
  started INTEGER NOT NULL,
  kind TEXT NOT NULL,          -- repeat, mesh, schedule
  plan TEXT                    -- JSON: the words of the mesh or schedule
);
CREATE TABLE run (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  series INTEGER REFERENCES series ON DELETE SET NULL,
  left_out TEXT,               -- why a run of a series does not count
  started INTEGER NOT NULL,    -- ms since 1970, UTC
  saved INTEGER NOT NULL,
  origin TEXT NOT NULL,        -- tapeline 0.2.0, import:iperf3-json
  from_host TEXT,
  to_host TEXT,
  peer_address TEXT,
  role TEXT NOT NULL,
  protocol TEXT,
  transport TEXT,
  direction TEXT,
  workload TEXT,
  streams INTEGER,
  target_bps REAL,
  seconds REAL,
  shape BLOB NOT NULL,         -- hash of what was asked for
  complete INTEGER NOT NULL,
  error TEXT,
  limited_by TEXT,
  confidence TEXT,
  note TEXT,
  document TEXT NOT NULL,      -- tapeline-report/1 with empty intervals
  intervals BLOB               -- its intervals, a JSON array deflated (zlib); NULL once pruned
) STRICT;
CREATE TABLE measure (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  quantity TEXT NOT NULL,
  direction TEXT NOT NULL,
  value REAL NOT NULL,
  counted_by TEXT,
  PRIMARY KEY (run, quantity, direction)
) STRICT, WITHOUT ROWID;
CREATE TABLE tag (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE baseline (
  name TEXT PRIMARY KEY,
  selector TEXT NOT NULL,
  made INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX run_started ON run(started);
CREATE INDEX run_shape ON run(shape, peer_address, started);
CREATE INDEX run_series ON run(series);
CREATE INDEX tag_key ON tag(key, value);
";

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing is in it.
    Empty,
    /// A history of this format, or of an earlier one.
    Format(i64),
}

/// Looks what a file is.
///
/// # Errors
/// It is another program's, or a later version's.
pub(crate) fn look(connection: &Connection, path: &Path) -> Result<Found, ArchiveError> {
    let failed = |cause: rusqlite::Error| ArchiveError::sqlite(path, &cause);
    let (application, found, tables) = marks(connection).map_err(failed)?;
    match (application, found, tables) {
        (0, 0, 0) => Ok(Found::Empty),
        (APPLICATION, 1..=FORMAT, _) => Ok(Found::Format(found)),
        (APPLICATION, ..) => Err(ArchiveError::Newer {
            path: path.to_owned(),
            found,
            known: FORMAT,
        }),
        _ => Err(ArchiveError::Foreign(path.to_owned())),
    }
}

/// `application_id`, `user_version`, and how many tables and indexes there are; all of one moment, as another
/// program may be making the file.
fn marks(connection: &Connection) -> rusqlite::Result<(i64, i64, i64)> {
    let moment = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
    let number = |sql: &str| moment.query_row(sql, [], |row| row.get::<_, i64>(0));
    Ok((
        number("PRAGMA application_id")?,
        number("PRAGMA user_version")?,
        number("SELECT count(*) FROM sqlite_schema")?,
    ))
}

/// Brings a file to this format; a copy of what was there is kept beside it.
///
/// # Errors
/// As those of SQLite; the file is as before.
pub(crate) fn bring_up(connection: &Connection, path: &Path) -> Result<(), ArchiveError> {
    if look(connection, path)? == Found::Format(FORMAT) {
        return Ok(());
    }
    let failed = |cause: rusqlite::Error| ArchiveError::sqlite(path, &cause);
    migrate(connection, path, STEPS).map_err(failed)
}

fn migrate(connection: &Connection, path: &Path, steps: &[&str]) -> rusqlite::Result<()> {
    let version = |connection: &Connection| {
        connection.query_row("PRAGMA user_version", [], |row| row.get::<_, usize>(0))
    };
    let before = version(connection)?;
    if (1..steps.len()).contains(&before) {
        let copy = copy_of(path, before);
        if !copy.exists() {
            connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()])?;
        }
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Exclusive)?;
    // Another program may have done it meanwhile.
    let from = version(&transaction)?;
    for step in steps.iter().skip(from) {
        transaction.execute_batch(step)?;
    }
    if from < steps.len() {
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", steps.len())?;
    }
    transaction.commit()
}

/// `history.db.before-2`.
fn copy_of(path: &Path, format: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".before-{}", format + 1));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_taken_once_and_the_former_file_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("history.db");
        let connection = Connection::open(&path).expect("a file");
        let first = "CREATE TABLE one (a INTEGER); INSERT INTO one VALUES (7);";
        let second = "ALTER TABLE one ADD COLUMN b INTEGER; UPDATE one SET b = a + 1;";
        migrate(&connection, &path, &[first]).expect("a new file");
        assert!(!copy_of(&path, 0).exists());
        migrate(&connection, &path, &[first, second]).expect("the next format");
        migrate(&connection, &path, &[first, second]).expect("nothing to do");
        let sum: i64 = connection
            .query_row("SELECT a + b FROM one", [], |row| row.get(0))
            .expect("a row");
        assert_eq!(sum, 15);
        let copy = Connection::open(folder.path().join("history.db.before-2")).expect("a copy");
        let old: i64 = copy
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .expect("a number");
        assert_eq!(old, 1);
        assert!(copy.query_row("SELECT b FROM one", [], |_| Ok(())).is_err());
    }

    #[test]
    fn a_file_that_is_being_made_is_empty_or_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..200 {
            let path = folder.path().join(format!("{number}.db"));
            let open = || {
                let connection = Connection::open(&path).expect("a file");
                let patience = std::time::Duration::from_secs(60);
                connection.busy_timeout(patience).expect("a time");
                connection
            };
            let (maker, watcher) = (open(), open());
            std::thread::scope(|scope| {
                scope.spawn(|| migrate(&{ maker }, &path, STEPS).expect("a new file"));
                while look(&watcher, &path).expect("no other program's file") == Found::Empty {}
            });
        }
    }

    #[test]
    fn a_step_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("history.db");
        let connection = Connection::open(&path).expect("a file");
        let first = "CREATE TABLE one (a INTEGER);";
        migrate(&connection, &path, &[first]).expect("a new file");
        let broken = "CREATE TABLE two (a INTEGER); CREATE TABLE two (a INTEGER);";
        assert!(migrate(&connection, &path, &[first, broken]).is_err());
        let left: (i64, i64) = connection
            .query_row(
                "SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .expect("numbers");
        assert_eq!(left, (1, 1));
    }
}
