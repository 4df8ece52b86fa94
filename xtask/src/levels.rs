//! The levels of tests, from pure to real peers.

use std::path::PathBuf;
use std::process::Command;

use crate::disturbance::Watch;
use crate::setup;
use crate::shell::{self, Result, cargo};
use crate::tally::Tally;

/// Tests that run together.
struct Level {
    name: &'static str,
    about: &'static str,
    /// It runs where no level is named.
    by_default: bool,
    runs: &'static [Run],
}

/// One call of `cargo test`.
struct Run {
    packages: &'static [&'static str],
    /// Features in addition to the default ones; a package's own run where there are any.
    features: &'static [&'static str],
    /// Test programs of the package; all of its targets when empty.
    programs: &'static [&'static str],
    /// What the names of the tests hold; all tests without it.
    only: Option<&'static str>,
    /// Threads of the test harness; by default one per core.
    threads: Option<u8>,
    /// Ignored tests, too.
    ignored: bool,
}

/// The program of tests with a fleet, and the feature that it needs.
const FLEET: &str = "fleet";

const LEVELS: [Level; 12] = [
    Level {
        name: "pure",
        about: "calculation without network",
        by_default: true,
        runs: &[
            Run {
                packages: &[
                    "tapeline-base",
                    "tapeline-wire",
                    "tapeline-stats",
                    "tapeline-report",
                    "tapeline-archive",
                    "tapeline-remote",
                    "tapeline-mesh",
                    "tapeline-screen",
                    "tapeline-testkit",
                    "relay",
                ],
                features: &[],
                programs: &[],
                only: None,
                threads: None,
                ignored: false,
            },
            Run {
                packages: &["tapeline-report"],
                features: &["prometheus"],
                programs: &["--lib", "fleet_metrics"],
                only: None,
                threads: None,
                ignored: false,
            },
        ],
    },
    Level {
        name: "loopback",
        about: "sockets of this machine",
        by_default: true,
        runs: &[Run {
            packages: &[
                "tapeline-sys",
                "tapeline-engine",
                "tapeline-dialect",
                "tapeline-method",
                "tapeline-web",
                "tapeline",
                "xtask",
            ],
            features: &[],
            programs: &[],
            only: None,
            threads: None,
            ignored: false,
        }],
    },
    Level {
        name: "namespaces",
        about: "networks with bottlenecks, delay, loss and reordering",
        by_default: true,
        // Rates, queues and delays are measured: nothing else may run next to them.
        runs: &[Run {
            packages: &["interop"],
            features: &[],
            programs: &[
                "namespaces",
                "truth",
                "limits",
                "history",
                "mesh",
                "third_party",
                "methods",
                "verdicts",
            ],
            only: None,
            threads: Some(1),
            ignored: false,
        }],
    },
    Level {
        name: "interop",
        about: "real peers of every supported version",
        by_default: true,
        runs: &[
            Run {
                packages: &["interop"],
                features: &[],
                programs: &[
                    "--lib",
                    "kit",
                    "native",
                    "documents",
                    "forms",
                    "multicast",
                    "links",
                    "metrics",
                    "python",
                ],
                only: None,
                threads: None,
                ignored: false,
            },
            // Most of a case is waiting, so more cases than cores.
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["layout"],
                only: None,
                threads: Some(12),
                ignored: false,
            },
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["matrix"],
                only: None,
                threads: Some(4),
                ignored: false,
            },
            // Each test has a browser of its own.
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["web"],
                only: None,
                threads: Some(2),
                ignored: false,
            },
            // These bring their own number of threads.
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["modes"],
                only: None,
                threads: None,
                ignored: false,
            },
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["iperf3"],
                only: None,
                threads: None,
                ignored: false,
            },
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["readers"],
                only: None,
                ignored: false,
                threads: None,
            },
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["lifecycle"],
                only: None,
                threads: Some(2),
                ignored: false,
            },
            // Brings its own number of threads.
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["faults"],
                only: None,
                threads: None,
                ignored: false,
            },
        ],
    },
    Level {
        name: "logins",
        about: "what the feature `auth` adds; compiles a C library once",
        by_default: true,
        runs: &[
            Run {
                packages: &["tapeline-dialect"],
                features: &["auth"],
                programs: &["--lib", "loopback"],
                only: Some("login"),
                threads: None,
                ignored: false,
            },
            Run {
                packages: &["tapeline"],
                features: &["auth"],
                programs: &["logins"],
                only: None,
                threads: None,
                ignored: false,
            },
        ],
    },
    Level {
        name: "fleet",
        about: "a fleet in virtual time and with a real nats-server, the feature `fleet`",
        by_default: true,
        runs: &[
            Run {
                packages: &["tapeline-fleet"],
                features: &[],
                programs: &[],
                only: None,
                threads: None,
                ignored: false,
            },
            Run {
                packages: &["tapeline"],
                features: &["fleet"],
                programs: &["--lib", "fleet"],
                only: None,
                threads: None,
                ignored: false,
            },
            // Processes on many hosts: nothing else may run next to them.
            Run {
                packages: &["interop"],
                features: &[],
                programs: &[FLEET],
                only: None,
                threads: Some(1),
                ignored: false,
            },
        ],
    },
    Level {
        name: "chaos",
        about: "a fleet of 32 hosts, a mesh of 64, and rounds of faults; other levels have the other cases",
        by_default: false,
        runs: &[
            Run {
                packages: &["interop"],
                features: &[],
                programs: &[FLEET],
                only: None,
                threads: Some(1),
                ignored: true,
            },
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["mesh"],
                only: None,
                threads: Some(1),
                ignored: true,
            },
        ],
    },
    Level {
        name: "verdicts",
        about: "the whole matrix of verdicts; the level namespaces has a sample of it",
        by_default: false,
        // Brings its own number of threads.
        runs: &[Run {
            packages: &["interop"],
            features: &[],
            programs: &["verdicts"],
            only: None,
            threads: None,
            ignored: true,
        }],
    },
    Level {
        name: "methods",
        about: "every acceptance case of the methods; the level namespaces has a sample of them",
        by_default: false,
        runs: &[Run {
            packages: &["interop"],
            features: &[],
            programs: &["methods"],
            only: None,
            threads: Some(1),
            ignored: true,
        }],
    },
    Level {
        name: "history",
        about: "100,000 kept runs, 10,000 comparisons of what is alike; the level pure has a sample of them",
        by_default: false,
        runs: &[
            Run {
                packages: &["tapeline-archive"],
                features: &[],
                programs: &["large"],
                only: None,
                threads: Some(1),
                ignored: true,
            },
            Run {
                packages: &["tapeline-stats"],
                features: &[],
                programs: &["--lib"],
                only: Some("compare::"),
                threads: None,
                ignored: true,
            },
        ],
    },
    Level {
        name: "packages",
        about: "what is installed, from an empty environment on; builds the program for each",
        by_default: false,
        runs: &[Run {
            packages: &["interop"],
            features: &[],
            programs: &["python", "debian"],
            only: None,
            threads: Some(1),
            ignored: true,
        }],
    },
    Level {
        name: "page",
        about: "what the page costs beside a test: processor time, memory over ten minutes",
        by_default: false,
        runs: &[Run {
            packages: &["interop"],
            features: &[],
            programs: &["web"],
            only: Some("cost::"),
            threads: Some(1),
            ignored: true,
        }],
    },
];

/// Failures up to which a run on a disturbed machine is looked at test by test; more are no accident.
const REPEATABLE: usize = 60;
/// Times that a test is run again while the machine is disturbed.
const REPEATS: usize = 3;
/// Failures on an undisturbed machine up to which each is tried alone; more are no accident.
const UNSTEADY: usize = 3;
/// Passes in a row, alone, that make such a failure an unsteady test rather than a defect.
const PROOFS: usize = 5;

/// What becomes of a failure on an undisturbed machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failures {
    /// It counts.
    Count,
    /// It counts unless the test then passes alone, several times in a row; the run names it.
    TryAlone,
}

/// Runs what is named, or what runs by default: levels, `LEVEL/PROGRAM`, `--times N`.
///
/// # Errors
/// There is no level or test program of such a name.
pub(crate) fn test(words: &[&str]) -> Result<Tally> {
    let (names, times) = match words {
        ["--times", times, names @ ..] | [names @ .., "--times", times] => {
            let times = times.parse::<usize>();
            (names, times.map_err(|_| "--times wants a number")?)
        }
        names => (names, 1),
    };
    let runs = chosen(names)?;
    // Who names what is run looks for unsteady tests, and sees each failure.
    let failures = if names.is_empty() && times == 1 {
        Failures::TryAlone
    } else {
        Failures::Count
    };
    setup::prepare();
    let mut tally = Tally::default();
    if let Err(error) = build() {
        tally.fail(format!("build: {error}"));
        return Ok(tally);
    }
    for time in 1..=times {
        let mut level_before = "";
        for (level, run) in &runs {
            if level.name != level_before {
                println!("\n== {}: {}", level.name, level.about);
                level_before = level.name;
            }
            tally.add(run.execute(level.name, failures)?);
        }
        if times > 1 {
            println!("\n{time} of {times} times: {tally}");
        }
    }
    Ok(tally)
}

/// The runs of these names; without any, of the levels that run by default.
fn chosen(names: &[&str]) -> Result<Vec<(&'static Level, &'static Run)>> {
    let all = || {
        LEVELS
            .iter()
            .flat_map(|level| level.runs.iter().map(move |run| (level, run)))
    };
    if names.is_empty() {
        return Ok(all().filter(|(level, _)| level.by_default).collect());
    }
    let mut runs = Vec::new();
    for name in names {
        let (level, program) = name
            .split_once('/')
            .map_or((*name, None), |(level, program)| (level, Some(program)));
        let before = runs.len();
        runs.extend(all().filter(|(its, run)| {
            its.name == level && program.is_none_or(|program| run.programs.contains(&program))
        }));
        if runs.len() == before {
            let known = LEVELS.each_ref().map(|level| level.name).join(", ");
            return Err(format!("there is no level '{name}' (there are {known})"));
        }
    }
    Ok(runs)
}

/// Where everything is built.
pub(crate) fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from)
}

/// Where the program under test is.
pub(crate) fn release_binary() -> PathBuf {
    let target = target_directory();
    std::path::absolute(target.join("release/tapeline")).unwrap_or_else(|_| "tapeline".into())
}

/// The program with a fleet, built now: others that are built later leave it out.
fn fleet_binary() -> Result<PathBuf> {
    let build = [
        "build",
        "--quiet",
        "--package",
        "tapeline",
        "--features",
        FLEET,
    ];
    shell::run(cargo().args(build))?;
    let target = target_directory();
    Ok(std::path::absolute(target.join("debug/tapeline")).unwrap_or_else(|_| "tapeline".into()))
}

/// Builds the program as it is shipped, and all tests.
fn build() -> Result<()> {
    shell::run(cargo().args(["build", "--release", "--package", "tapeline"]))?;
    shell::run(cargo().args(["test", "--quiet", "--workspace", "--no-run"]))
}

impl Run {
    /// Runs all, and again what failed while the machine was disturbed.
    fn execute(&self, level: &str, failures: Failures) -> Result<Tally> {
        let watch = Watch::begin();
        let mut tally = self.once(level, None)?;
        let disturbance = watch.end();
        if disturbance.spoils() && tally.failed() <= REPEATABLE {
            for failure in tally.failures().to_vec() {
                println!("\nagain: {failure} ({disturbance})");
                tally.replace(&failure, self.again(level, &failure)?, disturbance);
            }
        } else if failures == Failures::TryAlone && tally.failed() <= UNSTEADY {
            for failure in tally.failures().to_vec() {
                println!("\nalone: {failure}");
                if let Some(passed) = self.proven(level, &failure)? {
                    let unsteady =
                        format!("unsteady: failed once, then passed {PROOFS} of {PROOFS}");
                    tally.replace(&failure, passed, unsteady);
                }
            }
        }
        Ok(tally)
    }

    /// The pass of a test that passes alone as often as it takes; nothing when it fails.
    fn proven(&self, level: &str, test: &str) -> Result<Option<Tally>> {
        let mut passed = Tally::default();
        for _ in 0..PROOFS {
            passed = self.once(level, Some(test))?;
            if passed.is_empty() || passed.failed() > 0 {
                return Ok(None);
            }
        }
        Ok(Some(passed))
    }

    /// Runs one test until it passes, fails undisturbed, or has failed often enough.
    fn again(&self, level: &str, test: &str) -> Result<Tally> {
        let mut repeats = 0;
        loop {
            let watch = Watch::begin();
            let mut tally = self.once(level, Some(test))?;
            repeats += 1;
            if tally.is_empty() {
                // It was no test that failed, but its harness.
                tally.fail(test);
            }
            if tally.failed() == 0 || !watch.end().spoils() || repeats == REPEATS {
                return Ok(tally);
            }
        }
    }

    /// Runs all tests, or the one of that name.
    fn once(&self, level: &str, test: Option<&str>) -> Result<Tally> {
        let log = std::env::temp_dir().join(format!("tapeline-skipped-{}", std::process::id()));
        let failed = |error| format!("{}: {error}", log.display());
        std::fs::write(&log, "").map_err(failed)?;
        let binary = match self.programs == [FLEET] {
            true => fleet_binary()?,
            false => release_binary(),
        };
        let mut command = self.command(test);
        command
            .env(interop::SKIP_LOG, &log)
            .env("TAPELINE_BIN", binary);
        let mut tally = Tally::default();
        let result = shell::run_reading(&mut command, |line| tally.read_line(line));
        let skipped = std::fs::read_to_string(&log).map_err(failed)?;
        tally.read_skip_log(&skipped);
        let _ = std::fs::remove_file(&log);
        // A harness that dies on the way has tests that it never counted.
        if let (Err(error), 0) = (result, tally.failed()) {
            tally.fail(format!("{level}: {error}"));
        }
        Ok(tally)
    }

    fn command(&self, test: Option<&str>) -> Command {
        let mut command = cargo();
        command.args(["test", "--no-fail-fast"]);
        for package in self.packages {
            command.args(["--package", package]);
        }
        for feature in self.features {
            command.args(["--features", feature]);
        }
        for program in self.programs {
            match program.strip_prefix("--") {
                Some(_) => command.arg(program),
                None => command.args(["--test", program]),
            };
        }
        command.arg("--");
        match test {
            Some(test) => command.args(["--exact", test]),
            None => command.args(self.only),
        };
        if self.ignored {
            command.arg("--include-ignored");
        }
        if let Some(threads) = self.threads {
            command.args(["--test-threads", &threads.to_string()]);
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of a folder's entries, without `.rs`.
    fn names(folder: &str) -> Vec<String> {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let entries = std::fs::read_dir(root.join(folder)).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let names = names.map(|name| name.to_string_lossy().trim_end_matches(".rs").to_owned());
        names.collect()
    }

    #[test]
    fn every_crate_and_every_program_of_tests_is_in_a_level() {
        let runs = || LEVELS.iter().flat_map(|level| level.runs);
        for krate in names("crates") {
            let package = match krate.as_str() {
                "tapeline" => krate.clone(),
                _ => format!("tapeline-{krate}"),
            };
            let tested = runs().any(|run| run.packages.contains(&package.as_str()));
            assert!(tested, "{package}");
        }
        for program in names("interop/tests") {
            let tested = runs().any(|run| run.programs.contains(&program.as_str()));
            assert!(tested || program == "golden", "{program}");
        }
    }

    #[test]
    fn a_level_has_programs_that_run_alone() {
        let programs = |names: &[&str]| chosen(names).map(|runs| runs.len());
        let all: usize = LEVELS.iter().map(|level| level.runs.len()).sum();
        assert_eq!(programs(&[]), Ok(all - 8));
        let on_demand = [
            "chaos", "verdicts", "methods", "history", "packages", "page",
        ];
        assert_eq!(programs(&on_demand), Ok(8));
        assert_eq!(programs(&["pure", "interop/iperf3"]), Ok(3));
        assert!(programs(&["interop/iperf4"]).is_err());
        assert!(programs(&["pur"]).is_err());
    }
}
