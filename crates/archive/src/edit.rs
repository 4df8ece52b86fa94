//! What people add to runs: tags, notes, names of baselines.

use rusqlite::params;

use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::id::RunId;
use crate::query::Query;
use crate::selector::{Selection, Selector};

/// Changes of an archive; each is one transaction.
#[derive(Debug)]
pub struct Edit<'a> {
    archive: &'a Archive,
}

impl<'a> Edit<'a> {
    /// Of an archive that was opened for writing.
    #[must_use]
    pub const fn new(archive: &'a Archive) -> Self {
        Self { archive }
    }

    /// Gives runs a tag, in the place of an earlier value; takes it away without a value.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn tag(&self, runs: &[RunId], key: &str, value: Option<&str>) -> Result<(), ArchiveError> {
        self.each(runs, |connection, run| match value {
            Some(value) => connection.execute(
                "INSERT OR REPLACE INTO tag VALUES (?1, ?2, ?3)",
                params![run.0, key, value],
            ),
            None => connection.execute(
                "DELETE FROM tag WHERE run = ?1 AND key = ?2",
                params![run.0, key],
            ),
        })
    }

    /// Writes a note to runs, in the place of an earlier one; an empty one takes it away.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note(&self, runs: &[RunId], text: &str) -> Result<(), ArchiveError> {
        let text = Some(text).filter(|text| !text.is_empty());
        self.each(runs, |connection, run| {
            let sql = "UPDATE run SET note = ?2 WHERE id = ?1";
            connection.execute(sql, params![run.0, text])
        })
    }

    /// Removes runs.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn remove(&self, runs: &[RunId]) -> Result<(), ArchiveError> {
        self.each(runs, |connection, run| {
            connection.execute("DELETE FROM run WHERE id = ?1", [run.0])
        })
    }

    /// Names a baseline, in the place of an earlier one, at `now`, milliseconds since 1970. What
    /// `last` is now stays the baseline. Returns the runs that it names.
    ///
    /// # Errors
    /// No run is meant, or the file cannot be written.
    pub fn name_baseline(
        &self,
        name: &str,
        selection: &Selection,
        now: i64,
    ) -> Result<Vec<RunId>, ArchiveError> {
        let runs = Query::new(self.archive).ids(selection)?;
        let fleeting = |part: &Selector| matches!(part, Selector::Last(_) | Selector::Baseline(_));
        let selector = if selection.parts().iter().any(fleeting) {
            let names: Vec<String> = runs.iter().map(RunId::to_string).collect();
            names.join("+")
        } else {
            selection.to_string()
        };
        let transaction = self.archive.transaction()?;
        transaction
            .execute(
                "INSERT OR REPLACE INTO baseline VALUES (?1, ?2, ?3)",
                params![name, selector, now],
            )
            .and_then(|_| transaction.commit())
            .map_err(|cause| self.archive.failed(&cause))?;
        Ok(runs)
    }

    /// Forgets a baseline; its runs stay.
    ///
    /// # Errors
    /// There is none of this name, or the file cannot be written.
    pub fn forget_baseline(&self, name: &str) -> Result<(), ArchiveError> {
        let transaction = self.archive.transaction()?;
        let failed = |cause: rusqlite::Error| self.archive.failed(&cause);
        let sql = "DELETE FROM baseline WHERE name = ?1";
        let gone = transaction.execute(sql, [name]).map_err(failed)?;
        if gone == 0 {
            return Err(self.archive.no(format!("baseline {name}")));
        }
        transaction.commit().map_err(failed)
    }

    fn each(
        &self,
        runs: &[RunId],
        change: impl Fn(&rusqlite::Connection, RunId) -> rusqlite::Result<usize>,
    ) -> Result<(), ArchiveError> {
        let transaction = self.archive.transaction()?;
        runs.iter()
            .try_for_each(|run| change(&transaction, *run).map(drop))
            .and_then(|()| transaction.commit())
            .map_err(|cause| self.archive.failed(&cause))
    }
}
