//! This program beside that of an earlier commit.

use std::path::Path as FilePath;
use std::process::{Command, Stdio};

use super::change::Change;
use super::contender::{Contender, Tool};
use super::record::Record;
use super::row::Row;
use crate::builds;
use crate::shell::{self, Result, cargo};
use crate::tally::Tally;

/// Rounds of each program, unless said otherwise.
pub(crate) const ROUNDS: usize = 10;
/// Rows that a change of the engine or of system calls moves first, on their first path: ten minutes.
const SHORT: [&str; 9] = [
    "tcp-one-stream",
    "tcp-reverse",
    "tcp-128-streams",
    "udp-1470",
    "udp-64",
    "udp-paced-100M",
    "exchange-free",
    "connects",
    "start",
];

/// The short set of rows.
pub(crate) fn short(all: Vec<Row>) -> Vec<Row> {
    let meant = |row: &Row| SHORT.contains(&row.name.as_str());
    let first = |row: Row| Row {
        paths: row.paths.get(..1).unwrap_or_default(),
        congestion: row.congestion.get(..1).unwrap_or_default(),
        ..row
    };
    all.into_iter().filter(meant).map(first).collect()
}

/// The row in which each of our programs meets its earlier self; nothing where none of ours takes part.
pub(crate) fn against_earlier(row: Row) -> Option<Row> {
    let ours = row.contenders.iter().filter_map(|one| {
        let earlier = one.earlier()?;
        Some([*one, earlier])
    });
    let contenders: Vec<Contender> = ours.flatten().collect();
    (!contenders.is_empty()).then_some(Row {
        contenders,
        bars: Vec::new(),
        system_bars: Vec::new(),
        ..row
    })
}

/// Builds the program of a commit, in a folder of its own, for [`Tool::Earlier`].
///
/// # Errors
/// There is no such commit, or it does not compile.
pub(crate) fn build(commit: &str) -> Result<()> {
    let folder = builds::target_directory().join("earlier");
    let source = folder.join("source");
    let _ = std::fs::remove_dir_all(&source);
    std::fs::create_dir_all(&source).map_err(|error| format!("{}: {error}", source.display()))?;
    let hash = ["rev-parse", "--verify", "--quiet"];
    let hash = shell::read(
        Command::new("git")
            .args(hash)
            .arg(format!("{commit}^{{commit}}")),
    )
    .map_err(|_| format!("bench: there is no commit '{commit}'"))?;
    unpack(hash.trim(), &source)?;
    let target = folder.join("target");
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "--package", "tapeline"]);
    build.current_dir(&source).env("CARGO_TARGET_DIR", &target);
    shell::run(&mut build)?;
    Tool::have_earlier(&target.join("release/tapeline"))
}

fn unpack(hash: &str, folder: &FilePath) -> Result<()> {
    let failed = |error: std::io::Error| format!("git archive {hash}: {error}");
    let mut archive = Command::new("git")
        .args(["archive", hash])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let packed = archive.stdout.take().ok_or("git archive: no output")?;
    let mut unpack = Command::new("tar");
    unpack.arg("-x").current_dir(folder).stdin(packed);
    shell::run(&mut unpack)?;
    match archive.wait().map_err(failed)? {
        ended if ended.success() => Ok(()),
        ended => Err(format!("git archive {hash}: {ended}")),
    }
}

/// Prints what changed by more than its noise; what became worse fails.
pub(crate) fn judge(commit: &str, records: &[Record]) -> Tally {
    let mut tally = Tally::default();
    for entry in records.iter().flat_map(|record| &record.entries) {
        if let Some(reason) = &entry.failure {
            tally.fail(format!("{}: {reason}", entry.name));
        }
    }
    let changes = Change::all(records);
    let clear = changes.iter().filter(|change| change.would_show()).count();
    let mut changed = 0;
    for change in changes.iter().filter(|change| change.is_beyond_noise()) {
        changed += 1;
        println!("{}", change.line());
        if change.is_worse() {
            tally.fail(change.line());
        }
    }
    println!(
        "{changed} of {} figures differ from {commit} by more than their noise; \
         5 % would show in {clear} of them",
        changes.len()
    );
    if tally.failed() == 0 {
        tally.pass();
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::rows;

    #[test]
    fn the_short_set_is_there_on_one_path() {
        let short = short(rows::all());
        let names: Vec<&str> = short.iter().map(|row| row.name.as_str()).collect();
        for name in SHORT {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(short.iter().all(|row| row.paths.len() <= 1));
    }

    #[test]
    fn ours_meet_their_earlier_selves_only() {
        for row in short(rows::all()).into_iter().filter_map(against_earlier) {
            assert_eq!(row.contenders.len() % 2, 0, "{}", row.name);
            for pair in row.contenders.chunks(2) {
                assert_eq!(Some(pair[1]), pair[0].earlier(), "{}", row.name);
            }
        }
        let peers = Row {
            contenders: vec![Contender::both(Tool::Iperf221)],
            ..rows::all().remove(0)
        };
        assert_eq!(against_earlier(peers), None);
    }
}
