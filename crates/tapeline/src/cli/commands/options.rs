//! The options of the commands: a table for `agent` and `fleet`, one for the others.

use std::ffi::OsString;

use crate::cli::parse::{Arity, NameMatch, Table, Typed};
use Arity::{Optional, Required, Switch};

/// Identity of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[rustfmt::skip]
pub(crate) enum Id {
    Count, All, From, Tag, Older, KeepTagged, Intervals, Remove, Json, Iperf3Json, Csv, Html, Output, Quantities, Notice,
    Strict, List, Interleave, Seed, Pause, Undecided, MaxRuns, Markdown, Junit, BaselineFile,
    JsonStream, Pattern, Plan, Resume, Inventory, FullDuplex, AllAtOnce, Copy, Binary, Save,
    Listen, Open, KeyFile, Targets, MaxTests, ReadOnly, NoSave, Name,
    History, Utc, Help,
    #[cfg(feature = "fleet")] Site,
    #[cfg(feature = "fleet")] Out,
    #[cfg(feature = "fleet")] Server,
    #[cfg(feature = "fleet")] Plain,
    #[cfg(feature = "fleet")] Address,
    #[cfg(feature = "fleet")] Group,
    #[cfg(feature = "fleet")] Config,
    #[cfg(feature = "fleet")] Metrics,
    #[cfg(feature = "fleet")] Ndjson,
    #[cfg(feature = "fleet")] Wait,
    #[cfg(feature = "fleet")] Expires,
    #[cfg(feature = "fleet")] Class,
    #[cfg(feature = "fleet")] Failed,
    #[cfg(feature = "fleet")] Schedule,
    #[cfg(feature = "fleet")] Since,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    pub(crate) id: Id,
    pub(crate) letter: Option<char>,
    pub(crate) name: &'static str,
    pub(crate) arity: Arity,
    /// The value as the help shows it.
    pub(crate) value: &'static str,
    /// Commands and actions that have it; all where none is named.
    pub(crate) places: &'static [&'static str],
    pub(crate) help: &'static str,
}

const fn row(
    id: Id,
    letter: Option<char>,
    name: &'static str,
    arity: Arity,
    value: &'static str,
    places: &'static [&'static str],
    help: &'static str,
) -> Spec {
    Spec {
        id,
        letter,
        name,
        arity,
        value,
        places,
        help,
    }
}

/// The table of the commands about results of this host, in the order of the help.
#[rustfmt::skip]
const RESULTS: &[Spec] = &[
    row(Id::Count, Some('n'), "count", Required, "NUMBER", &["list"], "lines of the list (default 20)"),
    row(Id::All, None, "all", Switch, "", &["list"], "all lines"),
    row(Id::From, None, "from", Required, "KIND", &["import"], "what the files are: tapeline, iperf3-json, iperf2-csv, iperf2-text, iperf3-text"),
    row(Id::Tag, None, "tag", Required, "KEY=VALUE", &["import"], "mark what is taken in; may be repeated"),
    row(Id::Older, None, "older", Required, "AGE", &["prune"], "remove what is older: 90d, 12w, 1y"),
    row(Id::KeepTagged, None, "keep-tagged", Switch, "", &["prune"], "keep results that have a tag"),
    row(Id::Intervals, None, "intervals", Switch, "", &["prune", "export"], "the intervals alone"),
    row(Id::Remove, None, "remove", Switch, "", &["tag", "baseline"], "take the tag or the name away"),
    row(Id::Iperf3Json, None, "iperf3-json", Switch, "", &["export"], "what iperf3 -J would write of a test, less what is not known"),
    row(Id::Csv, None, "csv", Optional, "FILE", &["export", "mesh"], "a row for each number of a result, or for each pair of a mesh"),
    row(Id::Html, None, "html", Optional, "FILE", &["export", "compare", "mesh"], "a page; export: with charts, of one result or of the runs of one test; mesh: a heat map"),
    row(Id::Quantities, None, "quantities", Required, "NAMES", &["compare"], "compare these, the main one first"),
    row(Id::Notice, None, "notice", Required, "PERCENT", &["compare"], "changes up to this are of no interest (default 2)"),
    row(Id::Strict, None, "strict", Switch, "", &["compare"], "refuse tests that are not the same test"),
    row(Id::List, None, "list", Switch, "", &["compare"], "list the quantities, and compare nothing"),
    row(Id::Interleave, None, "interleave", Required, "RUNS", &["compare"], "measure two tests in turn, so often each"),
    row(Id::Seed, None, "seed", Required, "NUMBER", &["compare", "mesh"], "decide what is left to chance: the order of --interleave, a sample of pairs"),
    row(Id::Undecided, None, "undecided", Required, "AS", &["gate"], "pass or fail where runs do not decide"),
    row(Id::MaxRuns, None, "max-runs", Required, "RUNS", &["gate"], "measure up to so many to decide (default 20)"),
    row(Id::BaselineFile, None, "baseline-file", Required, "FILE", &["gate"], "the baseline is in this file"),
    row(Id::Pause, None, "repeat-pause", Required, "SECONDS", &["compare", "gate"], "pause between two runs (default 1)"),
    row(Id::Markdown, None, "markdown", Required, "FILE", &["gate"], "a table for a pull request"),
    row(Id::Junit, None, "junit", Required, "FILE", &["gate"], "JUnit's XML"),
    row(Id::Json, None, "json", Optional, "FILE", &["list", "show", "export", "compare", "gate", "mesh"], "the result as JSON"),
    row(Id::JsonStream, None, "json-stream", Switch, "", &["mesh"], "a line of JSON for each test as it ends, in the place of the text"),
    row(Id::Output, Some('o'), "output", Required, "FILE", &["export"], "write to this file"),
    row(Id::Pattern, None, "pattern", Required, "PATTERN", &["mesh"], "who tests whom: full (default), ring, star:HOST, incast:HOST, outcast:HOST, pairs, groups, sample:NUMBER"),
    row(Id::Plan, None, "plan", Switch, "", &["mesh"], "say how long it would take, and test nothing"),
    row(Id::Resume, None, "resume", Required, "FILE", &["mesh"], "go on with this journal: what has a result is not repeated"),
    row(Id::Inventory, None, "inventory", Required, "FILE", &["mesh"], "print an inventory of Ansible (INI, JSON) as a hosts.toml, and test nothing"),
    row(Id::FullDuplex, None, "full-duplex", Switch, "", &["mesh"], "both directions of a pair in one test"),
    row(Id::AllAtOnce, None, "all-at-once", Switch, "", &["mesh"], "all tests at a common time; they interfere with each other"),
    row(Id::Copy, None, "copy", Switch, "", &["mesh"], "copy this program, a static build, to hosts of ssh that have none"),
    row(Id::Binary, None, "binary", Required, "FILE", &["mesh"], "copy this one instead"),
    row(Id::Save, None, "save", Switch, "", &["mesh"], "keep the results (the default)"),
    row(Id::Open, None, "open", Switch, "", &["web"], "open a browser"),
    row(Id::Listen, None, "listen", Required, "ADDRESS:PORT", &["web"], "where the page is (default 127.0.0.1:8470, or the next free port)"),
    row(Id::KeyFile, None, "key-file", Required, "FILE", &["web"], "the key of the page is in this file; needed where others can reach it"),
    row(Id::Name, None, "name", Required, "HOST", &["web"], "a proxy has the page under this name; may be repeated"),
    row(Id::Targets, None, "targets", Required, "HOSTS", &["web"], "networks and names that may be tested"),
    row(Id::MaxTests, None, "max-tests", Required, "NUMBER", &["web"], "tests at a time (default 1, at most 3)"),
    row(Id::ReadOnly, None, "read-only", Switch, "", &["web"], "results only: nothing starts or changes"),
    row(Id::NoSave, None, "no-save", Switch, "", &["mesh", "web"], "do not keep the results of tests"),
    row(Id::Utc, None, "utc", Switch, "", &["list", "show", "tag", "note", "baseline", "import", "export", "prune", "check", "path", "compare", "gate"], "times in universal time"),
    row(Id::History, None, "history", Required, "FILE", &[], "the file that results are kept in"),
    row(Id::Help, Some('h'), "help", Switch, "", &[], "show this help"),
];

/// The table of the commands of a fleet, in the order of the help.
#[cfg(feature = "fleet")]
#[rustfmt::skip]
const FLEET: &[Spec] = &[
    row(Id::Site, None, "site", Required, "NAME", &["init"], "the name of the site"),
    row(Id::Server, None, "server", Required, "URL", &["init"], "where its nats-server is (default nats://127.0.0.1:4222): tls://HOST:PORT; may be repeated"),
    row(Id::Plain, None, "plain", Switch, "", &["init"], "accept servers without TLS over a network: who is on the way can read and forge orders"),
    row(Id::Out, None, "out", Required, "FOLDER", &["init", "enrol"], "the folder with the files of the site (default fleet)"),
    row(Id::Address, None, "address", Required, "ADDRESS", &["enrol"], "what other hosts test towards (default the host's name)"),
    row(Id::Group, None, "group", Required, "NAME", &["enrol"], "a group of the host, for schedules; may be repeated"),
    row(Id::Config, None, "config", Required, "FILE", &["agent", "controller", "collect", "hosts", "run", "schedule add", "schedule list", "schedule remove", "jobs", "cancel", "watch"],
        "the settings (default those in the folder fleet, else in /etc/tapeline)"),
    row(Id::Pattern, None, "pattern", Required, "PATTERN", &["run"], "who tests whom: full (default), ring, star:HOST, incast:HOST, outcast:HOST, pairs, groups, sample:NUMBER"),
    row(Id::Seed, None, "seed", Required, "NUMBER", &["run"], "decide a sample of pairs"),
    row(Id::Class, None, "class", Required, "CLASS", &["run"], "exclusive (default): alone on its hosts; background: beside others"),
    row(Id::Expires, None, "expires", Required, "TIME", &["run"], "what has not begun by then does not begin: 30m, 6h, 2d"),
    row(Id::Wait, None, "wait", Switch, "", &["run"], "stay until all jobs have ended"),
    row(Id::Failed, None, "failed", Switch, "", &["jobs"], "those without a result"),
    row(Id::Since, None, "since", Required, "AGE", &["matrix"], "results that are not older: 24h, 7d"),
    row(Id::Schedule, None, "schedule", Required, "NAME", &["jobs", "matrix"], "those of this schedule"),
    row(Id::Metrics, None, "metrics", Required, "[HOST:]PORT", &["collect"], "metrics of the fleet for Prometheus over HTTP"),
    row(Id::Ndjson, None, "ndjson", Required, "FILE", &["collect"], "append each document to this file, a line each"),
    row(Id::Json, None, "json", Optional, "FILE", &["hosts", "run", "schedule list", "jobs", "matrix"], "the result as JSON"),
    row(Id::Csv, None, "csv", Optional, "FILE", &["matrix"], "a row for each pair"),
    row(Id::Html, None, "html", Required, "FILE", &["matrix"], "a page with a heat map"),
    row(Id::History, None, "history", Required, "FILE", &["collect", "matrix"], "the file that results are kept in"),
    row(Id::Help, Some('h'), "help", Switch, "", &[], "show this help"),
];

/// The options that a command may have.
pub(crate) fn table(command: &str) -> &'static [Spec] {
    match command {
        #[cfg(feature = "fleet")]
        "agent" | "fleet" => FLEET,
        _ => RESULTS,
    }
}

impl Spec {
    /// Whether a command or an action has it.
    pub(crate) fn is_of(&self, place: &str) -> bool {
        self.places.is_empty() || self.places.contains(&place)
    }
}

/// An option as it was typed.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) spec: &'static Spec,
    pub(crate) spelled: String,
    pub(crate) value: Option<OsString>,
}

impl Given {
    /// The value as text; empty without one.
    pub(crate) fn text(&self) -> String {
        let value = self.value.as_ref();
        value.map_or_else(String::new, |value| value.to_string_lossy().into_owned())
    }
}

/// A table as a reader of words sees it.
pub(crate) struct Known(pub(crate) &'static [Spec]);

impl Table for Known {
    type Spec = Spec;
    type Given = Given;

    fn by_letter(&self, letter: char) -> Option<&'static Spec> {
        self.0.iter().find(|spec| spec.letter == Some(letter))
    }

    fn by_name(&self, typed: &str) -> NameMatch<Spec> {
        if let Some(spec) = self.0.iter().find(|spec| spec.name == typed) {
            return NameMatch::One(spec, spec.name);
        }
        let mut near = self.0.iter().filter(|spec| spec.name.starts_with(typed));
        match (near.next(), near.next()) {
            (None, _) => NameMatch::Unknown,
            (Some(spec), None) => NameMatch::One(spec, spec.name),
            (Some(first), Some(second)) => {
                let names = [first.name, second.name].into_iter();
                NameMatch::Ambiguous(names.chain(near.map(|spec| spec.name)).collect())
            }
        }
    }

    fn arity(&self, spec: &Spec) -> Arity {
        spec.arity
    }

    fn given(&self, spec: &'static Spec, typed: Typed) -> Given {
        Given {
            spec,
            spelled: typed.spelled,
            value: typed.value,
        }
    }
}
