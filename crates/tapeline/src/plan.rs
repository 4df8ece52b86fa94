//! What the process is to do: a command line, and what came of it.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use tapeline_base::{ExitCode, Family, Role};
use tapeline_dialect::{ClientPlan, Iperf3Client, ServerPlan, StartTime, Techniques};
use tapeline_method::MethodPlan;
use tapeline_remote::{GivenOption, Transport};
use tapeline_report::method::PassLimit;

use crate::message::CliMessage;
use crate::presentation::{DocumentForm, Presentation};

/// Everything that a command line depends on.
pub struct Invocation<'a> {
    /// `argv[0]`, verbatim.
    pub program: OsString,
    /// The words behind it.
    pub arguments: Vec<OsString>,
    /// Reads an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// Finds the addresses of a name (only for `-s -c NAME`).
    pub resolver: Resolver,
}

/// Finds the addresses of a name.
pub(crate) type Resolver = fn(&str) -> Vec<IpAddr>;

/// What the second stage has to say and what comes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// To be printed before anything else happens.
    pub messages: Vec<CliMessage>,
    /// The job, or the exit code when there is none.
    pub outcome: Result<Plan, ExitCode>,
    /// What programs are to read where there is no job.
    pub refusals: Vec<RefusalDocument>,
}

/// A document that says why, for one of the places that the line names for documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalDocument {
    pub(crate) form: DocumentForm,
    /// `None` is standard output.
    pub(crate) file: Option<PathBuf>,
    pub(crate) role: Role,
    pub(crate) text: String,
}

/// The job.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Test towards a server.
    Client(Box<ClientPlan>, Presentation, Option<RepeatPlan>),
    /// Test towards a server with different flows.
    Flows(Box<FlowsPlan>, Presentation),
    /// Test between other hosts.
    ThirdParty(Box<ThirdParty>),
    /// Serve tests.
    Server(Box<ServerPlan>, Presentation, Life, Supervision),
    /// What was asked for under the name iperf3.
    Iperf3(Box<Iperf3Job>),
    /// `tapeline try`.
    Try(TryPlan, Presentation),
    /// `tapeline exporter`.
    Exporter(ExporterPlan),
    /// `tapeline METHOD HOST`.
    Method(Box<MethodJob>),
    /// `tapeline history`.
    #[cfg(feature = "history")]
    History(Box<HistoryJob>),
    /// `tapeline compare`.
    #[cfg(feature = "history")]
    Compare(Box<CompareJob>),
    /// `tapeline gate`.
    #[cfg(feature = "history")]
    Gate(Box<GateJob>),
    /// `tapeline mesh`.
    #[cfg(feature = "mesh")]
    Mesh(Box<MeshJob>),
    /// `tapeline mesh --inventory FILE`.
    #[cfg(feature = "mesh")]
    Inventory(PathBuf),
    /// `tapeline agent`.
    #[cfg(feature = "fleet")]
    Agent(Box<AgentJob>),
    /// `tapeline fleet`.
    #[cfg(feature = "fleet")]
    Fleet(Box<FleetJob>),
    /// `tapeline web`.
    #[cfg(feature = "web")]
    Web(Box<WebJob>),
    /// Show help.
    Help(HelpPage),
    /// Show the version.
    Version,
    /// Show the version as iperf3 does.
    Iperf3Version,
    /// Show this: a server's options, and where each came from.
    Configuration(String),
    /// Explain a warning, or list all of them.
    Explain(Option<String>),
    /// `tapeline remote`.
    Remote,
    /// Print a document made from the option table.
    Generate(Document, CommandName),
}

impl Plan {
    /// Confines the job to these optimisations.
    pub(crate) fn confine(&mut self, techniques: Techniques) {
        match self {
            Self::Client(plan, ..) => plan.techniques.confine(techniques),
            Self::Flows(plan, _) => {
                for flow in &mut plan.flows {
                    flow.plan.techniques.confine(techniques);
                }
            }
            Self::Server(plan, ..) => plan.techniques.confine(techniques),
            Self::Iperf3(job) => match &mut job.task {
                Iperf3Task::Client(plan) => plan.techniques.confine(techniques),
                Iperf3Task::Server(plan, _) => plan.techniques.confine(techniques),
            },
            Self::Try(plan, _) => plan.techniques.confine(techniques),
            Self::Exporter(plan) => plan.techniques.confine(techniques),
            Self::Method(job) => job.plan.common_mut().techniques.confine(techniques),
            // Their tests are processes of their own.
            Self::ThirdParty(_) => {}
            #[cfg(feature = "history")]
            Self::History(_) | Self::Compare(_) | Self::Gate(_) => {}
            #[cfg(feature = "mesh")]
            Self::Mesh(_) | Self::Inventory(_) => {}
            #[cfg(feature = "fleet")]
            Self::Agent(_) | Self::Fleet(_) => {}
            #[cfg(feature = "web")]
            Self::Web(_) => {}
            Self::Help(_)
            | Self::Version
            | Self::Iperf3Version
            | Self::Configuration(_)
            | Self::Explain(_)
            | Self::Remote
            | Self::Generate(..) => {}
        }
    }
}

/// A client's test that is ordered from here, and has its client or its server on other hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct ThirdParty {
    /// Where the client runs, if not here.
    pub from: Option<Far>,
    /// Where the server is started, if it is to be.
    pub serve_on: Option<Transport>,
    /// The host of `-c`, without a port.
    pub host: String,
    /// The client's options.
    pub options: Vec<GivenOption>,
    /// How results are shown, here.
    pub presentation: Presentation,
}

/// A host that takes orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Far {
    /// How it is reached.
    pub transport: Transport,
    /// What results call it.
    pub name: String,
}

/// Different flows in one test (`--flow`, `--flows`).
#[derive(Clone, Debug, PartialEq)]
pub struct FlowsPlan {
    /// The server as it was typed.
    pub host: String,
    /// At least one.
    pub flows: Vec<FlowPlan>,
}

/// One of different flows.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPlan {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its options, as they were given.
    pub options: String,
    /// What it does; [`StartTime::After`] is when it begins, after the test's beginning.
    pub plan: ClientPlan,
}

impl FlowPlan {
    /// When it begins, after the test's beginning.
    #[must_use]
    pub fn start(&self) -> Duration {
        match self.plan.start {
            StartTime::After(delay) => delay,
            StartTime::Now | StartTime::At(_) | StartTime::Moment(_) => Duration::ZERO,
        }
    }
}

/// A job with iperf3's habits.
#[derive(Clone, Debug, PartialEq)]
pub struct Iperf3Job {
    /// Client or server.
    pub task: Iperf3Task,
    /// Output.
    pub presentation: Presentation,
    /// `-I`: holds the process id while the process runs.
    pub pid_file: Option<PathBuf>,
    /// A client's series.
    pub repeat: Option<RepeatPlan>,
}

/// `--repeat`, `--precision`: several runs of one test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatPlan {
    /// Runs in any case, at least 1.
    pub least: u32,
    /// Runs at most, not below `least`.
    pub most: u32,
    /// Between these: runs until the confidence interval is at most so wide, as a share of the
    /// mean.
    pub width: Option<f64>,
    /// Time between two runs.
    pub pause: Duration,
}

/// Client or server of iperf3.
#[derive(Clone, Debug, PartialEq)]
pub enum Iperf3Task {
    /// Test towards a server.
    Client(Box<Iperf3Client>),
    /// Serve tests.
    Server(Box<ServerPlan>, Life),
}

/// Where a server lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// In the process that was called.
    Foreground,
    /// `-D`: in a process of its own, away from the terminal.
    Background,
}

/// How a server and the process that started it get on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supervision {
    /// `--ready-fd`: this descriptor gets a line end when the server listens.
    pub ready: Option<u32>,
    /// `SIGHUP` reads the limits anew, from the file of `--config`.
    pub reloads: bool,
}

/// `tapeline try` without a host: this machine against itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TryPlan {
    /// Address family.
    pub family: Family,
    /// `-t`: length of each measurement; `None` leaves the choice to the job.
    pub time: Option<Duration>,
    /// Optimisations that it may use.
    pub techniques: Techniques,
}

/// `tapeline METHOD HOST`: a whole measurement procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodJob {
    /// What is measured.
    pub plan: MethodPlan,
    /// `--pass`.
    pub limits: Vec<PassLimit>,
    /// `--plan`: what would be done is shown, and not done.
    pub only_plan: bool,
    /// `--repeat`, `--precision`.
    pub repeat: Option<RepeatPlan>,
    /// Output.
    pub presentation: Presentation,
}

/// `tapeline exporter [HOST]...`: tests on demand of Prometheus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExporterPlan {
    /// Where it answers, `ADDRESS:PORT` as typed.
    pub address: String,
    /// Hosts that may be tested; empty leaves the choice to who asks.
    pub targets: Vec<String>,
    /// Optimisations that it may use.
    pub techniques: Techniques,
}

/// Which help is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpPage {
    /// iperf 2's layout.
    Iperf2,
    /// iperf3's layout.
    Iperf3,
    /// tapeline's, one line per option.
    Short,
    /// tapeline's, with details.
    Full,
    /// That of the method of that word.
    Method(&'static str),
    /// That of a command with a table of its own, as `history`.
    #[cfg(feature = "history")]
    Command(&'static str),
}

/// What `tapeline history` does.
#[cfg(feature = "history")]
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryJob {
    /// The history; `None` without a home.
    pub file: Option<PathBuf>,
    /// Times in universal time.
    pub utc: bool,
    /// What is to be done.
    pub task: HistoryTask,
}

/// One of its actions; `runs` are words that name some.
#[cfg(feature = "history")]
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryTask {
    /// `list`
    List {
        /// These, or the latest.
        runs: Option<String>,
        /// Lines at most.
        most: usize,
        /// As JSON.
        json: Option<Destination>,
    },
    /// `show`
    Show {
        /// Which.
        runs: String,
        /// As JSON.
        json: Option<Destination>,
    },
    /// `tag`
    Tag {
        /// Which.
        runs: String,
        /// The tag.
        key: String,
        /// Its value; `None` takes it away.
        value: Option<String>,
    },
    /// `note`
    Note {
        /// Which.
        runs: String,
        /// The note.
        text: String,
    },
    /// `baseline`
    Baselines,
    /// `baseline NAME RUNS`
    NameBaseline {
        /// Its name.
        name: String,
        /// Which.
        runs: String,
    },
    /// `baseline --remove NAME`
    ForgetBaseline(String),
    /// `import`
    Import(ImportTask),
    /// `export`
    Export {
        /// Which; all without.
        runs: Option<String>,
        /// In which form.
        form: Export,
        /// Where to; standard output without.
        file: Option<PathBuf>,
    },
    /// `prune`
    Prune {
        /// Milliseconds.
        older: i64,
        /// Results with a tag stay.
        keep_tagged: bool,
        /// Only their intervals go.
        intervals: bool,
    },
    /// `check`
    Check,
    /// `path`
    Path,
}

/// `import`
#[cfg(feature = "history")]
#[derive(Clone, Debug, PartialEq)]
pub struct ImportTask {
    /// At least one.
    pub files: Vec<PathBuf>,
    /// What they are; found out without.
    pub kind: Option<tapeline_report::import::Kind>,
    /// Words to find them by.
    pub tags: Vec<(String, String)>,
}

/// Forms of `export`.
#[cfg(feature = "history")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// Reports, one a line.
    Json,
    /// A row for each number.
    Numbers,
    /// A row for each interval of a stream.
    Intervals,
    /// A page with charts.
    Html,
    /// iperf3's JSON, a document for each run.
    Iperf3Json,
}

/// Where a form of a result goes.
#[cfg(feature = "history")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To standard output, in the place of the text.
    Stdout,
    /// To a file beside it.
    File(PathBuf),
}

/// What `tapeline compare` does.
#[cfg(feature = "history")]
#[derive(Clone, Debug, PartialEq)]
pub struct CompareJob {
    /// The history; `None` without a home.
    pub file: Option<PathBuf>,
    /// Times in universal time.
    pub utc: bool,
    /// What is compared.
    pub runs: ComparedRuns,
    /// Names of quantities, the main one first; all where there is none.
    pub quantities: Vec<String>,
    /// Changes up to this share are of no interest.
    pub notice: f64,
    /// Different tests are refused.
    pub strict: bool,
    /// A page.
    pub html: Option<PathBuf>,
    /// As JSON.
    pub json: Option<Destination>,
}

/// What is compared.
#[cfg(feature = "history")]
#[derive(Clone, Debug, PartialEq)]
pub enum ComparedRuns {
    /// Nothing: the quantities are listed.
    List,
    /// Runs that words name, B with A.
    Kept(String, String),
    /// Two tests that are run in turn.
    Measured {
        /// Runs of each.
        runs: u32,
        /// Decides the order.
        seed: Option<u64>,
        /// Between two runs.
        pause: Duration,
        /// Their command lines.
        tests: [Vec<OsString>; 2],
    },
}

/// What `tapeline gate` does.
#[cfg(feature = "history")]
#[derive(Clone, Debug, PartialEq)]
pub struct GateJob {
    /// The history; `None` without a home.
    pub file: Option<PathBuf>,
    /// The file of rules.
    pub rules: PathBuf,
    /// What is judged.
    pub runs: GateRuns,
    /// What becomes of rules that the runs do not decide.
    pub undecided: Undecided,
    /// The file with the runs that rules compare with.
    pub baseline: Option<PathBuf>,
    /// A table for a pull request.
    pub markdown: Option<PathBuf>,
    /// JUnit's XML.
    pub junit: Option<PathBuf>,
    /// As JSON.
    pub json: Option<Destination>,
}

/// What a gate judges.
#[cfg(feature = "history")]
#[derive(Clone, Debug, PartialEq)]
pub enum GateRuns {
    /// Runs that words name.
    Kept(String),
    /// A test that is run until the rules are decided.
    Measured {
        /// Its command line.
        test: Vec<OsString>,
        /// Runs at most.
        most: u32,
        /// Between two runs.
        pause: Duration,
    },
}

/// What becomes of rules that the runs do not decide.
#[cfg(feature = "history")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// They are undecided.
    Stays,
    /// They pass.
    Passes,
    /// They fail.
    Fails,
}

/// `tapeline mesh`
#[cfg(feature = "mesh")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshJob {
    /// The file with the hosts; without it the journal has them.
    pub hosts: Option<PathBuf>,
    /// The journal of an earlier run, which goes on.
    pub resume: Option<PathBuf>,
    /// Who tests whom.
    pub pattern: tapeline_mesh::Pattern,
    /// Decides a random pattern; without it chance does.
    pub seed: Option<u64>,
    /// Which tests run at the same time.
    pub mode: tapeline_mesh::Mode,
    /// The options of one test, in the place of the file's.
    pub test: Option<Vec<String>>,
    /// Nothing is tested: it is said how long it would take.
    pub only_plan: bool,
    /// What hosts without tapeline get.
    pub copies: Copies,
    /// As JSON.
    pub json: Option<Destination>,
    /// As CSV.
    pub csv: Option<Destination>,
    /// A page.
    pub html: Option<PathBuf>,
    /// What happens, a line of JSON each, in the place of the text.
    pub stream: bool,
    /// The history that results are kept in.
    pub history: Option<PathBuf>,
}

/// What hosts without tapeline get.
#[cfg(feature = "mesh")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Copies {
    /// Nothing.
    None,
    /// This program.
    Own,
    /// This file.
    Other(PathBuf),
}

/// `tapeline agent`
#[cfg(feature = "fleet")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentJob {
    /// Its settings; those of the default place without.
    pub config: Option<PathBuf>,
}

/// `tapeline fleet`
#[cfg(feature = "fleet")]
#[derive(Clone, Debug, PartialEq)]
pub struct FleetJob {
    /// The settings of the role; those of the default place without.
    pub config: Option<PathBuf>,
    /// What is to be done.
    pub task: FleetTask,
}

/// One of its actions.
#[cfg(feature = "fleet")]
#[derive(Clone, Debug, PartialEq)]
pub enum FleetTask {
    /// `init`
    Init {
        /// What is to be.
        site: tapeline_fleet::NewSite,
        /// Where its files go.
        folder: PathBuf,
    },
    /// `enrol`
    Enrol {
        /// Who is to be of the site.
        enrolment: tapeline_fleet::Enrolment,
        /// Where its files are.
        folder: PathBuf,
    },
    /// `controller`
    Controller,
    /// `collect`
    Collect {
        /// The history that results are kept in; `None` without a home.
        history: Option<PathBuf>,
        /// Where metrics are, `HOST:PORT`; every address without a host.
        metrics: Option<String>,
        /// Documents, a line each.
        ndjson: Option<PathBuf>,
    },
    /// `hosts`
    Hosts {
        /// As JSON.
        json: Option<Destination>,
    },
    /// `run`
    Run(FleetRun),
    /// `schedule add`
    ScheduleAdd {
        /// The file with the schedule.
        file: PathBuf,
    },
    /// `schedule list`
    ScheduleList {
        /// As JSON.
        json: Option<Destination>,
    },
    /// `schedule remove`
    ScheduleRemove {
        /// Which.
        name: tapeline_fleet::ScheduleName,
    },
    /// `jobs`
    Jobs {
        /// Those without a result alone.
        failed: bool,
        /// Those of this schedule alone.
        schedule: Option<tapeline_fleet::ScheduleName>,
        /// As JSON.
        json: Option<Destination>,
    },
    /// `cancel`
    Cancel {
        /// At least one.
        jobs: Vec<tapeline_fleet::JobId>,
    },
    /// `watch`
    Watch {
        /// Which.
        job: tapeline_fleet::JobId,
    },
    /// `matrix`
    Matrix(FleetMatrix),
}

/// Jobs that are submitted together.
#[cfg(feature = "fleet")]
#[derive(Clone, Debug, PartialEq)]
pub struct FleetRun {
    /// Who tests whom.
    pub hosts: JobHosts,
    /// Beside which others.
    pub class: tapeline_remote::Class,
    /// A job that has not begun by then does not begin.
    pub expires: Option<Duration>,
    /// Until all have ended.
    pub wait: bool,
    /// The options of one test, in the place of the file's.
    pub test: Option<Vec<String>>,
    /// As JSON.
    pub json: Option<Destination>,
}

/// The newest results of all pairs.
#[cfg(feature = "fleet")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetMatrix {
    /// Results that are not older.
    pub since: Option<Duration>,
    /// Those of this schedule alone.
    pub schedule: Option<tapeline_fleet::ScheduleName>,
    /// The history with the results; `None` without a home.
    pub history: Option<PathBuf>,
    /// As JSON.
    pub json: Option<Destination>,
    /// As CSV.
    pub csv: Option<Destination>,
    /// A page.
    pub html: Option<PathBuf>,
}

/// The hosts of jobs.
#[cfg(feature = "fleet")]
#[derive(Clone, Debug, PartialEq)]
pub enum JobHosts {
    /// Those of a file.
    File {
        /// As for a mesh.
        file: PathBuf,
        /// Who tests whom.
        pattern: tapeline_mesh::Pattern,
        /// Decides a random pattern; without it chance does.
        seed: Option<u64>,
    },
    /// From the first to the second.
    Pair(tapeline_fleet::HostName, tapeline_fleet::HostName),
}

/// `tapeline web`
#[cfg(feature = "web")]
#[derive(Clone, Debug, PartialEq)]
pub struct WebJob {
    /// The history; `None` without a home.
    pub file: Option<PathBuf>,
    /// Where the page is; the first free port of a few on this host alone without.
    pub listen: Option<std::net::SocketAddr>,
    /// The key is in this file; else it is made up.
    pub key_file: Option<PathBuf>,
    /// Names that a proxy has for the page.
    pub names: Vec<String>,
    /// Hosts that may be tested; any without.
    pub targets: Option<Vec<Target>>,
    /// Tests that run at a time.
    pub tests: usize,
    /// Nothing starts or changes.
    pub read_only: bool,
    /// Results are kept.
    pub saves: bool,
    /// A browser is opened.
    pub opens: bool,
}

/// Hosts that may be tested: a network, or a name.
#[cfg(feature = "web")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// As it was typed.
    pub text: String,
    /// The network, unless it is a name.
    pub network: Option<tapeline_dialect::Network>,
}

/// A name under which the program has a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandName {
    /// tapeline's own.
    Tapeline,
    /// That of iperf 2.2.1.
    Iperf,
    /// That of iperf3 3.22.
    Iperf3,
}

impl CommandName {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Tapeline, Self::Iperf, Self::Iperf3];

    /// As it is typed.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Tapeline => "tapeline",
            Self::Iperf => "iperf",
            Self::Iperf3 => "iperf3",
        }
    }
}

/// A document made from the option table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// The manual page of the name the program is called by, as roff source.
    Man,
    /// Completion for bash.
    Bash,
    /// Completion for zsh.
    Zsh,
    /// Completion for fish.
    Fish,
    /// The option table as JSON.
    Form,
}

impl Document {
    /// The document of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "man" => Some(Self::Man),
            "bash" => Some(Self::Bash),
            "zsh" => Some(Self::Zsh),
            "fish" => Some(Self::Fish),
            "form" => Some(Self::Form),
            _ => None,
        }
    }
}
