//! The Python package (`packaging/python`): its own tests, its types, its wheel.

use std::path::{Path, PathBuf};
use std::process::Command;

use interop::{Program, skip};

/// Tests that the package has at least.
const LEAST: u32 = 20;

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/python")
}

/// Runs a command in the package's folder, and returns what it printed.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.current_dir(package()).output().expect("a program");
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let said = said.concat();
    assert!(output.status.success(), "{command:?}\n{said}");
    said
}

/// Whether a Python is missing that the package supports, or the program.
fn lacks(test: &str) -> bool {
    let new_enough = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))";
    let python = Command::new("python3").args(["-c", new_enough]).output();
    let reason = match python {
        Ok(output) if output.status.success() => Program::Tapeline.missing(),
        _ => Some("no python3 of 3.9 or newer with venv".to_owned()),
    };
    if let Some(reason) = &reason {
        skip(test, reason);
    }
    reason.is_some()
}

/// The package's own tests, by an interpreter.
#[track_caller]
fn its_tests(python: &Path, environment: &[(&str, &Path)]) {
    let mut command = Command::new(python);
    command.args(["-B", "-m", "unittest", "discover", "-s", "tests", "-t", "."]);
    command.env_remove("TAPELINE").env_remove("PYTHONPATH");
    command.env("IPERF3", Program::Iperf3V22.path());
    command.envs(environment.iter().copied());
    let said = run(&mut command);
    let ran = said.split_once("Ran ").and_then(|(_, rest)| {
        let number = rest.split_whitespace().next()?;
        number.parse::<u32>().ok()
    });
    assert!(ran >= Some(LEAST), "{said}");
}

#[test]
fn its_own_tests_pass() {
    if lacks("the Python package") {
        return;
    }
    let source = package().join("src");
    let program = Program::Tapeline.path();
    its_tests(
        Path::new("python3"),
        &[("PYTHONPATH", &source), ("TAPELINE", program)],
    );
}

/// From an empty environment: what `pip install` brings is all that is needed.
#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn a_wheel_has_the_program_and_types() {
    if lacks("the wheel") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let environment = |name: &str| {
        let at = folder.path().join(name);
        run(Command::new("python3").args(["-m", "venv"]).arg(&at));
        at.join("bin")
    };
    let tools = environment("tools");
    let pip = Command::new(tools.join("pip"))
        .args(["--quiet", "install", "maturin==1.16.0", "mypy"])
        .output()
        .expect("pip");
    if !pip.status.success() {
        skip("the wheel", "no package registry is reached");
        return;
    }
    let wheels = folder.path().join("wheels");
    run(Command::new(tools.join("maturin"))
        .args(["build", "--release", "--out"])
        .arg(&wheels));
    let wheel = std::fs::read_dir(&wheels).expect("wheels").next();
    let wheel = wheel.expect("a wheel").expect("it").path();
    let fresh = environment("fresh");
    run(Command::new(fresh.join("pip"))
        .args(["--quiet", "install", "--no-index"])
        .arg(&wheel));
    let where_is = "import tapeline; print(tapeline.program(), tapeline.__version__)";
    let said = run(Command::new(fresh.join("python"))
        .env_remove("TAPELINE")
        .args(["-c", where_is]));
    let expected = format!(
        "{} {}\n",
        fresh.join("tapeline").display(),
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(said, expected);
    its_tests(&fresh.join("python"), &[]);
    // Types of the package as a program that uses it sees them.
    let user = folder.path().join("user.py");
    let text = "import tapeline\n\
                report: tapeline.Report = tapeline.run(\"db1\", time=1, udp=True)\n\
                rate: float = report.bits_per_second or 0.0\n\
                wrong: str = report.streams[0].id\n";
    std::fs::write(&user, text).expect("a file");
    let checked = Command::new(tools.join("mypy"))
        .args(["--strict", "--python-executable"])
        .arg(fresh.join("python"))
        .arg(&user)
        .current_dir(folder.path())
        .output()
        .expect("mypy");
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(
        said.contains("user.py:4: error: Incompatible types") && said.contains("Found 1 error"),
        "{said}"
    );
    run(Command::new(tools.join("mypy"))
        .arg("--python-executable")
        .arg(tools.join("python")));
}
