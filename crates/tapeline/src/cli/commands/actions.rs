//! The commands of this folder, and what each of them can do.

/// An action: its name, the words behind it, what it does.
pub(crate) type Action = (&'static str, &'static str, &'static str);

/// The commands that this is about, with what they do.
pub(crate) const COMMANDS: &[(&str, &str)] = &[
    ("history", "results that were saved"),
    (
        "compare",
        "whether two sets of runs differ, and how sure that is",
    ),
    (
        "gate",
        "whether runs keep rules, for scripts and pull requests",
    ),
    #[cfg(feature = "mesh")]
    ("mesh", "tests among many hosts, and which of them is slow"),
    #[cfg(feature = "fleet")]
    ("agent", "takes this host's part in the tests of a fleet"),
    #[cfg(feature = "fleet")]
    ("fleet", "tests among hosts for good, on schedules"),
    #[cfg(feature = "web")]
    (
        "web",
        "a page of this host: tests, servers, results, comparisons",
    ),
];

/// What `history` does.
const HISTORY: &[Action] = &[
    (
        "list",
        "[RUNS]",
        "the latest results, or these (the default action)",
    ),
    (
        "show",
        "RUNS",
        "the text of a result, made from its document",
    ),
    (
        "tag",
        "RUNS KEY=VALUE",
        "mark results, to find them as tag:KEY=VALUE",
    ),
    (
        "note",
        "RUNS TEXT",
        "write a note to results; an empty one removes it",
    ),
    ("baseline", "[NAME [RUNS]]", "list baselines, or name one"),
    (
        "import",
        "FILE...",
        "take in results of tapeline, iperf 2 and iperf3",
    ),
    (
        "export",
        "[RUNS]",
        "documents, one a line, or tables or a page",
    ),
    ("prune", "", "remove old results"),
    ("check", "", "take in what waits, and check the file"),
    ("path", "", "where the file is"),
];

/// What `fleet` does.
#[cfg(feature = "fleet")]
const FLEET: &[Action] = &[
    (
        "init",
        "--site NAME",
        "begin a site: keys, settings of its roles, the configuration of its nats-server",
    ),
    ("enrol", "HOST...", "give hosts keys, settings and rights"),
    (
        "controller",
        "",
        "hand jobs to agents; of several at a site one is active",
    ),
    ("collect", "", "put results into the history"),
    ("hosts", "", "who is there, and what it does"),
    (
        "run",
        "HOSTS.TOML | FROM TO [-- TEST]",
        "submit tests among hosts, or of one pair",
    ),
    ("schedule add", "FILE.TOML", "test on a schedule"),
    ("schedule list", "", "the schedules"),
    ("schedule remove", "NAME", "end a schedule"),
    ("jobs", "", "jobs and what became of them"),
    ("cancel", "JOB...", "take jobs back that do not run yet"),
    ("watch", "JOB", "follow a job as it runs"),
    ("matrix", "", "the newest results of all pairs"),
];

/// What a command can do, if it has actions.
pub(crate) fn actions(command: &str) -> &'static [Action] {
    match command {
        "history" => HISTORY,
        #[cfg(feature = "fleet")]
        "fleet" => FLEET,
        _ => &[],
    }
}
