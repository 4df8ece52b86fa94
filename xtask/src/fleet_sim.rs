//! A fleet of many agents on this machine: what they cost the server, and whether all return after its restart.
//!
//! The server, the controller and the collector are real. The agents are real too, in one process; their tests are
//! pretended. So this measures the fleet and no network.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use interop::{
    Invocation, Program, Request, Running, Transport, Vitals, await_listening, free_port,
};
use serde_json::Value;

use crate::builds;
use crate::shell::{self, Result, cargo};
use crate::tally::Tally;

const USAGE: &str =
    "usage: cargo xtask fleet-sim [--agents N] [--seconds S] [--jobs-per-second RATE]\n";

/// Descriptors that the server or the agents' process need beside one for each agent.
const SPARE: u64 = 1000;
/// So many agents begin to connect each second.
const STARTING: u32 = 500;
/// Tests of a round of `sample:4`, for each host: four others, one way each on average.
const TESTS_PER_HOST: f64 = 4.0;
/// A new schedule makes up for its last half hour at once: that is over when no more jobs are open than begin in
/// this time, seconds.
const SETTLED: f64 = 20.0;
/// What the server's garbage collector aims at, as docs/fleet.md recommends for so many hosts.
const MEMORY_LIMIT: &str = "600MiB";
/// Samples of the collector: results in its history, and jobs by their state.
const STORED: &str = "tapeline_fleet_results_total{site=\"simulation\",outcome=\"new\"}";
const JOBS: &str = "tapeline_fleet_jobs{site=\"simulation\",state=";
const ENDED: [&str; 4] = ["done", "failed", "cancelled", "expired"];
/// No wait takes so long.
const PATIENCE: Duration = Duration::from_secs(300);

/// What must hold.
const SERVER_MEMORY: f64 = 700e6;
const SERVER_CPU: f64 = 25.0;
const CONTROLLER_MEMORY: f64 = 300e6;
const CONNECTING: f64 = 30.0;
const RETURNING: f64 = 60.0;

/// What was asked for.
struct Options {
    agents: u32,
    seconds: u64,
    jobs_per_second: f64,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            agents: 10_000,
            seconds: 60,
            jobs_per_second: 2.0,
        };
        for pair in words.chunks(2) {
            let [name, value] = pair else {
                return Err(USAGE.to_owned());
            };
            let value: f64 = value.parse().map_err(|_| USAGE.to_owned())?;
            match *name {
                "--agents" if value >= 5.0 => options.agents = value as u32,
                "--seconds" if value >= 1.0 => options.seconds = value as u64,
                "--jobs-per-second" if value > 0.0 => options.jobs_per_second = value,
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(options)
    }
}

/// Runs the simulation.
///
/// # Errors
/// A wrong option, or something that cannot be started.
pub(crate) fn run(words: &[&str]) -> Result<Tally> {
    let options = Options::read(words)?;
    raise_descriptors(options.agents)?;
    let nats = interop::nats_server().ok_or("no nats-server: see peers/install")?;
    // Another binary can be tried, for example an older one.
    if std::env::var_os("TAPELINE_BIN").is_none() {
        interop::use_tapeline(builds::release(&builds::EVERYTHING)?);
    }
    // Optimised: each enrolment and each connection calculates with keys, 10,000 of them within half a minute.
    let agents = "many_agents";
    shell::run(cargo().args([
        "build",
        "--release",
        "-p",
        "tapeline-fleet",
        "--example",
        agents,
    ]))?;
    let folder = shell::root().join("target/fleet-sim");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let place = Place {
        nats,
        agents: builds::target_directory()
            .join("release/examples")
            .join(agents),
        folder,
        port: free_port(),
        monitor: free_port(),
        metrics: free_port(),
    };
    simulate(&options, &place)
}

/// Lets this process and those that it starts have as many descriptors as the system allows.
fn raise_descriptors(agents: u32) -> Result<()> {
    let (limit, wanted) = (interop::raise_descriptor_limit(), u64::from(agents) + SPARE);
    match limit >= wanted {
        true => Ok(()),
        false => Err(format!(
            "{limit} descriptors are too few: ulimit -n {wanted}"
        )),
    }
}

/// Programs, files and ports.
struct Place {
    nats: PathBuf,
    agents: PathBuf,
    folder: PathBuf,
    port: u16,
    monitor: u16,
    metrics: u16,
}

impl Place {
    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    fn many_agents(&self, words: &[&str]) -> Invocation {
        Invocation::for_executable("many_agents", &self.agents)
            .args(words.iter().copied())
            .deadline(PATIENCE)
    }

    fn tapeline(&self, line: &str, role: &str) -> Invocation {
        let config = self.path(&format!("{role}.toml"));
        Invocation::new(Program::Tapeline)
            .line(line)
            .args(["--config", &config])
            .deadline(PATIENCE)
    }

    /// The server, when it listens.
    fn server(&self) -> Result<Running> {
        let monitor = self.monitor.to_string();
        let server = Invocation::for_executable("nats-server", &self.nats)
            .args(["-c", &self.path("nats-server.conf"), "-m", &monitor])
            .env("GOMEMLIMIT", MEMORY_LIMIT)
            .spawn();
        let server = server.map_err(|error| error.to_string())?;
        for port in [self.port, self.monitor] {
            await_listening(&server, Transport::Tcp, port).map_err(|error| error.to_string())?;
        }
        Ok(server)
    }

    fn get(&self, port: u16, target: &str) -> Result<String> {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let answer = Request::new("GET", target)
            .header("Host", "localhost")
            .send(at);
        let answer = answer.map_err(|error| format!("{at}{target}: {error}"))?;
        Ok(answer.text())
    }

    /// Messages that the server has taken and given.
    fn messages(&self) -> Result<[f64; 2]> {
        let text = self.get(self.monitor, "/varz")?;
        let varz: Value = serde_json::from_str(&text).unwrap_or_default();
        Ok(["in_msgs", "out_msgs"].map(|name| varz[name].as_f64().unwrap_or_default()))
    }

    /// Results that the collector has put into its history.
    fn stored(&self) -> Result<f64> {
        let text = self.get(self.metrics, "/metrics")?;
        let value = text.lines().find_map(|line| line.strip_prefix(STORED));
        Ok(value.map_or(0.0, number))
    }

    /// Jobs that have not ended.
    fn open_jobs(&self) -> Result<f64> {
        let text = self.get(self.metrics, "/metrics")?;
        let jobs = text.lines().filter_map(|line| line.strip_prefix(JOBS));
        let open = jobs.filter(|rest| !ENDED.iter().any(|state| rest.contains(state)));
        Ok(open
            .filter_map(|rest| rest.split_once('}'))
            .map(|(_, value)| number(value))
            .sum())
    }
}

fn number(text: &str) -> f64 {
    text.trim().parse().unwrap_or_default()
}

fn simulate(options: &Options, place: &Place) -> Result<Tally> {
    let failed = |error: std::io::Error| error.to_string();
    let (agents, port) = (options.agents.to_string(), place.port.to_string());
    let folder = place.folder.to_string_lossy();
    let began = Instant::now();
    let site = place.many_agents(&["site", &folder, &agents, &port]).run();
    done(&site.map_err(failed)?)?;
    println!("{agents} hosts enrolled in {}", seconds(began));
    let began = Instant::now();
    let server = place.server()?;
    println!("the server is ready after {}", seconds(began));
    let controller = place.tapeline("fleet controller", "controller").spawn();
    let controller = controller.map_err(failed)?;
    let collect = format!(
        "fleet collect --history {} --metrics 127.0.0.1:{}",
        place.path("history.db"),
        place.metrics
    );
    let collector = place.tapeline(&collect, "collector").spawn();
    let collector = collector.map_err(failed)?;
    await_listening(&collector, Transport::Tcp, place.metrics).map_err(failed)?;
    if !controller.wait_for_error(PATIENCE, |said| said.contains("is active")) {
        return Err(format!("no controller: {}", controller.stderr()));
    }
    let starting = STARTING.to_string();
    let many = place
        .many_agents(&["run", &folder, &agents, &starting])
        .spawn();
    let many = many.map_err(failed)?;
    await_line(&many, 0, "start")?;
    let began = Instant::now();
    let connected = await_line(&many, 1, "all are connected")?;
    let connecting = began.elapsed().as_secs_f64();
    println!("{connected}, after {connecting:.1} s");

    schedule(options, place)?;
    let processes = [
        ("nats-server", &server),
        ("controller", &controller),
        ("collector", &collector),
        ("agents", &many),
    ];
    let before = processes.map(|(_, process)| Vitals::read(process.id()));
    let (messages, results) = (place.messages()?, place.stored()?);
    let began = Instant::now();
    std::thread::sleep(Duration::from_secs(options.seconds));
    let elapsed = began.elapsed().as_secs_f64();
    let [taken, given] = place.messages()?;
    let stored = place.stored()? - results;
    println!("\n{:<12} {:>9} {:>6}", "process", "memory MB", "CPU %");
    let mut costs = Vec::new();
    for ((name, process), before) in processes.iter().zip(before) {
        let now = Vitals::read(process.id()).zip(before);
        let (now, before) = now.ok_or_else(|| format!("{name} ended: {}", process.stderr()))?;
        let cost = Cost {
            memory: now.peak_memory as f64,
            cpu: 100.0 * (now.cpu - before.cpu).as_secs_f64() / elapsed,
        };
        println!("{name:<12} {cost}");
        costs.push(cost);
    }
    println!(
        "\n{:.0} messages to the server and {:.0} from it a second, {:.2} results stored",
        (taken - messages[0]) / elapsed,
        (given - messages[1]) / elapsed,
        stored / elapsed
    );

    server.kill().map_err(failed)?;
    let _server = place.server()?;
    let began = Instant::now();
    let returned = await_line(&many, 2, "all are connected")?;
    let returning = began.elapsed().as_secs_f64();
    println!("after a restart of the server: {returned}, after {returning:.1} s");
    let results = place.stored()?;
    await_results(place, results)?;
    println!("and tests go on: new results {} later", seconds(began));

    let mut bars = Bars::default();
    bars.hold("memory of the server, MB", costs[0].memory, SERVER_MEMORY);
    bars.hold("CPU of the server, %", costs[0].cpu, SERVER_CPU);
    bars.hold(
        "memory of the controller, MB",
        costs[1].memory,
        CONTROLLER_MEMORY,
    );
    bars.hold("connecting, s", connecting, CONNECTING);
    bars.hold("returning, s", returning, RETURNING);
    Ok(bars.0)
}

/// Submits a schedule by which so many tests begin each second.
fn schedule(options: &Options, place: &Place) -> Result<()> {
    let failed = |error: std::io::Error| error.to_string();
    let round = f64::from(options.agents) * TESTS_PER_HOST / options.jobs_per_second;
    let text = format!(
        "name = \"all\"\nhosts = \"*\"\npattern = \"sample:4\"\nevery = \"{round:.0}s\"\ntest = \"-t 10\"\n"
    );
    let file = place.path("all.toml");
    std::fs::write(Path::new(&file), text).map_err(failed)?;
    let began = Instant::now();
    let added = place
        .tapeline(&format!("fleet schedule add {file}"), "operator")
        .run();
    done(&added.map_err(failed)?)?;
    println!(
        "a round of tests takes {round:.0} s; its schedule and the hosts entered in {}",
        seconds(began)
    );
    let results = place.stored()?;
    await_results(place, results)?;
    println!("the first results are stored after {}", seconds(began));
    let is_settled = || Ok(place.open_jobs()? <= SETTLED * options.jobs_per_second);
    until("the jobs of the last half hour do not end", is_settled)?;
    println!(
        "what the schedule made up for is done after {}",
        seconds(began)
    );
    Ok(())
}

fn await_results(place: &Place, before: f64) -> Result<()> {
    until("no results come", || Ok(place.stored()? > before))
}

/// Waits; `why` is the error if it takes too long.
fn until(why: &str, is_so: impl Fn() -> Result<bool>) -> Result<()> {
    let began = Instant::now();
    while !is_so()? {
        if began.elapsed() > PATIENCE {
            return Err(why.to_owned());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// The line with the number (from 0 on) that a process prints; it must hold `what`.
fn await_line(process: &Running, number: usize, what: &str) -> Result<String> {
    let printed = process.wait_for(PATIENCE, |text| text.lines().count() > number);
    let text = process.stdout();
    let line = text.lines().nth(number).filter(|line| line.contains(what));
    match line.filter(|_| printed) {
        Some(line) => Ok(line.to_owned()),
        None => Err(format!("{}: {text}{}", process.shown(), process.stderr())),
    }
}

fn done(finished: &interop::Finished) -> Result<()> {
    match finished.code() {
        Some(0) => Ok(()),
        _ => Err(finished.to_string()),
    }
}

fn seconds(since: Instant) -> String {
    format!("{:.1} s", since.elapsed().as_secs_f64())
}

/// What a process takes.
struct Cost {
    /// At its highest, bytes.
    memory: f64,
    /// Percent of one core.
    cpu: f64,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9.0} {:>6.1}", self.memory / 1e6, self.cpu)
    }
}

/// What held.
#[derive(Default)]
struct Bars(Tally);

impl Bars {
    /// A number that must not be greater than its bar.
    fn hold(&mut self, what: &str, number: f64, bar: f64) {
        let scale = if what.ends_with("MB") { 1e6 } else { 1.0 };
        match number <= bar {
            true => self.0.pass(),
            false => self.0.fail(format!(
                "{what}: {:.1}, the bar is {:.0}",
                number / scale,
                bar / scale
            )),
        }
    }
}
