//! Socket errors: which operation, on which address, for which reason.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use crate::platform::error_text;

/// The step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Creating the socket.
    Open,
    /// Giving it a local address.
    Bind,
    /// Establishing a connection.
    Connect,
    /// Starting to listen.
    Listen,
    /// Taking a connection.
    Accept,
    /// Joining a multicast group.
    Join,
    /// Sending.
    Send,
    /// Receiving.
    Receive,
    /// Closing one or both directions.
    Shutdown,
    /// Waiting for readiness.
    Poll,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "socket",
            Self::Bind => "bind",
            Self::Connect => "connect",
            Self::Listen => "listen",
            Self::Accept => "accept",
            Self::Join => "join",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Shutdown => "shutdown",
            Self::Poll => "poll",
        })
    }
}

/// A failed socket operation, as one line: `bind 192.0.2.1:5001: Cannot assign requested address`.
#[derive(Debug)]
pub struct SocketError {
    /// What was attempted.
    pub operation: Operation,
    /// The address it was attempted on, where there is one.
    pub address: Option<SocketAddr>,
    /// Why it failed.
    pub source: io::Error,
}

impl SocketError {
    pub(crate) fn new(
        operation: Operation,
        address: impl Into<Option<SocketAddr>>,
        source: io::Error,
    ) -> Self {
        Self {
            operation,
            address: address.into(),
            source,
        }
    }

    /// The bare system text, e.g. `Connection refused`.
    #[must_use]
    pub fn reason(&self) -> String {
        reason(&self.source)
    }

    /// The kind of the underlying error.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

impl fmt::Display for SocketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.operation)?;
        if let Some(address) = self.address {
            write!(f, " {address}")?;
        }
        write!(f, ": {}", self.reason())
    }
}

impl std::error::Error for SocketError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The system's text for `error`, as `strerror` gives it, without the
/// "(os error N)" that the standard library appends.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let Some(code) = error.raw_os_error() else {
        return text;
    };
    if let Some(known) = error_text::of(code) {
        return known.to_owned();
    }
    let bare = text.strip_suffix(&format!(" (os error {code})"));
    bare.map_or_else(|| text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_operation_address_and_bare_reason() {
        let error = SocketError::new(
            Operation::Bind,
            SocketAddr::from(([192, 0, 2, 1], 5001)),
            io::Error::from_raw_os_error(98),
        );
        assert!(error.to_string().starts_with("bind 192.0.2.1:5001: "));
        assert!(!error.reason().contains("os error"), "{}", error.reason());
        assert!(!error.reason().is_empty());
    }

    #[test]
    fn an_error_without_a_code_keeps_its_text() {
        let error = SocketError::new(
            Operation::Connect,
            None,
            io::Error::new(io::ErrorKind::TimedOut, "no answer"),
        );
        assert_eq!(error.to_string(), "connect: no answer");
    }
}
