//! What the page needs of the program that it belongs to.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tapeline_remote::{CommandLine, GivenOption};

use crate::refusal::{Fault, Refusal};

/// What a command line is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Job {
    /// A client's test.
    #[default]
    Client,
    /// A server, until it is stopped.
    Server,
    /// Tests among many hosts, which are ordered in words of their own: [`MeshRequest`].
    #[serde(skip_deserializing)]
    Mesh,
}

/// A command line, as options or as words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// What it is for.
    #[serde(default)]
    pub job: Job,
    /// Options by identifier and value.
    #[serde(default)]
    pub options: Vec<GivenOption>,
    /// A line that somebody typed, in the place of the rest.
    #[serde(default)]
    pub line: Option<String>,
}

/// Tests among many hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshRequest {
    /// The text of the file of hosts.
    pub hosts: String,
    /// Who tests whom; all with all where it is empty.
    #[serde(default)]
    pub pattern: String,
    /// Options of one test, in the place of the file's unless they are empty.
    #[serde(default)]
    pub test: String,
}

/// A process that tests among many hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshCommand {
    /// The program.
    pub program: PathBuf,
    /// Its words; it finds the hosts in [`MeshCommand::HOSTS`] of the folder where it starts, writes its
    /// document to [`MeshCommand::DOCUMENT`], and what happens to standard output, a line of JSON each.
    pub command: CommandLine,
    /// The line that people would type.
    pub line: String,
}

impl MeshCommand {
    /// The file of hosts.
    pub const HOSTS: &'static str = "hosts.toml";
    /// The file of the result.
    pub const DOCUMENT: &'static str = "mesh.json";
}

/// What a command line comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlanAnswer {
    /// What it is for.
    pub job: Job,
    /// Its options; none of a line that cannot be read.
    pub options: Option<Vec<GivenOption>>,
    /// The same test under each name.
    pub names: Option<Names>,
    /// Why it cannot be carried out.
    pub faults: Vec<Fault>,
    /// What is to be known before it is.
    pub notes: Vec<Fault>,
    /// The host that a client's test goes to.
    #[serde(skip)]
    pub host: Option<String>,
}

/// A test under each name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Names {
    /// As `tapeline`.
    pub tapeline: NameLine,
    /// As iperf 2.2.1.
    pub iperf: NameLine,
    /// As iperf3.
    pub iperf3: NameLine,
}

/// A test under a name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NameLine {
    /// Its command line.
    Line(String),
    /// Why that program cannot do it.
    Why(String),
}

/// A form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// The document.
    Json,
    /// The text of the terminal.
    Text,
    /// A row for each number.
    Csv,
    /// The page of `--html`.
    Page,
}

/// Two sets of runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompareRequest {
    /// Runs, in the words of `tapeline history`.
    pub a: String,
    /// The same.
    pub b: String,
    /// Changes up to this are of no interest, percent.
    pub notice: Option<f64>,
}

/// What does not change while the page is served.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionFacts {
    /// Version of the program.
    pub version: String,
    /// Name of this host.
    pub host: String,
    /// Its addresses.
    pub addresses: Vec<String>,
    /// The file of results.
    pub history: Option<String>,
    /// Results are kept.
    pub saves: bool,
    /// Hosts that may be tested; any where there is no list.
    pub targets: Option<Vec<String>>,
}

/// The program that the page belongs to.
pub trait Program: Send + Sync + 'static {
    /// What does not change.
    fn facts(&self) -> SessionFacts;

    /// The option table as JSON.
    fn form(&self) -> String;

    /// The options of the last test, if one is known.
    fn last_form(&self) -> Option<PlanAnswer>;

    /// What a command line comes to.
    fn plan(&self, request: &PlanRequest) -> PlanAnswer;

    /// Why a host may not be tested.
    ///
    /// # Errors
    /// It may not.
    fn admit(&self, options: &[GivenOption], host: &str) -> Result<(), Refusal>;

    /// What tests among many hosts come to, in a sentence.
    ///
    /// # Errors
    /// Something is wrong with them, or may not be done from here.
    fn check_mesh(&self, request: &MeshRequest) -> Result<String, Refusal>;

    /// The hosts of the last mesh, or an example.
    fn last_mesh(&self) -> MeshRequest;

    /// The process for a mesh.
    ///
    /// # Errors
    /// Those of [`Program::check_mesh`], and that this program is not found.
    fn mesh(&self, request: &MeshRequest) -> Result<MeshCommand, Refusal>;

    /// The result of a mesh in a form.
    ///
    /// # Errors
    /// It is none.
    fn export_mesh(&self, document: &[u8], form: Form) -> Result<String, Refusal>;

    /// The process that carries out orders.
    ///
    /// # Errors
    /// This program is not found.
    fn executor(&self) -> io::Result<Command>;

    /// Writes a line to the log.
    fn log(&self, line: &str);

    /// A result from the lines of `--json-stream`.
    ///
    /// # Errors
    /// They have no result.
    fn export(&self, stream: &[u8], form: Form) -> Result<String, Refusal>;

    /// Runs of the history, the latest first, at most `most`; those of `without` are left out.
    ///
    /// # Errors
    /// The words name none, or the file cannot be read.
    fn runs(&self, runs: Option<&str>, most: usize, without: &[String]) -> Result<Value, Refusal>;

    /// One run of the history.
    ///
    /// # Errors
    /// It is not there, or the file cannot be read.
    fn run(&self, name: &str, form: Form) -> Result<String, Refusal>;

    /// The names of runs.
    ///
    /// # Errors
    /// The words name none, or the file cannot be read.
    fn names(&self, runs: &str) -> Result<Vec<String>, Refusal>;

    /// Writes a note to runs; an empty one removes it.
    ///
    /// # Errors
    /// The words name none, or the file cannot be written.
    fn note(&self, runs: &str, text: &str) -> Result<Vec<String>, Refusal>;

    /// Gives runs a tag, or takes it away without a value.
    ///
    /// # Errors
    /// The words name none, or the file cannot be written.
    fn tag(&self, runs: &str, key: &str, value: Option<&str>) -> Result<Vec<String>, Refusal>;

    /// Removes runs.
    ///
    /// # Errors
    /// The words name none, or the file cannot be written.
    fn remove(&self, runs: &[String]) -> Result<(), Refusal>;

    /// Takes in a file of results; the names of the new runs.
    ///
    /// # Errors
    /// It has none, or the history cannot be written.
    fn import(&self, name: &str, content: &[u8]) -> Result<Vec<String>, Refusal>;

    /// A comparison: `{"comparison", "text"}`.
    ///
    /// # Errors
    /// The words name no runs, or the file cannot be read.
    fn compare(&self, request: &CompareRequest) -> Result<Value, Refusal>;

    /// The same as a page.
    ///
    /// # Errors
    /// As [`Program::compare`].
    fn comparison_page(&self, request: &CompareRequest) -> Result<String, Refusal>;
}
