//! Who takes part: programs, with what is special about them in a row.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use interop::{Invocation, Program, installed};

use crate::shell::Result;

/// The program of an earlier commit, and the link by which it is iperf.
static EARLIER: OnceLock<[PathBuf; 2]> = OnceLock::new();

/// A program as the benchmark calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    /// tapeline under the name iperf.
    Tapeline,
    /// tapeline under the name iperf3.
    TapelineAsIperf3,
    /// The same of an earlier commit.
    Earlier,
    EarlierAsIperf3,
    Iperf221,
    /// iperf 2 as the system has it: without a wrapper, for times of starts.
    SystemIperf,
    Iperf3,
    Nuttcp,
    Sockperf,
    Qperf,
}

/// What a tool's command line and output look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Iperf2,
    Iperf3,
    Nuttcp,
    Sockperf,
    Qperf,
}

impl Tool {
    /// Its name in tables.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Tapeline => "tapeline",
            Self::TapelineAsIperf3 => "tapeline as iperf3",
            Self::Earlier => "earlier tapeline",
            Self::EarlierAsIperf3 => "earlier tapeline as iperf3",
            Self::Iperf221 => "iperf 2.2.1",
            Self::SystemIperf => "iperf of the system",
            Self::Iperf3 => "iperf3 3.22",
            Self::Nuttcp => "nuttcp",
            Self::Sockperf => "sockperf",
            Self::Qperf => "qperf",
        }
    }

    /// What it speaks.
    pub(crate) const fn dialect(self) -> Dialect {
        match self {
            Self::Tapeline | Self::Earlier | Self::Iperf221 | Self::SystemIperf => Dialect::Iperf2,
            Self::TapelineAsIperf3 | Self::EarlierAsIperf3 | Self::Iperf3 => Dialect::Iperf3,
            Self::Nuttcp => Dialect::Nuttcp,
            Self::Sockperf => Dialect::Sockperf,
            Self::Qperf => Dialect::Qperf,
        }
    }

    /// Where it is; programs of the system are looked for on the search path.
    pub(crate) fn path(self) -> PathBuf {
        let sibling = |name: &str| Program::Iperf221.path().with_file_name(name);
        let earlier = |index: usize| EARLIER.get().map(|paths| paths[index].clone());
        match self {
            Self::Tapeline => Program::TapelineAsIperf.path().to_owned(),
            Self::TapelineAsIperf3 => Program::Tapeline.path().to_owned(),
            Self::Earlier => earlier(1).unwrap_or_default(),
            Self::EarlierAsIperf3 => earlier(0).unwrap_or_default(),
            Self::Iperf221 => Program::Iperf221.path().to_owned(),
            Self::SystemIperf => installed("iperf").unwrap_or_default(),
            Self::Iperf3 => sibling("iperf3-3.22"),
            Self::Nuttcp => installed("nuttcp").unwrap_or_default(),
            Self::Sockperf => installed("sockperf").unwrap_or_default(),
            Self::Qperf => installed("qperf").unwrap_or_default(),
        }
    }

    /// Words in front of all others.
    pub(crate) const fn first_words(self) -> &'static [&'static str] {
        match self {
            Self::TapelineAsIperf3 | Self::EarlierAsIperf3 => &["--as", "iperf3"],
            _ => &[],
        }
    }

    /// Says where the program of an earlier commit is.
    ///
    /// # Errors
    /// The link by which it is iperf cannot be made.
    pub(crate) fn have_earlier(program: &Path) -> Result<()> {
        let link = program.with_file_name("iperf");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(program, &link)
            .map_err(|error| format!("{}: {error}", link.display()))?;
        // The first choice stands.
        let _ = EARLIER.set([program.to_owned(), link]);
        Ok(())
    }

    /// Its earlier self, of ours.
    const fn earlier(self) -> Option<Self> {
        match self {
            Self::Tapeline => Some(Self::Earlier),
            Self::TapelineAsIperf3 => Some(Self::EarlierAsIperf3),
            _ => None,
        }
    }

    /// Whether it is not here.
    pub(crate) fn is_missing(self) -> bool {
        !self.path().is_file()
    }

    const fn is_ours(self) -> bool {
        matches!(self, Self::Tapeline | Self::TapelineAsIperf3)
    }
}

/// A client and a server, and what they are given in addition to the row's workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contender {
    pub(crate) client: Tool,
    pub(crate) server: Tool,
    client_words: &'static str,
    server_words: &'static str,
    /// Optimisations that ours leave out, with commas between them.
    without: &'static str,
}

impl Contender {
    /// The same tool at both ends.
    pub(crate) const fn both(tool: Tool) -> Self {
        Self::pair(tool, tool)
    }

    /// Different ends.
    pub(crate) const fn pair(client: Tool, server: Tool) -> Self {
        Self {
            client,
            server,
            client_words: "",
            server_words: "",
            without: "",
        }
    }

    /// Further options of its client and of its server.
    pub(crate) const fn with(self, client_words: &'static str, server_words: &'static str) -> Self {
        Self {
            client_words,
            server_words,
            ..self
        }
    }

    /// The same with the programs of an earlier commit; nothing where others take part, or without some
    /// optimisations.
    pub(crate) fn earlier(&self) -> Option<Self> {
        let [client, server] = [self.client.earlier()?, self.server.earlier()?];
        self.without.is_empty().then_some(Self {
            client,
            server,
            ..*self
        })
    }

    /// Without some optimisations.
    pub(crate) const fn without(self, names: &'static str) -> Self {
        Self {
            without: names,
            ..self
        }
    }

    /// Whether ours is compared with it: not under its other name.
    pub(crate) const fn is_peer(&self) -> bool {
        !(self.client.is_ours() && self.server.is_ours() && self.without.is_empty())
    }

    /// The tool that is not here.
    pub(crate) fn missing(&self) -> Option<Tool> {
        [self.client, self.server]
            .into_iter()
            .find(|tool| tool.is_missing())
    }

    /// A call of its client.
    pub(crate) fn client(&self) -> Call {
        Call::new(self.client, self.client_words, self.without)
    }

    /// A call of its server.
    pub(crate) fn server(&self) -> Call {
        Call::new(self.server, self.server_words, self.without)
    }

    /// Its name in tables, unique in a row.
    pub(crate) fn label(&self) -> String {
        let mut label = if self.client == self.server {
            self.client.label().to_owned()
        } else {
            format!("{} to {}", self.client.label(), self.server.label())
        };
        if !self.client_words.is_empty() {
            label = format!("{label} {}", self.client_words);
        }
        if !self.without.is_empty() {
            label = format!("{label} without {}", self.without);
        }
        label
    }
}

/// A call of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) tool: Tool,
    words: &'static str,
    without: &'static str,
}

impl Call {
    fn new(tool: Tool, words: &'static str, without: &'static str) -> Self {
        let without = if tool.is_ours() { without } else { "" };
        Self {
            tool,
            words,
            without,
        }
    }

    /// The process that is about to run, bound to a processor where one is given.
    pub(crate) fn invocation(&self, processor: Option<u32>) -> Invocation {
        let tool = self.tool;
        let invocation = match processor {
            None => Invocation::for_executable(tool.label(), tool.path()),
            Some(number) => Invocation::for_executable(tool.label(), "taskset").args([
                "-c".to_owned(),
                number.to_string(),
                tool.path().to_string_lossy().into_owned(),
            ]),
        };
        let invocation = invocation
            .args(tool.first_words().iter().copied())
            .line(self.words);
        if self.without.is_empty() {
            return invocation;
        }
        invocation.env("TAPELINE_WITHOUT", self.without)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_distinguish_contenders() {
        let both = Contender::both(Tool::Tapeline);
        let labels = [
            both,
            both.without("a,b"),
            both.with("-Z", "-x"),
            Contender::pair(Tool::Tapeline, Tool::Iperf221),
        ]
        .map(|contender| contender.label());
        assert_eq!(
            labels,
            [
                "tapeline",
                "tapeline without a,b",
                "tapeline -Z",
                "tapeline to iperf 2.2.1"
            ]
        );
    }

    #[test]
    fn only_ours_leave_something_out() {
        let mixed = Contender::pair(Tool::Iperf221, Tool::Tapeline).without("a");
        assert_eq!((mixed.client().without, mixed.server().without), ("", "a"));
    }
}
