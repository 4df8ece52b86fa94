//! Bytes of a control connection, cut into messages.

use tapeline_wire::native::{DecodeError, FRAME_HEADER, MAX_BODY, MAX_FROM_CLIENT, Message};

/// Collects what arrives until a message is whole. Never holds more than one message and one read.
#[derive(Debug)]
pub(crate) struct MessageBuffer {
    bytes: Vec<u8>,
    /// Largest body that this end takes, bytes.
    max: usize,
}

impl MessageBuffer {
    /// For a client: a server's results may be long.
    pub(crate) fn for_client() -> Self {
        Self {
            bytes: Vec::new(),
            max: MAX_BODY,
        }
    }

    /// For a server: nothing that a client says is long before it was welcomed.
    pub(crate) fn for_server() -> Self {
        Self {
            bytes: Vec::new(),
            max: 16 << 10,
        }
    }

    /// The client was welcomed: its results may be longer.
    pub(crate) fn welcomed(&mut self) {
        self.max = MAX_FROM_CLIENT;
    }

    /// Takes received bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, in the order of arrival; those that need not be known are left out.
    ///
    /// # Errors
    /// [`DecodeError`]: the connection cannot go on.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, DecodeError> {
        loop {
            let Some(length) = Message::announced_length(&self.bytes)? else {
                return Ok(None);
            };
            if length > self.max + FRAME_HEADER {
                return Err(DecodeError::Length {
                    kind: self.bytes[0],
                    length: length - FRAME_HEADER,
                });
            }
            if self.bytes.len() < length {
                return Ok(None);
            }
            let message = Message::parse(&self.bytes[..length])?;
            self.bytes.drain(..length);
            if message.is_some() {
                return Ok(message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_whole_however_they_were_cut() {
        let mut bytes = Vec::new();
        Message::Finished.encode(&mut bytes);
        // A kind that may be skipped.
        bytes.extend_from_slice(&[99, 0, 0, 2, 1, 2]);
        Message::Stop("why".to_owned()).encode(&mut bytes);
        let mut buffer = MessageBuffer::for_server();
        let mut messages = Vec::new();
        for byte in bytes {
            buffer.push(&[byte]);
            messages.extend(buffer.next().expect("messages"));
        }
        let expected = [Message::Finished, Message::Stop("why".to_owned())];
        assert_eq!(messages, expected);
    }

    #[test]
    fn a_server_takes_nothing_long() {
        let mut buffer = MessageBuffer::for_server();
        buffer.push(&[99, 1, 0, 0]);
        assert!(buffer.next().is_err());
        let mut buffer = MessageBuffer::for_server();
        buffer.welcomed();
        buffer.push(&[8, 1, 0, 0]);
        assert_eq!(buffer.next(), Ok(None));
        buffer.push(&[0; 1 << 16]);
        assert!(buffer.next().is_ok());
        let mut buffer = MessageBuffer::for_server();
        buffer.welcomed();
        buffer.push(&[8, 4, 0, 1]);
        assert!(buffer.next().is_err());
        let mut buffer = MessageBuffer::for_client();
        buffer.push(&[8, 1, 0, 0]);
        assert_eq!(buffer.next(), Ok(None));
    }
}
