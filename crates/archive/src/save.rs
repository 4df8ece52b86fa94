//! A run into the file, or beside it.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tapeline_base::SplitMix64;

use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::id::{RunId, SeriesId};
use crate::new_run::NewRun;
use crate::pending::Pending;
use crate::stored_run::series_of;
use crate::upkeep::{Bound, Room, Upkeep};

/// How long other writers are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// In SQLite, each time.
    pub busy: Duration,
    /// All times together, with pauses of random length between them.
    pub total: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            busy: Duration::from_secs(5),
            total: Duration::from_secs(30),
        }
    }
}

/// A run that is in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Its name there.
    pub run: RunId,
    /// It was not there before.
    pub is_new: bool,
    /// That of its series.
    pub series: Option<SeriesId>,
    /// The kind of the network file system that the file is on.
    pub network: Option<&'static str>,
    /// What was done to keep the file below its bound.
    pub room: Room,
}

/// A run that is not in the file.
#[derive(Debug)]
pub enum Unsaved {
    /// It waits for the next writer.
    Waits {
        /// Where.
        path: PathBuf,
        /// Why.
        why: ArchiveError,
    },
    /// It is nowhere.
    Lost {
        /// Why it is not in the file.
        why: ArchiveError,
        /// Why it is not beside it.
        and: ArchiveError,
    },
}

/// Keeps a run. What waits beside the file is taken in with it.
///
/// # Errors
/// It is not in the file, and why; it never is lost to a busy one.
pub fn save(path: &Path, bound: Bound, patience: Patience, run: &NewRun) -> Result<Saved, Unsaved> {
    let deadline = Instant::now() + patience.total;
    let mut random = SplitMix64::new(RandomState::new().hash_one(run.uuid));
    loop {
        let why = match enter(path, bound, patience.busy, run) {
            Ok(saved) => return Ok(saved),
            Err(why) => why,
        };
        let now = Instant::now();
        if !matches!(why, ArchiveError::Busy(_)) || now >= deadline {
            return Err(match Pending::new(path).put(run) {
                Ok(path) => Unsaved::Waits { path, why },
                Err(and) => Unsaved::Lost { why, and },
            });
        }
        let pause = Duration::from_millis(10 + random.below(500));
        std::thread::sleep(pause.min(deadline - now));
    }
}

fn enter(path: &Path, bound: Bound, busy: Duration, run: &NewRun) -> Result<Saved, ArchiveError> {
    let archive = Archive::open_to_write(path, busy)?;
    let transaction = archive.transaction()?;
    let entered = run
        .enter(&transaction)
        .and_then(|(id, is_new)| Ok((id, is_new, series_of(&transaction, id)?)))
        .and_then(|entered| transaction.commit().map(|()| entered));
    let (run, is_new, series) = entered.map_err(|cause| archive.failed(&cause))?;
    Pending::new(path).take_some_in(&archive);
    // The run is there: what fails now is another writer's to mend.
    let room = Upkeep::new(&archive).make_room(bound).unwrap_or_default();
    Ok(Saved {
        run,
        is_new,
        series,
        network: archive.network(),
        room,
    })
}
