//! A running `tapeline web`.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::{Answer, Request};
use crate::{Invocation, Program, Running, free_port};

/// For what should be there soon.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How the page is started.
#[derive(Debug)]
pub struct PageOptions<'a> {
    /// The file of its results.
    pub history: &'a Path,
    /// Further options.
    pub line: &'a str,
}

/// A running page, and the cookie of somebody who has its key.
#[derive(Debug)]
pub struct Page {
    process: Running,
    at: SocketAddr,
    key: String,
    cookie: String,
}

impl Page {
    /// Starts it on a free port, and shows it its key.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(options: &PageOptions<'_>) -> io::Result<Self> {
        Self::start_as(Invocation::new(Program::Tapeline), options)
    }

    /// The same, with an environment of its own.
    ///
    /// # Errors
    /// It does not start.
    pub fn start_as(program: Invocation, options: &PageOptions<'_>) -> io::Result<Self> {
        let port = free_port();
        let process = program
            .args(["web", "--listen", &format!("127.0.0.1:{port}")])
            .args(["--history", &options.history.display().to_string()])
            .line(options.line)
            .deadline(Duration::from_secs(1800))
            .spawn()?;
        let says = |text: &str| text.contains("\nhistory ");
        if !process.wait_for(TIMEOUT, says) {
            return Err(io::Error::other(format!(
                "no page: {}{}",
                process.stdout(),
                process.stderr()
            )));
        }
        let said = process.stdout();
        let key = said
            .split("#k=")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        // Further options may name another.
        let address = said.split("http://").nth(1);
        let address = address.and_then(|rest| rest.split('/').next()?.parse().ok());
        let mut page = Self {
            key: key.unwrap_or_default().to_owned(),
            at: address.unwrap_or(SocketAddr::from(([127, 0, 0, 1], port))),
            cookie: String::new(),
            process,
        };
        let answer = page.post("/api/login", &json!({ "key": page.key }));
        let cookie = answer.header("set-cookie").unwrap_or_default();
        cookie
            .split(';')
            .next()
            .unwrap_or_default()
            .clone_into(&mut page.cookie);
        Ok(page)
    }

    /// The address with the key, as it was printed.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://{}/#k={}", self.at, self.key)
    }

    /// Where it listens.
    #[must_use]
    pub fn at(&self) -> SocketAddr {
        self.at
    }

    /// What it was opened with.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The cookie of somebody who has the key.
    #[must_use]
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The process.
    #[must_use]
    pub fn process(&self) -> &Running {
        &self.process
    }

    /// The process, to be ended or measured.
    #[must_use]
    pub fn into_process(self) -> Running {
        self.process
    }

    /// Asks for something with the cookie.
    ///
    /// # Panics
    /// There is no connection.
    #[track_caller]
    pub fn get(&self, target: &str) -> Answer {
        let request = Request::new("GET", target)
            .header("Host", &self.at.to_string())
            .header("Cookie", &self.cookie);
        request.send(self.at).expect("an answer")
    }

    /// Sends something as the page does.
    ///
    /// # Panics
    /// There is no connection.
    #[track_caller]
    pub fn post(&self, target: &str, body: &Value) -> Answer {
        let request = Request::new("POST", target)
            .header("Host", &self.at.to_string())
            .header("Origin", &format!("http://{}", self.at))
            .header("X-Tapeline", "1")
            .header("Content-Type", "application/json")
            .header("Cookie", &self.cookie)
            .body(body.to_string());
        request.send(self.at).expect("an answer")
    }

    /// Starts a test or a server; its number.
    ///
    /// # Panics
    /// It is refused.
    #[track_caller]
    pub fn order(&self, job: &str, options: &Value) -> u64 {
        let answer = self.post("/api/tests", &json!({ "job": job, "options": options }));
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["test"].as_u64().expect("a number")
    }

    /// What is known of a test.
    ///
    /// # Panics
    /// It is not known.
    #[track_caller]
    pub fn test(&self, number: u64) -> Value {
        let all = self.get("/api/tests").json();
        let mut tests = all["tests"].as_array().expect("tests").iter();
        let found = tests.find(|test| test["test"] == number);
        found
            .unwrap_or_else(|| panic!("no test {number}: {all}"))
            .clone()
    }

    /// Waits until a test is as wanted.
    ///
    /// # Panics
    /// It takes too long.
    #[track_caller]
    pub fn await_test(&self, number: u64, wanted: impl Fn(&Value) -> bool) -> Value {
        self.await_that(&format!("test {number}"), || {
            Some(self.test(number)).filter(&wanted)
        })
    }

    /// Waits until something is there.
    ///
    /// # Panics
    /// It takes too long.
    #[track_caller]
    pub fn await_that<T>(&self, what: &str, mut found: impl FnMut() -> Option<T>) -> T {
        let end = Instant::now() + TIMEOUT;
        loop {
            if let Some(found) = found() {
                return found;
            }
            assert!(
                Instant::now() < end,
                "{what}: {}\n{}",
                self.get("/api/tests").text(),
                self.process.stderr()
            );
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
