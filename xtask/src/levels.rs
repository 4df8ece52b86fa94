//! The levels of tests, from pure to real peers.

use std::path::PathBuf;
use std::process::Command;

use crate::setup;
use crate::shell::{self, Result, cargo};
use crate::tally::Tally;

/// Tests that run together.
struct Level {
    name: &'static str,
    about: &'static str,
    runs: &'static [Run],
}

/// One call of `cargo test`.
struct Run {
    packages: &'static [&'static str],
    /// Features beside the default ones; a package's own run where there are any.
    features: &'static [&'static str],
    /// Test programs of the package; all of its targets when empty.
    programs: &'static [&'static str],
    /// What the names of the tests hold; all tests without it.
    only: Option<&'static str>,
    /// Threads of the test harness; by default one per core.
    threads: Option<u8>,
}

const LEVELS: [Level; 5] = [
    Level {
        name: "pure",
        about: "calculation without network",
        runs: &[Run {
            packages: &[
                "tapeline-base",
                "tapeline-wire",
                "tapeline-stats",
                "tapeline-report",
                "relay",
            ],
            features: &[],
            programs: &[],
            only: None,
            threads: None,
        }],
    },
    Level {
        name: "loopback",
        about: "sockets of this machine",
        runs: &[Run {
            packages: &[
                "tapeline-sys",
                "tapeline-engine",
                "tapeline-dialect",
                "tapeline",
                "xtask",
            ],
            features: &[],
            programs: &[],
            only: None,
            threads: None,
        }],
    },
    Level {
        name: "namespaces",
        about: "networks with bottlenecks, delay, loss and reordering",
        // Rates, queues and delays are measured: nothing else may run beside them.
        runs: &[Run {
            packages: &["interop"],
            features: &[],
            programs: &["namespaces", "truth", "limits"],
            only: None,
            threads: Some(1),
        }],
    },
    Level {
        name: "interop",
        about: "real peers of every supported version",
        runs: &[
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["--lib", "kit", "native", "multicast", "links"],
                only: None,
                threads: None,
            },
            // Most of a case is waiting, so more cases than cores.
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["layout"],
                only: None,
                threads: Some(12),
            },
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["matrix"],
                only: None,
                threads: Some(4),
            },
            // These bring their own number of threads.
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["modes"],
                only: None,
                threads: None,
            },
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["iperf3"],
                only: None,
                threads: None,
            },
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["lifecycle"],
                only: None,
                threads: Some(2),
            },
            // Brings its own number of threads.
            Run {
                packages: &["interop"],
                features: &[],
                programs: &["faults"],
                only: None,
                threads: None,
            },
        ],
    },
    Level {
        name: "logins",
        about: "what the feature `auth` adds; compiles a C library once",
        runs: &[
            Run {
                packages: &["tapeline-dialect"],
                features: &["auth"],
                programs: &["--lib", "loopback"],
                only: Some("login"),
                threads: None,
            },
            Run {
                packages: &["tapeline"],
                features: &["auth"],
                programs: &["logins"],
                only: None,
                threads: None,
            },
        ],
    },
];

/// Runs the named levels, or all.
///
/// # Errors
/// There is no level of such a name.
pub(crate) fn test(names: &[&str]) -> Result<Tally> {
    if let Some(unknown) = names
        .iter()
        .find(|name| !LEVELS.iter().any(|level| level.name == **name))
    {
        let known: Vec<&str> = LEVELS.iter().map(|level| level.name).collect();
        return Err(format!(
            "there is no level '{unknown}' (there are {})",
            known.join(", ")
        ));
    }
    let chosen = |level: &&Level| names.is_empty() || names.contains(&level.name);
    setup::prepare();
    let mut tally = Tally::default();
    if let Err(error) = build() {
        tally.fail(format!("build: {error}"));
        return Ok(tally);
    }
    for level in LEVELS.iter().filter(chosen) {
        println!("\n== {}: {}", level.name, level.about);
        for run in level.runs {
            tally.add(run.execute(level.name)?);
        }
    }
    Ok(tally)
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

/// Builds the program as it is shipped, and all tests.
fn build() -> Result<()> {
    shell::run(cargo().args(["build", "--release", "--package", "tapeline"]))?;
    shell::run(cargo().args(["test", "--quiet", "--workspace", "--no-run"]))
}

impl Run {
    fn execute(&self, level: &str) -> Result<Tally> {
        let log = std::env::temp_dir().join(format!("tapeline-skipped-{}", std::process::id()));
        let failed = |error| format!("{}: {error}", log.display());
        std::fs::write(&log, "").map_err(failed)?;
        let mut command = self.command();
        command
            .env(interop::SKIP_LOG, &log)
            .env("TAPELINE_BIN", release_binary());
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

    fn command(&self) -> Command {
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
        command.arg("--").args(self.only);
        if let Some(threads) = self.threads {
            command.args(["--test-threads", &threads.to_string()]);
        }
        command
    }
}
