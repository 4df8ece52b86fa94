//! `tapeline fleet matrix`: the newest result of each pair.

use tapeline_archive::{Archive, Query, StoredRun};
use tapeline_base::ExitCode;
use tapeline_fleet::UnixTime;
use tapeline_report::matrix::{Cell, HostState, MeshDocument, MeshHost, MeshRun, text};

use super::collect::{JOB, no_history};
use super::role::time;
use crate::identity;
use crate::output::ascii::ascii;
use crate::plan::FleetMatrix;
use crate::run::history::{Fault, print};
use crate::run::mesh::Forms;
use crate::run::printer::speaks_utf8;
use crate::run::saving::now;

/// Shows the newest results.
pub(crate) fn matrix(order: &FleetMatrix) -> Result<ExitCode, Fault> {
    let file = order.history.as_deref().ok_or_else(no_history)?;
    let archive = Archive::open_to_read(file)?;
    let now = now();
    let since = order.since.map_or(0, |age| now - age.as_millis() as i64);
    let pattern = order
        .schedule
        .as_ref()
        .map_or("*".to_owned(), |name| format!("{name}/*"));
    let runs = Query::new(&archive).newest_of_pairs((JOB, &pattern), since)?;
    if runs.is_empty() {
        return Err(Fault::Failure(format!(
            "{} has no such results of a fleet; --history FILE names the collector's",
            file.display()
        )));
    }
    let times = runs.iter().map(|run| run.started);
    let (oldest, newest) = (times.clone().min(), times.max());
    let document = document(runs, order, oldest.unwrap_or(now), now);
    let forms = Forms {
        json: order.json.as_ref(),
        csv: order.csv.as_ref(),
        html: order.html.as_deref(),
    };
    if forms.deliver(&document)? {
        let at = |millis: Option<i64>| time(UnixTime(millis.unwrap_or(now) / 1000));
        let age = format!("results of {} to {}\n", at(oldest), at(newest));
        let text = format!("{age}\n{}", text::render(&document));
        print(&if speaks_utf8() { text } else { ascii(&text) })?;
    }
    Ok(ExitCode::Success)
}

fn document(runs: Vec<StoredRun>, order: &FleetMatrix, oldest: i64, now: i64) -> MeshDocument {
    let mut names: Vec<String> = runs
        .iter()
        .flat_map(|run| [run.from_host.clone(), run.to_host.clone()])
        .flatten()
        .collect();
    names.sort();
    names.dedup();
    let first = runs.first();
    let test = first
        .and_then(|run| run.document["command"].as_str())
        .unwrap_or_default();
    let test = test.to_owned();
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let cells = runs.into_iter().filter_map(|run| {
        let (from, to) = (run.from_host.clone()?, run.to_host.clone()?);
        Some(Cell::from_report(&from, &to, 1, run.whole_document()))
    });
    MeshDocument::new(MeshRun {
        version: identity::OWN.to_owned(),
        command: identity::command(words),
        started: oldest as f64 / 1000.0,
        seconds: (now - oldest) as f64 / 1000.0,
        pattern: order
            .schedule
            .as_ref()
            .map_or("any".to_owned(), |name| format!("schedule {name}")),
        test,
        journal: None,
        cells: cells.collect(),
        hosts: names.into_iter().map(mesh_host).collect(),
    })
}

fn mesh_host(name: String) -> MeshHost {
    MeshHost {
        name,
        address: None,
        groups: Vec::new(),
        version: None,
        system: None,
        state: HostState::Reached,
    }
}
