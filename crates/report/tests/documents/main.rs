//! tapeline's documents: recorded samples, their schema, and the readers of `docs/json.md`.

mod methods;
mod page;
mod page_browser;
mod page_documents;
mod readers;
mod samples;
mod schema;
mod series;

use std::path::{Path, PathBuf};

use tapeline_report::document::{DocumentCsv, DocumentStream, WholeDocument};
use tapeline_report::{Event, Output, Renderer};

use samples::Sample;

/// A file of the repository.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn rendered(mut renderer: impl Renderer, events: &[Event]) -> String {
    let mut out = Output::default();
    for event in events {
        renderer.render(event, &mut out);
    }
    renderer.finish(&mut out);
    out.stdout
}

/// What becomes of a sample: the ends of file names, and the text.
fn forms(sample: &Sample) -> [(&'static str, String); 3] {
    let run_info = || sample.run_info.clone();
    [
        (
            "json",
            rendered(WholeDocument::json(run_info()), &sample.events),
        ),
        (
            "ndjson",
            rendered(DocumentStream::new(run_info()), &sample.events),
        ),
        (
            "csv",
            rendered(DocumentCsv::new(run_info()), &sample.events),
        ),
    ]
}

/// Every sample is told as it was recorded. With `TAPELINE_RECORD=1` it is recorded anew.
#[test]
fn samples_are_told_as_recorded() {
    let records = std::env::var_os("TAPELINE_RECORD").is_some();
    for sample in samples::all() {
        for (form, text) in forms(&sample) {
            let path = format!(
                "crates/report/tests/golden/documents/{}.{form}",
                sample.name
            );
            if records {
                std::fs::write(file(&path), &text).expect("a written sample");
            }
            let recorded = std::fs::read_to_string(file(&path)).expect("a recorded sample");
            assert_eq!(text, recorded, "{path}");
        }
    }
}
