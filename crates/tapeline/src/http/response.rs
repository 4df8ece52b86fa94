//! An answer.

/// How a request fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    TimedOut,
    TooLong,
    Busy,
}

impl Status {
    /// Number and phrase (RFC 9110).
    pub(crate) const fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::Forbidden => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::TimedOut => "408 Request Timeout",
            Self::TooLong => "431 Request Header Fields Too Large",
            Self::Busy => "503 Service Unavailable",
        }
    }
}

/// An answer with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: Status,
    pub(crate) media_type: &'static str,
    pub(crate) body: String,
}

impl Response {
    /// A page or metrics.
    pub(crate) fn ok(media_type: &'static str, body: impl Into<String>) -> Self {
        Self {
            status: Status::Ok,
            media_type,
            body: body.into(),
        }
    }

    /// Why not.
    pub(crate) fn refusal(status: Status, why: &str) -> Self {
        Self {
            status,
            media_type: "text/plain; charset=utf-8",
            body: format!("{why}\n"),
        }
    }

    /// The bytes that are sent.
    pub(crate) fn bytes(&self, head_only: bool) -> Vec<u8> {
        let allow = match self.status {
            Status::MethodNotAllowed => "Allow: GET, HEAD\r\n",
            _ => "",
        };
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{allow}\
             X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
            self.status.line(),
            self.media_type,
            self.body.len()
        );
        let mut bytes = head.into_bytes();
        if !head_only {
            bytes.extend_from_slice(self.body.as_bytes());
        }
        bytes
    }
}

impl From<Status> for Response {
    fn from(status: Status) -> Self {
        Self::refusal(status, status.line())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_how_long_it_is() {
        let answer = Response::ok("text/plain", "äx");
        let whole = String::from_utf8(answer.bytes(false)).expect("text");
        assert!(whole.starts_with("HTTP/1.1 200 OK\r\n"), "{whole}");
        assert!(whole.contains("\r\nContent-Length: 3\r\n"), "{whole}");
        assert!(
            whole.ends_with("\r\nConnection: close\r\n\r\näx"),
            "{whole}"
        );
        let head = String::from_utf8(answer.bytes(true)).expect("text");
        assert!(head.contains("Content-Length: 3") && head.ends_with("\r\n\r\n"));
        let refused = Response::from(Status::MethodNotAllowed);
        let refused = String::from_utf8(refused.bytes(false)).expect("text");
        assert!(refused.contains("\r\nAllow: GET, HEAD\r\n"), "{refused}");
    }
}
