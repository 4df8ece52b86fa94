//! Finding runs.

use rusqlite::{OptionalExtension, Params};

use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::id::{RunId, SeriesId};
use crate::new_run::SeriesKind;
use crate::selector::{Selection, Selector};
use crate::stored_run::StoredRun;

/// Baselines that name baselines are followed this far: a circle ends.
const MAX_DEPTH: usize = 4;

/// A baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// Its name.
    pub name: String,
    /// The runs that it names.
    pub selector: String,
    /// When it was named, milliseconds since 1970.
    pub made: i64,
}

/// What stands on its own in a list of runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A run of no series.
    Run(Box<StoredRun>),
    /// A series with all its runs, in their order.
    Series(SeriesId, Vec<StoredRun>),
}

/// Questions to an archive.
#[derive(Debug)]
pub struct Query<'a> {
    archive: &'a Archive,
}

impl<'a> Query<'a> {
    /// To an archive.
    #[must_use]
    pub const fn new(archive: &'a Archive) -> Self {
        Self { archive }
    }

    /// The runs of a selection, each once, in its order; series and `last` from the first to the
    /// latest.
    ///
    /// # Errors
    /// Something that it names is not there, or it names a file.
    pub fn ids(&self, selection: &Selection) -> Result<Vec<RunId>, ArchiveError> {
        let mut found = Vec::new();
        self.collect(selection, MAX_DEPTH, &mut found)?;
        Ok(found)
    }

    /// The same with all that is known of them.
    ///
    /// # Errors
    /// As [`Query::ids`].
    pub fn runs(&self, selection: &Selection) -> Result<Vec<StoredRun>, ArchiveError> {
        let ids = self.ids(selection)?;
        ids.into_iter().map(|id| self.run(id)).collect()
    }

    /// A run.
    ///
    /// # Errors
    /// It is not there.
    pub fn run(&self, id: RunId) -> Result<StoredRun, ArchiveError> {
        let columns = StoredRun::COLUMNS;
        let sql = format!("SELECT {columns} FROM run WHERE id = ?1");
        let connection = self.archive.connection();
        let found = connection.query_row(&sql, [id.0], StoredRun::read);
        let found = found.optional().map_err(|cause| self.failed(&cause))?;
        let mut run = found.ok_or_else(|| self.archive.no(format!("run {id}")))?;
        let mut tags = connection
            .prepare("SELECT key, value FROM tag WHERE run = ?1")
            .map_err(|cause| self.failed(&cause))?;
        run.tags = tags
            .query_map([id.0], |row| Ok((row.get(0)?, row.get(1)?)))
            .and_then(Iterator::collect)
            .map_err(|cause| self.failed(&cause))?;
        Ok(run)
    }

    /// The latest runs and series, the latest first, at most `most` of them.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn latest(&self, most: usize) -> Result<Vec<Entry>, ArchiveError> {
        let sql = "SELECT id, series FROM run ORDER BY started DESC, id DESC";
        let failed = |cause: rusqlite::Error| self.failed(&cause);
        let mut statement = self.archive.connection().prepare(sql).map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        let mut names: Vec<(RunId, Option<SeriesId>)> = Vec::new();
        while names.len() < most
            && let Some(row) = rows.next().map_err(failed)?
        {
            let id = RunId(row.get(0).map_err(failed)?);
            let series: Option<i64> = row.get(1).map_err(failed)?;
            let series = series.map(SeriesId);
            if series.is_none() || names.iter().all(|(_, known)| *known != series) {
                names.push((id, series));
            }
        }
        let entries = names.into_iter().map(|(id, series)| match series {
            None => Ok(Entry::Run(Box::new(self.run(id)?))),
            Some(series) => {
                let ids = self.of_series(series)?;
                let runs = ids.into_iter().map(|id| self.run(id));
                Ok(Entry::Series(series, runs.collect::<Result<_, _>>()?))
            }
        });
        entries.collect()
    }

    /// What the newest series of a kind was planned as, of those whose plan has a member.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn newest_plan(
        &self,
        kind: SeriesKind,
        member: &str,
    ) -> Result<Option<String>, ArchiveError> {
        let sql = "SELECT plan FROM series WHERE kind = ?1 AND instr(plan, ?2) > 0 \
                   ORDER BY started DESC, id DESC LIMIT 1";
        let wanted = [kind.id().to_owned(), format!("\"{member}\":")];
        let connection = self.archive.connection();
        let found = connection.query_row(sql, wanted, |row| row.get(0));
        found.optional().map_err(|cause| self.failed(&cause))
    }

    /// Of each pair of hosts the newest client's run with a tag, if it began at `since` (milliseconds since
    /// 1970) or later. The tag's value is a pattern of SQLite's GLOB.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn newest_of_pairs(
        &self,
        (tag, pattern): (&str, &str),
        since: i64,
    ) -> Result<Vec<StoredRun>, ArchiveError> {
        let sql = "SELECT id, max(started) FROM run JOIN tag ON tag.run = run.id
                   WHERE tag.key = ?1 AND tag.value GLOB ?2 AND started >= ?3 AND role = 'client'
                     AND from_host IS NOT NULL AND to_host IS NOT NULL
                   GROUP BY from_host, to_host ORDER BY from_host, to_host";
        let failed = |cause: rusqlite::Error| self.failed(&cause);
        let mut statement = self.archive.connection().prepare(sql).map_err(failed)?;
        let found = statement.query_map((tag, pattern, since), |row| Ok(RunId(row.get(0)?)));
        let ids: Vec<RunId> = found.and_then(Iterator::collect).map_err(failed)?;
        ids.into_iter().map(|id| self.run(id)).collect()
    }

    /// How many runs and series there are.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn counts(&self) -> Result<(u64, u64), ArchiveError> {
        let sql = "SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM series)";
        let connection = self.archive.connection();
        connection
            .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(|cause| self.failed(&cause))
    }

    /// All baselines, by their names.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn baselines(&self) -> Result<Vec<Baseline>, ArchiveError> {
        let sql = "SELECT name, selector, made FROM baseline ORDER BY name";
        let connection = self.archive.connection();
        let mut statement = connection
            .prepare(sql)
            .map_err(|cause| self.failed(&cause))?;
        statement
            .query_map([], |row| {
                Ok(Baseline {
                    name: row.get(0)?,
                    selector: row.get(1)?,
                    made: row.get(2)?,
                })
            })
            .and_then(Iterator::collect)
            .map_err(|cause| self.failed(&cause))
    }

    fn collect(
        &self,
        selection: &Selection,
        depth: usize,
        found: &mut Vec<RunId>,
    ) -> Result<(), ArchiveError> {
        for part in selection.parts() {
            let ids = match part {
                Selector::Run(id) => self.list("SELECT id FROM run WHERE id = ?1", [id.0])?,
                Selector::Runs(first, last) => self.list(
                    "SELECT id FROM run WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
                    [first.0, last.0],
                )?,
                Selector::Series(series) => self.of_series(*series)?,
                Selector::Last(count) => {
                    let mut ids = self.list(
                        "SELECT id FROM run ORDER BY started DESC, id DESC LIMIT ?1",
                        [count],
                    )?;
                    ids.reverse();
                    ids
                }
                Selector::Tag(key, Some(value)) => self.list(
                    "SELECT run FROM tag WHERE key = ?1 AND value = ?2 ORDER BY run",
                    [key, value],
                )?,
                Selector::Tag(key, None) => {
                    self.list("SELECT run FROM tag WHERE key = ?1 ORDER BY run", [key])?
                }
                Selector::Baseline(name) => {
                    let inner = self.baseline(name)?;
                    if depth == 0 {
                        return Err(self.archive.no(format!("end of baseline {name}")));
                    }
                    self.collect(&inner, depth - 1, found)?;
                    continue;
                }
                Selector::File(_) => Vec::new(),
            };
            if ids.is_empty() {
                let what = match part {
                    Selector::Run(_) => "run ",
                    Selector::Series(_) => "series ",
                    _ => "runs ",
                };
                return Err(self.archive.no(format!("{what}{part}")));
            }
            for id in ids {
                if !found.contains(&id) {
                    found.push(id);
                }
            }
        }
        Ok(())
    }

    fn baseline(&self, name: &str) -> Result<Selection, ArchiveError> {
        let sql = "SELECT selector FROM baseline WHERE name = ?1";
        let connection = self.archive.connection();
        let found = connection.query_row(sql, [name], |row| row.get::<_, String>(0));
        let found = found.optional().map_err(|cause| self.failed(&cause))?;
        let selection = found.and_then(|text| Selection::parse(&text).ok());
        selection.ok_or_else(|| self.archive.no(format!("baseline {name}")))
    }

    fn of_series(&self, series: SeriesId) -> Result<Vec<RunId>, ArchiveError> {
        self.list(
            "SELECT id FROM run WHERE series = ?1 ORDER BY id",
            [series.0],
        )
    }

    fn list(&self, sql: &str, parameters: impl Params) -> Result<Vec<RunId>, ArchiveError> {
        self.archive
            .connection()
            .prepare(sql)
            .and_then(|mut statement| {
                let ids = statement.query_map(parameters, |row| row.get(0).map(RunId))?;
                ids.collect()
            })
            .map_err(|cause| self.failed(&cause))
    }

    fn failed(&self, cause: &rusqlite::Error) -> ArchiveError {
        self.archive.failed(cause)
    }
}
