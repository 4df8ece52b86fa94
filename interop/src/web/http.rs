//! Requests of HTTP/1.1, one a connection.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// For an answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What is sent; nothing is checked, so that it can be wrong.
#[derive(Debug, Clone, Default)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code; 0 where the connection ended before.
    pub status: u16,
    /// The head, as it came.
    pub head: String,
    /// The rest.
    pub body: Vec<u8>,
}

impl Request {
    /// A request without headers.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            ..Self::default()
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends it, and reads the answer to its end.
    ///
    /// # Errors
    /// There is no connection.
    pub fn send(&self, to: SocketAddr) -> io::Result<Answer> {
        let mut connection = TcpStream::connect_timeout(&to, TIMEOUT)?;
        connection.set_read_timeout(Some(TIMEOUT))?;
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if !self.body.is_empty() || self.method == "POST" {
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        head.push_str("Connection: close\r\n\r\n");
        // Whoever refuses a long body does not read it.
        let _ = connection.write_all(head.as_bytes());
        let _ = connection.write_all(&self.body);
        // Not every server closes the connection when it should.
        let (mut bytes, mut part) = (Vec::new(), [0; 16 << 10]);
        while !is_whole(&bytes) {
            match connection.read(&mut part) {
                Ok(0) | Err(_) => break,
                Ok(length) => bytes.extend_from_slice(&part[..length]),
            }
        }
        Ok(Answer::read(&bytes))
    }
}

impl Answer {
    fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let (head, body) = bytes.split_at(end.map_or(bytes.len(), |end| end + 4));
        let head = String::from_utf8_lossy(head).into_owned();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let chunked = head
            .to_ascii_lowercase()
            .contains("transfer-encoding: chunked");
        Self {
            status: status.unwrap_or(0),
            body: if chunked {
                unchunked(body)
            } else {
                body.to_vec()
            },
            head,
        }
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; `null` where it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(its, _)| its.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }
}

/// Whether an answer that says its length is there.
fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let length = length.and_then(|text| text.trim().parse::<usize>().ok());
    length.is_some_and(|length| bytes.len() >= end + 4 + length)
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let length = std::str::from_utf8(&body[..end]).ok();
        let length = length.and_then(|text| usize::from_str_radix(text, 16).ok());
        let Some(length) = length.filter(|length| *length > 0 && end + 2 + length <= body.len())
        else {
            break;
        };
        whole.extend_from_slice(&body[end + 2..end + 2 + length]);
        body = body.get(end + 4 + length..).unwrap_or_default();
    }
    whole
}
