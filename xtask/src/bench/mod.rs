//! Speed compared with the peers.
//!
//! The programs alternate within each round, in turned order in every second one, because only
//! neighbours in time compare on a machine whose speed varies. A figure is the median over the
//! rounds, a ratio the median of the rounds' ratios; the best round is the second figure, as it is
//! the closest to a quiet machine.

mod contest;
mod pacing;
mod path;
mod report;
mod tcp;

use std::path::PathBuf;

use interop::{Capture, NamespacePair, Program};

use crate::levels::release_binary;
use crate::setup;
use crate::shell::{self, Result, cargo};
use crate::tally::Tally;

use contest::{Benchmark, Contest};
use path::Path;

/// Who takes part, tapeline first.
const PROGRAMS: [Program; 3] = [
    Program::TapelineAsIperf,
    Program::Iperf221,
    Program::Iperf218,
];

/// How to run the benchmarks.
#[derive(Debug)]
struct Options {
    rounds: usize,
    seconds: f64,
    only: Option<String>,
    out: Option<PathBuf>,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            rounds: 5,
            seconds: 1.0,
            only: None,
            out: None,
        };
        for pair in words.chunks(2) {
            let [name, value] = pair else {
                return Err(format!("bench: {} needs a value", pair[0]));
            };
            let bad = |_| format!("bench: {name} cannot be '{value}'");
            match *name {
                "--rounds" => options.rounds = value.parse().map_err(bad)?,
                "--seconds" => {
                    options.seconds = value
                        .parse()
                        .map_err(|_| format!("bench: {name} cannot be '{value}'"))?
                }
                "--only" => options.only = Some((*value).to_owned()),
                "--out" => options.out = Some(value.into()),
                _ => return Err(format!("bench: there is no option {name}")),
            }
        }
        if options.rounds == 0 || !(0.2..=60.0).contains(&options.seconds) {
            return Err("bench: at least one round, of 0.2 to 60 seconds".to_owned());
        }
        Ok(options)
    }
}

/// Runs the benchmarks and counts the bars that they meet.
///
/// # Errors
/// The options are wrong or the program cannot be built.
pub(crate) fn run(words: &[&str]) -> Result<Tally> {
    let options = Options::parse(words)?;
    setup::prepare();
    // Another binary can be measured, for example an older one.
    if std::env::var_os("TAPELINE_BIN").is_none() {
        shell::run(cargo().args(["build", "--release", "--package", "tapeline"]))?;
        interop::use_tapeline(release_binary());
    }
    let mut tally = Tally::default();
    let programs: Vec<Program> = PROGRAMS
        .into_iter()
        .filter(|program| match program.missing() {
            Some(reason) => {
                tally.skip(format!("{program}: {reason}"));
                false
            }
            None => true,
        })
        .collect();
    let pair = NamespacePair::new().map_err(|error| error.to_string());
    let mut contests = Vec::new();
    for benchmark in benchmarks(&pair, &options, &mut tally) {
        if options
            .only
            .as_ref()
            .is_some_and(|word| !benchmark.name.contains(word.as_str()))
        {
            continue;
        }
        match Contest::hold(benchmark, &programs, options.rounds) {
            Ok(contest) => {
                contest.judge(&mut tally);
                contests.push(contest);
            }
            Err(error) => tally.fail(error),
        }
    }
    let table = report::markdown(&contests, &options);
    println!("\n{table}");
    if let Some(out) = &options.out {
        report::write(out, &table, &contests)?;
    }
    Ok(tally)
}

/// Everything that can be measured here.
fn benchmarks<'a>(
    pair: &'a Result<NamespacePair>,
    options: &Options,
    tally: &mut Tally,
) -> Vec<Benchmark<'a>> {
    let mut paths = vec![Path::Loopback];
    match pair {
        Ok(pair) => paths.push(Path::Cable(pair)),
        Err(error) => tally.skip(format!("everything over a veth pair: {error}")),
    }
    let mut benchmarks = Vec::new();
    for path in &paths {
        for congestion_control in [Some("cubic"), None] {
            benchmarks.push(tcp::benchmark(*path, congestion_control, options.seconds));
        }
    }
    if let Some(reason) = Capture::unavailable() {
        tally.skip(format!("pacing as a third party sees it: {reason}"));
        return benchmarks;
    }
    for path in paths {
        for megabits in [10, 100] {
            benchmarks.push(pacing::benchmark(path, megabits, options.seconds));
        }
    }
    benchmarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_checked() {
        let options = Options::parse(&["--rounds", "7", "--out", "a.md"]).expect("good options");
        assert_eq!((options.rounds, options.out), (7, Some("a.md".into())));
        for bad in [
            &["--rounds"][..],
            &["--rounds", "x"],
            &["--what", "1"],
            &["--seconds", "0"],
        ] {
            assert!(Options::parse(bad).is_err(), "{bad:?}");
        }
    }
}
