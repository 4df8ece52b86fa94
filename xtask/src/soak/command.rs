//! Clients, samples of the resting server, and the verdict.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use interop::{Invocation, Program, Running, Transport, await_listening, free_port};
use tapeline_base::SplitMix64;

use super::harm;
use super::trend::Trend;
use crate::builds;
use crate::tally::Tally;

/// Honest clients at the same time.
const WORKERS: u64 = 4;
/// One in so many tests is a fault.
const HARM_EVERY: u64 = 100;
/// Between two samples of the resting server.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(60);
/// Between two looks whether it has come to rest.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Time in which a server at rest gives memory back.
const SETTLING: Duration = Duration::from_secs(3);
/// Time for a test of a second; the machine may be busy.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);
/// What faults may still hold when the run ends, deadlines included.
const REST: Duration = Duration::from_secs(45);
/// Share of the run before memory is compared: caches fill, and buffers find their size.
const WARM_UP: f64 = 0.2;
/// Runs shorter than this show no slope.
const SHORTEST: Duration = Duration::from_secs(20 * 60);
/// Growth of memory that is borne, bytes an hour.
const MAX_GROWTH: f64 = 1_048_576.0;

/// Tests of a second, of both families. Rates are low: the server is what is tested.
const HONEST: [(Program, &str); 14] = [
    (Program::Tapeline, "-b 20m"),
    (Program::Tapeline, "-b 20m -R"),
    (Program::Tapeline, "-u -b 5m"),
    (Program::Tapeline, "--bounceback"),
    (Program::TapelineAsIperf, "-b 20m --full-duplex"),
    (Program::TapelineAsIperf, "-b 20m -P 8"),
    (Program::TapelineAsIperf, "-u -b 5m"),
    (Program::TapelineAsIperf, "-u -b 5m -R"),
    (Program::TapelineAsIperf3, "-b 20m"),
    (Program::TapelineAsIperf3, "-b 20m -R -P 4"),
    (Program::TapelineAsIperf3, "-u -b 5m"),
    (Program::TapelineAsIperf3, "-u -b 5m -R"),
    (Program::Iperf221, "-b 20m"),
    (Program::Iperf3V18, "-b 20m"),
];

/// What was asked for.
struct Options {
    length: Duration,
    seed: u64,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self, String> {
        const USAGE: &str = "usage: cargo xtask soak [--minutes N] [--seed N]\n";
        let mut options = Self {
            length: Duration::from_secs(600),
            seed: 1,
        };
        for pair in words.chunks(2) {
            let [name, value] = pair else {
                return Err(USAGE.to_owned());
            };
            let value: u32 = value.parse().map_err(|_| USAGE.to_owned())?;
            match *name {
                "--minutes" if value > 0 => {
                    options.length = Duration::from_secs(u64::from(value) * 60)
                }
                "--seed" => options.seed = u64::from(value),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(options)
    }
}

/// What the clients have come to.
#[derive(Default)]
struct Score {
    served: AtomicU64,
    harms: AtomicU64,
    failures: Mutex<Vec<String>>,
}

impl Score {
    fn fail(&self, what: String) {
        if let Ok(mut failures) = self.failures.lock() {
            failures.push(what);
        }
    }
}

/// Runs the soak.
///
/// # Errors
/// A wrong option, or a server that cannot be started.
pub(crate) fn run(words: &[&str]) -> Result<Tally, String> {
    let options = Options::read(words)?;
    // Another binary can be tried, for example an older one.
    interop::use_tapeline(builds::under_test()?);
    soak(&options).map_err(|error| format!("{error}\n"))
}

fn soak(options: &Options) -> Result<Tally, String> {
    let port = free_port();
    let timeout = options.length + REST * 4;
    let server = Invocation::new(Program::Tapeline)
        .args(["-s", "-p", &port.to_string(), "-o", "/dev/null"])
        .deadline(timeout)
        .spawn()
        .map_err(|error| error.to_string())?;
    await_listening(&server, Transport::Tcp, port).map_err(|error| error.to_string())?;
    let before = Sample::at(&server)?;
    println!("server {} on port {port}: {before}", server.id());
    let score = Score::default();
    let mut draws: Vec<SplitMix64> = (1..=WORKERS)
        .map(|worker| SplitMix64::new(options.seed * WORKERS + worker))
        .collect();
    let mut samples = Vec::new();
    let began = Instant::now();
    while began.elapsed() < options.length {
        let pause =
            Instant::now() + SAMPLE_INTERVAL.min(options.length.saturating_sub(began.elapsed()));
        std::thread::scope(|scope| {
            for draw in &mut draws {
                let score = &score;
                scope.spawn(move || visit(port, draw, score, pause));
            }
        });
        match await_rest(&server, &before) {
            Ok(sample) => {
                println!("{:>5.0} s {sample}", began.elapsed().as_secs_f64());
                samples.push((began.elapsed(), sample));
            }
            Err(why) => {
                score.fail(why);
                break;
            }
        }
    }
    Ok(verdict(options, &score, &samples))
}

/// Any of these.
fn one_of<T: Copy>(draw: &mut SplitMix64, all: &[T]) -> T {
    all[draw.below(all.len() as u64) as usize]
}

/// A client after the other until it is time for a pause.
fn visit(port: u16, draw: &mut SplitMix64, score: &Score, pause: Instant) {
    let honest: Vec<_> = HONEST
        .iter()
        .filter(|(program, _)| program.missing().is_none())
        .collect();
    while Instant::now() < pause {
        if draw.below(HARM_EVERY) == 0 {
            one_of(draw, &harm::ALL)(port);
            score.harms.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let (program, line) = one_of(draw, &honest);
        let run = Invocation::new(*program)
            .args(["-c", "127.0.0.1", "-t", "1", "-p", &port.to_string()])
            .line(line)
            .deadline(TEST_TIMEOUT)
            .run();
        match run {
            Ok(run) if run.code() == Some(0) => {
                score.served.fetch_add(1, Ordering::Relaxed);
            }
            Ok(run) => score.fail(run.to_string()),
            Err(error) => score.fail(error.to_string()),
        }
    }
}

/// What a server holds.
#[derive(Clone, Copy)]
struct Sample {
    memory: f64,
    descriptors: usize,
    threads: usize,
}

impl Sample {
    fn at(server: &Running) -> Result<Self, String> {
        let gone = || {
            format!(
                "the server has ended:\n{}{}",
                server.stdout(),
                server.stderr()
            )
        };
        if !server.is_alive() {
            return Err(gone());
        }
        let of = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", server.id()));
        let status = of("status").map_err(|_| gone())?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u32>().ok()
        };
        let folder = std::fs::read_dir(format!("/proc/{}/fd", server.id()));
        Ok(Self {
            memory: f64::from(number("VmRSS:").ok_or_else(gone)?) * 1024.0,
            descriptors: folder.map_err(|_| gone())?.count(),
            threads: usize::try_from(number("Threads:").ok_or_else(gone)?).unwrap_or(usize::MAX),
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = self.memory / 1_048_576.0;
        let Self {
            descriptors,
            threads,
            ..
        } = self;
        write!(
            f,
            "{mebibytes:.2} MiB, {descriptors} descriptors, {threads} threads"
        )
    }
}

/// Waits until the server holds no more descriptors and threads than at its start, and then for it to
/// give memory back.
fn await_rest(server: &Running, before: &Sample) -> Result<Sample, String> {
    let end = Instant::now() + REST;
    loop {
        let sample = Sample::at(server)?;
        if sample.descriptors <= before.descriptors && sample.threads <= before.threads {
            std::thread::sleep(SETTLING);
            return Sample::at(server);
        }
        if Instant::now() > end {
            return Err(format!("it does not come to rest: {sample}"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn verdict(options: &Options, score: &Score, samples: &[(Duration, Sample)]) -> Tally {
    let mut tally = Tally::default();
    let served = score.served.load(Ordering::Relaxed);
    let harms = score.harms.load(Ordering::Relaxed);
    println!(
        "{served} tests served, {harms} faults, seed {}",
        options.seed
    );
    for _ in 0..served {
        tally.pass();
    }
    for failure in score
        .failures
        .lock()
        .iter()
        .flat_map(|failures| failures.iter())
    {
        tally.fail(failure.clone());
    }
    let hours = |at: Duration| at.as_secs_f64() / 3600.0;
    let warm = options.length.mul_f64(WARM_UP);
    let settled = samples.iter().filter(|(at, _)| *at >= warm);
    let trend = |of: fn(&Sample) -> f64| {
        Trend::fit(settled.clone().map(|(at, sample)| (hours(*at), of(sample))))
    };
    let memory = trend(|sample| sample.memory);
    println!("memory at rest: {:+.3} MiB/h", memory.slope / 1_048_576.0);
    println!(
        "descriptors at rest: {:+.2} per hour",
        trend(|sample| sample.descriptors as f64).slope
    );
    if options.length >= SHORTEST && memory.slope > MAX_GROWTH {
        tally.fail(format!("memory grows by {:.0} bytes an hour", memory.slope));
    }
    tally
}
