//! What the process is to do: the command line, understood.

use std::time::Duration;

use tapeline_base::Family;
use tapeline_dialect::{ClientPlan, ServerPlan};

use crate::presentation::Presentation;

/// The job.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Test towards a server.
    Client(ClientPlan, Presentation),
    /// Serve tests.
    Server(ServerPlan, Presentation),
    /// `tapeline try`.
    Try(TryPlan, Presentation),
    /// Show help.
    Help(HelpPage),
    /// Show the version.
    Version,
}

/// `tapeline try [HOST]`: the whole job of finding out how good a path is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TryPlan {
    /// The server's name or address; `None` tries this machine against itself.
    pub host: Option<String>,
    /// Server port.
    pub port: u16,
    /// Address family.
    pub family: Family,
    /// `-t`: length of each measurement; `None` leaves the choice to the job.
    pub time: Option<Duration>,
}

/// Which help is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpPage {
    /// iperf 2's layout.
    Iperf2,
    /// tapeline's, one line per option.
    Short,
    /// tapeline's, with details.
    Full,
}
