//! Runs that could not be entered yet: files beside the history, one a run.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::archive::{Archive, folder};
use crate::error::ArchiveError;
use crate::new_run::NewRun;

/// Name and version of the form of these files.
const SCHEMA: &str = "tapeline-pending/1";

/// Runs that a writer takes in beside its own: it is not to wait long.
const AT_ONCE: usize = 64;

#[derive(Serialize, Deserialize)]
struct Waiting {
    schema: String,
    /// Name of the history's file; several may be in one folder.
    history: String,
    run: NewRun,
}

/// Those of one history.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    folder: PathBuf,
    history: String,
}

impl Pending {
    /// Of the history at a path.
    pub(crate) fn new(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default();
        Self {
            folder: folder(path).join("pending"),
            history: name.to_string_lossy().into_owned(),
        }
    }

    /// Puts a run there so that it survives a crash of the machine; returns the file.
    pub(crate) fn put(&self, run: &NewRun) -> Result<PathBuf, ArchiveError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(&self.folder)
            .map_err(|error| ArchiveError::io("create", &self.folder, error))?;
        let path = self.folder.join(format!("{}.json", run.uuid));
        let part = path.with_extension("part");
        let waiting = Waiting {
            schema: SCHEMA.to_owned(),
            history: self.history.clone(),
            run: run.clone(),
        };
        let write = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&part)?;
            file.write_all(&serde_json::to_vec(&waiting)?)?;
            file.sync_all()?;
            fs::rename(&part, &path)?;
            // The name is in the folder, which is written too.
            if let Ok(folder) = File::open(&self.folder) {
                let _ = folder.sync_all();
            }
            Ok(())
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&part);
            ArchiveError::io("write", &path, error)
        })?;
        Ok(path)
    }

    /// Enters what waits, each run in a transaction of its own; returns how many there were, and
    /// files that are no runs.
    pub(crate) fn take_in(
        &self,
        archive: &Archive,
        most: Option<usize>,
    ) -> Result<(usize, Vec<PathBuf>), ArchiveError> {
        let (mut taken, mut bad) = (0, Vec::new());
        for path in self.files() {
            if taken == most.unwrap_or(usize::MAX) {
                break;
            }
            // Another writer may have taken it.
            let Ok(bytes) = fs::read(&path) else {
                continue;
            };
            let waiting = serde_json::from_slice(&bytes).ok();
            let waiting = waiting.filter(|waiting: &Waiting| waiting.schema == SCHEMA);
            let Some(waiting) = waiting else {
                bad.push(path);
                continue;
            };
            if waiting.history != self.history {
                continue;
            }
            let transaction = archive.transaction()?;
            let entered = waiting.run.enter(&transaction).map(|_| ());
            entered
                .and_then(|()| transaction.commit())
                .map_err(|cause| archive.failed(&cause))?;
            let _ = fs::remove_file(&path);
            taken += 1;
        }
        Ok((taken, bad))
    }

    /// Enters some of what waits, as far as that goes.
    pub(crate) fn take_some_in(&self, archive: &Archive) {
        let _ = self.take_in(archive, Some(AT_ONCE));
    }

    /// Its files, in the order of their names: of their time.
    fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut files: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|kind| kind == "json"))
            .collect();
        files.sort();
        files
    }
}
