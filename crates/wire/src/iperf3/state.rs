//! State bytes: who sends whom, on the control connection, how far the test is; the error that may follow.

use super::error::{DecodeError, ErrorCode};

/// One byte of the control connection. Values that no version sends are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Server: all data connections are there; clocks start.
    TestStart,
    /// Server: data may flow.
    TestRunning,
    /// Client: the test is over, in every direction.
    TestEnd,
    /// Server: the cookie is here, send the parameters.
    ParameterExchange,
    /// Server: open the data connections.
    CreateStreams,
    /// Server: ended by a signal.
    ServerTerminate,
    /// Client: ended by a signal.
    ClientTerminate,
    /// Server: send the results.
    ExchangeResults,
    /// Server: both have the other's results.
    DisplayResults,
    /// Client: finished.
    Done,
    /// Server: busy, or the cookie of a data connection is wrong.
    AccessDenied,
    /// Server: an [error](super::ServerError) follows.
    ServerError,
}

const STATES: [(State, i8); 12] = [
    (State::TestStart, 1),
    (State::TestRunning, 2),
    (State::TestEnd, 4),
    (State::ParameterExchange, 9),
    (State::CreateStreams, 10),
    (State::ServerTerminate, 11),
    (State::ClientTerminate, 12),
    (State::ExchangeResults, 13),
    (State::DisplayResults, 14),
    (State::Done, 16),
    (State::AccessDenied, -1),
    (State::ServerError, -2),
];

impl State {
    /// The byte to send.
    #[must_use]
    pub fn byte(self) -> u8 {
        let signed = STATES
            .iter()
            .find_map(|(state, value)| (*state == self).then_some(*value));
        signed.unwrap_or_default().cast_unsigned()
    }

    /// Reads a byte.
    ///
    /// # Errors
    /// [`DecodeError::State`] when no version sends it.
    pub fn parse(byte: u8) -> Result<Self, DecodeError> {
        STATES
            .iter()
            .find_map(|(state, value)| (*value == byte.cast_signed()).then_some(*state))
            .ok_or(DecodeError::State(byte))
    }
}

/// What follows [`State::ServerError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// What went wrong.
    pub code: ErrorCode,
    /// The server's `errno`, 0 for none. Servers up to 3.20 leave it out when a login fails.
    pub errno: u32,
}

impl ServerError {
    /// Bytes behind the state.
    pub const LENGTH: usize = 8;

    /// Appends the state and the error.
    pub fn encode(self, out: &mut Vec<u8>) {
        out.push(State::ServerError.byte());
        out.extend_from_slice(&self.code.0.to_be_bytes());
        out.extend_from_slice(&self.errno.to_be_bytes());
    }

    /// Reads what came behind the state before the connection was closed; `None` when not even
    /// the code did.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (code, rest) = bytes.split_first_chunk()?;
        let errno = rest.first_chunk().copied().map_or(0, u32::from_be_bytes);
        Some(Self {
            code: ErrorCode(u32::from_be_bytes(*code)),
            errno,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_survives_the_wire() {
        for (state, value) in STATES {
            assert_eq!(State::parse(value.cast_unsigned()), Ok(state));
            assert_eq!(state.byte().cast_signed(), value);
        }
        assert_eq!(State::ServerError.byte(), 0xfe);
        for unused in [0, 3, 5, 6, 7, 8, 15, 17, 0x80] {
            assert_eq!(State::parse(unused), Err(DecodeError::State(unused)));
        }
    }

    #[test]
    fn an_error_may_lack_its_second_half() {
        let mut bytes = Vec::new();
        let error = ServerError {
            code: ErrorCode::AUTHENTICATION,
            errno: 13,
        };
        error.encode(&mut bytes);
        assert_eq!(bytes, [0xfe, 0, 0, 0, 142, 0, 0, 0, 13]);
        assert_eq!(ServerError::parse(&bytes[1..]), Some(error));
        let short = ServerError::parse(&bytes[1..7]);
        assert_eq!(
            short,
            Some(ServerError {
                code: ErrorCode::AUTHENTICATION,
                errno: 0
            })
        );
        assert_eq!(ServerError::parse(&bytes[1..4]), None);
    }
}
