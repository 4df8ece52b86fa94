//! What goes wrong, and how it is made good.

use std::time::Duration;

use interop::{Fleet, Node};
use rustix::process::Signal;
use tapeline_base::SplitMix64;

use super::tiny_disk::TinyDisk;

/// Shortest and longest duration of a fault, seconds.
const SHORTEST: f64 = 0.1;
/// How far a clock is set, either way, seconds.
const WRONG: f64 = 3600.0;

/// A process of the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Server,
    Controller(usize),
    Collector,
    Agent(usize),
}

impl Part {
    /// Itself, or one whose clock can be set: the server does not ask the C library for the time.
    fn with_a_clock(self) -> Self {
        match self {
            Self::Server => Self::Controller(0),
            other => other,
        }
    }
}

/// Which way nothing passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    In,
    Out,
    Both,
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A process is killed, and started again at the end.
    Kill(Part),
    /// A process is paused.
    Pause(Part),
    /// Packets of a host are dropped.
    Cut(Part, Lost),
    /// The wall clock of a part is set so many seconds ahead, and set right at the end.
    Clock(Part, i64),
    /// The disk of an agent's spool is full.
    FullDisk(usize),
    /// The executor of a test on a host is killed; there is nothing to make good.
    KillExecutor(usize),
    /// The client or server of a test on a host is killed.
    KillTest(usize),
}

/// A fault and when it happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub(crate) fault: Fault,
    pub(crate) at: Duration,
    pub(crate) ends: Duration,
}

/// Faults of a round of so many seconds.
pub(crate) fn plan(random: &mut SplitMix64, fleet: &Fleet, seconds: f64) -> Vec<Planned> {
    let count = 3 + random.bits() % 6;
    let faults = (0..count).map(|_| {
        let at = seconds * random.fraction();
        // Short ones are as frequent as long ones.
        let longest: f64 = 60.0;
        let length = SHORTEST * (longest / SHORTEST).powf(random.fraction());
        Planned {
            fault: fault(random, fleet),
            at: Duration::from_secs_f64(at),
            ends: Duration::from_secs_f64((at + length).min(seconds)),
        }
    });
    faults.collect()
}

fn fault(random: &mut SplitMix64, fleet: &Fleet) -> Fault {
    let below = |random: &mut SplitMix64, end: usize| (random.bits() % end as u64) as usize;
    let agents = fleet.agents.len();
    let part = match random.bits() % 8 {
        0 | 1 => Part::Server,
        2 | 3 => Part::Controller(below(random, fleet.controllers.len())),
        4 => Part::Collector,
        _ => Part::Agent(below(random, agents)),
    };
    match random.bits() % 13 {
        0..=2 => Fault::Kill(part),
        3..=5 => Fault::Pause(part),
        6 | 7 => Fault::Cut(part, [Lost::In, Lost::Out, Lost::Both][below(random, 3)]),
        8 | 9 => {
            let ahead = (random.fraction() - 0.5) * 2.0 * WRONG;
            // Seconds fit.
            Fault::Clock(part.with_a_clock(), ahead as i64)
        }
        10 => Fault::FullDisk(below(random, agents)),
        11 => Fault::KillExecutor(below(random, agents)),
        _ => Fault::KillTest(below(random, agents)),
    }
}

fn node(fleet: &mut Fleet, part: Part) -> &mut Node {
    match part {
        Part::Server => &mut fleet.server,
        Part::Controller(number) => &mut fleet.controllers[number],
        Part::Collector => &mut fleet.collector,
        Part::Agent(number) => &mut fleet.agents[number],
    }
}

impl Fault {
    /// It happens.
    pub(crate) fn begin(self, fleet: &mut Fleet, disks: &[TinyDisk]) {
        match self {
            Self::Kill(part) => node(fleet, part).kill(),
            Self::Pause(part) => node(fleet, part).signal(Signal::STOP),
            Self::Cut(part, lost) => {
                let (r#in, out) = match lost {
                    Lost::In => ("drop", "accept"),
                    Lost::Out => ("accept", "drop"),
                    Lost::Both => ("drop", "drop"),
                };
                let table = format!(
                    "table inet cut {{\n\
                       chain in {{ type filter hook input priority 0; iifname \"eth0\" {in}; }}\n\
                       chain out {{ type filter hook output priority 0; oifname \"eth0\" {out}; }}\n\
                     }}\n"
                );
                let host = node(fleet, part).host().namespace();
                uncut(host);
                host.nft(&table).expect("a rule");
            }
            Self::Clock(part, ahead) => node(fleet, part).set_clock(ahead),
            Self::FullDisk(agent) => disks[agent].fill(),
            Self::KillExecutor(agent) => {
                fleet.agents[agent]
                    .host()
                    .signal("tapeline remote", Signal::KILL);
            }
            Self::KillTest(agent) => {
                let is_test = |line: &str| !line.contains(" agent ") && !line.contains(" remote");
                fleet.agents[agent].host().signal_all(Signal::KILL, is_test);
            }
        }
    }

    /// It is over.
    pub(crate) fn end(self, fleet: &mut Fleet, disks: &[TinyDisk]) {
        match self {
            Self::Kill(part) => node(fleet, part).start().expect("a process"),
            Self::Pause(part) => node(fleet, part).signal(Signal::CONT),
            Self::Cut(part, _) => uncut(node(fleet, part).host().namespace()),
            Self::Clock(part, _) => node(fleet, part).set_clock(0),
            Self::FullDisk(agent) => disks[agent].clear(),
            Self::KillExecutor(_) | Self::KillTest(_) => {}
        }
    }
}

fn uncut(host: &interop::Namespace) {
    // It may be whole.
    let _ = host.nft("delete table inet cut\n");
}

/// All faults are over, and everything runs.
pub(crate) fn heal(fleet: &mut Fleet, disks: &[TinyDisk]) {
    disks.iter().for_each(TinyDisk::clear);
    let parts = parts(fleet);
    for part in parts {
        let node = node(fleet, part);
        node.signal(Signal::CONT);
        uncut(node.host().namespace());
        if part != Part::Server {
            node.set_clock(0);
        }
        node.start().expect("a process");
    }
}

fn parts(fleet: &Fleet) -> Vec<Part> {
    let controllers = (0..fleet.controllers.len()).map(Part::Controller);
    let agents = (0..fleet.agents.len()).map(Part::Agent);
    let parts = [Part::Server, Part::Collector].into_iter();
    parts.chain(controllers).chain(agents).collect()
}
