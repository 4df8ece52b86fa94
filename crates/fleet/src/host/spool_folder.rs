//! Files that outlive an agent: what it keeps, and results that wait for the collector.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tapeline_sys::FileLock;

use crate::agent::{Kept, Spooled};
use crate::job::ResultKey;
use crate::message::ResultMessage;
use crate::whole_file::{PART, Readers, write_whole};

/// What the agent keeps.
const KEPT: &str = "kept.json";
/// The folder of results.
const RESULTS: &str = "results";
/// How their files end.
const RESULT: &str = "result";
/// What the agent locks as long as it lives.
const OWNER: &str = "agent.lock";

/// The folder of a spool.
#[derive(Debug)]
pub(crate) struct SpoolFolder {
    folder: PathBuf,
    /// The number of each result's file.
    files: BTreeMap<ResultKey, u64>,
    last: u64,
    /// Two agents would send each other's results, and take turns in one host's slot.
    _owner: FileLock,
}

impl SpoolFolder {
    /// Opens it, with what it holds: the results from the oldest on.
    ///
    /// # Errors
    /// A folder or a file cannot be had, or another agent has the folder.
    pub(crate) fn open(folder: &Path) -> io::Result<(Self, Kept, Vec<Spooled>)> {
        let results = folder.join(RESULTS);
        fs::create_dir_all(&results)?;
        let owner = FileLock::take(&folder.join(OWNER))?.ok_or_else(|| {
            io::Error::other("another agent uses it: give each one its own, spool = in agent.toml")
        })?;
        let kept = match fs::read(folder.join(KEPT)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Kept::default(),
            Err(error) => return Err(error),
        };
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&results)? {
            let path = entry?.path();
            let number = path
                .file_stem()
                .and_then(|stem| stem.to_str()?.parse().ok());
            match (number, path.extension().and_then(|end| end.to_str())) {
                (Some(number), Some(RESULT)) => {
                    found.insert(number, path);
                }
                // Of a process that was killed.
                (_, Some(PART)) => fs::remove_file(&path)?,
                _ => {}
            }
        }
        let mut spool = Self {
            folder: folder.to_owned(),
            files: BTreeMap::new(),
            last: found.keys().next_back().copied().unwrap_or_default(),
            _owner: owner,
        };
        let mut spooled = Vec::new();
        for (number, path) in found {
            let bytes = fs::read(&path)?;
            match ResultMessage::read(&bytes) {
                Ok(ResultMessage { key, .. }) => {
                    spool.files.insert(key.clone(), number);
                    let bytes = bytes.len() as u64;
                    spooled.push(Spooled { key, bytes });
                }
                Err(_) => fs::remove_file(&path)?,
            }
        }
        Ok((spool, kept, spooled))
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder
            .join(RESULTS)
            .join(format!("{number:012}.{RESULT}"))
    }

    /// Writes what the agent keeps.
    pub(crate) fn keep(&self, kept: &Kept) -> io::Result<()> {
        let bytes = serde_json::to_vec(kept).map_err(io::Error::other)?;
        write_whole(&self.folder.join(KEPT), &bytes, Readers::All)
    }

    /// Writes a result; the bytes of its file.
    pub(crate) fn add(&mut self, result: &ResultMessage) -> io::Result<u64> {
        let bytes = result.write();
        self.last += 1;
        write_whole(&self.path(self.last), &bytes, Readers::All)?;
        let before = self.files.insert(result.key.clone(), self.last);
        if let Some(before) = before {
            fs::remove_file(self.path(before))?;
        }
        Ok(bytes.len() as u64)
    }

    /// A result.
    pub(crate) fn read(&self, key: &ResultKey) -> Option<ResultMessage> {
        let bytes = fs::read(self.path(*self.files.get(key)?)).ok()?;
        ResultMessage::read(&bytes).ok()
    }

    /// Deletes a result.
    pub(crate) fn remove(&mut self, key: &ResultKey) -> io::Result<()> {
        match self.files.remove(key) {
            Some(number) => fs::remove_file(self.path(number)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Attempt, AttemptKey, Epoch};

    fn result(job: &str) -> ResultMessage {
        ResultMessage {
            key: ResultKey {
                of: AttemptKey {
                    job: job.parse().expect("a name"),
                    attempt: Attempt(1),
                },
                host: "fra1".parse().expect("a name"),
            },
            document: format!("\"{job}\""),
        }
    }

    #[test]
    fn results_are_found_again_from_the_oldest_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || SpoolFolder::open(folder.path()).expect("a spool");
        let (mut spool, kept, spooled) = open();
        assert_eq!((kept, spooled), (Kept::default(), Vec::new()));
        // The order of arrival is not that of names.
        let names: Vec<String> = (0..12)
            .rev()
            .map(|number| format!("run/{number}/a/b"))
            .collect();
        for name in &names {
            assert!(spool.add(&result(name)).is_ok_and(|bytes| bytes > 0));
        }
        spool.remove(&result(&names[3]).key).expect("it is there");
        let kept = Kept {
            epoch: Epoch(7),
            ..Kept::default()
        };
        spool.keep(&kept).expect("it is kept");
        drop(spool);
        let (spool, again, spooled) = open();
        assert_eq!(again, kept);
        let found: Vec<String> = spooled
            .iter()
            .map(|one| one.key.of.job.to_string())
            .collect();
        let expected: Vec<String> = names
            .iter()
            .filter(|name| **name != names[3])
            .cloned()
            .collect();
        assert_eq!(found, expected);
        assert_eq!(spool.read(&result(&names[0]).key), Some(result(&names[0])));
        assert_eq!(spool.read(&result(&names[3]).key), None);
    }

    #[test]
    fn a_result_that_was_not_written_to_its_end_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut spool, ..) = SpoolFolder::open(folder.path()).expect("a spool");
        spool.add(&result("j1")).expect("it is written");
        let results = folder.path().join(RESULTS);
        fs::write(results.join(".000000000002.result.7.part"), "{").expect("a file");
        fs::write(results.join("000000000003.result"), "{").expect("a file");
        drop(spool);
        let (_, _, spooled) = SpoolFolder::open(folder.path()).expect("a spool");
        assert_eq!(spooled.len(), 1);
        assert_eq!(fs::read_dir(results).expect("a folder").count(), 1);
    }
    #[test]
    fn a_second_agent_is_refused_as_long_as_the_first_has_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = SpoolFolder::open(folder.path()).expect("a spool");
        let refused = SpoolFolder::open(folder.path()).expect_err("it is taken");
        assert!(refused.to_string().contains("spool ="), "{refused}");
        drop(first);
        SpoolFolder::open(folder.path()).expect("it is free");
    }
}
