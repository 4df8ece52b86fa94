//! Both ends of a test, and what to look for in their output.

use crate::program::{Ended, Program, Server};

/// Both ends of a test, after their end.
pub(crate) struct Pair {
    pub(crate) client: Ended,
    pub(crate) server: Ended,
}

impl Pair {
    /// Runs a client against a server, both with iperf's habits.
    pub(crate) fn run(server: &str, client: &str) -> Self {
        let server = Server::iperf(server);
        let client = Program::iperf(&format!("-c 127.0.0.1 -p {} {client}", server.port)).end();
        assert_eq!(client.code(), Some(0), "{}{}", client.stdout, client.stderr);
        Self {
            client,
            server: server.stop(),
        }
    }

    pub(crate) fn client(&self) -> &str {
        &self.client.stdout
    }

    pub(crate) fn server(&self) -> &str {
        &self.server.stdout
    }
}

/// Fails unless the output has the text.
#[track_caller]
pub(crate) fn has(output: &str, text: &str) {
    assert!(output.contains(text), "no {text:?} in:\n{output}");
}

/// Fails when the output has the text.
#[track_caller]
pub(crate) fn has_not(output: &str, text: &str) {
    assert!(!output.contains(text), "{text:?} in:\n{output}");
}

/// The rows of a flow or sum: `[  1]`, `[SUM]`.
pub(crate) fn rows<'a>(output: &'a str, id: &str) -> Vec<&'a str> {
    let lines = output.lines();
    lines
        .filter(|line| line.starts_with(id) && line.contains(" sec ") && !line.contains("PDF"))
        .collect()
}

/// The number in front of a unit, such as ` pps`.
#[track_caller]
pub(crate) fn number_before(line: &str, unit: &str) -> f64 {
    let before = line.split(unit).next().unwrap_or_default();
    let word = before.split_whitespace().last().unwrap_or_default();
    word.parse()
        .unwrap_or_else(|_| panic!("no number before {unit:?} in {line:?}"))
}
