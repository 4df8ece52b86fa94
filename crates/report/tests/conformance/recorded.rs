//! Recorded runs as the tests read them.

use std::fs;
use std::path::{Path, PathBuf};

use tapeline_report::Build;

/// One stream of one end of a recorded run.
pub(crate) struct Transcript {
    /// `tcp_e.client.txt`.
    pub(crate) name: String,
    /// The build that printed it.
    pub(crate) build: Build,
    /// Options of this end.
    pub(crate) options: Vec<String>,
    /// Lines without newline.
    pub(crate) lines: Vec<String>,
}

impl Transcript {
    /// Whether this end was given an option.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|given| given == option)
    }

    /// What follows an option.
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        let at = self.options.iter().position(|given| given == option)?;
        self.options.get(at + 1).map(String::as_str)
    }
}

/// All recorded streams of both builds, in alphabetic order.
pub(crate) fn transcripts() -> Vec<Transcript> {
    let plain = streams(&["iperf2", "iperf2/signals"], Build::Plain);
    let fast = streams(&["iperf2-fast-sampling"], Build::FastSampling);
    let counts = (plain.len(), fast.len());
    assert!(
        counts.0 > 250 && counts.1 > 150,
        "only {counts:?} recorded streams found"
    );
    plain.into_iter().chain(fast).collect()
}

fn streams(folders: &[&str], build: Build) -> Vec<Transcript> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut paths: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| files(&root.join(folder)))
        .collect();
    paths.sort();
    let transcripts = paths.iter().filter_map(|path| transcript(path, build));
    transcripts.collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .expect("the folder of recorded runs")
        .map(|entry| entry.expect("a folder entry").path())
        .collect()
}

fn transcript(path: &Path, build: Build) -> Option<Transcript> {
    let name = path.file_name()?.to_str()?.to_owned();
    let (run, stream) = name.split_once('.')?;
    let (end, kind) = stream.split_once('.')?;
    if !matches!(kind, "txt" | "err" | "stderr") {
        return None;
    }
    let command = fs::read_to_string(path.with_file_name(format!("{run}.cmd"))).unwrap_or_default();
    let options = command
        .lines()
        .find_map(|line| line.strip_prefix(end)?.strip_prefix(':'))
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let text = fs::read_to_string(path).expect("a recorded stream");
    Some(Transcript {
        name,
        build,
        options,
        lines: text.lines().map(str::to_owned).collect(),
    })
}
