//! What other programs told, taken over: equal to the recordings, within bounds, whatever the bytes are.

mod bounds;
mod corpus;
mod iperf2_csv;
mod iperf3_export;
mod iperf3_json;
mod tapeline;
mod text;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tapeline_report::import::{self, ImportError};

/// A run, with its whole document.
#[derive(Debug)]
struct Run {
    origin: String,
    series: Option<usize>,
    left_out: Option<String>,
    document: Value,
}

/// Files of a folder of recordings whose names end so.
fn recordings(folder: &str, end: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(folder);
    let files = fs::read_dir(folder).expect("recordings");
    let mut files: Vec<PathBuf> = files
        .map(|file| file.expect("a file").path())
        .filter(|file| file.to_string_lossy().ends_with(end))
        .collect();
    files.sort();
    files
}

fn runs(file: &[u8]) -> Result<Vec<Run>, ImportError> {
    let found = import::read("a.json", file, None)?;
    let runs = found.map(|run| {
        run.map(|run| Run {
            origin: run.origin.to_string(),
            series: run.series,
            left_out: run.left_out.clone(),
            document: serde_json::from_str(&run.json().expect("JSON")).expect("a document"),
        })
    });
    runs.collect()
}

/// The only run of a file.
fn run(file: &[u8]) -> Run {
    let mut runs = runs(file).expect("runs");
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

fn refused(file: &[u8]) -> String {
    runs(file).expect_err("a fault").to_string()
}
