//! Where runs are found: in the history, or in files.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tapeline_archive::{Archive, Query, Selection, Selector, StoredRun};
use tapeline_report::comparison::{Courses, Side};
use tapeline_report::{RunFacts, import};
use tapeline_sys::reason;

use super::say::Fault;

/// How long other writers are waited for.
const BUSY: Duration = Duration::from_secs(5);

/// The history of a job.
#[derive(Clone, Debug)]
pub(crate) struct Place(Option<PathBuf>);

/// A run that was found.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// In the history.
    Kept(Box<StoredRun>),
    /// In a file, or measured now.
    Other {
        /// Its report with all intervals.
        document: Value,
        /// Why it does not count in its series.
        left_out: Option<String>,
    },
}

impl Found {
    /// What is known of it.
    pub(crate) fn facts(&self) -> RunFacts {
        match self {
            Self::Kept(run) => run.facts(),
            Self::Other { document, left_out } => RunFacts {
                left_out: left_out.clone(),
                ..RunFacts::from_document(document)
            },
        }
    }

    /// Its report with all intervals.
    pub(crate) fn whole_document(&self) -> Value {
        match self {
            Self::Kept(run) => run.whole_document(),
            Self::Other { document, .. } => document.clone(),
        }
    }

    /// What it is called.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Kept(run) => run.id.to_string(),
            Self::Other { .. } => "a run".to_owned(),
        }
    }
}

impl Place {
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Self(file)
    }

    /// The file.
    pub(crate) fn path(&self) -> Result<&Path, Fault> {
        let path = self.0.as_deref();
        path.ok_or_else(|| Fault::Usage("there is no home folder: set --history FILE".to_owned()))
    }

    pub(crate) fn read(&self) -> Result<Archive, Fault> {
        Ok(Archive::open_to_read(self.path()?)?)
    }

    /// Opens the file for changes; it is not made.
    pub(crate) fn change(&self) -> Result<Archive, Fault> {
        let path = self.path()?;
        drop(Archive::open_to_read(path)?);
        Ok(Archive::open_to_write(path, BUSY)?)
    }

    /// The runs that words name; a file of that name counts first.
    pub(crate) fn find(&self, words: &str) -> Result<Vec<Found>, Fault> {
        self.select(&selection(words)?)
    }

    /// The runs of a selection.
    pub(crate) fn select(&self, selection: &Selection) -> Result<Vec<Found>, Fault> {
        let mut found = Vec::new();
        for part in selection.parts() {
            match part {
                Selector::File(path) => found.extend(of_file(path)?),
                kept => {
                    let archive = self.read()?;
                    let runs = Query::new(&archive).runs(&kept.clone().into())?;
                    let known = |run: &StoredRun| {
                        found
                            .iter()
                            .any(|one| matches!(one, Found::Kept(its) if its.id == run.id))
                    };
                    let new: Vec<StoredRun> = runs.into_iter().filter(|run| !known(run)).collect();
                    found.extend(new.into_iter().map(|run| Found::Kept(Box::new(run))));
                }
            }
        }
        Ok(found)
    }

    /// The same as a side of a comparison.
    pub(crate) fn side(&self, words: &str) -> Result<FoundSide, Fault> {
        Ok(FoundSide::new(words, self.find(words)?))
    }
}

/// The runs of a side of a comparison.
#[derive(Clone, Debug)]
pub(crate) struct FoundSide {
    name: String,
    runs: Vec<Found>,
}

impl FoundSide {
    pub(crate) fn new(name: &str, runs: Vec<Found>) -> Self {
        Self {
            name: name.to_owned(),
            runs,
        }
    }

    pub(crate) fn extend(&mut self, runs: Vec<Found>) {
        self.runs.extend(runs);
    }

    /// What is compared of it.
    pub(crate) fn side(&self) -> Side {
        Side {
            name: self.name.clone(),
            runs: self.runs.iter().map(Found::facts).collect(),
        }
    }

    /// The runs that count.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &Found> {
        self.runs.iter().filter(|run| run.facts().counts())
    }
}

/// The courses of both sides.
pub(crate) fn courses(a: &FoundSide, b: &FoundSide) -> Courses {
    let [a, b] = [a, b].map(|side| side.counted().map(Found::whole_document));
    Courses::new(a, b)
}

/// Words that name runs; a file of that name counts first.
pub(crate) fn selection(words: &str) -> Result<Selection, Fault> {
    let path = Path::new(words);
    if path.is_file() {
        return Ok(Selector::File(path.to_owned()).into());
    }
    Selection::parse(words).map_err(|error| Fault::Usage(error.to_string()))
}

/// A file's bytes, up to what is read of one.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| {
            file.take(import::MAX_BYTES as u64 + 1)
                .read_to_end(&mut bytes)
        })
        .map_err(|error| Fault::Failure(format!("{}: {}", path.display(), reason(&error))))?;
    Ok(bytes)
}

/// The runs of a file: a report, a series, results of iperf3.
fn of_file(path: &Path) -> Result<Vec<Found>, Fault> {
    documents(&path.display().to_string(), &bytes(path)?)
}

/// The runs of a file's bytes.
pub(crate) fn documents(name: &str, bytes: &[u8]) -> Result<Vec<Found>, Fault> {
    let runs =
        import::read(name, bytes, None).map_err(|error| Fault::Failure(error.to_string()))?;
    let runs = runs.map(|run| {
        let run = run.map_err(|error| Fault::Failure(error.to_string()))?;
        let document = run.json().and_then(|text| serde_json::from_str(&text));
        Ok(Found::Other {
            document: document.map_err(|error| Fault::Failure(format!("{name}: {error}")))?,
            left_out: run.left_out,
        })
    });
    runs.collect()
}
