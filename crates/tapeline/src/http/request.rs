//! The head of a request.

use std::time::Duration;

use super::response::Status;

/// What Prometheus says of its timeout, seconds.
const TIMEOUT_HEADER: &str = "x-prometheus-scrape-timeout-seconds";

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Request {
    /// Only the head of the answer is wanted.
    pub(crate) head_only: bool,
    /// The path, decoded.
    pub(crate) path: String,
    /// Names and values behind the question mark, decoded.
    pub(crate) query: Vec<(String, String)>,
    /// How long the asker waits, where it says so.
    pub(crate) timeout: Option<Duration>,
}

impl Request {
    /// Reads a head, from the request line to the empty line.
    ///
    /// # Errors
    /// The status that says what is wrong with it.
    pub(crate) fn read(head: &[u8]) -> Result<Self, Status> {
        let head = std::str::from_utf8(head).map_err(|_| Status::BadRequest)?;
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let [method, target, version] = first.split(' ').collect::<Vec<_>>()[..] else {
            return Err(Status::BadRequest);
        };
        if !version.starts_with("HTTP/1.") {
            return Err(Status::BadRequest);
        }
        let head_only = match method {
            "GET" => false,
            "HEAD" => true,
            _ => return Err(Status::MethodNotAllowed),
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if !path.starts_with('/') {
            return Err(Status::BadRequest);
        }
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let query = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name)?, decoded(value)?))
        });
        let mut timeout = None;
        for line in lines {
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case(TIMEOUT_HEADER)
            {
                let seconds: f64 = value.trim().parse().map_err(|_| Status::BadRequest)?;
                let span = Duration::try_from_secs_f64(seconds);
                timeout = Some(span.map_err(|_| Status::BadRequest)?);
            }
        }
        Ok(Self {
            head_only,
            path: decoded(path).ok_or(Status::BadRequest)?,
            query: query.collect::<Option<_>>().ok_or(Status::BadRequest)?,
            timeout,
        })
    }

    /// The value of a parameter; an empty one counts as not given.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut named = self.query.iter().filter(|(known, _)| known == name);
        let value = named.next().map(|(_, value)| value.as_str());
        value.filter(|value| !value.is_empty())
    }
}

/// A part of a query without its escapes (`%2F`, `+`); `None` when they are none.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// What must hold for any head.
#[cfg(any(test, fuzzing))]
pub(crate) fn contract(head: &[u8]) {
    let Ok(request) = Request::read(head) else {
        return;
    };
    assert!(request.path.starts_with('/') && request.path.len() <= head.len());
    for (name, value) in &request.query {
        assert!(name.len() + value.len() <= head.len());
    }
    if let Some((name, _)) = request.query.first() {
        let found = request.parameter(name);
        assert!(found.is_none_or(|value| !value.is_empty()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(first: &str, headers: &str) -> Result<Request, Status> {
        Request::read(format!("{first}\r\nHost: x\r\n{headers}\r\n\r\n").as_bytes())
    }

    #[test]
    fn a_request_is_path_parameters_and_timeout() {
        let request = read(
            "GET /probe?target=%5B%3A%3A1%5D&port=5201&bitrate=&a+b=c%20d HTTP/1.1",
            "X-Prometheus-Scrape-Timeout-Seconds: 9.5",
        )
        .expect("a request");
        assert_eq!(request.path, "/probe");
        assert_eq!(request.parameter("target"), Some("[::1]"));
        assert_eq!(request.parameter("bitrate"), None);
        assert_eq!(request.parameter("a b"), Some("c d"));
        assert_eq!(request.parameter("period"), None);
        assert_eq!(request.timeout, Some(Duration::from_millis(9500)));
        assert!(!request.head_only);
        let head = read("HEAD /metrics HTTP/1.0", "").expect("a request");
        assert!(head.head_only && head.query.is_empty());
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for first in [
            "",
            "GET",
            "GET /",
            "GET / HTTP/2.0",
            "GET  / HTTP/1.1",
            "GET /%4 HTTP/1.1",
            "GET /%zz HTTP/1.1",
            "GET /?a=%ff HTTP/1.1",
            "GET http://x/ HTTP/1.1",
        ] {
            assert_eq!(read(first, ""), Err(Status::BadRequest), "{first}");
        }
        assert_eq!(read("POST / HTTP/1.1", ""), Err(Status::MethodNotAllowed));
        for timeout in ["x", "-1", "inf", "nan", "1e300"] {
            let header = format!("x-prometheus-scrape-timeout-seconds:{timeout}");
            let answer = read("GET / HTTP/1.1", &header);
            assert_eq!(answer, Err(Status::BadRequest), "{timeout}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Request::read(&bytes);
        }
    }
}
