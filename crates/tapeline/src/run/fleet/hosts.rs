//! `tapeline fleet hosts`: who is enrolled, and what each does.

use std::path::Path;

use serde::Serialize;
use tapeline_base::ExitCode;
use tapeline_fleet::Beat;

use super::role::operator;
use super::table::table;
use crate::plan::Destination;
use crate::run::history::{Fault, deliver, json, print};

/// A row of the table.
#[derive(Debug, Serialize)]
struct HostRow {
    host: String,
    groups: Vec<String>,
    state: String,
    #[serde(flatten)]
    beat: Option<Beat>,
}

/// Lists hosts.
pub(crate) fn hosts(settings: &Path, destination: Option<&Destination>) -> Result<ExitCode, Fault> {
    let operator = operator(settings)?;
    let books = operator.books()?;
    let mut present = operator.present()?;
    let mut rows: Vec<HostRow> = Vec::new();
    for enrolled in books.hosts.values() {
        let beat = present.remove(&enrolled.name);
        rows.push(HostRow {
            host: enrolled.name.to_string(),
            groups: enrolled.groups.clone(),
            state: state(beat.as_ref()),
            beat,
        });
    }
    // Of another operator's folder.
    for (host, beat) in present {
        rows.push(HostRow {
            host: host.to_string(),
            groups: Vec::new(),
            state: state(Some(&beat)),
            beat: Some(beat),
        });
    }
    if let Some(destination) = destination {
        let document = serde_json::json!({ "schema": "tapeline-fleet/1", "hosts": rows });
        deliver(destination, &json(&document))?;
        return Ok(ExitCode::Success);
    }
    if rows.is_empty() {
        print("no hosts: tapeline fleet enrol HOST\n")?;
        return Ok(ExitCode::Success);
    }
    let lines = rows.iter().map(|row| {
        let beat = row.beat.as_ref();
        let text = |of: fn(&Beat) -> String| beat.map_or_else(|| "-".to_owned(), of);
        vec![
            row.host.clone(),
            text(|beat| beat.address.to_string()),
            row.state.clone(),
            text(|beat| beat.spool.results.to_string()),
            text(|beat| beat.version.to_string()),
            row.groups.join(","),
        ]
    });
    let header = ["HOST", "ADDRESS", "STATE", "SPOOL", "VERSION", "GROUPS"];
    print(&table(&header, lines))?;
    Ok(ExitCode::Success)
}

/// `free`, `busy with JOB`, `away`.
fn state(beat: Option<&Beat>) -> String {
    match beat {
        None => "away".to_owned(),
        Some(Beat {
            slot: Some(slot), ..
        }) => format!("busy with {}", slot.job),
        Some(_) => "free".to_owned(),
    }
}
