//! The commands of `docs/json.md` and `docs/metrics.md` that read results work.

use std::path::Path;
use std::process::{Command, Output};

use tapeline_report::document::WholeDocument;

use super::{file, forms, rendered, samples, series};

/// Commands of a page behind a heading and before another.
fn commands(page: &str, from: &str, to: &str) -> Vec<String> {
    let text = std::fs::read_to_string(file(page)).expect("the page");
    let (_, section) = text.split_once(from).expect("the section");
    let section = section.split(to).next().unwrap_or_default();
    let mut commands = Vec::new();
    for block in section.split("```sh\n").skip(1) {
        let (block, _) = block.split_once("```").expect("the end of a block");
        commands.extend(block.lines().map(str::to_owned));
    }
    commands.retain(|line| {
        ["jq ", "python3 ", "awk "]
            .iter()
            .any(|word| line.starts_with(word))
    });
    commands
}

/// Runs commands where the files are that they read; those whose program is missing are told.
#[allow(clippy::print_stderr)]
fn run_all(commands: &[String], folder: &Path) {
    let here = |program, arguments: &[&str]| {
        run(program, arguments, folder).is_some_and(|output| output.status.success())
    };
    let pandas = here("python3", &["-c", "import pandas"]);
    for line in commands {
        let program = line.split(' ').next().unwrap_or_default();
        // Not every awk knows an option for its version.
        let there = here("sh", &["-c", &format!("command -v {program}")]);
        if !there || (line.contains("pandas") && !pandas) {
            eprintln!("not run, because a program is not installed: {line}");
            continue;
        }
        let output = run("sh", &["-c", line], folder).expect("a shell");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}\n{errors}");
        assert!(!output.stdout.is_empty(), "{line} prints nothing");
    }
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> Option<Output> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output();
    output.ok()
}

#[test]
fn the_commands_of_the_page_read_every_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let sample = samples::all().remove(0);
    let page = rendered(WholeDocument::html(sample.run_info.clone()), &sample.events);
    for (form, text) in forms(&sample).into_iter().chain([("html", page)]) {
        let path = folder.path().join(format!("run.{form}"));
        std::fs::write(path, text).expect("a written file");
    }
    for (name, text) in series::forms() {
        std::fs::write(folder.path().join(name), text).expect("a written file");
    }
    let commands = commands("docs/json.md", "# JSON and CSV\n", "\n# ");
    // jq does not read CSV, nor pages.
    for (reader, form) in [
        ("jq", "run.json"),
        ("jq", "run.ndjson"),
        ("python3", "run.json"),
        ("python3", "run.ndjson"),
        ("python3", "run.csv"),
        ("python3", "run.html"),
    ] {
        let reads = |line: &&String| line.starts_with(reader) && line.contains(form);
        assert!(commands.iter().any(|line| reads(&line)), "{reader} {form}");
    }
    run_all(&commands, folder.path());
}

#[cfg(feature = "prometheus")]
#[test]
fn the_commands_of_the_page_read_metrics() {
    let folder = tempfile::tempdir().expect("a folder");
    let samples = samples::all();
    let sample = samples.iter().find(|sample| sample.name == "udp-server");
    let sample = sample.expect("the sample of a server");
    let mut metrics = tapeline_report::prometheus::ServerMetrics::new(sample.run_info.clone());
    for event in &sample.events {
        metrics.observe(event);
    }
    let path = folder.path().join("metrics.txt");
    std::fs::write(path, metrics.text(&[])).expect("a written file");
    let commands = commands("docs/metrics.md", "\n## Results of a test\n", "\n## ");
    assert!(commands.len() >= 3, "{commands:?}");
    run_all(&commands, folder.path());
}
