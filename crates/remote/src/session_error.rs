//! Why no tests can be ordered on a host.

use std::fmt;
use std::io;

use crate::reply_reader::RepliesEnd;
use crate::transport::{NoDestination, Transport};

/// Exit code of ssh where the fault is its own.
const SSH_FAULT: i32 = 255;
/// Exit code of shells that do not find a program.
const NOT_FOUND: i32 = 127;

/// Why no tests can be ordered on a host: one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionError {
    /// The host.
    pub host: String,
    /// What reaches it: `ssh`, or another program.
    pub means: String,
    /// What happened.
    pub fault: SessionFault,
}

/// What happened to a session, or to the attempt to begin one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionFault {
    /// Ssh would take the destination for an option.
    NoDestination(NoDestination),
    /// The program that reaches the host does not start.
    NotStarted(String),
    /// No reply came within so many seconds.
    Silent(u64),
    /// It speaks another version, in its words.
    Version(String),
    /// Something else than tapeline answers, with these words.
    NotTapeline(String),
    /// The output ended before the first reply.
    Refused {
        /// The exit code of what reached the host.
        code: Option<i32>,
        /// The last line of its standard error.
        said: String,
    },
    /// The program was not put there, for this reason.
    NotCopied(String),
    /// A session ended that had begun, with this last line of standard error.
    Lost(String),
}

impl SessionError {
    pub(crate) fn new(transport: &Transport, fault: SessionFault) -> Self {
        Self {
            host: transport.host(),
            means: transport.means(),
            fault,
        }
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, means, fault } = self;
        match fault {
            SessionFault::NoDestination(why) => why.fmt(f),
            SessionFault::NotStarted(why) => write!(f, "{means} does not start: {why}"),
            SessionFault::Silent(seconds) => write!(
                f,
                "cannot reach tapeline on {host}: no answer within {seconds} s"
            ),
            SessionFault::Version(why) => {
                write!(f, "tapeline on {host} does not fit this one: {why}")
            }
            SessionFault::NotTapeline(text) => {
                write!(f, "what answers on {host} is not tapeline: {text:?}")
            }
            SessionFault::Refused {
                code: Some(NOT_FOUND),
                said,
            } => {
                write!(f, "no tapeline is found on {host}{}", After(said))
            }
            SessionFault::Refused {
                code: Some(SSH_FAULT),
                said,
            } => write!(f, "{means} cannot reach {host}{}", After(said)),
            SessionFault::Refused { code, said } => {
                write!(f, "tapeline on {host} did not begin")?;
                match code {
                    Some(code) if said.is_empty() => write!(f, ": {means} ended with code {code}"),
                    _ => After(said).fmt(f),
                }
            }
            SessionFault::NotCopied(why) => {
                write!(f, "tapeline is not copied to {host}{}", After(why))
            }
            SessionFault::Lost(said) => write!(f, "lost tapeline on {host}{}", After(said)),
        }
    }
}

impl std::error::Error for SessionError {}

/// What was said, behind a colon.
struct After<'a>(&'a str);

impl fmt::Display for After<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            said => write!(f, ": {said}"),
        }
    }
}

impl SessionFault {
    /// The host has no tapeline where its shell looks.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            Self::Refused {
                code: Some(NOT_FOUND),
                ..
            }
        )
    }

    /// What the end of a session that had begun comes to.
    pub(crate) fn lost(end: RepliesEnd, said: String) -> Self {
        match end {
            RepliesEnd::Closed => Self::Lost(said),
            RepliesEnd::NoReply(text) => Self::NotTapeline(text),
        }
    }
}

/// What the system says, without its number.
pub(crate) fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    let bare = text.split(" (os error").next();
    bare.unwrap_or(&text).to_owned()
}
