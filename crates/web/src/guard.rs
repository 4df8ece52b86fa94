//! Who may ask.
//!
//! A page of a foreign site can make a browser send requests here (RFC 6454 tells it by `Origin`), and
//! can let its own name point here (DNS rebinding), which `Host` shows. Whoever else reaches the port
//! has no key.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::key::{Attempts, Key};

/// Requests that change something bear it; a form of a foreign page cannot.
const OWN_HEADER: &str = "x-tapeline";
/// The door.
pub(crate) struct Guard {
    key: Key,
    /// What a browser shows once it has shown the key.
    session: Key,
    attempts: Attempts,
    names: Vec<String>,
    port: u16,
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Barred {
    /// The request names a host that this is not.
    ForeignHost,
    /// It comes from another page.
    ForeignOrigin,
    /// It shows no key.
    NoKey,
}

/// How a key fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Login {
    /// It is right: the cookie.
    Right(String),
    /// It is wrong.
    Wrong,
    /// There were too many wrong ones just now.
    TooMany,
}

impl Guard {
    pub(crate) fn new(key: Key, names: Vec<String>, port: u16) -> Self {
        Self {
            key,
            session: Key::random(),
            attempts: Attempts::default(),
            names,
            port,
        }
    }

    /// Whether a request may go on.
    pub(crate) fn look(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        local: SocketAddr,
    ) -> Result<(), Barred> {
        let text = |name| {
            headers
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
        };
        let host = text(header::HOST).unwrap_or_default();
        if headers.get_all(header::HOST).iter().count() != 1 || !self.is_this_host(host, local.ip())
        {
            return Err(Barred::ForeignHost);
        }
        let is_own = |origin: &str| {
            let site = origin
                .strip_prefix("http://")
                .or_else(|| origin.strip_prefix("https://"));
            site == Some(host)
        };
        let reads = matches!(*method, Method::GET | Method::HEAD);
        let is_foreign = match text(header::ORIGIN) {
            Some(origin) => !is_own(origin),
            None => !reads,
        };
        if is_foreign || !reads && text(header::HeaderName::from_static(OWN_HEADER)) != Some("1") {
            return Err(Barred::ForeignOrigin);
        }
        let is_open = !path.starts_with("/api/") || path == "/api/login";
        let is_known = || self.knows(headers);
        if is_open || is_known() {
            Ok(())
        } else {
            Err(Barred::NoKey)
        }
    }

    /// Whether `Host` names this page: the address that was reached, this host, or a name that was given.
    fn is_this_host(&self, host: &str, local: IpAddr) -> bool {
        let local = match local.to_canonical() {
            IpAddr::V6(address) => format!("[{address}]"),
            IpAddr::V4(address) => address.to_string(),
        };
        // Browsers leave the port of HTTP out.
        let reaches = |name: &str| {
            let given = host.get(name.len()..);
            let named = host.get(..name.len());
            named.is_some_and(|named| named.eq_ignore_ascii_case(name))
                && given.is_some_and(|port| match port.strip_prefix(':') {
                    Some(port) => port == self.port.to_string(),
                    None => port.is_empty() && self.port == 80,
                })
        };
        reaches(&local)
            || reaches("localhost")
            || self
                .names
                .iter()
                .any(|name| host.eq_ignore_ascii_case(name) || reaches(name))
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let prefix = format!("{}=", self.cookie_name());
        let cookies = headers.get_all(header::COOKIE).iter();
        let mut pairs = cookies
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split("; "));
        pairs.any(|pair| {
            pair.strip_prefix(&prefix)
                .is_some_and(|value| self.session.is(value))
        })
    }

    /// Browsers share the cookies of all ports of a host.
    fn cookie_name(&self) -> String {
        format!("tapeline-{}", self.port)
    }

    /// Trades the key for a cookie.
    pub(crate) fn log_in(&self, key: &str, now: Instant) -> Login {
        if !self.attempts.are_open(now) {
            return Login::TooMany;
        }
        if !self.key.is(key) {
            self.attempts.count(now);
            return Login::Wrong;
        }
        let (name, value) = (self.cookie_name(), self.session.text());
        Login::Right(format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict"))
    }
}

impl IntoResponse for Barred {
    fn into_response(self) -> Response {
        let (status, why) = match self {
            Self::ForeignHost => (
                StatusCode::MISDIRECTED_REQUEST,
                "this page has another address",
            ),
            Self::ForeignOrigin => (StatusCode::FORBIDDEN, "the request comes from another page"),
            Self::NoKey => (
                StatusCode::UNAUTHORIZED,
                "the key is missing: open the address that tapeline web has printed",
            ),
        };
        (status, Json(json!({ "error": why }))).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard_at_8470() -> Guard {
        guard_at(8470)
    }

    fn guard_at(port: u16) -> Guard {
        Guard::new(
            Key::chosen("0123456789abcdef").expect("a key"),
            vec!["lab.example".to_owned()],
            port,
        )
    }

    pub(crate) fn look(
        method: Method,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<(), Barred> {
        let guard = guard_at_8470();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let value = value.replace("SESSION", guard.session.text());
            map.append(
                header::HeaderName::from_static(name),
                value.parse().expect("a value"),
            );
        }
        let local = "127.0.0.1:8470".parse().expect("an address");
        guard.look(&method, path, &map, local)
    }

    #[test]
    fn only_this_page_with_a_key_is_let_in() {
        let host = ("host", "127.0.0.1:8470");
        let origin = ("origin", "http://127.0.0.1:8470");
        let (own, cookie) = (
            ("x-tapeline", "1"),
            ("cookie", "a=b; tapeline-8470=SESSION"),
        );
        let get = |headers: &[_]| look(Method::GET, "/api/tests", headers);
        let post = |headers: &[_]| look(Method::POST, "/api/tests", headers);
        assert_eq!(get(&[host, cookie]), Ok(()));
        assert_eq!(post(&[host, cookie, origin, own]), Ok(()));
        assert_eq!(look(Method::GET, "/history", &[host]), Ok(()));
        assert_eq!(
            look(Method::POST, "/api/login", &[host, origin, own]),
            Ok(())
        );
        for name in [
            "localhost:8470",
            "LOCALHOST:8470",
            "lab.example",
            "lab.example:8470",
        ] {
            assert_eq!(get(&[("host", name), cookie]), Ok(()), "{name}");
        }

        for name in [
            "evil.example",
            "evil.example:8470",
            "127.0.0.1",
            "127.0.0.1:80",
            "192.0.2.1:8470",
            "",
            "localhost.evil.example:8470",
        ] {
            assert_eq!(
                get(&[("host", name), cookie]),
                Err(Barred::ForeignHost),
                "{name}"
            );
            assert_eq!(
                look(Method::GET, "/", &[("host", name)]),
                Err(Barred::ForeignHost),
                "{name}"
            );
        }
        assert_eq!(get(&[cookie]), Err(Barred::ForeignHost));
        assert_eq!(get(&[host, host, cookie]), Err(Barred::ForeignHost));

        assert_eq!(post(&[host, cookie, own]), Err(Barred::ForeignOrigin));
        assert_eq!(post(&[host, cookie, origin]), Err(Barred::ForeignOrigin));
        for other in [
            "http://evil.example",
            "null",
            "http://localhost:8470",
            "http://127.0.0.1:8471",
            "file://",
        ] {
            assert_eq!(
                post(&[host, cookie, own, ("origin", other)]),
                Err(Barred::ForeignOrigin),
                "{other}"
            );
            assert_eq!(
                get(&[host, cookie, ("origin", other)]),
                Err(Barred::ForeignOrigin),
                "{other}"
            );
        }
        assert_eq!(
            look(Method::POST, "/api/login", &[host]),
            Err(Barred::ForeignOrigin)
        );

        assert_eq!(get(&[host]), Err(Barred::NoKey));
        for cookie in [
            "tapeline-8471=SESSION",
            "tapeline-8470=",
            "tapeline-8470=SESSIO",
            "xtapeline-8470=SESSION",
        ] {
            assert_eq!(
                get(&[host, ("cookie", cookie)]),
                Err(Barred::NoKey),
                "{cookie}"
            );
        }
    }

    #[test]
    fn the_port_of_http_may_be_left_out() {
        let local: IpAddr = "::ffff:192.0.2.7".parse().expect("an address");
        let six: IpAddr = "2001:db8::7".parse().expect("an address");
        let (http, other) = (guard_at(80), guard_at_8470());
        for (host, local) in [("192.0.2.7", local), ("[2001:db8::7]", six)] {
            assert!(http.is_this_host(host, local), "{host}");
            assert!(http.is_this_host(&format!("{host}:80"), local), "{host}");
            assert!(!other.is_this_host(host, local), "{host}");
            assert!(other.is_this_host(&format!("{host}:8470"), local), "{host}");
            assert!(!other.is_this_host(&format!("{host}:"), local), "{host}");
        }
    }

    #[test]
    fn the_key_is_traded_for_a_cookie() {
        let (guard, now) = (guard_at_8470(), Instant::now());
        let Login::Right(cookie) = guard.log_in("0123456789abcdef", now) else {
            panic!("the right key");
        };
        assert!(!cookie.contains("0123456789abcdef"), "{cookie}");
        assert!(
            cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"),
            "{cookie}"
        );
        for _ in 0..5 {
            assert_eq!(guard.log_in("0123456789abcdeF", now), Login::Wrong);
        }
        assert_eq!(guard.log_in("0123456789abcdef", now), Login::TooMany);
    }
}
