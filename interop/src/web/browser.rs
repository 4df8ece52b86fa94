//! A real browser, driven over the WebDriver protocol (W3C) by chromedriver.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::Request;
use crate::{Invocation, Running, Transport, Vitals, await_listening, descendants, free_port};

/// The driver, as Debian has it.
const DRIVER: &str = "/usr/bin/chromedriver";
/// Member that names an element (W3C WebDriver, section 11).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// For what should be there soon.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(30);

/// A browser with one window.
#[derive(Debug)]
pub struct Browser {
    driver: Running,
    at: SocketAddr,
    session: String,
}

/// An element of its page.
#[derive(Debug, Clone)]
pub struct Element(String);

impl Browser {
    /// Why there is none, where there is none.
    #[must_use]
    pub fn unavailable() -> Option<String> {
        let missing = !Path::new(DRIVER).is_file();
        missing.then(|| format!("no {DRIVER}: install chromium-driver"))
    }

    /// Starts one that shows nothing on a screen.
    ///
    /// # Errors
    /// It does not start.
    pub fn start() -> io::Result<Self> {
        Self::start_with(json!({ "browser": "ALL", "performance": "ALL" }))
    }

    /// Starts one that keeps no record of requests and their answers: its memory is the page's.
    ///
    /// # Errors
    /// It does not start.
    pub fn start_without_records() -> io::Result<Self> {
        Self::start_with(json!({}))
    }

    fn start_with(records: Value) -> io::Result<Self> {
        let port = free_port();
        let driver = Invocation::for_executable("chromedriver", DRIVER)
            .args([format!("--port={port}")])
            .deadline(Duration::from_secs(1800))
            .spawn()?;
        await_listening(&driver, Transport::Tcp, port)?;
        let mut browser = Self {
            driver,
            at: SocketAddr::from(([127, 0, 0, 1], port)),
            session: String::new(),
        };
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": records,
            "goog:chromeOptions": { "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--disable-background-networking", "--no-first-run", "--hide-scrollbars",
            ] },
        } } });
        let made = browser.ask("POST", "/session", &capabilities)?;
        made["sessionId"]
            .as_str()
            .unwrap_or_default()
            .clone_into(&mut browser.session);
        Ok(browser)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> io::Result<Value> {
        let target = match path {
            "/session" => path.to_owned(),
            _ => format!("/session/{}{path}", self.session),
        };
        let mut request = Request::new(method, &target)
            .header("Host", &self.at.to_string())
            .header("Content-Type", "application/json");
        if method == "POST" {
            request = request.body(body.to_string());
        }
        let answer = request.send(self.at)?;
        let mut value = answer.json()["value"].take();
        match answer.status {
            200 => Ok(value),
            status => Err(io::Error::other(format!(
                "{method} {path}: {status} {}",
                value["message"].take()
            ))),
        }
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", path, body)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Opens an address.
    #[track_caller]
    pub fn open(&self, address: &str) {
        self.post("/url", &json!({ "url": address }));
    }

    /// Sets the size of the page, CSS pixels, and whether it is a dark one.
    #[track_caller]
    pub fn look(&self, width: u32, height: u32, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        self.developer_tools(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false }),
        );
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.developer_tools(
            "Emulation.setEmulatedMedia",
            &json!({ "features": feature }),
        );
    }

    /// A command of the browser's developer tools.
    #[track_caller]
    pub fn developer_tools(&self, command: &str, parameters: &Value) -> Value {
        self.post(
            "/goog/cdp/execute",
            &json!({ "cmd": command, "params": parameters }),
        )
    }

    /// What a script returns.
    #[track_caller]
    pub fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until a script returns something true; what it returns.
    #[track_caller]
    pub fn await_that(&self, script: &str) -> Value {
        let end = Instant::now() + TIMEOUT;
        loop {
            let value = self.run(script);
            let is_true =
                !matches!(value, Value::Null | Value::Bool(false)) && value != 0 && value != "";
            if is_true {
                return value;
            }
            assert!(
                Instant::now() < end,
                "{script}\n--- the page\n{}",
                self.run("return document.body.innerText")
            );
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// The element of a selector, as soon as it is there.
    #[track_caller]
    pub fn find(&self, selector: &str) -> Element {
        let end = Instant::now() + TIMEOUT;
        let wanted = json!({ "using": "css selector", "value": selector });
        loop {
            match self.ask("POST", "/element", &wanted) {
                Ok(found) => {
                    return Element(found[ELEMENT].as_str().unwrap_or_default().to_owned());
                }
                Err(error) => assert!(
                    Instant::now() < end,
                    "{selector}: {error}\n--- the page\n{}",
                    self.run("return document.body.innerText")
                ),
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Clicks.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let Element(id) = self.find(selector);
        self.post(&format!("/element/{id}/click"), &json!({}));
    }

    /// Types into a field, in the place of what is there.
    #[track_caller]
    pub fn fill(&self, selector: &str, text: &str) {
        let Element(id) = self.find(selector);
        self.post(&format!("/element/{id}/clear"), &json!({}));
        self.post(&format!("/element/{id}/value"), &json!({ "text": text }));
    }

    /// Presses keys, wherever the page has them go.
    #[track_caller]
    pub fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
            })
            .collect();
        self.post(
            "/actions",
            &json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }),
        );
    }

    /// What a person sees of the page.
    #[track_caller]
    pub fn text(&self) -> String {
        let text = self.run("return document.body.innerText");
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Errors and warnings of the console since the last look.
    #[track_caller]
    pub fn complaints(&self) -> Vec<String> {
        let lines = self.post("/se/log", &json!({ "type": "browser" }));
        let lines = lines.as_array().into_iter().flatten();
        lines.map(ToString::to_string).collect()
    }

    /// The addresses that were asked for since the last look.
    #[track_caller]
    pub fn requests(&self) -> Vec<String> {
        let lines = self.post("/se/log", &json!({ "type": "performance" }));
        let lines = lines.as_array().into_iter().flatten();
        let events = lines.filter_map(|line| {
            let text = line["message"].as_str()?;
            let event: Value = serde_json::from_str(text).ok()?;
            let message = &event["message"];
            let asked = message["method"] == "Network.requestWillBeSent";
            let address = message["params"]["request"]["url"]
                .as_str()
                .filter(|_| asked)?;
            Some(address.to_owned())
        });
        events.collect()
    }

    /// Writes a picture of the page.
    ///
    /// # Panics
    /// The file cannot be written.
    #[track_caller]
    pub fn picture(&self, file: &Path) {
        let picture = self
            .ask("GET", "/screenshot", &Value::Null)
            .unwrap_or_else(|error| panic!("{error}"));
        fs::write(file, decoded(picture.as_str().unwrap_or_default())).expect("a picture");
    }

    /// The process that shows the page: the largest of those that show anything.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub fn renderer(&self) -> u32 {
        let shows = |pid: &u32| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command);
            // The browser's own window is drawn by one of its own.
            command.contains("--type=renderer") && !command.contains("--top-chrome-webui")
        };
        let all = descendants(self.driver.id()).into_iter().filter(shows);
        let largest = all.max_by_key(|pid| Vitals::read(*pid).map(|vitals| vitals.memory));
        largest.expect("a process that shows the page")
    }

    /// Gives back what the page no longer uses.
    #[track_caller]
    pub fn collect_garbage(&self) {
        self.developer_tools("HeapProfiler.collectGarbage", &json!({}));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver's end would leave the browser behind.
        let _ = self.ask("DELETE", "", &Value::Null);
    }
}

/// Base64 (RFC 4648).
fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u8> = text.bytes().filter_map(digit).collect();
    let groups = digits.chunks(4).flat_map(|four| {
        let bits = four
            .iter()
            .fold(0u32, |bits, digit| bits << 6 | u32::from(*digit));
        let bits = bits << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    });
    groups.collect()
}
