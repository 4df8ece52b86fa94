//! What the process is to do: the command line, understood.

use std::time::Duration;

use tapeline_base::Family;
use tapeline_dialect::{ClientPlan, ServerPlan};

use crate::presentation::Presentation;

/// The job.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Test towards a server.
    Client(Box<ClientPlan>, Presentation),
    /// Serve tests.
    Server(Box<ServerPlan>, Presentation, Life),
    /// `tapeline try`.
    Try(TryPlan, Presentation),
    /// Show help.
    Help(HelpPage),
    /// Show the version.
    Version,
    /// Print a document made from the option table.
    Generate(Document),
}

/// Where a server lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// In the process that was called.
    Foreground,
    /// `-D`: in a process of its own, away from the terminal.
    Background,
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
}

impl Document {
    /// The document of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "man" => Some(Self::Man),
            "bash" => Some(Self::Bash),
            "zsh" => Some(Self::Zsh),
            "fish" => Some(Self::Fish),
            _ => None,
        }
    }
}
