//! This program beside that of an earlier commit.

use std::path::{Path as FilePath, PathBuf};
use std::process::Command;

use super::change::Change;
use super::contender::{Contender, Tool};
use super::record::Record;
use super::row::Row;
use crate::builds;
use crate::shell::{self, Result, cargo};
use crate::tally::Tally;

/// Rounds of each program and their length, unless said otherwise. Runs of one program differ by 8 %, long ones as
/// much as short ones: many short ones find 5 %.
pub(crate) const ROUNDS: usize = 100;
pub(crate) const SECONDS: f64 = 0.2;
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

/// The short set of rows. One of our programs takes part, as all of them have one engine.
pub(crate) fn short(all: Vec<Row>) -> Vec<Row> {
    let meant = |row: &Row| SHORT.contains(&row.name.as_str());
    let first = |row: Row| Row {
        paths: row.paths.get(..1).unwrap_or_default(),
        congestion: row.congestion.get(..1).unwrap_or_default(),
        contenders: row.contenders.into_iter().take(1).collect(),
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

/// Builds the program of a commit, in a folder of its own, for [`Tool::Earlier`]. Returns the program that is to
/// meet it, a copy of `now`.
///
/// # Errors
/// There is no such commit, or it does not compile.
pub(crate) fn build(commit: &str, now: &FilePath) -> Result<PathBuf> {
    let folder = builds::target_directory().join("earlier");
    let (source, name) = (folder.join("source"), folder.join("commit"));
    let hash = ["rev-parse", "--verify", "--quiet"];
    let hash = shell::read(
        Command::new("git")
            .args(hash)
            .arg(format!("{commit}^{{commit}}")),
    )
    .map_err(|_| format!("bench: there is no commit '{commit}'"))?;
    if std::fs::read_to_string(&name).ok().as_ref() != Some(&hash) {
        let _ = std::fs::remove_file(&name);
        let _ = std::fs::remove_dir_all(&source);
        let failed = |error| format!("{}: {error}", source.display());
        std::fs::create_dir_all(&source).map_err(failed)?;
        unpack(hash.trim(), &source)?;
        std::fs::write(&name, &hash).map_err(|error| format!("{}: {error}", name.display()))?;
    }
    let target = folder.join("target");
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "--package", "tapeline"]);
    build.current_dir(&source).env("CARGO_TARGET_DIR", &target);
    shell::run(&mut build)?;
    Tool::have_earlier(&copied(
        &target.join("release/tapeline"),
        &folder.join("before"),
    )?)?;
    copied(now, &folder.join("now"))
}

/// A program's copy in a folder. What memory a program takes depends on how its file came to be cached: both are to
/// be written the same way.
fn copied(program: &FilePath, folder: &FilePath) -> Result<PathBuf> {
    let copy = folder.join("tapeline");
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::copy(program, &copy))
        .map_err(|error| format!("{}: {error}", copy.display()))?;
    Ok(copy)
}

fn unpack(hash: &str, folder: &FilePath) -> Result<()> {
    let archive = folder.with_extension("tar");
    let mut pack = Command::new("git");
    pack.args(["archive", "--format", "tar", "--output"])
        .current_dir(shell::root());
    shell::run(pack.arg(&archive).arg(hash))?;
    // Without the commit's times: to the compiler, sources older than its last work are unchanged.
    let mut unpack = Command::new("tar");
    shell::run(
        unpack
            .args(["--touch", "-xf"])
            .arg(&archive)
            .arg("-C")
            .arg(folder),
    )
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
        let ours = |row: &Row| row.contenders.len() == 1 && row.contenders[0].earlier().is_some();
        assert!(short.iter().all(ours), "{short:?}");
    }

    #[test]
    fn a_commit_is_unpacked_whole() {
        let folder = std::env::temp_dir().join(format!("tapeline-guard-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        unpack("HEAD", &folder).unwrap();
        let names = [".ci/run", "Cargo.lock", "crates/engine/Cargo.toml"];
        let missing = names.iter().find(|name| !folder.join(name).is_file());
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::remove_file(folder.with_extension("tar")).unwrap();
        assert_eq!(missing, None);
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
