//! One-way delays of datagrams and their jitter.

use std::time::Duration;

use interop::{Histogram, Packet, Program, in_a_quiet_moment};
use relay::{Jitter, Path};

use super::PAIRS;
use super::shown::{shown_median, total_histogram};
use super::trial::{Measured, Trial, delays_of_datagrams, median};

/// Nanoseconds that a median may be from the relay's record: what the kernels at both ends add on a
/// machine whose processors are not ours alone. Our stamps are compared with the capture's exactly.
const TOLERANCE: u64 = 300_000;
/// Milliseconds that a jitter may be from the capture's: its last digit, and the share that one
/// datagram more or less in the mean makes.
const JITTER_TOLERANCE_MS: f64 = 0.02;

impl Measured {
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

#[test]
fn one_way_delay_is_the_relays() {
    in_a_quiet_moment(|| {
        for (client, server) in PAIRS {
            let path = Path::with_delay(Duration::from_millis(10));
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
                    ..Path::with_delay(Duration::from_millis(8))
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

#[test]
fn the_jitter_of_datagrams_that_overtake_each_other_is_the_captures() {
    let name = "the_jitter_of_datagrams_that_overtake_each_other_is_the_captures";
    let tapeline = Program::TapelineAsIperf;
    in_a_quiet_moment(|| {
        // Several gaps between datagrams.
        let path = Path {
            jitter: Jitter::Uniform(Duration::from_millis(4)),
            seed: 11,
            ..Path::with_delay(Duration::from_millis(5))
        };
        let trial = Trial {
            client_options: "-e --trip-times -t 2 -b 1000pps -l 500".to_owned(),
            ..Trial::udp(tapeline, tapeline, path)
        };
        let Some(measured) = trial.run(name) else {
            return;
        };
        let shown = measured.shown_jitter();
        let expected = mean_jitter(&measured.captured_delays(tapeline));
        assert!(
            (shown / expected - 1.0).abs() <= 0.01,
            "jitter {shown} ms, {expected} ms in the capture\n{}",
            measured.shown()
        );
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
                    ..Trial::udp(client, server, Path::with_delay(Duration::from_millis(10)))
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
