//! Numbers by which a server says what went wrong, with their words, and why received bytes are no message.

use std::fmt;

use thiserror::Error;

/// An error as iperf3 numbers it. Numbers that this version does not know are shown as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Bad duration.
    pub const DURATION: Self = Self(5);
    /// Bad number of streams.
    pub const STREAMS: Self = Self(6);
    /// Bad TCP block length.
    pub const LENGTH: Self = Self(7);
    /// Bad socket buffer.
    pub const WINDOW: Self = Self(8);
    /// The system gives less socket buffer than was asked for.
    pub const SHORT_BUFFER: Self = Self(141);
    /// Bad MSS.
    pub const SEGMENT_SIZE: Self = Self(10);
    /// Bad omitted time.
    pub const OMIT: Self = Self(12);
    /// Bad burst.
    pub const BURST: Self = Self(15);
    /// Bad datagram length.
    pub const UDP_LENGTH: Self = Self(20);
    /// Bad type of service.
    pub const TOS: Self = Self(21);
    /// More than the server's rate limit.
    pub const RATE_LIMIT: Self = Self(27);
    /// More than the server's time limit.
    pub const TIME_LIMIT: Self = Self(37);
    /// The control connection was closed.
    pub const CONTROL_CLOSED: Self = Self(109);
    /// Unknown state.
    pub const UNKNOWN_MESSAGE: Self = Self(110);
    /// The parameters cannot be read.
    pub const RECEIVE_PARAMETERS: Self = Self(114);
    /// The results cannot be read.
    pub const RECEIVE_RESULTS: Self = Self(117);
    /// The client ended by a signal.
    pub const CLIENT_TERMINATED: Self = Self(119);
    /// The server ended by a signal.
    pub const SERVER_TERMINATED: Self = Self(120);
    /// Busy.
    pub const ACCESS_DENIED: Self = Self(121);
    /// Bad flow label or traffic class.
    pub const TRAFFIC_CLASS: Self = Self(126);
    /// Bad processor.
    pub const AFFINITY: Self = Self(132);
    /// Login failed.
    pub const AUTHENTICATION: Self = Self(142);
    /// Nothing was received for too long.
    pub const RECEIVE_TIMEOUT: Self = Self(144);
    /// The test outlasted its time.
    pub const TEST_EXPIRED: Self = Self(160);
    /// No listener for the streams.
    pub const STREAM_LISTEN: Self = Self(202);
    /// A stream cannot be read.
    pub const STREAM_READ: Self = Self(206);

    /// The sentence that 3.22 prints; `None` for a number of a later version.
    #[must_use]
    pub fn text(self) -> Option<&'static str> {
        let index = TEXTS
            .binary_search_by_key(&self.0, |(code, _, _)| *code)
            .ok()?;
        Some(TEXTS[index].1)
    }

    /// Whether the reason of the operating system belongs behind the sentence.
    #[must_use]
    pub fn has_reason(self) -> bool {
        TEXTS
            .binary_search_by_key(&self.0, |(code, _, _)| *code)
            .is_ok_and(|index| TEXTS[index].2)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => f.write_str(text),
            None => write!(f, "int_errno={}", self.0),
        }
    }
}

/// A message that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// No cookie.
    #[error("no iperf3 cookie")]
    Cookie,
    /// A state byte that nobody sends.
    #[error("unknown iperf3 state {}", .0.cast_signed())]
    State(u8),
    /// A length of zero, or more than the bound for this message.
    #[error("iperf3 message of {length} bytes (1 to {max} are allowed)")]
    Length {
        /// Announced length, bytes.
        length: u32,
        /// Largest length allowed, bytes.
        max: usize,
    },
    /// No JSON object.
    #[error("iperf3 message is no JSON object: {0}")]
    Json(String),
    /// A key that must be there is missing or of a wrong type.
    #[error("iperf3 results without a usable '{0}'")]
    Missing(&'static str),
    /// A number outside its range; the code says which, as the server sends it.
    #[error("{0}")]
    Refused(ErrorCode),
}

/// Code, sentence, and whether the system's reason follows; in ascending order.
#[rustfmt::skip]
const TEXTS: &[(u32, &str, bool)] = &[
    (0, "no error", false),
    (1, "cannot be both server and client", false),
    (2, "must either be a client (-c) or server (-s)", false),
    (3, "some option you are trying to set is server only", false),
    (4, "some option you are trying to set is client only", false),
    (5, "test duration valid values are 0 to 86400 seconds", false),
    (6, "invalid number of parallel streams (min = 1, max = 128)", false),
    (7, "block size too large (maximum = 1048576 bytes)", false),
    (8, "socket buffer size too large (maximum = 536870912 bytes)", false),
    (9, "invalid report interval (min = 0.1, max = 60 seconds)", false),
    (10, "TCP MSS too large (maximum = 32767 bytes)", false),
    (11, "this OS does not support sendfile", false),
    (12, "bogus value for --omit (maximum = 600 seconds)", false),
    (13, "an option you are trying to set is not implemented yet", false),
    (14, "unable to open -F file", true),
    (15, "invalid burst count (maximum = 1000)", false),
    (16, "only one test end condition (-t, -n, -k) may be specified", false),
    (17, "unable to open log file", true),
    (18, "no SCTP support available", false),
    (20, "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)", false),
    (21, "bad TOS value (must be between 0 and 255 inclusive)", false),
    (22, "you must specify a username, password, and path to a valid RSA public key", false),
    (23, "you must specify a path to a valid RSA private key and a user credential file", false),
    (24, "bad format specifier (valid formats are in the set [kmgtKMGT])", false),
    (25, "cannot be both reverse and bidirectional", false),
    (26, "port number must be between 1 and 65535 inclusive", false),
    (27, "total required bandwidth is larger than server limit", false),
    (28, "invalid time interval for calculating average data rate", false),
    (29, "skew threshold must be a positive number", false),
    (30, "idle timeout parameter is not positive or larger than allowed limit", false),
    (31, "receive timeout value is incorrect or not in range", true),
    (32, "client receive timeout is valid only in receiving mode", true),
    (33, "send timeout value is incorrect or not in range", true),
    (34, "cannot transfer file using UDP", false),
    (35, "cannot access authorized users file", false),
    (36, "control connection Keepalive period should be larger than the full retry period (interval * count)", true),
    (37, "client's requested duration exceeds the server's maximum permitted limit", false),
    (38, "invalid unit value or suffix", false),
    (39, "this OS does not support --skip-rx-copy", false),
    (40, "bad DSCP value (numeric: 0-63 inclusive, symbolic: one of [af11-13, af21-23, af31-33, af41-43, cs1-7, ef, va, lowdelay, throughput, reliability])", false),
    (100, "unable to create a new test", true),
    (101, "test initialization failed", true),
    (102, "unable to start listener for connections", true),
    (103, "unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.", true),
    (104, "unable to accept connection from client", true),
    (105, "unable to send cookie to server", true),
    (106, "unable to receive cookie at server", true),
    (107, "unable to write to the control socket", true),
    (108, "unable to read from the control socket", true),
    (109, "control socket has closed unexpectedly", false),
    (110, "received an unknown control message (ensure other side is iperf3 and not iperf)", false),
    (111, "unable to send control message - port may not be available, the other side may have stopped running, etc.", true),
    (112, "unable to receive control message - port may not be available, the other side may have stopped running, etc.", true),
    (113, "unable to send parameters to server", true),
    (114, "unable to receive parameters from client", true),
    (115, "unable to package results", true),
    (116, "unable to send results", true),
    (117, "unable to receive results", true),
    (118, "select failed", true),
    (119, "the client has terminated", false),
    (120, "the server has terminated", false),
    (121, "the server is busy running a test. try again later", false),
    (122, "unable to set TCP/SCTP NODELAY", true),
    (123, "unable to set TCP/SCTP MSS", true),
    (124, "unable to set socket buffer size", true),
    (125, "unable to set IP TOS", true),
    (126, "unable to set IPv6 traffic class", true),
    (127, "unable to set IPv6 flow label", false),
    (128, "unable to reuse address on socket", true),
    (129, "unable to set socket to non-blocking", true),
    (130, "unable to set socket window size", true),
    (131, "protocol does not exist", false),
    (132, "unable to set CPU affinity", true),
    (133, "unable to become a daemon", true),
    (134, "unable to set TCP_CONGESTION: Supplied congestion control algorithm not supported on this host", false),
    (135, "unable to write PID file", true),
    (136, "Unable to set/reset IPV6_V6ONLY", true),
    (137, "unable to set SCTP_INIT num of SCTP streams", true),
    (138, "unable to bind SCTP addresses", true),
    (139, "unable to set SCTP options", true),
    (140, "unable to set socket pacing", true),
    (141, "socket buffer size not set correctly", false),
    (142, "test authorization failed", false),
    (143, "Unable to bind-to-device", false),
    (144, "idle timeout for receiving data", false),
    (145, "unable to set IP Do-Not-Fragment flag", false),
    (146, "host device name is not supported - only bind addresses may have one", false),
    (147, "host device name is supported only for IPv6 link-local addresses", false),
    (148, "unable to set TCP USER_TIMEOUT", true),
    (150, "unable to create thread", true),
    (151, "unable to cancel thread", true),
    (152, "unable to join thread", true),
    (153, "unable to create thread attributes", true),
    (154, "unable to destroy thread attributes", true),
    (155, "unable to set socket keepalive (SO_KEEPALIVE) option", true),
    (156, "unable to set socket keepalive idle time", true),
    (157, "unable to set socket keepalive interval", true),
    (158, "unable to set socket keepalive count", true),
    (159, "unable to change mask of blocked signals", false),
    (160, "server test duration expired", true),
    (200, "unable to create a new stream", true),
    (201, "unable to initialize stream", true),
    (202, "unable to start stream listener", true),
    (203, "unable to connect stream", true),
    (204, "unable to accept stream connection", true),
    (205, "unable to write to stream socket", true),
    (206, "unable to read from stream socket", true),
    (207, "stream socket has closed unexpectedly", false),
    (208, "stream has an invalid id", false),
    (300, "unable to create timer", true),
    (301, "unable to update timer", true),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_in_order_of_their_codes() {
        assert!(TEXTS.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(
            ErrorCode::ACCESS_DENIED.to_string(),
            "the server is busy running a test. try again later"
        );
        assert_eq!(ErrorCode(9999).to_string(), "int_errno=9999");
        assert!(ErrorCode(103).has_reason() && !ErrorCode(121).has_reason());
    }
}
