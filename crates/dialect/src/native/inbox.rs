//! Bytes of a control connection, cut into messages.

use tapeline_wire::native::{DecodeError, FRAME_HEADER, MAX_BODY, MOST_FROM_CLIENT, Message};

/// Collects what arrives until a message is whole. Never holds more than one message and one read.
#[derive(Debug)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    /// Largest body that this end takes, bytes.
    most: usize,
}

impl Inbox {
    /// For a client: a server's results may be long.
    pub(super) fn of_client() -> Self {
        Self {
            bytes: Vec::new(),
            most: MAX_BODY,
        }
    }

    /// For a server: nothing that a client says is long before it was welcomed.
    pub(super) fn of_server() -> Self {
        Self {
            bytes: Vec::new(),
            most: 16 << 10,
        }
    }

    /// The client was welcomed: its results may be longer.
    pub(super) fn welcomed(&mut self) {
        self.most = MOST_FROM_CLIENT;
    }

    /// Takes received bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, in the order of arrival; those that need not be known are left out.
    ///
    /// # Errors
    /// [`DecodeError`]: the connection cannot go on.
    pub(super) fn next(&mut self) -> Result<Option<Message>, DecodeError> {
        loop {
            let Some(length) = Message::announced_length(&self.bytes)? else {
                return Ok(None);
            };
            if length > self.most + FRAME_HEADER {
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
        bytes.extend_from_slice(&[70, 0, 0, 2, 1, 2]);
        Message::Stop("why".to_owned()).encode(&mut bytes);
        let mut inbox = Inbox::of_server();
        let mut messages = Vec::new();
        for byte in bytes {
            inbox.push(&[byte]);
            messages.extend(inbox.next().expect("messages"));
        }
        let expected = [Message::Finished, Message::Stop("why".to_owned())];
        assert_eq!(messages, expected);
    }

    #[test]
    fn a_server_takes_nothing_long() {
        let mut inbox = Inbox::of_server();
        inbox.push(&[70, 1, 0, 0]);
        assert!(inbox.next().is_err());
        let mut inbox = Inbox::of_server();
        inbox.welcomed();
        inbox.push(&[8, 1, 0, 0]);
        assert_eq!(inbox.next(), Ok(None));
        inbox.push(&[0; 1 << 16]);
        assert!(inbox.next().is_ok());
        let mut inbox = Inbox::of_server();
        inbox.welcomed();
        inbox.push(&[8, 4, 0, 1]);
        assert!(inbox.next().is_err());
        let mut inbox = Inbox::of_client();
        inbox.push(&[8, 1, 0, 0]);
        assert_eq!(inbox.next(), Ok(None));
    }
}
