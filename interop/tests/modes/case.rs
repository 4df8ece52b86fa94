//! Running one mode between two programs.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use interop::{
    Family, Finished, Invocation, Program, Running, Transcript, Transport, await_listening,
    free_port, skip,
};
use libtest_mimic::Failed;

use crate::check::Check;
use crate::mode::{Mode, file};

/// Time that a server may take to print its last row after the client has ended.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Attempts that a case has when a peer crashes or loses its way by itself.
const ATTEMPTS: usize = 3;
/// How far ahead `SOON` is.
const SOON: Duration = Duration::from_millis(700);

/// A mode that has been run.
pub(crate) struct Ran {
    pub(crate) mode: &'static Mode,
    pub(crate) client_program: Program,
    pub(crate) server_program: Program,
    pub(crate) client: Finished,
    pub(crate) at_client: Transcript,
    pub(crate) at_server: Transcript,
    /// All that the server printed.
    pub(crate) server: String,
}

/// Runs a case and checks it.
pub(crate) fn run(
    test: &str,
    mode: &'static Mode,
    family: Family,
    client: Program,
    server: Program,
) -> Result<(), Failed> {
    if let Some(reason) = [client, server].into_iter().find_map(Program::missing) {
        skip(test, &reason);
        return Ok(());
    }
    let ours = client.is_tapeline() && server.is_tapeline();
    let attempts = if ours { 1 } else { ATTEMPTS };
    let mut result = attempt(mode, family, client, server);
    for _ in 1..attempts {
        if result.is_ok() {
            break;
        }
        result = attempt(mode, family, client, server);
    }
    result.map_err(Failed::from)
}

fn attempt(
    mode: &'static Mode,
    family: Family,
    client: Program,
    server: Program,
) -> Result<(), String> {
    let ran = Ran::run(mode, family, client, server)?;
    let failures: Vec<String> = mode
        .checks
        .iter()
        .filter_map(|check| check.apply(&ran).err())
        .collect();
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\n{}--- server\n{}",
        failures.join("\n"),
        ran.client,
        ran.server
    ))
}

impl Ran {
    fn run(
        mode: &'static Mode,
        family: Family,
        client: Program,
        server: Program,
    ) -> Result<Self, String> {
        let ports = Ports::for_mode(mode);
        let port = ports.first;
        let running = start(mode, family, server, ports)?;
        let options = mode
            .client
            .replace("RANGE", &ports.to_string())
            .replace("PORT", &free_port().to_string())
            .replace("FILE", file())
            .replace("SOON", &soon());
        let invocation = Invocation::new(client)
            .args(["-c", &family.loopback().to_string(), "-f", "b"])
            .args(["-p", &port.to_string()])
            .args(family.options().iter().copied())
            .args(mode.transport.options().iter().copied())
            .line(&options);
        let printed = |running: &Running| format!("{}{}", running.stdout(), running.stderr());
        let client_run = invocation
            .run()
            .map_err(|error| format!("{error}\n--- server\n{}", printed(&running)))?;
        let mut ran = Self {
            mode,
            client_program: client,
            server_program: server,
            at_client: Transcript::parse(&client_run.stdout),
            client: client_run,
            at_server: Transcript::default(),
            server: String::new(),
        };
        let timeout = if ran.expects_server_rows() {
            TIMEOUT
        } else {
            Duration::from_millis(200)
        };
        let expected = ran.at_client.totals().len();
        running.wait_for(timeout, |out| {
            let transcript = Transcript::parse(out);
            let totals = transcript.totals();
            let ended = totals.iter().filter(|total| {
                // With intervals the total is the row that begins at 0 again.
                let rows = transcript.intervals(total).len();
                let ended = total.interval.0 == 0.0 && (rows > 0 || !mode.server.contains("-i"));
                // The line of sent datagrams follows the row.
                let sends = mode.transport == Transport::Udp && total.datagrams.is_none();
                ended && (!sends || !transcript.sent.is_empty())
            });
            ended.count() >= expected.max(1) && histograms_are_complete(mode, out)
        });
        let alive = running.is_alive();
        ran.server = printed(&running);
        ran.at_server = Transcript::parse(&running.stdout());
        if !alive && !mode.checks.contains(&Check::ServerEnds) {
            return Err(format!(
                "the server died\n{}--- server\n{}",
                ran.client, ran.server
            ));
        }
        Ok(ran)
    }

    /// Whether the server will show data.
    fn expects_server_rows(&self) -> bool {
        let silent = [Check::ServerShowsNoData, Check::ClientFails];
        !self.mode.checks.iter().any(|check| silent.contains(check))
    }
}

fn histograms_are_complete(mode: &Mode, out: &str) -> bool {
    !mode.server.contains("histograms") || out.contains("(f)-PDF")
}

/// The ports of a server: two neighbours when the mode needs a range, one otherwise.
#[derive(Clone, Copy)]
struct Ports {
    first: u16,
    last: u16,
}

impl Ports {
    fn for_mode(mode: &Mode) -> Self {
        let mut last = free_port();
        let mut first = last;
        while mode.server.contains("RANGE") && last != first + 1 {
            (first, last) = (last, free_port());
        }
        Self { first, last }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

fn start(mode: &Mode, family: Family, program: Program, ports: Ports) -> Result<Running, String> {
    let running = Invocation::new(program)
        .args(["-s", "-f", "b", "-p", &ports.first.to_string()])
        .args(family.options().iter().copied())
        .args(mode.transport.options().iter().copied())
        .line(&mode.server.replace("RANGE", &ports.to_string()))
        .spawn()
        .map_err(|error| error.to_string())?;
    await_listening(&running, mode.transport, ports.last).map_err(|error| error.to_string())?;
    Ok(running)
}

/// The time of day a little ahead, in seconds since 1970.
fn soon() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // 2.2.1 reads the decimals as microseconds, so they have to be six.
    format!("{:.6}", (now.unwrap_or_default() + SOON).as_secs_f64())
}
