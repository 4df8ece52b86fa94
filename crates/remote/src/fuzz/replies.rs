//! What must hold for any bytes in the place of replies.

use crate::reply::Reply;
use crate::reply_reader::{RepliesEnd, ReplyReader};

/// Reads them to their end: what is a reply is one when it is written again, and what is shown of
/// anything else steers no terminal.
///
/// # Panics
/// It does not hold.
pub fn replies(bytes: &[u8]) {
    let mut reader = ReplyReader::new(bytes);
    let mut lines = 0;
    let end = loop {
        match reader.next() {
            Ok(reply) => {
                lines += 1;
                let again = serde_json::to_vec(&reply).expect("JSON");
                let again: Reply = serde_json::from_slice(&again).expect("a reply");
                assert_eq!(again.id, reply.id);
            }
            Err(end) => break end,
        }
    };
    assert!(lines <= 1 + bytes.iter().filter(|byte| **byte == b'\n').count());
    if let RepliesEnd::NoReply(text) = end {
        assert!(text.chars().count() <= 80, "{text}");
        assert!(!text.chars().any(char::is_control), "{text:?}");
    }
}
