//! Delays and faults that are known, against what the programs say of them.
//!
//! The truth is the relay's own record and, for histograms, a capture at the receiver. These tests
//! measure, so they run one at a time.

use std::time::Duration;

use interop::{
    Arrivals, Capture, DatagramFigures, Finished, Histogram, Packet, Program, RelayedPair, Server,
    ServerSpec, Transport, in_a_quiet_moment, parse_histograms, skip,
};
use relay::{Jitter, Passage, Path, Record, Selection};

/// Time that a server may take to print its last row after the client has ended.
const PATIENCE: Duration = Duration::from_secs(10);
/// Delay of the way back.
const BACK: Duration = Duration::from_millis(4);
/// Payload of a datagram.
const DATAGRAM: u64 = 1470;
/// Nanoseconds that a median may be from the relay's record.
const TOLERANCE: u64 = 100_000;
/// Milliseconds that a jitter may be from the capture's: its last digit, and the share that one
/// datagram more or less in the mean makes.
const JITTER_TOLERANCE_MS: f64 = 0.02;
/// Nanoseconds that a median may be from the record for TCP, where the receiving program's wake-up belongs to the delay, and where 2.2.1
/// counts in bins of 100 us.
const TCP_TOLERANCE: u64 = 300_000;

/// Names the optimisations that tapeline is to do without.
const LEAVE_OUT: &str = "TAPELINE_WITHOUT";

/// Makes a clock wrong.
const CLOCK: &str = "TAPELINE_CLOCK";

/// One test over a relay.
struct Measured {
    client: Finished,
    /// What the server printed.
    server: String,
    /// What the relay saw.
    record: Record,
    /// What arrived at the server's host, where a capture ran.
    captured: Vec<Packet>,
    /// What the server says of the datagrams.
    figures: Option<DatagramFigures>,
}

/// What a test runs.
struct Trial {
    client: Program,
    server: Program,
    transport: Transport,
    client_options: String,
    server_options: &'static str,
    /// Optimisations that both ends do without.
    left_out: &'static str,
    /// By how much the client's clock is wrong: seconds and millionths.
    client_clock: &'static str,
    there: Path,
    /// Delay of the way back.
    back: Duration,
}

impl Trial {
    fn udp(client: Program, server: Program, there: Path) -> Self {
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
    fn run(self, test: &str) -> Option<Measured> {
        let missing = [self.client, self.server]
            .into_iter()
            .find_map(Program::missing);
        if let Some(reason) = missing.or_else(Capture::unavailable) {
            skip(test, &reason);
            return None;
        }
        let back = Path::of_delay(self.back);
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
        let figures = received.then(|| DatagramFigures::await_from(&mut server, PATIENCE));
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

/// Waits for the total of a server's flow and for the histogram that follows it.
fn total_of(server: &Server) -> String {
    let complete = |output: &str| {
        let histograms = parse_histograms(output);
        histograms.iter().any(|histogram| histogram.total) || !output.contains("histograms")
    };
    server.await_output(PATIENCE, |out| !out.totals().is_empty());
    for _ in 0..50 {
        if complete(&server.output()) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    server.output()
}

impl Measured {
    /// Everything, for messages.
    fn shown(&self) -> String {
        format!("{}--- server\n{}", self.client, self.server)
    }

    /// Delays of the client's numbered datagrams in the relay, sorted, in nanoseconds.
    fn relayed_delays(&self) -> Vec<u64> {
        delays_of_datagrams(&self.record.there)
    }

    /// Delays of the datagrams as the kernel at the receiver saw them, from the sender's stamp on.
    fn captured_delays(&self, server: Program) -> Vec<u64> {
        let end = self
            .captured
            .iter()
            .position(|packet| packet.datagram_id() < Some(0));
        let packets = match end {
            // The end marker counts as a datagram; 2.2.1 leaves out the first one.
            Some(end) if !server.is_tapeline() => &self.captured[1..=end],
            Some(end) => &self.captured[..=end],
            None => &self.captured,
        };
        let delay = |packet: &Packet| packet.time.checked_sub(packet.sent()?);
        packets.iter().filter_map(delay).collect()
    }
}

/// Delays of numbered datagrams, sorted, in nanoseconds.
fn delays_of_datagrams(passages: &[Passage]) -> Vec<u64> {
    let numbered = passages
        .iter()
        .filter(|passage| passage.head.number().is_some());
    let mut delays: Vec<u64> = numbered.filter_map(Passage::delay).collect();
    delays.sort_unstable();
    delays
}

/// The total histogram of this name in an output.
fn total_histogram(output: &str, name: &str) -> Histogram {
    let mut all = parse_histograms(output).into_iter();
    all.find(|histogram| histogram.name == name && histogram.total)
        .unwrap_or_else(|| panic!("no total of {name}\n{output}"))
}

/// The median that a histogram tells, in nanoseconds: the middle of its bin.
fn shown_median(output: &str, name: &str) -> u64 {
    let histogram = total_histogram(output, name);
    let half = histogram.bins.iter().map(|(_, n)| n).sum::<u64>() / 2;
    let mut sum = 0;
    let bin = histogram.bins.iter().find(|(_, n)| {
        sum += n;
        sum > half
    });
    let (bin, _) = bin.unwrap_or_else(|| panic!("an empty histogram\n{output}"));
    (2 * bin - 1) * histogram.width * 1000 / 2
}

/// Mean of the running jitter (RFC 3550, 6.4.1) of delays in nanoseconds, in milliseconds: what
/// iperf 2 shows as the jitter of a whole test.
fn mean_jitter(delays: &[u64]) -> f64 {
    let mut jitter = 0.0;
    let mut sum = 0.0;
    for pair in delays.windows(2) {
        let difference = pair[1].abs_diff(pair[0]) as f64;
        jitter += (difference - jitter) / 16.0;
        sum += jitter;
    }
    sum / (delays.len() - 1) as f64 / 1e6
}

fn median(sorted: &[u64]) -> u64 {
    assert!(!sorted.is_empty());
    sorted[sorted.len() / 2]
}

impl Measured {
    /// The median of the server's histogram of this name, in nanoseconds.
    fn shown_median(&self, name: &str) -> u64 {
        shown_median(&self.server, name)
    }

    /// The jitter of the server's total, in milliseconds.
    fn shown_jitter(&self) -> f64 {
        let mut rows = self
            .server
            .lines()
            .filter(|line| line.contains(" ms ") && line.contains("%)"));
        let row = rows
            .next_back()
            .unwrap_or_else(|| panic!("no row\n{}", self.shown()));
        let (before, _) = row.split_once(" ms ").expect("jitter");
        let jitter = before.split_whitespace().next_back();
        jitter
            .and_then(|jitter| jitter.parse().ok())
            .expect("a number")
    }

    /// The median delay is the relay's, and the histogram is the capture's.
    fn check_delays(&self, server: Program) {
        let (shown, relayed) = (self.shown_median("T8"), median(&self.relayed_delays()));
        assert!(
            shown.abs_diff(relayed) <= TOLERANCE,
            "median {shown} ns, {relayed} ns in the relay\n{}",
            self.shown()
        );
        let printed = total_histogram(&self.server, "T8");
        let expected = Histogram::expected("T8", printed.width, &self.captured_delays(server));
        if server.is_tapeline() {
            assert_eq!(printed, expected, "{}", self.shown());
            let (shown, expected) = (
                self.shown_jitter(),
                mean_jitter(&self.captured_delays(server)),
            );
            assert!(
                (shown - expected).abs() <= JITTER_TOLERANCE_MS,
                "jitter {shown} ms, {expected} ms in the capture\n{}",
                self.shown()
            );
            return;
        }
        // 2.2.1 computes with rounded seconds: a delay on the edge of a bin may be in the one below.
        let pairs = printed.percentiles.iter().zip(expected.percentiles);
        for (printed, expected) in pairs {
            assert!(printed.abs_diff(expected) <= 1, "{}", self.shown());
        }
    }
}

/// The pairs of programs: client and server. The last one shows that the reference, too, agrees
/// with the relay.
const PAIRS: [(Program, Program); 3] = [
    (Program::TapelineAsIperf, Program::TapelineAsIperf),
    (Program::Iperf221, Program::TapelineAsIperf),
    (Program::Iperf221, Program::Iperf221),
];

#[test]
fn one_way_delay_is_the_relays() {
    in_a_quiet_moment(|| {
        for (client, server) in PAIRS {
            let path = Path::of_delay(Duration::from_millis(10));
            let trial = Trial::udp(client, server, path);
            let Some(measured) = trial.run("one_way_delay_is_the_relays") else {
                continue;
            };
            measured.check_delays(server);
        }
    });
}

#[test]
fn percentiles_of_a_varying_delay_are_the_captures() {
    in_a_quiet_moment(|| {
        // Less than the gap between datagrams, so that no datagram has to wait for another.
        let steps = [0, 1, 0, 3, 0, 1, 0, 0, 0, 4].map(Duration::from_millis);
        let jitters = [
            Jitter::Steps(steps.to_vec()),
            Jitter::Uniform(Duration::from_millis(4)),
        ];
        for (client, server) in PAIRS {
            for jitter in jitters.clone() {
                let path = Path {
                    jitter,
                    seed: 5,
                    ..Path::of_delay(Duration::from_millis(8))
                };
                let trial = Trial::udp(client, server, path);
                let Some(measured) = trial.run("percentiles_of_a_varying_delay_are_the_captures")
                else {
                    continue;
                };
                measured.check_delays(server);
            }
        }
    });
}

/// What a client tells of its flow's one-way delay, milliseconds.
#[derive(Debug)]
struct Estimated {
    mean: f64,
    /// Largest error of the mean.
    bound: f64,
    median: f64,
    /// Largest error of any delay.
    bound_single: f64,
}

impl Estimated {
    fn parse(output: &str) -> Self {
        let whole = output.replace("\n         ", " ");
        let line = whole.lines().find(|line| line.starts_with("delay "));
        // delay 12.310 ms ± 0.040 est., ..., p50 12.300 p90 ...
        let number = |before: &str| {
            let (_, rest) = line?.split_once(before)?;
            let word = rest.split_whitespace().next()?;
            word.trim_end_matches(',').parse().ok()
        };
        let number = |before| number(before).unwrap_or_else(|| panic!("no {before}\n{output}"));
        Self {
            mean: number("delay "),
            bound: number("± "),
            median: number("p50 "),
            bound_single: number("each ± "),
        }
    }
}

/// By how much the clocks differ, as a client tells it, milliseconds.
fn told_offset(output: &str) -> f64 {
    let line = output.lines().find_map(|line| line.strip_prefix("clocks "));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("no clocks\n{output}"))
}

#[test]
fn the_one_way_delay_between_clocks_that_differ_is_the_relays() {
    in_a_quiet_moment(|| {
        for (seed, clock, offset) in [
            (1, "0,0", 0.0),
            (2, "3.25,20", 3250.0),
            (3, "-7200,-40", 7_200_000.0),
        ] {
            let path = Path {
                jitter: Jitter::Uniform(Duration::from_millis(1)),
                seed,
                ..Path::of_delay(Duration::from_millis(20))
            };
            let trial = Trial {
                // A server of both transports: the control connection is over TCP.
                transport: Transport::Tcp,
                client_options: "-u -t 3 -b 200pps -l 1470".to_owned(),
                server_options: "",
                client_clock: clock,
                back: Duration::from_millis(20),
                ..Trial::udp(Program::TapelineWithHooks, Program::Tapeline, path)
            };
            let name = "the_one_way_delay_between_clocks_that_differ_is_the_relays";
            let Some(measured) = trial.run(name) else {
                continue;
            };
            // Without this the clocks may have been the same.
            let told = told_offset(&measured.client.stdout);
            assert!(
                (told - offset).abs() < 5.0,
                "{clock}: {told} ms\n{}",
                measured.shown()
            );
            let told = Estimated::parse(&measured.client.stdout);
            let delays = measured.relayed_delays();
            let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64 / 1e6;
            let middle = median(&delays) as f64 / 1e6;
            let right = |told: f64, truth: f64, bound: f64| (told - truth).abs() <= bound;
            assert!(
                right(told.mean, mean, told.bound)
                    && right(told.median, middle, told.bound_single)
                    && told.bound < 0.5,
                "{clock}: {told:?}, mean {mean} ms, median {middle} ms in the relay\n{}",
                measured.shown()
            );
        }
    });
}

/// Faults at exact places, with jitter that is shorter than the time between datagrams.
fn periodic_faults() -> Path {
    let place = |place| Selection::Periodic { period: 20, place };
    Path {
        lost: place(3),
        doubled: place(8),
        held: place(13),
        holding: Duration::from_millis(12),
        ..Path::of_delay(Duration::from_millis(10))
    }
}

/// Faults at random places; some datagrams are hit by several.
fn random_faults() -> Path {
    let some = |per_million| Selection::Random { per_million };
    Path {
        lost: some(50_000),
        doubled: some(40_000),
        held: some(60_000),
        holding: Duration::from_millis(18),
        jitter: Jitter::Uniform(Duration::from_millis(2)),
        seed: 11,
        ..Path::of_delay(Duration::from_millis(10))
    }
}

/// The fate of the numbered datagrams, by the relay's record.
fn fate(record: &Record) -> Arrivals {
    let datagram = |passage: &Passage| passage.head.destination_port().is_some();
    let passages = record.there.iter().filter(|passage| datagram(passage));
    let exit = |passage: &Passage| {
        let number = passage.head.payload_word(0).unwrap_or_default() as i32;
        passage
            .left
            .iter()
            .map(move |left| (*left, number))
            .collect::<Vec<_>>()
    };
    let mut exits: Vec<(u64, i32)> = passages.flat_map(exit).collect();
    exits.sort_by_key(|(left, _)| *left);
    Arrivals::of_numbers(exits.into_iter().map(|(_, number)| number))
}

impl Measured {
    /// What the server says of the datagrams is what the relay did with them.
    fn check_faults(&self, server: Program) {
        let truth = fate(&self.record);
        let hit = truth.lost.min(truth.duplicates).min(truth.reordered);
        assert!(hit >= 3, "{truth:?}\n{}", self.shown());
        let figures = self.figures.expect("figures of datagrams");
        let expected = truth.as_told_by(server, DATAGRAM, figures.bytes);
        assert_eq!(figures, expected, "{truth:?}\n{}", self.shown());
    }
}

#[test]
fn loss_repetition_and_reordering_are_the_relays() {
    let pairs = [
        (Program::TapelineAsIperf, Program::TapelineAsIperf),
        (Program::TapelineAsIperf, Program::Tapeline),
        (Program::Iperf221, Program::TapelineAsIperf),
    ];
    for (client, server) in pairs {
        for path in [periodic_faults(), random_faults()] {
            let trial = Trial {
                // Without trip-times, tapeline's own table has a column for each count.
                client_options: "-e -t 1 -b 200pps -l 1470".to_owned(),
                server_options: "-f b",
                ..Trial::udp(client, server, path)
            };
            let Some(measured) = trial.run("loss_repetition_and_reordering_are_the_relays") else {
                continue;
            };
            measured.check_faults(server);
        }
    }
}

/// A TCP test whose writes are single segments, sent at once, so that each is a packet in the relay.
/// Datagrams leave in groups of two and are dropped, doubled and held singly.
#[test]
fn faults_are_the_relays_with_and_without_offloads() {
    const ALL: &str = "udp-segmentation,udp-coalescing,receive-batch,receive-rest,pacing-spin";
    for left_out in ["", "udp-segmentation", "udp-coalescing", ALL] {
        let trial = Trial {
            client_options: "-e -n 441000 -b 2g -l 1470".to_owned(),
            server_options: "-f b",
            left_out,
            ..Trial::udp(
                Program::TapelineAsIperf,
                Program::TapelineAsIperf,
                Path {
                    // All are sent at once; a server waits 10 ms for what the last one overtakes.
                    holding: Duration::from_millis(4),
                    ..random_faults()
                },
            )
        };
        if let Some(measured) = trial.run("faults_are_the_relays_with_and_without_offloads") {
            measured.check_faults(Program::TapelineAsIperf);
        }
    }
}

fn tcp_trial(client: Program, server: Program, client_options: &str) -> Trial {
    Trial {
        client,
        server,
        transport: Transport::Tcp,
        client_options: client_options.to_owned(),
        // Segments have no timestamps of the kernel's, so the reader must not wait for a
        // processor.
        server_options: "-e -z --histograms=10u,20000",
        left_out: "",
        client_clock: "",
        there: Path::of_delay(Duration::from_millis(10)),
        back: BACK,
    }
}

/// Length of an IP packet with a segment of 1000 bytes and TCP timestamps.
const SEGMENT: usize = 20 + 32 + 1000;

#[test]
fn burst_latency_is_the_relays() {
    in_a_quiet_moment(|| {
        for (client, server) in PAIRS {
            let trial = tcp_trial(client, server, "-e -z -N --trip-times -t 1 -b 1m -l 1000");
            let Some(measured) = trial.run("burst_latency_is_the_relays") else {
                continue;
            };
            let segments = measured
                .record
                .there
                .iter()
                .filter(|passage| passage.length == SEGMENT);
            let mut delays: Vec<u64> = segments.filter_map(Passage::delay).collect();
            delays.sort_unstable();
            let (shown, relayed) = (measured.shown_median("F8"), median(&delays));
            assert!(
                shown.abs_diff(relayed) <= TCP_TOLERANCE,
                "median {shown} ns, {relayed} ns in the relay\n{}",
                measured.shown()
            );
        }
    });
}

#[test]
fn round_trips_and_their_halves_are_the_relays() {
    in_a_quiet_moment(|| {
        for (client, server) in PAIRS {
            let options =
                "-z --bounceback=50 --bounceback-period 1 --trip-times --histograms -t 0.9";
            let mut trial = tcp_trial(client, server, options);
            trial.server_options = "-e -z";
            let Some(measured) = trial.run("round_trips_and_their_halves_are_the_relays") else {
                continue;
            };
            // Requests and replies are the packets with 100 bytes in them.
            let delay_of = |passages: &[Passage]| {
                let messages = passages.iter().filter(|passage| passage.length == 152);
                let mut delays: Vec<u64> = messages.filter_map(Passage::delay).collect();
                delays.sort_unstable();
                median(&delays)
            };
            let [there, back] =
                [&measured.record.there, &measured.record.back].map(|way| delay_of(way));
            for (name, expected) in [("OWD-TX", there), ("OWD-RX", back), ("BB8", there + back)] {
                let shown = shown_median(&measured.client.stdout, name);
                assert!(
                    shown.abs_diff(expected) <= TCP_TOLERANCE,
                    "{name}: median {shown} ns, {expected} ns in the relay\n{}",
                    measured.shown()
                );
            }
        }
    });
}

#[test]
fn both_directions_have_their_own_delay() {
    in_a_quiet_moment(|| {
        let tapeline = Program::TapelineAsIperf;
        for (client, server) in [(tapeline, tapeline), (tapeline, Program::Iperf221)] {
            for direction in ["-R", "--full-duplex"] {
                let options = format!(
                    "-e {direction} --trip-times --histograms=10u,20000 -t 1 -b 200pps -l 1470"
                );
                let trial = Trial {
                    client_options: options,
                    ..Trial::udp(client, server, Path::of_delay(Duration::from_millis(10)))
                };
                let Some(measured) = trial.run("both_directions_have_their_own_delay") else {
                    continue;
                };
                let relayed = median(&delays_of_datagrams(&measured.record.back));
                let shown = shown_median(&measured.client.stdout, "T8");
                assert!(
                    shown.abs_diff(relayed) <= TOLERANCE,
                    "median {shown} ns, {relayed} ns in the relay\n{}",
                    measured.shown()
                );
            }
        }
    });
}
