//! What a mode is.

use interop::Transport;

use crate::check::Check;

/// One mode of a test.
#[derive(Debug)]
pub(crate) struct Mode {
    /// Unique within the transport.
    pub(crate) name: &'static str,
    pub(crate) transport: Transport,
    /// Options of the server; it always prints exact byte counts. `RANGE` stands for two ports.
    pub(crate) server: &'static str,
    /// Options of the client: `PORT` stands for a free port, `SOON` for the time of day half a
    /// second ahead, `RANGE` for the server's ports, `FILE` for the file of [`file`].
    pub(crate) client: &'static str,
    /// What must hold afterwards.
    pub(crate) checks: &'static [Check],
}

impl Mode {
    /// Whether it names IPv4 addresses, or counts addresses up, of which IPv6's loopback has one.
    pub(crate) fn needs_v4(&self) -> bool {
        self.client.contains("127.") || self.client.contains("--incr-dstip")
    }
}

/// A file of known content.
pub(crate) fn file() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/modes/case.rs")
}

/// A mode of TCP.
pub(crate) const fn tcp(
    name: &'static str,
    server: &'static str,
    client: &'static str,
    checks: &'static [Check],
) -> Mode {
    Mode {
        name,
        transport: Transport::Tcp,
        server,
        client,
        checks,
    }
}

/// A mode of UDP.
pub(crate) const fn udp(
    name: &'static str,
    server: &'static str,
    client: &'static str,
    checks: &'static [Check],
) -> Mode {
    Mode {
        name,
        transport: Transport::Udp,
        server,
        client,
        checks,
    }
}
