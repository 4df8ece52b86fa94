//! Tests between many hosts as data.

use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::finding::{Finding, MatrixQuantity};
use super::outliers::Outliers;

/// Name and version of the document's form.
pub const MESH_SCHEMA: &str = "tapeline-mesh/1";

/// Tests between many hosts, and what stands out among them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshDocument {
    /// Name and version of this form: `tapeline-mesh/1`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = MESH_SCHEMA)))]
    pub schema: &'static str,
    /// What was measured.
    #[serde(flatten)]
    pub run: MeshRun,
    /// Hosts and paths that are slower than the others.
    pub findings: Vec<Finding>,
    /// What a reader of the numbers must know.
    pub notes: Vec<String>,
}

impl MeshDocument {
    /// Of tests that are over; finds what stands out.
    #[must_use]
    pub fn new(run: MeshRun) -> Self {
        let (mut findings, mut notes) = (Vec::new(), Vec::new());
        for quantity in MatrixQuantity::ALL {
            let hosts = run.hosts.iter().map(|host| host.name.as_str()).collect();
            let outliers = Outliers::new(hosts, &run.cells, quantity);
            findings.extend(outliers.findings);
            notes.extend(outliers.unknown);
        }
        notes.dedup();
        Self {
            schema: MESH_SCHEMA,
            run,
            findings,
            notes,
        }
    }

    /// Whether a test is part of a finding.
    #[must_use]
    pub fn stands_out(&self, cell: &Cell, quantity: MatrixQuantity) -> bool {
        let its = |one: &&Finding| one.quantity == quantity;
        let mut findings = self.findings.iter().filter(its);
        findings.any(|one| one.subject.covers(&cell.from, &cell.to))
    }
}

/// The hosts and the tests between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshRun {
    /// Version of the program that wrote it.
    pub version: String,
    /// The command line without secrets, quoted for a shell.
    pub command: String,
    /// When it began, seconds since 1970.
    pub started: f64,
    /// How long it lasted.
    pub seconds: f64,
    /// Which pairs were tested: `full`, `ring`, `star:fra1`.
    pub pattern: String,
    /// Options of one test, as typed.
    pub test: String,
    /// The journal, with which `tapeline mesh --resume` continues; `null` without one.
    pub journal: Option<String>,
    /// The hosts, in the order in which they are shown; names are unique.
    pub hosts: Vec<MeshHost>,
    /// Each planned test, also of those that did not take place.
    pub cells: Vec<Cell>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshHost {
    /// Its name in the table.
    pub name: String,
    /// The address that others test towards.
    pub address: Option<String>,
    /// Groups that it belongs to.
    pub groups: Vec<String>,
    /// Version of tapeline there.
    pub version: Option<String>,
    /// Its system.
    pub system: Option<String>,
    /// What became of it.
    #[serde(flatten)]
    pub state: HostState,
}

/// What became of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum HostState {
    /// It took part.
    Reached,
    /// It could not be reached.
    Unreachable {
        /// Why: a sentence.
        text: String,
    },
    /// It failed so often that its other tests were not tried.
    Dropped {
        /// Why: a sentence.
        text: String,
    },
}
