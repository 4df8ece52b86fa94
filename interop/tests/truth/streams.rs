//! Delays over TCP: of writes, and of requests and responses.

use std::time::Duration;

use interop::{Program, Transport, in_a_quiet_moment};
use relay::{Passage, Path};

use super::PAIRS;
use super::shown::shown_median;
use super::trial::{BACK, Trial, median};

/// Nanoseconds that a median may be from the record for TCP, where the receiving program's wake-up belongs to the delay, and where 2.2.1
/// counts in bins of 100 us.
const TCP_TOLERANCE: u64 = 300_000;

/// A TCP test whose writes are single segments, sent at once, so that each is a packet in the relay.
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
        there: Path::with_delay(Duration::from_millis(10)),
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
