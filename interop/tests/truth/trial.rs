//! One test over a relay, and what all ends saw of it.

use std::time::Duration;

use interop::{
    Capture, DatagramFigures, Finished, Packet, Program, RelayedPair, Server, ServerSpec,
    Transport, parse_histograms, skip,
};
use relay::{Passage, Path, Record};

use super::shown::shown_median;

/// Time that a server may take to print its last row after the client has ended.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Delay of the way back.
pub(crate) const BACK: Duration = Duration::from_millis(4);
/// Names the optimisations that tapeline is to do without.
const LEAVE_OUT: &str = "TAPELINE_WITHOUT";

/// Makes a clock wrong.
const CLOCK: &str = "TAPELINE_CLOCK";

/// One test over a relay.
pub(crate) struct Measured {
    pub(crate) client: Finished,
    /// What the server printed.
    pub(crate) server: String,
    /// What the relay saw.
    pub(crate) record: Record,
    /// What arrived at the server's host, where a capture ran.
    pub(crate) captured: Vec<Packet>,
    /// What the server says of the datagrams.
    pub(crate) figures: Option<DatagramFigures>,
}

/// What a test runs.
pub(crate) struct Trial {
    pub(crate) client: Program,
    pub(crate) server: Program,
    pub(crate) transport: Transport,
    pub(crate) client_options: String,
    pub(crate) server_options: &'static str,
    /// Optimisations that both ends do without.
    pub(crate) left_out: &'static str,
    /// By how much the client's clock is wrong: seconds and millionths.
    pub(crate) client_clock: &'static str,
    pub(crate) there: Path,
    /// Delay of the way back.
    pub(crate) back: Duration,
}

impl Trial {
    pub(crate) fn udp(client: Program, server: Program, there: Path) -> Self {
        Self {
            client,
            server,
            transport: Transport::Udp,
            client_options: "-e --trip-times -t 1 -b 200pps -l 1470".to_owned(),
            server_options: "-e --histograms=10u,20000",
            left_out: "",
            client_clock: "",
            there,
            back: BACK,
        }
    }

    /// Runs it, or skips `test`.
    pub(crate) fn run(self, test: &str) -> Option<Measured> {
        let missing = [self.client, self.server]
            .into_iter()
            .find_map(Program::missing);
        if let Some(reason) = missing.or_else(Capture::unavailable) {
            skip(test, &reason);
            return None;
        }
        let back = Path::with_delay(self.back);
        let pair = match RelayedPair::new(self.there, back) {
            Ok(pair) => pair,
            Err(error) => {
                skip(
                    test,
                    &format!("no relay between network namespaces: {error}"),
                );
                return None;
            }
        };
        let hosts = pair.hosts();
        let spec = ServerSpec::new(self.server, self.transport, interop::Family::V4);
        let server = spec
            .options(self.server_options)
            .env(LEAVE_OUT, self.left_out)
            .start_within(&hosts.server);
        let mut server = server.expect("a server");
        let capture = match self.transport {
            Transport::Udp => Some(
                Capture::udp_to(Some(&hosts.server), "eth0", server.port()).expect("a capture"),
            ),
            Transport::Tcp => None,
        };
        let client = server
            .client_to(self.client, hosts.server_address(interop::Family::V4))
            .within(&hosts.client)
            .line(&self.client_options)
            .env(LEAVE_OUT, self.left_out)
            .env(CLOCK, self.client_clock)
            .run()
            .unwrap_or_else(|error| panic!("{error}\n--- server\n{}", server.output()));
        assert_eq!(
            client.code(),
            Some(0),
            "{client}--- server\n{}",
            server.output()
        );
        let reverse = ["-R", "--full-duplex"]
            .iter()
            .any(|word| self.client_options.contains(word));
        let received = self.transport == Transport::Udp && !reverse;
        let figures = received.then(|| DatagramFigures::await_from(&mut server, TIMEOUT));
        // The other tests read the server's rows, in iperf's layout.
        let output = if self.client_clock.is_empty() {
            total_of(&server)
        } else {
            server.output()
        };
        let captured = capture.map_or_else(Vec::new, |capture| capture.finish().expect("packets"));
        drop(server);
        let record = pair.finish().expect("a record");
        Some(Measured {
            client,
            server: output,
            record,
            captured,
            figures,
        })
    }
}

impl Measured {
    /// Everything, for messages.
    pub(crate) fn shown(&self) -> String {
        format!("{}--- server\n{}", self.client, self.server)
    }

    /// Delays of the client's numbered datagrams in the relay, sorted, in nanoseconds.
    pub(crate) fn relayed_delays(&self) -> Vec<u64> {
        delays_of_datagrams(&self.record.there)
    }

    /// The median of the server's histogram of this name, in nanoseconds.
    pub(crate) fn shown_median(&self, name: &str) -> u64 {
        shown_median(&self.server, name)
    }
}

/// Waits for the total of a server's flow and for the histogram that follows it.
fn total_of(server: &Server) -> String {
    let complete = |output: &str| {
        let histograms = parse_histograms(output);
        histograms.iter().any(|histogram| histogram.total) || !output.contains("histograms")
    };
    server.await_output(TIMEOUT, |out| !out.totals().is_empty());
    for _ in 0..50 {
        if complete(&server.output()) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    server.output()
}

/// Delays of numbered datagrams, sorted, in nanoseconds.
pub(crate) fn delays_of_datagrams(passages: &[Passage]) -> Vec<u64> {
    let numbered = passages
        .iter()
        .filter(|passage| passage.head.number().is_some());
    let mut delays: Vec<u64> = numbered.filter_map(Passage::delay).collect();
    delays.sort_unstable();
    delays
}

/// The middle one of sorted numbers.
pub(crate) fn median(sorted: &[u64]) -> u64 {
    assert!(!sorted.is_empty());
    sorted[sorted.len() / 2]
}
