//! A site with many hosts, and their agents in one process. Tests are pretended: they take their time, move no
//! data and leave a report. `cargo xtask fleet-sim` measures what that costs the server.
//!
//! ```text
//! many_agents site FOLDER COUNT PORT      write the files of a site with hosts h0, h1 and on
//! many_agents run FOLDER COUNT RATE        serve as its agents; RATE of them connect in a second
//! ```
#![allow(clippy::print_stdout, reason = "a command-line program")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tapeline_fleet::{
    AgentHost, AgentSettings, AgentStart, AttemptKey, Enrolment, HostName, How, Kept, MachineClock,
    NewSite, OneAgent, ResultKey, ResultMessage, StopSwitch, TestEvent, TestEvents, run_agents,
};
use tapeline_remote::{Listening, Order};

/// What a test of two seconds leaves, here after `TEST`.
const REPORT: &str = include_str!("../../report/tests/golden/documents/tcp-client.json");
/// A pretended test takes so long.
const TEST: Duration = Duration::from_secs(10);
/// Its bytes, for the limits of owners.
const BYTES: u64 = 1 << 30;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["site", folder, count, port] => site(Path::new(folder), count.parse()?, port.parse()?),
        ["run", folder, count, rate] => {
            let pause = Duration::from_secs(1) / rate.parse::<u32>()?;
            run(Path::new(folder), count.parse()?, pause)
        }
        _ => Err("usage: many_agents site FOLDER COUNT PORT | run FOLDER COUNT RATE".into()),
    }
}

fn site(folder: &Path, count: u32, port: u16) -> Result<(), Box<dyn Error>> {
    let site = NewSite {
        site: "simulation".parse()?,
        servers: vec![format!("nats://127.0.0.1:{port}").parse()?],
        is_plain: false,
    };
    site.write(folder)?;
    let hosts: Result<Vec<HostName>, _> = (0..count).map(|number| host(number).parse()).collect();
    let enrolment = Enrolment {
        hosts: hosts?,
        address: None,
        groups: Vec::new(),
    };
    enrolment.write(folder)?;
    Ok(())
}

fn host(number: u32) -> String {
    format!("h{number}")
}

fn run(folder: &Path, count: u32, pause: Duration) -> Result<(), Box<dyn Error>> {
    let mut agents = Vec::new();
    for number in 0..count {
        let settings = AgentSettings::read(&folder.join(format!("{}.toml", host(number))))?;
        agents.push(OneAgent {
            settings,
            start: AgentStart {
                version: "simulated".to_owned(),
                kept: Kept::default(),
                spooled: Vec::new(),
            },
            host: Box::new(PretendedHost::default()),
        });
    }
    let mut connections = Connections::new(count);
    println!("{count} agents start");
    let (_switch, stop) = StopSwitch::new();
    let clock = MachineClock::new(|_| 0);
    run_agents(agents, pause, &clock, &stop, &mut |_, what| {
        connections.heard(what);
    })?;
    Ok(())
}

/// How many agents are connected, by what they say.
struct Connections {
    all: u32,
    up: u32,
    second: Instant,
    in_second: u32,
    most: u32,
}

impl Connections {
    fn new(all: u32) -> Self {
        Self {
            all,
            up: 0,
            second: Instant::now(),
            in_second: 0,
            most: 0,
        }
    }

    fn heard(&mut self, what: &str) {
        match what {
            "waits for orders" | "is back at the server" => self.came(),
            "lost the server" => self.up -= 1,
            // Tests that begin and end.
            _ => {}
        }
    }

    fn came(&mut self) {
        if self.second.elapsed() >= Duration::from_secs(1) {
            self.second = Instant::now();
            self.in_second = 0;
        }
        self.up += 1;
        self.in_second += 1;
        self.most = self.most.max(self.in_second);
        if self.up == self.all {
            println!(
                "all are connected, at most {} of them in a second",
                self.most
            );
            (self.in_second, self.most) = (0, 0);
        }
    }
}

/// A host without a disk and without a network.
#[derive(Default)]
struct PretendedHost {
    tests: BTreeMap<AttemptKey, Sender<()>>,
    spool: BTreeMap<ResultKey, ResultMessage>,
}

impl AgentHost for PretendedHost {
    fn lock(&mut self) -> bool {
        self.tests.is_empty()
    }

    fn unlock(&mut self) {}

    fn start(&mut self, of: &AttemptKey, order: Order, events: &TestEvents) {
        if let Order::Serve { .. } = order {
            let ports = Listening {
                tcp: Some(5001),
                udp: None,
            };
            events.happened(TestEvent::Listening(of.clone(), ports));
        }
        let (stop, stopped) = channel();
        let (ended, events) = (of.clone(), events.clone());
        std::thread::spawn(move || {
            let (how, document) = match stopped.recv_timeout(TEST) {
                Err(RecvTimeoutError::Timeout) => (How::Measured, Some(REPORT.to_owned())),
                Ok(()) | Err(RecvTimeoutError::Disconnected) => {
                    (How::Failed("it was stopped".to_owned()), None)
                }
            };
            events.happened(TestEvent::Ended {
                of: ended,
                how,
                document,
                bytes: BYTES,
            });
        });
        self.tests.insert(of.clone(), stop);
    }

    fn stop(&mut self, of: &AttemptKey) {
        if let Some(stop) = self.tests.get(of) {
            // One that has ended hears nothing.
            let _ = stop.send(());
        }
    }

    fn ended(&mut self, of: &AttemptKey) {
        self.tests.remove(of);
    }

    fn keep(&mut self, _: &Kept) {}

    fn spool(&mut self, result: &ResultMessage) -> Option<u64> {
        self.spool.insert(result.key.clone(), result.clone());
        Some(result.document.len() as u64)
    }

    fn unspool(&mut self, key: &ResultKey) {
        self.spool.remove(key);
    }

    fn spooled(&mut self, key: &ResultKey) -> Option<ResultMessage> {
        self.spool.get(key).cloned()
    }
}
