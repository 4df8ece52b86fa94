//! State bytes: who tells whom, on the control connection, how far the test is.

use super::DecodeError;

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
}
