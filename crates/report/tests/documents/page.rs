//! The script of a page draws every sample.

use std::path::Path;
use std::process::Command;

use tapeline_report::document::WholeDocument;

use super::{file, rendered, samples, series};

/// The text that a page shows, where there is a program for its script.
fn shown(page: &str, folder: &Path) -> Option<String> {
    let place = folder.join("page.html");
    std::fs::write(&place, page).expect("a written file");
    let browser = file("crates/report/tests/documents/page.js");
    let output = Command::new("node").arg(browser).arg(place).output().ok()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\n{page}");
    Some(String::from_utf8(output.stdout).expect("text"))
}

#[test]
#[allow(clippy::print_stderr)]
fn pages_of_all_samples_are_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let samples = samples::all();
    let pages = samples.iter().map(|sample| {
        let page = WholeDocument::html(sample.run_info.clone());
        (sample.name, rendered(page, &sample.events))
    });
    let (_, several) = series::forms().into_iter().last().expect("a page");
    for (name, page) in pages.chain([("series", several)]) {
        let Some(text) = shown(&page, folder.path()) else {
            eprintln!("not run, because node is not installed");
            return;
        };
        let has = |line: &str| {
            assert!(
                text.lines().any(|printed| printed == line),
                "{line} in {name}:\n{text}"
            );
        };
        has("Command");
        match name {
            "tcp-client" => {
                has("1.88 Gbit/s");
                has("Limited by: network");
                has("Congestion window");
            }
            "udp-tapeline" => {
                has("Bufferbloat: B");
                has("Latency under load");
                has("Processor use over time, of one processor");
            }
            "udp-server" => has("Loss"),
            "bounceback" => has("round trip, median \u{b7} to server.example"),
            "connects" => has("failed"),
            "refused" => has("no result"),
            "series" => {
                has("mean of 2 runs \u{b7} to server.example");
                has("95 % confidence");
                has("Run 1: 1.88 Gbit/s as the sender counted");
                has("Run 3: 1.88 Gbit/s as the sender counted \u{b7} not counted (interrupted)");
            }
            _ => {}
        }
    }
}
