//! Loss, repetition and reordering of datagrams.

use std::time::Duration;

use interop::{Arrivals, Program};
use relay::{Jitter, Passage, Path, Record, Selection};

use super::trial::{Measured, Trial};

/// Payload of a datagram.
const DATAGRAM: u64 = 1470;

/// Faults at exact places, with jitter that is shorter than the time between datagrams.
fn periodic_faults() -> Path {
    let place = |place| Selection::Periodic { period: 20, place };
    Path {
        lost: place(3),
        doubled: place(8),
        held: place(13),
        holding: Duration::from_millis(12),
        ..Path::with_delay(Duration::from_millis(10))
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
        ..Path::with_delay(Duration::from_millis(10))
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
    Arrivals::from_numbers(exits.into_iter().map(|(_, number)| number))
}

impl Measured {
    /// What the server says of the datagrams is what the relay did with them.
    fn check_faults(&self, server: Program) {
        let truth = fate(&self.record);
        let hit = truth.lost.min(truth.duplicates).min(truth.reordered);
        assert!(hit >= 3, "{truth:?}\n{}", self.shown());
        let figures = self.figures.expect("figures of datagrams");
        let expected = truth.as_reported_by(server, DATAGRAM, figures.bytes);
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
