//! Bytes of a control connection, cut into messages.

use tapeline_wire::iperf3::{DecodeError, LENGTH_PREFIX, ServerError, State, announced_length};

/// Bytes that have arrived and belong to no complete message yet.
///
/// Nothing frames the states: several may arrive at once, and one may follow a JSON message
/// in the same segment. So the reader says what it expects.
#[derive(Debug)]
pub(crate) struct MessageBuffer {
    bytes: Vec<u8>,
    /// Bytes of the longest message that may come.
    longest: usize,
    /// The peer sends no more.
    closed: bool,
}

/// What a reader got.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrived<T> {
    /// A complete message.
    Message(T),
    /// Not yet.
    Incomplete,
    /// The peer closed before.
    Closed,
}

impl MessageBuffer {
    /// An empty one, for messages of at most `longest` bytes behind their length.
    pub(crate) fn new(longest: usize) -> Self {
        Self {
            bytes: Vec::new(),
            longest,
            closed: false,
        }
    }

    /// Appends what was received. The bound keeps a peer that sends what nobody asked for from
    /// filling the memory.
    ///
    /// # Errors
    /// [`DecodeError::Length`] when more waits than any message is long.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let max = self.longest + LENGTH_PREFIX;
        let length = self.bytes.len() + bytes.len();
        if length > max {
            let length = u32::try_from(length).unwrap_or(u32::MAX);
            return Err(DecodeError::Length { length, max });
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The peer has closed its direction.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    fn lacking<T>(&self) -> Arrived<T> {
        if self.closed {
            Arrived::Closed
        } else {
            Arrived::Incomplete
        }
    }

    /// Takes a state.
    ///
    /// # Errors
    /// [`DecodeError::State`] for a byte that is none.
    pub(crate) fn state(&mut self) -> Result<Arrived<State>, DecodeError> {
        let Some(byte) = self.bytes.first().copied() else {
            return Ok(self.lacking());
        };
        let state = State::parse(byte)?;
        self.bytes.remove(0);
        Ok(Arrived::Message(state))
    }

    /// Takes a JSON message of at most `max` bytes, without its length.
    ///
    /// # Errors
    /// [`DecodeError::Length`] when it is longer or empty.
    pub(crate) fn message(&mut self, max: usize) -> Result<Arrived<Vec<u8>>, DecodeError> {
        let Some(prefix) = self.bytes.first_chunk::<LENGTH_PREFIX>() else {
            return Ok(self.lacking());
        };
        let end = LENGTH_PREFIX + announced_length(*prefix, max)?;
        if self.bytes.len() < end {
            return Ok(self.lacking());
        }
        let rest = self.bytes.split_off(end);
        let mut message = std::mem::replace(&mut self.bytes, rest);
        message.drain(..LENGTH_PREFIX);
        Ok(Arrived::Message(message))
    }

    /// Whether the next byte can only be a state where a message is expected: a server that
    /// gives up does not wait for its turn. No length begins so.
    pub(crate) fn holds_state(&self) -> bool {
        self.bytes.first().is_some_and(|byte| *byte > 1)
    }

    /// Takes the error behind [`State::ServerError`]. Servers up to 3.20 may close after its
    /// first half.
    pub(crate) fn server_error(&mut self) -> Arrived<ServerError> {
        if self.bytes.len() < ServerError::LENGTH && !self.closed {
            return Arrived::Incomplete;
        }
        let length = self.bytes.len().min(ServerError::LENGTH);
        let error = ServerError::parse(&self.bytes[..length]);
        self.bytes.drain(..length);
        error.map_or(Arrived::Closed, Arrived::Message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_and_the_state_behind_it_come_apart() {
        let mut buffer = MessageBuffer::new(10);
        buffer.push(&[0, 0, 0, 2, b'{']).expect("room");
        assert_eq!(buffer.message(10), Ok(Arrived::Incomplete));
        buffer.push(b"}\x01\x02").expect("room");
        assert_eq!(buffer.message(10), Ok(Arrived::Message(b"{}".to_vec())));
        assert_eq!(buffer.state(), Ok(Arrived::Message(State::TestStart)));
        assert_eq!(buffer.state(), Ok(Arrived::Message(State::TestRunning)));
        assert_eq!(buffer.state(), Ok(Arrived::Incomplete));
        buffer.close();
        assert_eq!(buffer.state(), Ok(Arrived::Closed));
    }

    #[test]
    fn lengths_and_backlogs_are_bounded() {
        let mut buffer = MessageBuffer::new(1000);
        buffer.push(&[0, 0, 0, 11]).expect("room");
        assert!(buffer.message(10).is_err());
        let chunk = [0; 100];
        let pushed = (0..20).take_while(|_| buffer.push(&chunk).is_ok()).count();
        assert_eq!(pushed, 10, "a whole message has room, and no more");
    }
}
