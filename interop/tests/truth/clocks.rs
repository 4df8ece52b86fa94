//! One-way delays between clocks that differ.

use std::time::Duration;

use interop::{Program, Transport, in_a_quiet_moment};
use relay::{Jitter, Path};
use serde_json::Value;

use super::trial::{Trial, median};

/// What a client reports of its stream's one-way delay, milliseconds.
#[derive(Debug)]
struct Estimated {
    mean: f64,
    /// Largest error of the mean.
    bound: f64,
    median: f64,
    /// Largest error of any delay.
    bound_single: f64,
    /// By how much the server's clock is ahead.
    offset: f64,
}

impl Estimated {
    fn parse(document: &str) -> Self {
        let parsed: Value =
            serde_json::from_str(document).unwrap_or_else(|error| panic!("{error}\n{document}"));
        let delay = &parsed["streams"][0]["one_way_delay"];
        let number = |name: &str| {
            let number = delay[name].as_f64();
            number.unwrap_or_else(|| panic!("no {name}\n{document}"))
        };
        Self {
            mean: number("mean_ms"),
            bound: number("error_ms"),
            median: number("p50_ms"),
            bound_single: number("error_single_ms"),
            offset: number("clock_offset_ms"),
        }
    }
}

#[test]
fn the_one_way_delay_between_clocks_that_differ_is_the_relays() {
    in_a_quiet_moment(|| {
        for (seed, clock, offset) in [
            (1, "0,0", 0.0),
            (2, "3.25,20", -3250.0),
            (3, "-7200,-40", 7_200_000.0),
        ] {
            let path = Path {
                jitter: Jitter::Uniform(Duration::from_millis(1)),
                seed,
                ..Path::with_delay(Duration::from_millis(20))
            };
            let trial = Trial {
                // A server of both transports: the control connection is over TCP.
                transport: Transport::Tcp,
                client_options: "--json -u -t 3 -b 200pps -l 1470".to_owned(),
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
            let reported = Estimated::parse(&measured.client.stdout);
            assert!(
                (reported.offset - offset).abs() < 5.0,
                "{clock}: {} ms\n{}",
                reported.offset,
                measured.shown()
            );
            let delays = measured.relayed_delays();
            let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64 / 1e6;
            let middle = median(&delays) as f64 / 1e6;
            let right = |reported: f64, truth: f64, bound: f64| (reported - truth).abs() <= bound;
            assert!(
                right(reported.mean, mean, reported.bound)
                    && right(reported.median, middle, reported.bound_single)
                    && reported.bound < 0.5,
                "{clock}: {reported:?}, mean {mean} ms, median {middle} ms in the relay\n{}",
                measured.shown()
            );
        }
    });
}
