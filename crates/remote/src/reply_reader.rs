//! Replies from a process that may be something else than tapeline.

use std::io::{BufRead, Read};

use serde_json::{Map, Value};

use crate::order::MAX_LINE;
use crate::reply::Reply;

/// Bytes of what a login may print before the first reply.
const MAX_GREETING: usize = 64 << 10;
/// Longest reply, bytes: a line of a test's, with what surrounds it.
const MAX_REPLY: usize = MAX_LINE + MAX_LINE / 16;
/// What is shown of a line that is no reply, characters.
const SHOWN: usize = 80;

/// Why there are no more replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepliesEnd {
    /// The output of the process has ended.
    Closed,
    /// The process says something else; how that begins.
    NoReply(String),
}

/// Reads replies.
#[derive(Debug)]
pub(crate) struct ReplyReader<R> {
    input: R,
    line: Vec<u8>,
    /// What came before the first reply; none once it has come.
    greeting: Option<Greeting>,
}

#[derive(Debug, Default)]
struct Greeting {
    bytes: usize,
    /// How it began.
    first: String,
}

impl<R: BufRead> ReplyReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            greeting: Some(Greeting::default()),
        }
    }

    /// The next reply. What a login prints before the first one is skipped, and so are replies that only
    /// newer versions know.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn next(&mut self) -> Result<Reply, RepliesEnd> {
        loop {
            let room = match &self.greeting {
                // A first reply is short.
                Some(greeting) => MAX_GREETING.saturating_sub(greeting.bytes),
                None => MAX_REPLY,
            };
            self.line.clear();
            let limit = room as u64 + 1;
            match (&mut self.input)
                .take(limit)
                .read_until(b'\n', &mut self.line)
            {
                Ok(0) | Err(_) => return Err(RepliesEnd::Closed),
                Ok(read) if read > room => return Err(self.no_reply()),
                Ok(_) => {}
            }
            if let Ok(reply) = serde_json::from_slice(&self.line) {
                self.greeting = None;
                return Ok(reply);
            }
            match &mut self.greeting {
                Some(greeting) => {
                    greeting.bytes += self.line.len();
                    if greeting.first.is_empty() {
                        greeting.first = shown(&self.line);
                    }
                }
                None if self.line.trim_ascii().is_empty() => {}
                None if serde_json::from_slice::<Map<String, Value>>(&self.line).is_ok() => {}
                None => return Err(self.no_reply()),
            }
        }
    }

    fn no_reply(&self) -> RepliesEnd {
        let greeting = self.greeting.as_ref().map(|greeting| &greeting.first);
        let first = greeting.filter(|first| !first.is_empty()).cloned();
        RepliesEnd::NoReply(first.unwrap_or_else(|| shown(&self.line)))
    }
}

/// The beginning of a line.
fn shown(line: &[u8]) -> String {
    printable(&line[..line.len().min(4 * SHOWN)], SHOWN)
}

/// The text of bytes from elsewhere, without what could steer a terminal, at most so many characters.
pub(crate) fn printable(bytes: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let shown = text.trim().chars().map(|letter| {
        if letter.is_control() {
            char::REPLACEMENT_CHARACTER
        } else {
            letter
        }
    });
    shown.take(most).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, repeat};

    use super::*;
    use crate::reply::Body;

    const STOPPED: &str = r#"{"id":4,"stopped":true}"#;

    fn read_all(text: &str) -> (usize, RepliesEnd) {
        let mut reader = ReplyReader::new(text.as_bytes());
        let mut replies = 0;
        loop {
            match reader.next() {
                Ok(reply) => assert_eq!(reply.body, Body::Stopped { stopped: true }),
                Err(end) => return (replies, end),
            }
            replies += 1;
        }
    }

    #[test]
    fn a_login_may_speak_before_the_first_reply() {
        let text = format!("Welcome!\n\n{{a}}\n42\n{STOPPED}\n\n{STOPPED}\n");
        assert_eq!(read_all(&text), (2, RepliesEnd::Closed));
        let end = RepliesEnd::NoReply("Welcome\u{fffd}[2J".to_owned());
        let text = format!("{STOPPED}\nWelcome\u{1b}[2J\n{STOPPED}\n");
        assert_eq!(read_all(&text), (1, end));
    }

    #[test]
    fn replies_of_newer_versions_are_skipped() {
        let text = format!("{STOPPED}\n{{\"id\":5,\"weather\":\"fine\"}}\n{STOPPED}\n");
        assert_eq!(read_all(&text), (2, RepliesEnd::Closed));
    }

    #[test]
    fn what_is_too_long_is_no_reply() {
        let line = "x".repeat(MAX_GREETING / 8);
        let greeting = format!("{line}\n").repeat(9);
        let end = RepliesEnd::NoReply("x".repeat(SHOWN));
        assert_eq!(read_all(&greeting), (0, end));
        let flood = STOPPED.as_bytes().chain(&b"\n"[..]).chain(repeat(b'y'));
        let mut reader = ReplyReader::new(BufReader::new(flood));
        assert!(reader.next().is_ok());
        let end = RepliesEnd::NoReply("y".repeat(SHOWN));
        assert_eq!(reader.next(), Err(end));
        assert!(reader.line.capacity() < 4 * MAX_REPLY);
    }
}
