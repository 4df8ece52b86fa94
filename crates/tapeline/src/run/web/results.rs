//! The history, and what is read from documents, for the page.

use std::path::PathBuf;

use serde_json::{Value, json};
use tapeline_archive::{Edit, Entry, Query, RunId, SeriesKind, StoredRun};
use tapeline_base::WallTime;
use tapeline_mesh::HostsFile;
use tapeline_report::comparison::{self, CompareOptions, Comparison};
use tapeline_report::document::WholeDocument;
use tapeline_report::stored::show;
use tapeline_report::{Better, Calendar, QUANTITIES, RunFacts};
use tapeline_web::{CompareRequest, Form, MeshCommand, MeshRequest, Refusal};

use crate::cli::flows;
use crate::identity;
use crate::plan::{Export, ImportTask};
use crate::run::history::{
    Fault, Found, FoundSide, Place, courses, documents, export, import_content,
};

/// Changes up to this share are of no interest, unless the page says otherwise.
const NOTICE: f64 = 0.02;

/// The results that the page shows.
#[derive(Debug)]
pub(crate) struct Results {
    place: Place,
}

impl Results {
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Self {
            place: Place::new(file),
        }
    }

    /// A result from the lines of `--json-stream`.
    pub(crate) fn of_stream(stream: &[u8], form: Form) -> Result<String, Refusal> {
        let found = documents("the test", stream).map_err(refusal)?;
        if found.is_empty() {
            return Err(Refusal::Missing("the test has no result".to_owned()));
        }
        shown(&found, form)
    }

    /// Runs of the history, the latest first.
    pub(crate) fn list(
        &self,
        runs: Option<&str>,
        most: usize,
        without: &[String],
    ) -> Result<Value, Refusal> {
        let path = self.place.path().map_err(refusal)?;
        let none = || json!({ "file": path, "total": 0, "runs": [], "quantities": quantities() });
        if !path.exists() {
            return Ok(none());
        }
        let archive = self.place.read().map_err(refusal)?;
        let query = Query::new(&archive);
        let (total, _) = query.counts().map_err(|error| failed(&error))?;
        let mut found = match runs {
            Some(words) => {
                let runs = query.runs(&kept(words)?);
                runs.map_err(|error| Refusal::Wrong(error.to_string()))?
            }
            None => {
                let entries = query.latest(most).map_err(|error| failed(&error))?;
                let runs = entries.into_iter().flat_map(|entry| match entry {
                    Entry::Run(run) => vec![*run],
                    Entry::Series(_, runs) => runs,
                });
                runs.collect()
            }
        };
        found.sort_by_key(|run| std::cmp::Reverse((run.started, run.id.0)));
        found.retain(|run| !without.contains(&run.id.to_string()));
        found.truncate(most);
        let rows: Vec<Value> = found.iter().map(row).collect();
        Ok(json!({ "file": path, "total": total, "runs": rows, "quantities": quantities() }))
    }

    /// One run in a form.
    pub(crate) fn run(&self, name: &str, form: Form) -> Result<String, Refusal> {
        let found = self.find(name)?;
        shown(&found, form)
    }

    /// The latest run of the history.
    pub(crate) fn latest(&self) -> Option<RunFactsAndCommand> {
        let archive = self.place.read().ok()?;
        let entries = Query::new(&archive).latest(1).ok()?;
        let run = match entries.into_iter().next()? {
            Entry::Run(run) => *run,
            Entry::Series(_, runs) => runs.into_iter().last()?,
        };
        Some(RunFactsAndCommand {
            role: run.document["test"]["role"].as_str()?.to_owned(),
            command: run.document["command"].as_str()?.to_owned(),
            is_own: run.origin.starts_with("tapeline "),
        })
    }

    /// The words of the latest mesh, if its file of hosts is known.
    pub(crate) fn latest_mesh(&self) -> Option<MeshRequest> {
        let archive = self.place.read().ok()?;
        let plan = Query::new(&archive)
            .newest_plan(SeriesKind::Mesh, "file")
            .ok()??;
        let plan: Value = serde_json::from_str(&plan).ok()?;
        let words = plan["test"].as_array()?.iter().filter_map(Value::as_str);
        let words: Vec<String> = words.map(str::to_owned).collect();
        let hosts = plan["file"].as_str()?.to_owned();
        // What the file says of a test needs no options beside it.
        let own = HostsFile::read(MeshCommand::HOSTS, &hosts).ok()?.test;
        let own = own.and_then(|own| flows::words(&own.text));
        let given = Some(words).filter(|words| own.as_ref() != Some(words));
        Some(MeshRequest {
            hosts,
            pattern: plan["pattern"].as_str()?.to_owned(),
            test: identity::command(given.unwrap_or_default().into_iter()),
        })
    }

    /// The names of runs.
    pub(crate) fn names(&self, runs: &str) -> Result<Vec<String>, Refusal> {
        let archive = self.place.read().map_err(refusal)?;
        let ids = Query::new(&archive).ids(&kept(runs)?);
        let ids = ids.map_err(|error| Refusal::Wrong(error.to_string()))?;
        Ok(ids.iter().map(RunId::to_string).collect())
    }

    /// Writes a note.
    pub(crate) fn note(&self, runs: &str, text: &str) -> Result<Vec<String>, Refusal> {
        self.edit(runs, |edit, ids| edit.note(ids, text))
    }

    /// Gives or takes a tag.
    pub(crate) fn tag(
        &self,
        runs: &str,
        key: &str,
        value: Option<&str>,
    ) -> Result<Vec<String>, Refusal> {
        if key.is_empty() || key.contains('=') {
            return Err(Refusal::Wrong("a tag needs a name without =".to_owned()));
        }
        self.edit(runs, |edit, ids| edit.tag(ids, key, value))
    }

    /// Removes runs.
    pub(crate) fn remove(&self, runs: &[String]) -> Result<(), Refusal> {
        // Somebody else may have removed some of them.
        let there: Vec<String> = runs
            .iter()
            .filter(|run| self.names(run).is_ok())
            .cloned()
            .collect();
        if there.is_empty() {
            return Ok(());
        }
        self.edit(&there.join("+"), |edit, ids| edit.remove(ids))
            .map(drop)
    }

    fn edit(
        &self,
        runs: &str,
        change: impl FnOnce(&Edit<'_>, &[RunId]) -> Result<(), tapeline_archive::ArchiveError>,
    ) -> Result<Vec<String>, Refusal> {
        let archive = self.place.change().map_err(refusal)?;
        let ids = Query::new(&archive).ids(&kept(runs)?);
        let ids = ids.map_err(|error| Refusal::Wrong(error.to_string()))?;
        change(&Edit::new(&archive), &ids).map_err(|error| failed(&error))?;
        Ok(ids.iter().map(RunId::to_string).collect())
    }

    /// Takes in a file.
    pub(crate) fn import(&self, name: &str, content: &[u8]) -> Result<Vec<String>, Refusal> {
        let task = ImportTask {
            files: Vec::new(),
            kind: None,
            tags: Vec::new(),
        };
        let path = self.place.path().map_err(refusal)?;
        let saved = import_content(path, name, content, &task);
        let saved = saved.map_err(|fault| match fault {
            Fault::Usage(why) | Fault::Failure(why) => Refusal::Wrong(why),
            Fault::Said(_) => Refusal::Wrong("it was not taken in".to_owned()),
        })?;
        Ok(saved.iter().map(|saved| saved.run.to_string()).collect())
    }

    /// A comparison, and its text.
    pub(crate) fn compare(&self, request: &CompareRequest) -> Result<Value, Refusal> {
        let [a, b] = self.sides(request)?;
        let comparison = compared(&a, &b, request)?;
        let text = comparison::text(&comparison, false);
        Ok(json!({ "comparison": comparison, "text": text }))
    }

    /// A comparison as a page.
    pub(crate) fn comparison_page(&self, request: &CompareRequest) -> Result<String, Refusal> {
        let [a, b] = self.sides(request)?;
        let comparison = compared(&a, &b, request)?;
        Ok(comparison::page(&comparison, &courses(&a, &b), false))
    }

    fn sides(&self, request: &CompareRequest) -> Result<[FoundSide; 2], Refusal> {
        let of = |words: &str| Ok(FoundSide::new(words, self.find(words)?));
        Ok([of(&request.a)?, of(&request.b)?])
    }

    /// Runs of the history; files are not looked into for whoever asks from elsewhere.
    fn find(&self, words: &str) -> Result<Vec<Found>, Refusal> {
        self.place
            .select(&kept(words)?)
            .map_err(|fault| match refusal(fault) {
                Refusal::Failed(why) => Refusal::Wrong(why),
                other => other,
            })
    }
}

fn compared(a: &FoundSide, b: &FoundSide, request: &CompareRequest) -> Result<Comparison, Refusal> {
    let notice = match request.notice {
        None => NOTICE,
        Some(percent) if (0.0..=100.0).contains(&percent) => percent / 100.0,
        Some(_) => return Err(Refusal::Wrong("the notice is no percentage".to_owned())),
    };
    let options = CompareOptions {
        notice,
        quantities: Vec::new(),
    };
    Ok(comparison::compare(&a.side(), &b.side(), &options))
}

/// What is known of the latest run.
#[derive(Clone, Debug)]
pub(crate) struct RunFactsAndCommand {
    pub(crate) role: String,
    pub(crate) command: String,
    /// This program measured it.
    pub(crate) is_own: bool,
}

/// Words that name runs of the history, and no file.
fn kept(words: &str) -> Result<tapeline_archive::Selection, Refusal> {
    let selection = tapeline_archive::Selection::parse(words)
        .map_err(|error| Refusal::Wrong(error.to_string()))?;
    let is_file =
        |part: &tapeline_archive::Selector| matches!(part, tapeline_archive::Selector::File(_));
    if selection.parts().iter().any(is_file) {
        let why = format!(
            "\"{words}\" names no runs of the history: r42, r42..r57, s14, last:10, tag:KEY=VALUE, baseline:NAME"
        );
        return Err(Refusal::Wrong(why));
    }
    Ok(selection)
}

/// Results in a form.
fn shown(found: &[Found], form: Form) -> Result<String, Refusal> {
    match (form, found) {
        (Form::Json, [one]) => Ok(one.whole_document().to_string()),
        (Form::Json, _) => export(found, Export::Json).map_err(refusal),
        (Form::Csv, _) => export(found, Export::Numbers).map_err(refusal),
        (Form::Page, [.., last]) => Ok(WholeDocument::html_of(&last.whole_document())),
        (Form::Page, []) => Err(Refusal::Missing("there is no run".to_owned())),
        (Form::Text, _) => {
            let texts = found
                .iter()
                .map(|run| show(&run.name(), &run.whole_document(), false));
            Ok(texts.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// A run as a row of the list.
fn row(run: &StoredRun) -> Value {
    let facts = run.facts();
    let document = &run.document;
    let mut numbers = serde_json::Map::new();
    for measurement in &facts.measurements {
        let name = match measurement.direction {
            "" | "forward" => measurement.quantity.to_owned(),
            direction => format!("{}:{direction}", measurement.quantity),
        };
        numbers.insert(name, json!(measurement.value));
    }
    let RunFacts {
        host,
        address,
        role,
        transport,
        direction,
        workload,
        streams,
        seconds,
        limited_by,
        confidence,
        error,
        complete,
        ..
    } = facts;
    json!({
        "run": run.id.to_string(),
        "series": run.series.map(|series| series.to_string()),
        // A test that failed may not have begun.
        "time": document["test"]["started"].as_str().map_or_else(|| time(run.started), str::to_owned),
        "command": document["command"],
        "host": host.or(address),
        "program": document["peer"]["program"],
        "from_host": run.from_host,
        "role": role,
        "transport": transport,
        "direction": direction,
        "workload": workload,
        "streams": streams,
        "seconds": seconds,
        "left_out": run.left_out,
        "complete": complete,
        "error": error,
        "limited_by": limited_by,
        "confidence": confidence,
        "tags": run.tags,
        "note": run.note,
        "origin": run.origin,
        "quantities": numbers,
    })
}

/// Milliseconds since 1970 as RFC 3339 has them, universal time.
fn time(millis: i64) -> String {
    Calendar::new(true).rfc3339(WallTime::from_nanos(millis.saturating_mul(1_000_000)))
}

/// What the numbers are.
fn quantities() -> Vec<Value> {
    let quantities = QUANTITIES.iter().map(|info| {
        json!({
            "name": info.name,
            "unit": info.dimension.unit(),
            "better": match info.better {
                Better::Higher => "higher",
                Better::Lower => "lower",
            },
        })
    });
    quantities.collect()
}

fn refusal(fault: Fault) -> Refusal {
    match fault {
        Fault::Usage(why) => Refusal::Wrong(why),
        Fault::Failure(why) => Refusal::Failed(why),
        Fault::Said(_) => Refusal::Failed("it cannot be done".to_owned()),
    }
}

fn failed(error: &tapeline_archive::ArchiveError) -> Refusal {
    Refusal::Failed(error.to_string())
}
