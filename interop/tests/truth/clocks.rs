//! One-way delays between clocks that differ.

use std::time::Duration;

use interop::{Program, Transport, in_a_quiet_moment};
use relay::{Jitter, Path};

use super::trial::{Trial, median};

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
