//! The size of the file, what is dropped from it, and whether it is sound.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rusqlite::params;

use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::id::RunId;
use crate::pending::Pending;
use crate::query::Query;
use crate::selector::Selection;

/// Runs whose intervals are dropped in one transaction.
const BATCH: i64 = 256;

/// How large the file may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Bytes. Beyond 90 % of them the oldest intervals are dropped.
    pub bytes: u64,
    /// Then the oldest runs without tag and baseline are dropped too.
    pub drops_runs: bool,
}

impl Default for Bound {
    fn default() -> Self {
        Self {
            bytes: 2 << 30,
            drops_runs: false,
        }
    }
}

/// What was done to keep the file below its bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Runs whose intervals were dropped.
    pub intervals: u64,
    /// Runs that were dropped.
    pub runs: u64,
    /// The file is still above 90 % of its bound.
    pub is_full: bool,
}

/// Which runs stay, however old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Those with a tag.
    pub tagged: bool,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What is wrong with the file, in the words of SQLite; empty of a sound one.
    pub damage: Vec<String>,
    /// Runs in it.
    pub runs: u64,
    /// Series in it.
    pub series: u64,
    /// Bytes in use.
    pub bytes: u64,
    /// Runs that had waited beside it, and are in it now.
    pub taken_in: usize,
    /// Files among those that are no runs.
    pub unreadable: Vec<PathBuf>,
}

/// Work on an archive that was opened for writing.
#[derive(Debug)]
pub struct Upkeep<'a> {
    archive: &'a Archive,
}

impl<'a> Upkeep<'a> {
    /// On an archive.
    #[must_use]
    pub const fn new(archive: &'a Archive) -> Self {
        Self { archive }
    }

    /// Bytes in use; the file may be larger, and new runs take that room.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn bytes(&self) -> Result<u64, ArchiveError> {
        let sql = "SELECT (page_count - freelist_count) * page_size
                   FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        self.number(sql)
    }

    /// Drops what is oldest until the file is small enough for its bound.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn make_room(&self, bound: Bound) -> Result<Room, ArchiveError> {
        let (most, enough) = (bound.bytes / 10 * 9, bound.bytes / 10 * 8);
        let mut room = Room::default();
        if self.bytes()? <= most {
            return Ok(room);
        }
        while self.bytes()? > enough {
            let dropped = self.execute(
                "UPDATE run SET intervals = NULL WHERE id IN (SELECT id FROM run
                   WHERE intervals IS NOT NULL ORDER BY started LIMIT ?1)",
                params![BATCH],
            )?;
            room.intervals += dropped;
            if dropped == 0 {
                break;
            }
        }
        if bound.drops_runs {
            let kept = self.kept(Keep { tagged: true })?;
            let mut old = self.oldest(i64::MAX)?.into_iter();
            while self.bytes()? > enough {
                let batch: Vec<RunId> = old
                    .by_ref()
                    .filter(|id| !kept.contains(id))
                    .take(BATCH as usize)
                    .collect();
                if batch.is_empty() {
                    break;
                }
                room.runs += self.remove(&batch)?;
            }
        }
        room.is_full = self.bytes()? > most;
        Ok(room)
    }

    /// Drops runs that began before a moment, milliseconds since 1970, and gives the room back.
    /// Those of baselines stay. Returns how many were dropped.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn prune(&self, before: i64, keep: Keep) -> Result<u64, ArchiveError> {
        let kept = self.kept(keep)?;
        let mut old = self.oldest(before)?;
        old.retain(|id| !kept.contains(id));
        let dropped = self.remove(&old)?;
        self.give_back()?;
        Ok(dropped)
    }

    /// Drops the intervals of runs that began before a moment, and gives the room back; their
    /// numbers stay. Returns of how many runs.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn prune_intervals(&self, before: i64) -> Result<u64, ArchiveError> {
        let dropped = self.execute(
            "UPDATE run SET intervals = NULL WHERE intervals IS NOT NULL AND started < ?1",
            params![before],
        )?;
        self.give_back()?;
        Ok(dropped)
    }

    /// Takes in what waits, and looks whether the file is sound.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn check(&self) -> Result<Findings, ArchiveError> {
        let (taken_in, unreadable) =
            Pending::new(self.archive.path()).take_in(self.archive, None)?;
        let connection = self.archive.connection();
        let failed = |cause: rusqlite::Error| self.archive.failed(&cause);
        let mut damage: Vec<String> = connection
            .prepare("PRAGMA integrity_check")
            .and_then(|mut check| check.query_map([], |row| row.get(0))?.collect())
            .map_err(failed)?;
        damage.retain(|line| line != "ok");
        let orphans = self.number("SELECT count(*) FROM pragma_foreign_key_check")?;
        if orphans > 0 {
            damage.push(format!("{orphans} rows belong to runs that are missing"));
        }
        let (runs, series) = Query::new(self.archive).counts()?;
        Ok(Findings {
            damage,
            runs,
            series,
            bytes: self.bytes()?,
            taken_in,
            unreadable,
        })
    }

    /// Runs that stay.
    fn kept(&self, keep: Keep) -> Result<BTreeSet<RunId>, ArchiveError> {
        let query = Query::new(self.archive);
        let mut kept = BTreeSet::new();
        for baseline in query.baselines()? {
            // One that names nothing any more keeps nothing.
            let runs = Selection::parse(&baseline.selector).map(|runs| query.ids(&runs));
            if let Ok(Ok(runs)) = runs {
                kept.extend(runs);
            }
        }
        if keep.tagged {
            kept.extend(self.list("SELECT DISTINCT run FROM tag", [])?);
        }
        Ok(kept)
    }

    fn oldest(&self, before: i64) -> Result<Vec<RunId>, ArchiveError> {
        let sql = "SELECT id FROM run WHERE started < ?1 ORDER BY started, id";
        self.list(sql, params![before])
    }

    fn list(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<RunId>, ArchiveError> {
        let connection = self.archive.connection();
        connection
            .prepare(sql)
            .and_then(|mut ids| {
                ids.query_map(parameters, |row| row.get(0).map(RunId))?
                    .collect()
            })
            .map_err(|cause| self.archive.failed(&cause))
    }

    fn remove(&self, runs: &[RunId]) -> Result<u64, ArchiveError> {
        let failed = |cause: rusqlite::Error| self.archive.failed(&cause);
        let transaction = self.archive.transaction()?;
        for run in runs {
            let sql = "DELETE FROM run WHERE id = ?1";
            transaction.execute(sql, [run.0]).map_err(failed)?;
        }
        let empty = "DELETE FROM series WHERE id NOT IN
                       (SELECT series FROM run WHERE series IS NOT NULL)";
        transaction.execute(empty, []).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(runs.len() as u64)
    }

    /// Makes the file as small as what is in it.
    fn give_back(&self) -> Result<(), ArchiveError> {
        self.execute("VACUUM", []).map(drop)
    }

    fn execute(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<u64, ArchiveError> {
        let connection = self.archive.connection();
        let changed = connection.execute(sql, parameters);
        changed
            .map(|rows| rows as u64)
            .map_err(|cause| self.archive.failed(&cause))
    }

    fn number(&self, sql: &str) -> Result<u64, ArchiveError> {
        let connection = self.archive.connection();
        connection
            .query_row(sql, [], |row| row.get(0))
            .map_err(|cause| self.archive.failed(&cause))
    }
}
