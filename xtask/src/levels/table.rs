//! Which tests there are, and how they run.

use super::run::{FLEET, Run};
use crate::shell::Result;

/// Tests that run together.
pub(crate) struct Level {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// It runs where no level is named.
    by_default: bool,
    runs: &'static [Run],
}

const LEVELS: [Level; 11] = [
    Level {
        name: "pure",
        about: "calculation without network",
        by_default: true,
        runs: &[Run {
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
            programs: &[],
            only: None,
            threads: None,
            ignored: false,
        }],
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
                "tapeline-embed",
                "tapeline",
                "xtask",
            ],
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
                programs: &[
                    "--lib",
                    "kit",
                    "native",
                    "branches",
                    "documents",
                    "forms",
                    "multicast",
                    "links",
                    "metrics",
                    "python",
                    "action",
                ],
                only: None,
                threads: None,
                ignored: false,
            },
            // Most of a case is waiting, so more cases than cores.
            Run {
                packages: &["interop"],
                programs: &["layout"],
                only: None,
                threads: Some(12),
                ignored: false,
            },
            Run {
                packages: &["interop"],
                programs: &["matrix"],
                only: None,
                threads: Some(4),
                ignored: false,
            },
            // Each test has a browser of its own.
            Run {
                packages: &["interop"],
                programs: &["web"],
                only: None,
                threads: Some(2),
                ignored: false,
            },
            // These bring their own number of threads.
            Run {
                packages: &["interop"],
                programs: &["modes"],
                only: None,
                threads: None,
                ignored: false,
            },
            Run {
                packages: &["interop"],
                programs: &["iperf3"],
                only: None,
                threads: None,
                ignored: false,
            },
            Run {
                packages: &["interop"],
                programs: &["readers"],
                only: None,
                ignored: false,
                threads: None,
            },
            Run {
                packages: &["interop"],
                programs: &["lifecycle"],
                only: None,
                threads: Some(2),
                ignored: false,
            },
            // Brings its own number of threads.
            Run {
                packages: &["interop"],
                programs: &["faults"],
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
                programs: &[],
                only: None,
                threads: None,
                ignored: false,
            },
            // Processes on many hosts: nothing else may run next to them.
            Run {
                packages: &["interop"],
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
                programs: &[FLEET],
                only: None,
                threads: Some(1),
                ignored: true,
            },
            Run {
                packages: &["interop"],
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
                programs: &["large"],
                only: None,
                threads: Some(1),
                ignored: true,
            },
            Run {
                packages: &["tapeline-stats"],
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
            programs: &["python", "debian", "dist", "kubernetes"],
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
            programs: &["web"],
            only: Some("cost::"),
            threads: Some(1),
            ignored: true,
        }],
    },
];

/// The runs of these names; without any, of the levels that run by default.
pub(crate) fn chosen(names: &[&str]) -> Result<Vec<(&'static Level, &'static Run)>> {
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
        assert_eq!(programs(&["pure", "interop/iperf3"]), Ok(2));
        assert!(programs(&["interop/iperf4"]).is_err());
        assert!(programs(&["pur"]).is_err());
    }
}
