//! The recipe for continuous integration (`packaging/action`): what its step does, with a real test.

use std::path::{Path, PathBuf};
use std::process::Command;

use interop::{Family, Program, Server, ServerSpec, Transport, skip};

/// The variables of the step in action.yml.
const INPUTS: [&str; 6] = ["GATE", "TEST", "RUNS", "BASELINE", "UNDECIDED", "PROGRAM"];

fn action() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/action")
}

/// How a step has ended.
struct Step {
    code: Option<i32>,
    summary: String,
    outputs: String,
    said: String,
}

/// Runs the step as a runner does, with these rules and inputs.
fn step(rules: &str, inputs: &[(&str, &str)]) -> Step {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("gate.toml"), rules).expect("a file");
    let mut bash = Command::new("bash");
    bash.arg(action().join("gate.sh"))
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .env("GITHUB_STEP_SUMMARY", file("summary"))
        .env("GITHUB_OUTPUT", file("outputs"))
        .envs(INPUTS.map(|name| (name, "")))
        .env("GATE", "gate.toml")
        .env("UNDECIDED", "fail")
        .env("PROGRAM", Program::Tapeline.path())
        .envs(inputs.iter().copied());
    let done = bash.output().expect("bash");
    let read = |name: &str| std::fs::read_to_string(file(name)).unwrap_or_default();
    Step {
        code: done.status.code(),
        summary: read("summary"),
        outputs: read("outputs"),
        said: String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned(),
    }
}

fn at_least(rate: &str) -> String {
    format!("[[rule]]\nquantity = \"rate\"\nat_least = \"{rate}\"\n")
}

#[test]
fn its_verdict_is_that_of_the_gate() {
    if let Some(reason) = Program::Tapeline.missing() {
        skip("the recipe", &reason);
        return;
    }
    let server: Server = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4)
        .start()
        .expect("a server");
    let test = format!(
        "-c 127.0.0.1 -p {} -t 0.3 --repeat 2 --repeat-pause 0",
        server.port()
    );
    let measured = [("TEST", test.as_str())];
    for (rate, code, verdict) in [("1M", 0, "passed"), ("900T", 4, "failed")] {
        let done = step(&at_least(rate), &measured);
        assert_eq!(done.code, Some(code), "{}", done.said);
        assert_eq!(done.outputs, format!("verdict={verdict}\n"));
        assert!(done.summary.contains("| rate"), "{}", done.summary);
    }
    for inputs in [&[][..], &[("TEST", test.as_str()), ("RUNS", "last")]] {
        let done = step(&at_least("1M"), inputs);
        assert_eq!(done.code, Some(2), "{}", done.said);
        assert_eq!(done.outputs, "verdict=error\n");
    }
    let done = step("nonsense", &measured);
    assert_ne!(done.code, Some(0), "{}", done.said);
    assert_eq!(done.outputs, "verdict=error\n", "{}", done.said);
}

#[test]
fn each_input_reaches_the_step() {
    let text = std::fs::read_to_string(action().join("action.yml")).expect("action.yml");
    let (inputs, steps) = text.split_once("runs:\n  using").expect("steps");
    for name in INPUTS {
        let input = name.to_lowercase();
        assert!(inputs.contains(&format!("  {input}:\n")), "{input}");
        let passed = format!("        {name}: ${{{{ inputs.{input} }}}}\n");
        assert!(steps.contains(&passed), "{name}");
    }
    assert_eq!(steps.matches("inputs.").count(), INPUTS.len());
}
