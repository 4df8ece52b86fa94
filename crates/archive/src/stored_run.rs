//! A run that is in the file.

use std::collections::BTreeMap;

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use rusqlite::{Connection, Row};
use serde_json::Value;
use tapeline_report::RunFacts;

use crate::id::{RunId, SeriesId};

/// Bytes that the intervals of a run have at most: half a million of 680.
const MAX_INTERVAL_BYTES: usize = 512 << 20;

/// A run that is in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// Its name.
    pub id: RunId,
    /// The series that it belongs to.
    pub series: Option<SeriesId>,
    /// Why it does not count in its series.
    pub left_out: Option<String>,
    /// When it began, milliseconds since 1970.
    pub started: i64,
    /// What it comes from: `tapeline 0.2.0`, `import:iperf3-json`.
    pub origin: String,
    /// The host that it was measured from, where that was named.
    pub from_host: Option<String>,
    /// The host that it was measured towards.
    pub to_host: Option<String>,
    /// What somebody wrote of it.
    pub note: Option<String>,
    /// Words to find it by.
    pub tags: BTreeMap<String, String>,
    /// Its document without intervals.
    pub document: Value,
    intervals: Option<Vec<u8>>,
}

impl StoredRun {
    /// What its document says of it, with its name and whether it counts.
    #[must_use]
    pub fn facts(&self) -> RunFacts {
        RunFacts {
            name: Some(self.id.to_string()),
            started: Some(self.started),
            left_out: self.left_out.clone(),
            host: self.to_host.clone(),
            ..RunFacts::from_document(&self.document)
        }
    }

    /// Its document with its intervals, as far as they have been kept.
    #[must_use]
    pub fn whole_document(&self) -> Value {
        let mut document = self.document.clone();
        let intervals = self.intervals.as_ref().and_then(|deflated| {
            let bytes = decompress_to_vec_zlib_with_limit(deflated, MAX_INTERVAL_BYTES).ok()?;
            serde_json::from_slice::<Value>(&bytes).ok()
        });
        if let Some(intervals) = intervals {
            document["intervals"] = intervals;
        }
        document
    }

    /// Whether its intervals have been kept.
    #[must_use]
    pub fn has_intervals(&self) -> bool {
        self.intervals.is_some()
    }

    /// The columns that [`StoredRun::read`] reads.
    pub(crate) const COLUMNS: &str =
        "id, series, left_out, started, origin, from_host, note, document, intervals, to_host";

    /// Of a row, without its tags.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let document: String = row.get(7)?;
        Ok(Self {
            id: RunId(row.get(0)?),
            series: row.get::<_, Option<i64>>(1)?.map(SeriesId),
            left_out: row.get(2)?,
            started: row.get(3)?,
            origin: row.get(4)?,
            from_host: row.get(5)?,
            to_host: row.get(9)?,
            note: row.get(6)?,
            tags: BTreeMap::new(),
            document: serde_json::from_str(&document).unwrap_or_default(),
            intervals: row.get(8)?,
        })
    }
}

/// The series of a run.
pub(crate) fn series_of(connection: &Connection, run: RunId) -> rusqlite::Result<Option<SeriesId>> {
    let sql = "SELECT series FROM run WHERE id = ?1";
    let series = connection.query_row(sql, [run.0], |row| row.get::<_, Option<i64>>(0))?;
    Ok(series.map(SeriesId))
}
