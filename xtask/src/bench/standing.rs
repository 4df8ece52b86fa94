//! What a program costs without traffic: its start, its file, an idle server.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use interop::Transport;

use super::contender::{Contender, Tool};
use super::quantity::{Quantity, Sample};
use super::session::{Session, Site};
use crate::builds;
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
    let word = match tool {
        Tool::Nuttcp => "-V",
        Tool::Qperf => "--version",
        _ => "-v",
    };
    let mut times = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let mut command = Command::new(tool.path());
        command
            .args(tool.first_words())
            .arg(word)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let begin = Instant::now();
        command
            .status()
            .map_err(|error| format!("{}: {error}", tool.label()))?;
        times.push(begin.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok(Sample::from([(Quantity::StartTime, times[STARTS / 2])]))
}

/// Sizes of the program's file, linked dynamically and, where it was built, statically.
///
/// # Errors
/// There is no file.
pub(crate) fn sizes(contender: &Contender) -> Result<Sample> {
    let size = |path: &std::path::Path| std::fs::metadata(path).map(|file| file.len() as f64 / 1e6);
    let path = contender.client.path();
    let dynamic = size(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut sample = Sample::from([(Quantity::BinarySize, dynamic)]);
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let file = builds::target_directory()
        .join(target)
        .join("release/tapeline");
    if let Ok(size) = size(&file) {
        sample.insert(Quantity::StaticBinarySize, size);
    }
    Ok(sample)
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
