//! The commands of `docs/results.md` that read results work.

use std::path::Path;
use std::process::{Command, Output};

use super::{file, forms, samples, series};

/// The commands in the sections on results for programs and on repeated runs.
fn commands() -> Vec<String> {
    let text = std::fs::read_to_string(file("docs/results.md")).expect("the page");
    let (_, section) = text
        .split_once("\n## Results for programs\n")
        .expect("the section");
    let section = section
        .split("\n## The closing lines")
        .next()
        .unwrap_or_default();
    let mut commands = Vec::new();
    for block in section.split("```sh\n").skip(1) {
        let (block, _) = block.split_once("```").expect("the end of a block");
        commands.extend(block.lines().map(str::to_owned));
    }
    commands.retain(|line| {
        ["jq ", "python3 "]
            .iter()
            .any(|word| line.starts_with(word))
    });
    commands
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> Option<Output> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output();
    output.ok()
}

#[test]
#[allow(clippy::print_stderr)]
fn the_commands_of_the_page_read_every_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let sample = samples::all().remove(0);
    for (form, text) in forms(&sample) {
        let path = folder.path().join(format!("run.{form}"));
        std::fs::write(path, text).expect("a written file");
    }
    for (name, text) in series::forms() {
        std::fs::write(folder.path().join(name), text).expect("a written file");
    }
    let commands = commands();
    for form in ["run.json", "run.ndjson", "run.csv"] {
        for reader in ["jq", "python3"] {
            // jq does not read CSV.
            let reads = |line: &&String| line.starts_with(reader) && line.contains(form);
            let one = commands.iter().any(|line| reads(&line));
            assert!(
                one || (reader, form) == ("jq", "run.csv"),
                "{reader} {form}"
            );
        }
    }
    let here = |program, arguments: &[&str]| {
        run(program, arguments, folder.path()).is_some_and(|output| output.status.success())
    };
    let pandas = here("python3", &["-c", "import pandas"]);
    for line in &commands {
        let program = line.split(' ').next().unwrap_or_default();
        if !here(program, &["--version"]) || (line.contains("pandas") && !pandas) {
            eprintln!("not run, because a program is not installed: {line}");
            continue;
        }
        let output = run("sh", &["-c", line], folder.path()).expect("a shell");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}\n{errors}");
        assert!(!output.stdout.is_empty(), "{line} prints nothing");
    }
}
