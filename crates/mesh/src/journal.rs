//! What was measured, a line each, so that a mesh can go on where it stopped.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::plan::MeshPlan;

/// The form of a journal.
const SCHEMA: &str = "tapeline-mesh-journal/1";
/// Files beyond this are none of ours, bytes.
const LONGEST: u64 = 4 << 30;

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    schema: String,
    /// That of the plan.
    hash: String,
    plan: MeshPlan,
}

/// A file of results: line 1 has the plan, each further one a cell.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

/// What an earlier run left.
#[derive(Debug)]
pub struct Kept<Cell> {
    /// Its plan.
    pub plan: MeshPlan,
    /// Its cells, in the order of their ends; of one that was tried again, the last counts.
    pub cells: Vec<Cell>,
    /// Bytes of its whole lines: what a crash cut off is not among them.
    length: u64,
}

/// Why there is no journal, or no further line.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The system refuses.
    #[error("journal {path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// Its reason.
        error: io::Error,
    },
    /// The file is none, or a line of it is broken.
    #[error("{path}:{line}: {why}")]
    Line {
        /// The file.
        path: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

impl Journal {
    /// Makes a file for a plan.
    ///
    /// # Errors
    /// The file exists, or cannot be written.
    pub fn create(path: &Path, plan: &MeshPlan) -> Result<Self, JournalError> {
        let made = OpenOptions::new().append(true).create_new(true).open(path);
        let mut journal = Self {
            file: made.map_err(|error| failed(path, error))?,
            path: path.to_owned(),
        };
        journal.append(&Head {
            schema: SCHEMA.to_owned(),
            hash: plan.hash(),
            plan: plan.clone(),
        })?;
        Ok(journal)
    }

    /// Reads what an earlier run left.
    ///
    /// # Errors
    /// The file cannot be read, is no journal, or a line before the last is broken.
    pub fn read<Cell: DeserializeOwned>(path: &Path) -> Result<Kept<Cell>, JournalError> {
        let broken = |line, why: String| JournalError::Line {
            path: path.display().to_string(),
            line,
            why,
        };
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes));
        read.map_err(|error| failed(path, error))?;
        // A line without its end was being written when the program was cut off.
        let mut lines = bytes
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| line.ends_with(b"\n"));
        let first = lines
            .next()
            .ok_or_else(|| broken(1, "no journal of a mesh".to_owned()))?;
        let head: Head = serde_json::from_slice(first)
            .map_err(|error| broken(1, format!("no journal of a mesh: {error}")))?;
        if head.schema != SCHEMA || head.hash != head.plan.hash() {
            return Err(broken(1, "the plan is not as it was written".to_owned()));
        }
        let mut length = first.len();
        let mut cells = Vec::new();
        for (number, line) in (2..).zip(lines) {
            let cell = serde_json::from_slice(line);
            cells.push(cell.map_err(|error| broken(number, format!("no cell: {error}")))?);
            length += line.len();
        }
        Ok(Kept {
            plan: head.plan,
            cells,
            length: length as u64,
        })
    }

    /// Opens a file that was read, for further cells.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn resume<Cell>(path: &Path, kept: &Kept<Cell>) -> Result<Self, JournalError> {
        let opened = OpenOptions::new().append(true).open(path);
        let file = opened.and_then(|file| file.set_len(kept.length).map(|()| file));
        Ok(Self {
            file: file.map_err(|error| failed(path, error))?,
            path: path.to_owned(),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a cell, and waits until it is on the disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(&mut self, cell: &impl Serialize) -> Result<(), JournalError> {
        let line = serde_json::to_vec(cell).map_err(io::Error::from);
        let written = line.and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)?;
            self.file.sync_data()
        });
        written.map_err(|error| failed(&self.path, error))
    }
}

fn failed(path: &Path, error: io::Error) -> JournalError {
    JournalError::Io {
        path: path.display().to_string(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::samples;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    #[test]
    fn a_mesh_goes_on_behind_its_last_whole_line() {
        let folder = folder();
        let path = folder.path().join("mesh.ndjson");
        let plan = samples::full(3);
        let mut journal = Journal::create(&path, &plan).expect("a journal");
        for cell in [1, 2] {
            journal.append(&cell).expect("written");
        }
        let mut file = OpenOptions::new()
            .append(true)
            .open(&path)
            .expect("the file");
        file.write_all(b"{\"half\":").expect("written");
        drop((file, journal));

        let kept: Kept<u32> = Journal::read(&path).expect("a journal");
        assert_eq!((&kept.plan, &kept.cells[..]), (&plan, &[1, 2][..]));
        let mut journal = Journal::resume(&path, &kept).expect("a journal");
        journal.append(&3).expect("written");
        let kept: Kept<u32> = Journal::read(&path).expect("a journal");
        assert_eq!(kept.cells, [1, 2, 3]);
        assert!(Journal::create(&path, &plan).is_err());
    }

    #[test]
    fn what_is_no_journal_is_refused_with_its_line() {
        let folder = folder();
        let path = folder.path().join("mesh.ndjson");
        let plan = samples::full(3);
        drop(Journal::create(&path, &plan).expect("a journal"));
        let good = std::fs::read_to_string(&path).expect("a text");
        for (text, part) in [
            (String::new(), "1: no journal"),
            ("{}\n".to_owned(), "1: no journal"),
            (good.replace("\"h1\"", "\"h9\""), "1: the plan is not"),
            (good.clone() + "1\nx\n2\n", "3: no cell"),
        ] {
            std::fs::write(&path, text).expect("written");
            let error = Journal::read::<u32>(&path).expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        }
        let missing = folder.path().join("none");
        assert!(Journal::read::<u32>(&missing).is_err());
    }
}
