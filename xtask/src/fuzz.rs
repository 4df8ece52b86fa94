//! Fuzzing: every target from its corpus on, for a number of executions.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::builds::target_directory;
use crate::shell::{self, Result, cargo};
use crate::tally::Tally;

/// Compiler that has what libFuzzer needs.
const TOOLCHAIN: &str = "nightly";
/// Where the targets are.
const MANIFEST: &str = "fuzz/Cargo.toml";
/// Counts the edges that an input takes and shows libFuzzer what is compared. No address sanitizer:
/// the crates behind the targets have no `unsafe` code, and without it there are many more executions.
const INSTRUMENTED: &str = "--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";
/// No input is longer than the longest seed, or than this, bytes.
const LEAST_LENGTH: u64 = 256;
const USAGE: &str = "usage: cargo xtask fuzz [TARGET ...] [--runs N] [--seconds S] [--merge]\n";

/// What was asked for.
struct Options {
    /// Parts of names; none are all targets.
    wanted: Vec<String>,
    runs: u64,
    /// For each target, at most.
    limit: Option<Duration>,
    /// New inputs become seeds, as far as they reach code that no seed reaches.
    merges: bool,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            wanted: Vec::new(),
            runs: 1_000_000,
            limit: None,
            merges: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words.next().and_then(|value| value.parse::<u64>().ok());
                value.filter(|value| *value > 0).ok_or(USAGE)
            };
            match *word {
                "--runs" => options.runs = number()?,
                "--seconds" => options.limit = Some(Duration::from_secs(number()?)),
                "--merge" => options.merges = true,
                name if !name.starts_with('-') => options.wanted.push(name.to_owned()),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(options)
    }

    fn asks_for(&self, target: &str) -> bool {
        self.wanted.is_empty()
            || self
                .wanted
                .iter()
                .any(|part| target.contains(part.as_str()))
    }
}

/// The names of all targets: those of their files.
///
/// # Errors
/// The folder cannot be read.
fn targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let failed = |error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path
            .file_stem()
            .map(|name| name.to_string_lossy().into_owned());
        names.extend(name.filter(|_| path.extension().is_some_and(|kind| kind == "rs")));
    }
    names.sort();
    Ok(names)
}

/// Sees that the targets compile, with the compiler of everything else. Nothing is linked, so that neither
/// the nightly compiler nor libFuzzer is needed.
pub(crate) fn check() -> Tally {
    let mut tally = Tally::default();
    let fetch = |how: &[&str]| {
        let mut fetch = cargo();
        fetch.args(["fetch", "--quiet", "--manifest-path", MANIFEST]);
        shell::read(fetch.args(how))
    };
    if let Err(error) = fetch(&["--offline"]).or_else(|_| fetch(&[])) {
        tally.skip(format!(
            "fuzz targets: their crates cannot be fetched ({error}); NOT CHECKED"
        ));
        return tally;
    }
    let mut check = cargo();
    check.args(["check", "--quiet", "--offline", "--manifest-path", MANIFEST]);
    check
        .arg("--target-dir")
        .arg(target_directory().join("fuzz-check"))
        .env("RUSTFLAGS", "--cfg fuzzing -D warnings")
        // Any file will do in place of the library, which takes half a minute to build.
        .env("CUSTOM_LIBFUZZER_PATH", shell::root().join(MANIFEST));
    match shell::run(&mut check) {
        Ok(()) => tally.pass(),
        Err(error) => tally.fail(format!("fuzz targets: {error}")),
    }
    tally
}

/// Builds the targets and runs them one after the other.
///
/// # Errors
/// A wrong option, no such target, or targets that cannot be built.
pub(crate) fn run(words: &[&str]) -> Result<Tally> {
    let options = Options::read(words)?;
    let mut targets = targets(shell::root())?;
    targets.retain(|target| options.asks_for(target));
    if targets.is_empty() {
        return Err("no such fuzz target\n".to_owned());
    }
    let place = Place::build()?;
    let mut tally = Tally::default();
    println!(
        "{:20} {:>12} {:>8} {:>8} {:>6}",
        "target", "executions", "seconds", "edges", "new"
    );
    for target in targets {
        match place.fuzz(&target, &options) {
            Ok(outcome) => {
                println!("{target:20} {outcome}");
                tally.pass();
            }
            Err(finding) => {
                println!("{target:20} FINDING: {finding}");
                tally.fail(format!("{target}: {finding}"));
            }
        }
    }
    Ok(tally)
}

/// What a target came to.
struct Outcome {
    executions: u64,
    took: Duration,
    /// Edges of the code that the corpus takes.
    edges: u64,
    /// Inputs that the corpus did not have.
    new: u64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64();
        write!(
            f,
            "{:>12} {seconds:>8.0} {:>8} {:>6}",
            self.executions, self.edges, self.new
        )
    }
}

/// Where binaries, growing corpora and findings are.
struct Place {
    binaries: PathBuf,
    work: PathBuf,
}

impl Place {
    fn build() -> Result<Self> {
        let version = shell::read(Command::new("rustup").args(["run", TOOLCHAIN, "rustc", "-vV"]))?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        let host = host.ok_or("rustc does not say for which host it is")?;
        let folder = target_directory().join("fuzz");
        let mut build = Command::new("rustup");
        build.args(["run", TOOLCHAIN, "cargo", "build", "--release"]);
        // With a target named, build scripts are not instrumented.
        build.args([
            "--manifest-path",
            MANIFEST,
            "--target",
            host,
            "--target-dir",
        ]);
        build.arg(&folder).env("RUSTFLAGS", INSTRUMENTED);
        shell::run(&mut build)?;
        Ok(Self {
            binaries: folder.join(host).join("release"),
            work: folder,
        })
    }

    /// Runs a target, and returns what it came to.
    ///
    /// # Errors
    /// Where the input is that broke it, and its output.
    fn fuzz(&self, target: &str, options: &Options) -> Result<Outcome> {
        let (grown, findings) = (
            self.work.join("corpora").join(target),
            self.work.join("findings"),
        );
        let seeds = Path::new("fuzz/corpus").join(target);
        for folder in [&grown, &findings, &seeds] {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let mut command = Command::new(self.binaries.join(target));
        command.arg(format!("-runs={}", options.runs));
        if let Some(limit) = options.limit {
            command.arg(format!("-max_total_time={}", limit.as_secs()));
        }
        let prefix = findings.join(format!("{target}-"));
        command.arg(format!("-artifact_prefix={}", prefix.display()));
        command.arg(format!("-max_len={}", longest(&seeds).max(LEAST_LENGTH)));
        command.args(["-timeout=60", "-rss_limit_mb=2048", "-print_final_stats=1"]);
        command.args([&grown, &seeds]);
        let begin = Instant::now();
        let said = self.finish(target, &mut command)?;
        let took = begin.elapsed();
        if options.merges {
            let mut merge = Command::new(self.binaries.join(target));
            merge
                .args(["-merge=1", "-use_counters=0"])
                .args([&seeds, &grown]);
            self.finish(target, &mut merge)?;
        }
        Ok(Outcome {
            executions: last_number(&said, "stat::number_of_executed_units:"),
            took,
            edges: last_number(&said, " cov:"),
            new: last_number(&said, "stat::new_units_added:"),
        })
    }

    /// Runs a command of libFuzzer, keeps its output, and returns it.
    fn finish(&self, target: &str, command: &mut Command) -> Result<String> {
        let output = command.output();
        let output = output.map_err(|error| format!("{}: {error}", shell::shown(command)))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let log = self.work.join(format!("{target}.log"));
        fs::write(&log, &said).map_err(|error| format!("{}: {error}", log.display()))?;
        if output.status.success() {
            return Ok(said);
        }
        let written = said
            .lines()
            .rev()
            .find(|line| line.contains("Test unit written to"));
        let written = written.unwrap_or("no input was written").trim();
        Err(format!("{written}; output in {}", log.display()))
    }
}

/// Length of the longest file in a folder, bytes.
fn longest(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let lengths = files.filter_map(|file| Some(file.metadata().ok()?.len()));
    lengths.max().unwrap_or(0)
}

/// The number behind the last `label` in libFuzzer's output.
fn last_number(said: &str, label: &str) -> u64 {
    let number = |(_, rest): (&str, &str)| rest.split_whitespace().next()?.parse().ok();
    said.rsplit_once(label).and_then(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_is_run_and_for_how_long() {
        let options = Options::read(&["iperf3", "--runs", "5", "native", "--merge"]).expect("good");
        assert!(options.asks_for("iperf3_state") && options.asks_for("native_probe"));
        assert!(!options.asks_for("l4s") && options.merges);
        assert_eq!((options.runs, options.limit), (5, None));
        let all = Options::read(&["--seconds", "60"]).expect("good");
        assert!(all.asks_for("l4s") && all.limit == Some(Duration::from_secs(60)));
        for wrong in [
            &["--runs"][..],
            &["--runs", "0"],
            &["--seconds", "x"],
            &["--jobs", "2"],
        ] {
            assert!(Options::read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn every_file_is_a_target() {
        let manifest = fs::read_to_string(shell::root().join(MANIFEST)).expect("a manifest");
        let targets = targets(shell::root()).expect("targets");
        for target in &targets {
            assert!(
                manifest.contains(&format!("name = \"{target}\"\n")),
                "{target}"
            );
        }
        assert_eq!(manifest.matches("[[bin]]").count(), targets.len());
    }

    #[test]
    fn numbers_are_read_from_what_libfuzzer_says() {
        let said = "#3\tNEW    cov: 12 ft: 30\n#9\tDONE   cov: 34 ft: 99\n\
                    stat::number_of_executed_units: 10\nstat::new_units_added:          7\n";
        assert_eq!(last_number(said, " cov:"), 34);
        assert_eq!(last_number(said, "stat::number_of_executed_units:"), 10);
        assert_eq!(last_number(said, "stat::new_units_added:"), 7);
        assert_eq!(last_number("", " cov:"), 0);
    }
}
