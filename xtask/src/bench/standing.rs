//! What a program costs without traffic: its start, an idle server.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use interop::Transport;

use super::contender::{Contender, Tool};
use super::quantity::{Quantity, Sample};
use super::session::{Session, Site};
use crate::shell::Result;

/// Starts in one round, whose median counts.
const STARTS: usize = 40;
/// Starts of the dynamic loader, of threads and of the first pages end in this time.
const SETTLING: Duration = Duration::from_millis(300);
/// Time for which an idle server is watched.
const IDLE: Duration = Duration::from_secs(5);

/// Times starts that only print the version.
///
/// # Errors
/// The program cannot be started.
pub(crate) fn starts(contender: &Contender) -> Result<Sample> {
    let tool = contender.client;
    let mut times = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let mut command = version(tool);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let begin = Instant::now();
        command
            .status()
            .map_err(|error| format!("{}: {error}", tool.label()))?;
        times.push(begin.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok(Sample::from([(Quantity::StartTime, times[STARTS / 2])]))
}

/// Memory of a start that only prints the version, read while its output has nowhere to go.
///
/// # Errors
/// The program cannot be started, or ends without a word.
pub(crate) fn start_memory(contender: &Contender) -> Result<Sample> {
    let tool = contender.client;
    let failed = |error: std::io::Error| format!("{}: {error}", tool.label());
    let (mut reader, mut writer) = std::io::pipe().map_err(failed)?;
    // As much as a pipe holds (pipe(7)).
    writer.write_all(&[0; 64 << 10]).map_err(failed)?;
    let errors = writer.try_clone().map_err(failed)?;
    let mut command = version(tool);
    let mut child = command
        .stdout(writer)
        .stderr(errors)
        .spawn()
        .map_err(failed)?;
    // The command has the writing end, and closes it here.
    drop(command);
    std::thread::sleep(SETTLING);
    let peak = interop::peak_memory(child.id());
    let drained = std::io::copy(&mut reader, &mut std::io::sink());
    child.wait().and(drained).map_err(failed)?;
    let peak = peak.ok_or_else(|| format!("{}: no memory is known", tool.label()))?;
    Ok(Sample::from([(Quantity::StartMemory, peak as f64 / 1e6)]))
}

/// The command that prints the version.
fn version(tool: Tool) -> Command {
    let word = match tool {
        Tool::Nuttcp => "-V",
        Tool::Qperf => "--version",
        _ => "-v",
    };
    let mut command = Command::new(tool.path());
    command
        .args(tool.first_words())
        .arg(word)
        .stdin(Stdio::null());
    command
}

/// Watches a server that nobody calls.
///
/// # Errors
/// It does not start.
pub(crate) fn idle(contender: &Contender, site: &Site<'_>) -> Result<Sample> {
    let session = Session::start(site, contender, Transport::Tcp, |port| {
        format!("-s -p {port}")
    })?;
    let used = session.idle(SETTLING, IDLE);
    Ok(Sample::from([(
        Quantity::IdleCpu,
        used.as_secs_f64() * 1000.0,
    )]))
}
