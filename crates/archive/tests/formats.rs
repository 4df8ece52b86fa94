//! Files of every format that was published are read by this version.

mod sample;

use std::path::{Path, PathBuf};

use sample::{MORNING, kept, run};
use serde_json::{Value, json};
use tapeline_archive::{
    Archive, Edit, NewSeries, Patience, Query, RunId, Selection, SeriesKind, Upkeep, Uuid,
};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// All that is in a history.
fn content(path: &Path) -> Value {
    let archive = Archive::open_to_read(path).expect("a history");
    let query = Query::new(&archive);
    let all = Selection::parse("last:1000").expect("a selection");
    let runs = query.runs(&all).expect("runs");
    let runs = runs.iter().map(|run| {
        let measures = run.facts().measurements;
        let measures = measures
            .iter()
            .map(|one| json!([one.quantity, one.direction, one.value]));
        json!({
            "id": run.id.to_string(),
            "series": run.series.map(|series| series.to_string()),
            "left_out": run.left_out,
            "started": run.started,
            "origin": run.origin,
            "note": run.note,
            "tags": run.tags,
            "measures": measures.collect::<Vec<_>>(),
            "document": run.whole_document(),
        })
    });
    let runs: Vec<Value> = runs.collect();
    let baselines = query.baselines().expect("baselines");
    let baselines = baselines
        .iter()
        .map(|one| json!([one.name, one.selector, one.made]));
    json!({"runs": runs, "baselines": baselines.collect::<Vec<_>>()})
}

/// The file of this version's format. It is made once, when a format is published.
fn make(path: &Path) {
    let series = NewSeries {
        uuid: Uuid::of_content(b"series", 0),
        started: MORNING,
        kind: SeriesKind::Repeat,
        plan: None,
    };
    for minute in 0..4 {
        let mut new = run(940.0 + minute as f64, minute);
        new.uuid = Uuid::of_content(b"run", minute.unsigned_abs());
        if minute > 0 {
            new.series = Some(series.clone());
        }
        new.left_out = (minute == 1).then(|| "warm_up".to_owned());
        new.tags.insert("link".to_owned(), "uplink".to_owned());
        kept(path, &new);
    }
    let archive = Archive::open_to_write(path, Patience::default().busy).expect("a history");
    let edit = Edit::new(&archive);
    edit.note(&[RunId(1)], "new switch").expect("a note");
    let runs = Selection::parse("s1").expect("a selection");
    edit.name_baseline("main", &runs, MORNING)
        .expect("a baseline");
    Upkeep::new(&archive)
        .prune_intervals(MORNING + 1)
        .expect("intervals");
}

#[test]
fn format_1_is_read() {
    let (file, words) = (golden("format-1.db"), golden("format-1.json"));
    if std::env::var_os("TAPELINE_RECORD").is_some() && !file.exists() {
        make(&file);
        let text = serde_json::to_string_pretty(&content(&file)).expect("JSON");
        std::fs::write(&words, text + "\n").expect("a file");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("history.db");
    std::fs::copy(&file, &copy).expect("a copy");
    let expected = std::fs::read_to_string(&words).expect("what is in it");
    let expected: Value = serde_json::from_str(&expected).expect("JSON");
    assert_eq!(content(&copy), expected);
    // It is written on.
    kept(&copy, &run(940.0, 9));
    let more = content(&copy);
    assert_eq!(more["runs"].as_array().map(Vec::len), Some(5));
}
