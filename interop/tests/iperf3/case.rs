//! Running one mode between two programs.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use interop::{
    Finished, Invocation, Program, Running, Transport, await_listening, free_port, skip,
};
use libtest_mimic::Failed;

use crate::check::Check;
use crate::document::Document;
use crate::mode::{Form, Mode};
use crate::place::Place;
use crate::{agreement, arithmetic};

/// Time that a server may take to end its test after the client has ended.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A mode that has been run.
pub(crate) struct Ran {
    pub(crate) mode: Mode,
    pub(crate) place: Place,
    pub(crate) client: End,
    pub(crate) server: End,
}

/// What an end of a test did.
pub(crate) struct End {
    pub(crate) program: Program,
    /// The exit code; nothing for a server that would have gone on.
    pub(crate) code: Option<i32>,
    pub(crate) shown: String,
    /// Standard output, or the log file.
    pub(crate) said: String,
    pub(crate) complained: String,
    /// What it said in JSON.
    pub(crate) document: Option<Document>,
}

/// Runs a case and checks it.
pub(crate) fn run(test: &str, mode: Mode, client: Program, server: Program) -> Result<(), Failed> {
    if let Some(reason) = [client, server].into_iter().find_map(Program::missing) {
        skip(test, &reason);
        return Ok(());
    }
    let ran = Ran::run(mode, client, server)?;
    let failures = ran.failures();
    if failures.is_empty() {
        return Ok(());
    }
    let mut report = failures.join("\n");
    for end in [&ran.client, &ran.server] {
        let _ = write!(report, "\n$ {}\n{}{}", end.shown, end.said, end.complained);
    }
    Err(Failed::from(report))
}

impl Ran {
    pub(crate) fn run(mode: Mode, client: Program, server: Program) -> Result<Self, String> {
        let place = Place::new().map_err(|error| error.to_string())?;
        let port = free_port();
        let server_run = invocation(server, mode.server_form)
            .args(["-s", "-p", &port.to_string()])
            .args((server != Program::Tapeline).then_some("-1"))
            .args(place.fill(mode.server))
            .spawn()
            .map_err(|error| error.to_string())?;
        await_listening(&server_run, Transport::Tcp, port).map_err(|error| error.to_string())?;
        let options = match client {
            Program::Tapeline => mode.own.unwrap_or_default(),
            _ => mode.client,
        };
        let address = if mode.is_v6() {
            IpAddr::V6(Ipv6Addr::LOCALHOST)
        } else {
            IpAddr::V4(Ipv4Addr::LOCALHOST)
        };
        let peer = (client == Program::Tapeline).then_some(["--peer", "iperf3"]);
        let client_run = invocation(client, mode.client_form)
            .args(["-c", &address.to_string(), "-p", &port.to_string()])
            .args(peer.into_iter().flatten())
            .args(place.fill(options))
            .run()
            .map_err(|error| {
                let printed = format!("{}{}", server_run.stdout(), server_run.stderr());
                format!("{error}\n--- server\n{printed}")
            })?;
        let client_end = End::new(client, &client_run, mode.client_form, mode.client, &place);
        let server_end = if server == Program::Tapeline {
            End::while_it_serves(server_run, mode)
        } else {
            let finished = server_run.wait().map_err(|error| error.to_string())?;
            End::new(server, &finished, mode.server_form, mode.server, &place)
        };
        Ok(Self {
            mode,
            place,
            client: client_end,
            server: server_end,
        })
    }

    /// All that is wrong.
    fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for (side, end) in [("client", &self.client), ("server", &self.server)] {
            if !matches!(end.code, None | Some(0)) {
                failures.push(format!("the {side} ended with {:?}", end.code));
            }
            if end.program.is_tapeline() {
                let found = end.document.iter().flat_map(arithmetic::failures);
                failures.extend(found.map(|failure| format!("{side}: {failure}")));
            }
        }
        failures.extend(agreement::failures(self));
        let checks = self.mode.checks.iter();
        failures.extend(checks.filter_map(|check| check.apply(self).err()));
        failures
    }

    /// Whether the mode has this check.
    pub(crate) fn has(&self, check: Check) -> bool {
        self.mode.checks.contains(&check)
    }
}

/// A program that says what it sees in this form.
fn invocation(program: Program, form: Form) -> Invocation {
    let own = program == Program::Tapeline;
    let options: &[&str] = match (form, own) {
        (Form::Document, false) => &["-J"],
        (Form::Document, true) => &["-f", "iperf3-json"],
        (Form::Events, false) => &["--json-stream"],
        (Form::Events, true) => &["-f", "iperf3-json-stream"],
        (Form::Text, _) => &[],
    };
    Invocation::new(program).args(options.iter().copied())
}

fn read(form: Form, said: &str) -> Option<Document> {
    match form {
        Form::Document => Document::first(said),
        Form::Events => Document::from_events(said),
        Form::Text => None,
    }
}

impl End {
    fn new(program: Program, run: &Finished, form: Form, options: &str, place: &Place) -> Self {
        let logs = options.contains("--logfile OUT");
        let said = if logs {
            std::fs::read_to_string(place.written()).unwrap_or_default()
        } else {
            run.stdout.clone()
        };
        Self {
            program,
            // A process that a signal ended has no code.
            code: Some(run.code().unwrap_or(-1)),
            shown: run.shown.clone(),
            document: read(form, &said),
            said,
            complained: run.stderr.clone(),
        }
    }

    /// A server that serves the next one too: waits for what it says of this test.
    fn while_it_serves(running: Running, mode: Mode) -> Self {
        running.wait_for(TIMEOUT, |said| read(mode.server_form, said).is_some());
        let said = running.stdout();
        Self {
            program: Program::Tapeline,
            code: if running.is_alive() { None } else { Some(-1) },
            shown: running.shown().to_owned(),
            document: read(mode.server_form, &said),
            said,
            complained: running.stderr(),
        }
    }
}
