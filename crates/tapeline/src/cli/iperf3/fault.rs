//! What is wrong with a command line, in iperf3's words.

use std::ffi::OsString;

use tapeline_wire::iperf3::ErrorCode;

use super::options::{self, Id};
use crate::message::CliMessage;
use crate::output::iperf3_renderer;
use crate::presentation::Iperf3Form;

/// Two lines that follow every complaint.
const USAGE: &str = "Usage: iperf3 [-s|-c host] [options]\n\
                     Try `iperf3 --help' for more information.";

/// Why a command line is refused. Numbers and sentences are those of 3.22.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// getopt's, with the program as it was called.
    Syntax { program: String, complaint: String },
    /// `iperf3: parameter error - TEXT`.
    Parameter(String),
    /// `iperf3: error - TEXT`, without usage.
    Plain(String),
}

/// An error of the command line, with iperf3's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub(crate) enum Error {
    ServerAndClient = 1, NoRole = 2, ServerOnly = 3, ClientOnly = 4, Duration = 5, Parallel = 6,
    BlockSize = 7, Window = 8, Interval = 9, SegmentSize = 10, Omit = 12, NotImplemented = 13,
    Burst = 15, EndConditions = 16, UdpBlockSize = 20, Tos = 21, ClientLogin = 22,
    ServerLogin = 23, Format = 24, ReverseAndBidir = 25, Port = 26, RateAverage = 28,
    TimeSkew = 29, IdleTimeout = 30, ReceiveTimeout = 31, ReceiveTimeoutUnused = 32,
    SendTimeout = 33, FileOverUdp = 34, AuthorizedUsers = 35, Keepalive = 36, Dscp = 40,
    FlowLabel = 127, Affinity = 132,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let code = ErrorCode(error as u32);
        // 3.22 leaves the place of the system's reason empty.
        let reason = if code.has_reason() { ": " } else { "" };
        Self::Parameter(format!("{code}{reason}"))
    }
}

impl Fault {
    /// A number or suffix that cannot be read.
    pub(crate) fn bad_unit(text: &str) -> Self {
        Self::Parameter(format!("invalid unit value or suffix: '{text}'"))
    }

    /// What is said on standard error.
    pub(crate) fn message(&self) -> CliMessage {
        CliMessage::err(match self {
            Self::Syntax { program, complaint } => format!("{program}: {complaint}\n\n{USAGE}"),
            Self::Parameter(text) => format!("iperf3: parameter error - {text}\n\n{USAGE}"),
            Self::Plain(text) => format!("iperf3: error - {text}"),
        })
    }

    /// The same in JSON, where anything on the line asks for it.
    pub(crate) fn document(&self, arguments: &[OsString]) -> Option<CliMessage> {
        let pieces = options::given(arguments.iter().cloned());
        let mut given = pieces.into_iter().flatten().map(|given| given.spec.id);
        let form = given.find_map(|id| match id {
            Id::Json => Some(Iperf3Form::Json),
            Id::JsonStream => Some(Iperf3Form::Stream { full: false }),
            _ => None,
        })?;
        let mut document = iperf3_renderer::refusal(form, self.complaint());
        document.truncate(document.trim_end().len());
        Some(CliMessage::out(document))
    }

    /// The complaint alone.
    pub(crate) fn complaint(&self) -> &str {
        let (Self::Parameter(text)
        | Self::Plain(text)
        | Self::Syntax {
            complaint: text, ..
        }) = self;
        text
    }
}
