//! Running other programs.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// A result whose error is a message for people.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// The workspace's folder.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default();
    let mut line = program.to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

/// Runs a command whose output goes to ours.
///
/// # Errors
/// It cannot be started or does not succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", shown(command));
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("{}: {error}", shown(command)))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("`{}` ended with {status}", shown(command)))
}

/// Runs a command and returns what it printed to its standard output.
///
/// # Errors
/// As [`run`]; the error holds what it said.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", shown(command)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "`{}` ended with {}: {}",
        shown(command),
        output.status,
        said.trim()
    ))
}

/// Runs a command, shows its standard output and hands over each line of it.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_reading(command: &mut Command, mut line_read: impl FnMut(&str)) -> Result<()> {
    let line = shown(command);
    println!("$ {line}");
    let failed = |error| format!("{line}: {error}");
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    if let Some(stdout) = child.stdout.take() {
        for printed in BufReader::new(stdout).split(b'\n') {
            let printed = printed.map_err(failed)?;
            let printed = String::from_utf8_lossy(&printed);
            println!("{printed}");
            line_read(&printed);
        }
    }
    let status = child.wait().map_err(failed)?;
    if status.success() {
        return Ok(());
    }
    Err(format!("`{line}` ended with {status}"))
}

/// Whether a program of that name is on the search path, or among the peers.
pub(crate) fn on_path(program: &str) -> bool {
    interop::installed(program).is_some()
}
