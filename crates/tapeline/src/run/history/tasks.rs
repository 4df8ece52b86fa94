//! `tapeline history`.

use std::path::Path;

use tapeline_archive::{
    Bound, Edit, Entry, Keep, NewRun, NewSeries, Patience, Query, RunId, Saved, SeriesKind,
    StoredRun, Unsaved, Upkeep, Uuid, save,
};
use tapeline_base::ExitCode;
use tapeline_report::comparison::runs_words;
use tapeline_report::document::WholeDocument;
use tapeline_report::stored::{
    HistoryDocument, HistoryRun, ListEntry, StoredCsv, StoredCsvRows, list, show,
};
use tapeline_report::{KeptRun, import, iperf3_document, kept_series_page};

use super::place::{Found, Place, bytes, selection};
use super::say::{Fault, deliver, json, note, print, write};
use crate::message::cannot;
use crate::plan::{Destination, Export, HistoryJob, HistoryTask, ImportTask};
use crate::run::saving::now;

/// Does the job.
pub(crate) fn history(job: &HistoryJob) -> ExitCode {
    let place = Place::new(job.file.clone());
    match perform(job, &place) {
        Ok(code) => code,
        Err(fault) => fault.say(),
    }
}

fn perform(job: &HistoryJob, place: &Place) -> Result<ExitCode, Fault> {
    match &job.task {
        HistoryTask::List { runs, most, json } => {
            let entries = entries(place, runs.as_deref(), *most)?;
            list_entries(place, &entries, json.as_ref(), job.utc)?;
        }
        HistoryTask::Show { runs, json } => {
            let found = place.find(runs)?;
            match json {
                Some(destination) => deliver(destination, &documents(&found))?,
                None => {
                    let texts = found
                        .iter()
                        .map(|run| show(&run.name(), &run.whole_document(), job.utc));
                    print(&texts.collect::<Vec<_>>().join("\n"))?;
                }
            }
        }
        HistoryTask::Tag { runs, key, value } => {
            let archive = place.change()?;
            let ids = Query::new(&archive).ids(&selection(runs)?)?;
            Edit::new(&archive).tag(&ids, key, value.as_deref())?;
            let what = if value.is_some() {
                "tagged"
            } else {
                "untagged"
            };
            print(&format!("{what:8} {}\n", names(&ids)))?;
        }
        HistoryTask::Note { runs, text } => {
            let archive = place.change()?;
            let ids = Query::new(&archive).ids(&selection(runs)?)?;
            Edit::new(&archive).note(&ids, text)?;
            print(&format!("noted    {}\n", names(&ids)))?;
        }
        HistoryTask::Baselines => {
            let archive = place.read()?;
            let baselines = Query::new(&archive).baselines()?;
            let lines = baselines
                .iter()
                .map(|one| format!("{}  {}\n", one.name, one.selector));
            print(&lines.collect::<String>())?;
        }
        HistoryTask::NameBaseline { name, runs } => {
            let archive = place.change()?;
            let ids = Edit::new(&archive).name_baseline(name, &selection(runs)?, now())?;
            print(&format!("baseline {name}: {}\n", names(&ids)))?;
        }
        HistoryTask::ForgetBaseline(name) => {
            Edit::new(&place.change()?).forget_baseline(name)?;
        }
        HistoryTask::Import(task) => return import_files(place, task),
        HistoryTask::Export { runs, form, file } => {
            let found = match runs {
                Some(runs) => place.find(runs)?,
                None => all(place)?,
            };
            let text = export(&found, *form)?;
            match file {
                Some(file) => write(file, &text)?,
                None => print(&text)?,
            }
        }
        HistoryTask::Prune {
            older,
            keep_tagged,
            intervals,
        } => {
            let archive = place.change()?;
            let upkeep = Upkeep::new(&archive);
            let before = now().saturating_sub(*older);
            let keep = Keep {
                tagged: *keep_tagged,
            };
            let said = if *intervals {
                format!(
                    "removed  the intervals of {}",
                    runs_words(upkeep.prune_intervals(before)? as usize)
                )
            } else {
                format!(
                    "removed  {}",
                    runs_words(upkeep.prune(before, keep)? as usize)
                )
            };
            print(&format!("{said}\n"))?;
        }
        HistoryTask::Check => return check(place),
        HistoryTask::Path => print(&format!("{}\n", place.path()?.display()))?,
    }
    Ok(ExitCode::Success)
}

/// `r4`, `r1 to r8`, `r1, r5`.
fn names(ids: &[RunId]) -> String {
    let in_a_row = ids.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1);
    match ids {
        [first, .., last] if in_a_row => format!("{first} to {last}"),
        _ => ids
            .iter()
            .map(RunId::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    }
}

fn all(place: &Place) -> Result<Vec<Found>, Fault> {
    let archive = place.read()?;
    let (count, _) = Query::new(&archive).counts()?;
    if count == 0 {
        return Ok(Vec::new());
    }
    place.find(&format!("last:{count}"))
}

/// What is listed: the latest, or what was named.
fn entries(place: &Place, runs: Option<&str>, most: usize) -> Result<Vec<Entry>, Fault> {
    let archive = place.read()?;
    let query = Query::new(&archive);
    Ok(match runs {
        None => query.latest(most)?,
        Some(words) => {
            let runs = query.runs(&selection(words)?)?.into_iter();
            runs.map(|run| Entry::Run(Box::new(run))).collect()
        }
    })
}

fn list_entries(
    place: &Place,
    entries: &[Entry],
    destination: Option<&Destination>,
    utc: bool,
) -> Result<(), Fault> {
    let runs = entries.iter().flat_map(|entry| match entry {
        Entry::Run(run) => std::slice::from_ref(run.as_ref()),
        Entry::Series(_, runs) => runs.as_slice(),
    });
    match destination {
        Some(destination) => {
            let file = place.path()?.display().to_string();
            let document = HistoryDocument::new(file, runs.map(history_run).collect());
            deliver(destination, &json(&document))
        }
        None => {
            let lines: Vec<ListEntry> = entries.iter().map(list_entry).collect();
            print(&list(&lines, utc))
        }
    }
}

fn history_run(run: &StoredRun) -> HistoryRun {
    HistoryRun {
        name: run.id.to_string(),
        series: run.series.map(|series| series.to_string()),
        left_out: run.left_out.clone(),
        origin: run.origin.clone(),
        from_host: run.from_host.clone(),
        tags: run.tags.clone(),
        note: run.note.clone(),
        document: run.document.clone(),
    }
}

fn list_entry(entry: &Entry) -> ListEntry {
    let of = |name: String, is_series, runs: &[StoredRun]| {
        let mut tags = Vec::new();
        for (key, value) in runs.iter().flat_map(|run| &run.tags) {
            let tag = format!("{key}={value}");
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        ListEntry {
            name,
            is_series,
            runs: runs.iter().map(StoredRun::facts).collect(),
            tags,
            note: runs.iter().find_map(|run| run.note.clone()),
        }
    };
    match entry {
        Entry::Run(run) => of(
            run.id.to_string(),
            false,
            std::slice::from_ref(run.as_ref()),
        ),
        Entry::Series(series, runs) => of(series.to_string(), true, runs),
    }
}

/// Reports, one a line; a single one laid out for people.
fn documents(found: &[Found]) -> String {
    match found {
        [one] => json(&one.whole_document()),
        several => several
            .iter()
            .map(|run| format!("{}\n", run.whole_document()))
            .collect(),
    }
}

/// Runs in a form.
pub(crate) fn export(found: &[Found], form: Export) -> Result<String, Fault> {
    let table = |rows| {
        let table = StoredCsv::new(rows);
        let rows = found
            .iter()
            .map(|run| table.rows(&run.facts(), &run.whole_document()));
        table.head() + &rows.collect::<String>()
    };
    Ok(match form {
        Export::Json => found
            .iter()
            .map(|run| format!("{}\n", run.whole_document()))
            .collect(),
        Export::Numbers => table(StoredCsvRows::Numbers),
        Export::Intervals => table(StoredCsvRows::Intervals),
        Export::Iperf3Json => {
            let told = |run: &Found| {
                iperf3_document(&run.whole_document())
                    .map_err(|why| Fault::Usage(format!("{}: {why}", run.name())))
            };
            found.iter().map(told).collect::<Result<String, Fault>>()?
        }
        Export::Html => match found {
            [one] => WholeDocument::html_of(&one.whole_document()),
            [] => return Err(Fault::Usage("a page of no run has nothing".to_owned())),
            several => {
                let kept = several.iter().map(|run| KeptRun {
                    left_out: run.facts().left_out,
                    report: run.whole_document(),
                });
                kept_series_page(&kept.collect::<Vec<_>>()).map_err(Fault::Usage)?
            }
        },
    })
}

/// Takes files in; those that are good, even where others are not.
fn import_files(place: &Place, task: &ImportTask) -> Result<ExitCode, Fault> {
    let path = place.path()?;
    let (mut bad, mut kept) = (0, Vec::new());
    for file in &task.files {
        match import_file(path, file, task) {
            Ok(mut saved) => kept.append(&mut saved),
            Err(Fault::Usage(why) | Fault::Failure(why)) => {
                cannot(&why);
                bad += 1;
            }
            Err(said) => return Err(said),
        }
    }
    let ids: Vec<RunId> = kept.iter().map(|saved| saved.run).collect();
    if !ids.is_empty() {
        print(&format!("imported {}\n", names(&ids)))?;
    }
    if bad > 0 {
        note(&format!(
            "{bad} of {} files were not taken in",
            task.files.len()
        ));
        return Ok(ExitCode::Failure);
    }
    Ok(ExitCode::Success)
}

fn import_file(path: &Path, file: &Path, task: &ImportTask) -> Result<Vec<Saved>, Fault> {
    import_content(path, &file.display().to_string(), &bytes(file)?, task)
}

/// Takes in the content of a file.
pub(crate) fn import_content(
    path: &Path,
    name: &str,
    content: &[u8],
    task: &ImportTask,
) -> Result<Vec<Saved>, Fault> {
    let failed = |why: String| Fault::Failure(why);
    let runs = import::read(name, content, task.kind).map_err(|error| failed(error.to_string()))?;
    // A file is taken in whole, or not at all.
    let mut new = Vec::new();
    for run in runs {
        let run = run.map_err(|error| failed(error.to_string()))?;
        let text = run
            .json()
            .map_err(|error| failed(format!("{name}: {error}")))?;
        let document = serde_json::from_str(&text);
        let document = document.map_err(|error| failed(format!("{name}: {error}")))?;
        let mut kept =
            NewRun::new(document, now()).map_err(|error| failed(format!("{name}: {error}")))?;
        kept.uuid = Uuid::of_content(content, run.position as u64);
        kept.origin = run.origin.to_string();
        kept.left_out.clone_from(&run.left_out);
        kept.tags = task.tags.iter().cloned().collect();
        kept.series = run.series.map(|series| NewSeries {
            uuid: Uuid::of_content(content, u64::MAX - series as u64),
            started: now(),
            kind: SeriesKind::Repeat,
            plan: None,
        });
        new.push(kept);
    }
    let kept = new.iter().map(|run| {
        save(path, Bound::default(), Patience::default(), run).map_err(|unsaved| match unsaved {
            Unsaved::Waits { why, path } => failed(format!(
                "{name}: {why}; the run waits in {}",
                path.display()
            )),
            Unsaved::Lost { why, .. } => failed(format!("{name}: {why}")),
        })
    });
    kept.collect()
}

/// Looks whether the file is sound; one that is not is a failure.
fn check(place: &Place) -> Result<ExitCode, Fault> {
    let archive = place.change()?;
    let found = Upkeep::new(&archive).check()?;
    let megabytes = found.bytes as f64 / 1_048_576.0;
    let mut text = format!(
        "{}: {} and {} series, {megabytes:.1} MiB\n",
        archive.path().display(),
        runs_words(found.runs as usize),
        found.series
    );
    if found.taken_in > 0 {
        text.push_str(&format!(
            "taken in {} that waited\n",
            runs_words(found.taken_in)
        ));
    }
    for file in &found.unreadable {
        text.push_str(&format!("no run   {}\n", file.display()));
    }
    for line in &found.damage {
        text.push_str(&format!("damaged  {line}\n"));
    }
    if found.damage.is_empty() {
        text.push_str("sound    the whole file\n");
    }
    print(&text)?;
    Ok(if found.damage.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Failure
    })
}
