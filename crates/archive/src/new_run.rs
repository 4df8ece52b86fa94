//! A run that is to be kept.

use std::collections::BTreeMap;

use miniz_oxide::deflate::compress_to_vec_zlib;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tapeline_report::RunFacts;
use tapeline_report::document::SCHEMA;

use crate::id::{RunId, SeriesId, Uuid};

/// A compromise of zlib between time and size: intervals shrink to a sixth.
const DEFLATE_LEVEL: u8 = 6;

/// What runs of a series have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// One command line's (`--repeat`).
    Repeat,
    /// Many hosts', at once.
    Mesh,
    /// One plan's, again and again.
    Schedule,
}

impl SeriesKind {
    /// Its name in the file.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Mesh => "mesh",
            Self::Schedule => "schedule",
        }
    }
}

/// The series that a run belongs to; it is entered with the first of its runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSeries {
    /// What makes it the same series.
    pub uuid: Uuid,
    /// When it began, milliseconds since 1970.
    pub started: i64,
    /// What its runs have in common.
    pub kind: SeriesKind,
    /// The words of a mesh or schedule, as JSON.
    pub plan: Option<String>,
}

/// A run that is to be kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewRun {
    /// What makes it the same run; one that is there is not entered again.
    pub uuid: Uuid,
    /// When it is kept, milliseconds since 1970.
    pub saved: i64,
    /// What it comes from: `tapeline 0.2.0`, `import:iperf3-json`.
    pub origin: String,
    /// The host that it was measured from, where that was named.
    pub from_host: Option<String>,
    /// The host that it was measured towards, where that has another name than the report says.
    #[serde(default)]
    pub to_host: Option<String>,
    /// The series that it belongs to.
    pub series: Option<NewSeries>,
    /// Why it does not count in its series.
    pub left_out: Option<String>,
    /// Words to find it by.
    pub tags: BTreeMap<String, String>,
    /// Its document with all intervals.
    document: Value,
}

/// A document that is no report of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the document is no {SCHEMA}")]
pub struct NotAReport;

impl NewRun {
    /// Of a report with its intervals, which is kept at `now`, milliseconds since 1970.
    ///
    /// # Errors
    /// The document is no report of a run.
    pub fn new(document: Value, now: i64) -> Result<Self, NotAReport> {
        if document["schema"] != SCHEMA {
            return Err(NotAReport);
        }
        let version = document["version"].as_str().unwrap_or_default();
        Ok(Self {
            uuid: Uuid::at(now),
            saved: now,
            origin: format!("tapeline {version}"),
            from_host: None,
            to_host: None,
            series: None,
            left_out: None,
            tags: BTreeMap::new(),
            document,
        })
    }

    /// What the document says of the run.
    #[must_use]
    pub fn facts(&self) -> RunFacts {
        RunFacts::from_document(&self.document)
    }

    /// Enters it, inside a transaction; whether it is new. One that is there already stays as it is.
    pub(crate) fn enter(&self, connection: &Connection) -> rusqlite::Result<(RunId, bool)> {
        let known = "SELECT id FROM run WHERE uuid = ?1";
        let known = connection.query_row(known, [self.uuid.bytes()], |row| row.get(0));
        if let Some(id) = known.optional()? {
            return Ok((RunId(id), false));
        }
        let series = match &self.series {
            Some(series) => Some(series.enter(connection)?.0),
            None => None,
        };
        let facts = self.facts();
        let mut document = self.document.clone();
        let intervals = std::mem::replace(&mut document["intervals"], Value::Array(Vec::new()));
        let intervals = compress_to_vec_zlib(intervals.to_string().as_bytes(), DEFLATE_LEVEL);
        let whole = |number: Option<u64>| number.and_then(|number| i64::try_from(number).ok());
        connection.execute(
            "INSERT INTO run (uuid, series, left_out, started, saved, origin, from_host, to_host,
               peer_address, role, protocol, transport, direction, workload, streams, target_bps,
               seconds, shape, complete, error, limited_by, confidence, document, intervals)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
               ?19, ?20, ?21, ?22, ?23, ?24)",
            params![
                self.uuid.bytes(),
                series,
                self.left_out,
                facts.started.unwrap_or(self.saved),
                self.saved,
                self.origin,
                self.from_host,
                self.to_host.as_ref().or(facts.host.as_ref()),
                facts.address,
                facts.role,
                facts.protocol,
                facts.transport,
                facts.direction,
                facts.workload,
                whole(facts.streams),
                facts.target_bps,
                facts.seconds,
                shape_hash(&facts),
                facts.complete,
                facts.error,
                facts.limited_by,
                facts.confidence,
                document.to_string(),
                intervals,
            ],
        )?;
        let id = connection.last_insert_rowid();
        let mut measure = connection.prepare("INSERT INTO measure VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for one in &facts.measurements {
            let (quantity, direction) = (one.quantity, one.direction);
            measure.execute(params![id, quantity, direction, one.value, one.counted_by])?;
        }
        let mut tag = connection.prepare("INSERT INTO tag VALUES (?1, ?2, ?3)")?;
        for (key, value) in &self.tags {
            tag.execute(params![id, key, value])?;
        }
        Ok((RunId(id), true))
    }
}

impl NewSeries {
    fn enter(&self, connection: &Connection) -> rusqlite::Result<SeriesId> {
        // An insertion that is refused would take a number all the same.
        let known = "SELECT id FROM series WHERE uuid = ?1";
        let known = connection.query_row(known, [self.uuid.bytes()], |row| row.get(0));
        if let Some(id) = known.optional()? {
            return Ok(SeriesId(id));
        }
        connection.execute(
            "INSERT INTO series (uuid, started, kind, plan) VALUES (?1, ?2, ?3, ?4)",
            params![self.uuid.bytes(), self.started, self.kind.id(), self.plan],
        )?;
        Ok(SeriesId(connection.last_insert_rowid()))
    }
}

/// What makes two tests the same test, as 32 bytes.
fn shape_hash(facts: &RunFacts) -> Vec<u8> {
    let mut hasher = Sha256::new();
    for (name, answer) in facts.shape() {
        hasher.update(format!("{name}={answer}\n"));
    }
    hasher.finalize().to_vec()
}
