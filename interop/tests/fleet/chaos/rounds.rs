//! Rounds of faults.

use std::time::{Duration, Instant};

use interop::{Fleet, skip};
use tapeline_base::SplitMix64;

use super::checker::Checker;
use super::faults::{Planned, heal, plan};
use super::tiny_disk::TinyDisk;
use super::watcher::{Watcher, test_processes};
use crate::client::events;
use crate::support::{number, options};

/// Hosts of a round.
const AGENTS: u8 = 8;
/// Bytes of a spool's disk: a few dozen results.
const DISK: u64 = 2 << 20;
/// All jobs are final this long after the last fault.
const FINAL: Duration = Duration::from_secs(60);
/// Nothing runs on a host this long after the last controller has gone.
const IDLE: Duration = Duration::from_secs(45);
/// Between two looks at what says nothing by itself.
const LOOK: Duration = Duration::from_millis(500);

#[test]
#[ignore = "two minutes of faults: cargo xtask test chaos"]
fn what_is_guaranteed_holds_whatever_happens() {
    let name = "what_is_guaranteed_holds_whatever_happens";
    let Some(options) = options(name, AGENTS, 2) else {
        return;
    };
    if let Some(reason) = Fleet::no_clocks() {
        return skip(name, &reason);
    }
    let first = number("TAPELINE_FLEET_SEED", 1);
    let rounds = number("TAPELINE_FLEET_ROUNDS", 3);
    let seconds = number("TAPELINE_FLEET_SECONDS", 20) as f64;
    let mut fleet = Fleet::new(options).expect("a fleet");
    let disks: Vec<TinyDisk> = (0..usize::from(AGENTS))
        .map(|agent| TinyDisk::new(&fleet.spool(agent), DISK))
        .collect();
    let nodes = fleet.controllers.iter_mut().chain(&mut fleet.agents);
    for node in nodes.chain([&mut fleet.collector]) {
        node.give_clock().expect("a clock");
    }
    fleet.start();
    let watcher = Watcher::start(&fleet);
    let mut checker = Checker::default();
    for seed in first..first + rounds {
        let mut round = Round {
            fleet: &mut fleet,
            disks: &disks,
            seed,
            said: Vec::new(),
        };
        round.run(seconds);
        let events = events(round.fleet);
        let mut faults = checker.faults(round.fleet, &events);
        faults.extend(watcher.found().overlaps);
        assert!(faults.is_empty(), "{faults:#?}\n{}", round.story());
        round.print();
    }
    assert!(
        watcher.found().most > 1,
        "tests run side by side, and were seen"
    );
}

struct Round<'a> {
    fleet: &'a mut Fleet,
    disks: &'a [TinyDisk],
    seed: u64,
    said: Vec<String>,
}

impl Round<'_> {
    fn say(&mut self, what: String) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let second = now.map_or(0.0, |now| now.as_secs_f64()) % 86_400.0;
        let (minute, second) = ((second / 60.0) as u32, second % 60.0);
        let time = format!("{:02}:{:02}:{second:06.3}", minute / 60, minute % 60);
        self.said.push(format!("{time} {what}"));
    }

    fn story(&self) -> String {
        let seed = self.seed;
        format!(
            "TAPELINE_FLEET_SEED={seed}\n{}\n{}",
            self.said.join("\n"),
            self.fleet.logs()
        )
    }

    /// Shown with --nocapture.
    #[expect(clippy::print_stderr, reason = "long runs are watched")]
    fn print(&self) {
        eprintln!("{}", self.said.join("\n"));
    }

    fn run(&mut self, seconds: f64) {
        let mut random = SplitMix64::new(self.seed);
        let hosts = self.fleet.hosts_file(usize::from(AGENTS));
        let line = format!(
            "fleet run {} --pattern sample:3 --seed {} --json -- -t 2",
            hosts.display(),
            self.seed
        );
        let submitted = self.fleet.document(&line);
        let jobs = submitted["submitted"].as_array().expect("jobs").len();
        self.say(format!("seed {}: {jobs} jobs", self.seed));
        self.suffer(plan(&mut random, self.fleet, seconds));
        if self.seed.is_multiple_of(3) {
            self.lose_controllers();
        }
        heal(self.fleet, self.disks);
        self.say("all is well".to_owned());
        let healed = Instant::now();
        let mut open = self.open();
        while !open.is_empty() {
            let is_late = healed.elapsed() > FINAL;
            assert!(!is_late, "not final: {open:#?}\n{}", self.story());
            std::thread::sleep(LOOK);
            open = self.open();
        }
        self.say(format!("all are final after {:?}", healed.elapsed()));
        self.empty_spools();
    }

    /// Jobs that are not final; all of them while the server does not say.
    fn open(&self) -> Vec<String> {
        let jobs = self
            .fleet
            .operator("fleet jobs --json")
            .run()
            .expect("tapeline");
        let Ok(document) = serde_json::from_str::<serde_json::Value>(&jobs.stdout) else {
            return vec![jobs.stderr];
        };
        let jobs = document["jobs"].as_array().expect("jobs").iter();
        let open = jobs.filter(|job| {
            !["done", "failed", "expired", "cancelled"]
                .iter()
                .any(|state| job["state"] == *state)
        });
        open.map(|job| format!("{} {}", job["job"], job["state"]))
            .collect()
    }

    /// Lets the faults happen at their times. The time is the subject here.
    fn suffer(&mut self, faults: Vec<Planned>) {
        let begins = faults
            .iter()
            .map(|planned| (planned.at, true, planned.fault));
        let ends = faults
            .iter()
            .map(|planned| (planned.ends, false, planned.fault));
        let mut changes: Vec<_> = begins.chain(ends).collect();
        changes.sort_by_key(|(at, ..)| *at);
        let start = Instant::now();
        for (at, begins, fault) in changes {
            std::thread::sleep(at.saturating_sub(start.elapsed()));
            let word = if begins { "begins" } else { "ends" };
            self.say(format!("{word} {fault:?}"));
            match begins {
                true => fault.begin(self.fleet, self.disks),
                false => fault.end(self.fleet, self.disks),
            }
        }
    }

    /// No controller is left: what runs ends by itself.
    fn lose_controllers(&mut self) {
        self.say("no controller is left".to_owned());
        self.fleet
            .controllers
            .iter_mut()
            .for_each(interop::Node::kill);
        let gone = Instant::now();
        loop {
            let agents = 0..self.fleet.agents.len();
            let locks = agents.map(|agent| self.fleet.spool(agent).join("lock"));
            let left: Vec<u32> = locks.flat_map(|lock| test_processes(&lock)).collect();
            if left.is_empty() {
                return;
            }
            assert!(
                gone.elapsed() < IDLE,
                "{left:?} still run\n{}",
                self.story()
            );
            std::thread::sleep(LOOK);
        }
    }

    /// All that was measured comes into the database.
    fn empty_spools(&mut self) {
        let start = Instant::now();
        loop {
            let document = self.fleet.document("fleet hosts --json");
            let hosts = document["hosts"].as_array().expect("hosts");
            let spooled = |host: &serde_json::Value| host["spool"]["results"].as_u64();
            if hosts.iter().all(|host| spooled(host) == Some(0)) {
                let given_up = hosts
                    .iter()
                    .filter_map(|host| host["spool"]["given_up"].as_u64());
                assert_eq!(given_up.sum::<u64>(), 0, "{}", self.story());
                return;
            }
            assert!(start.elapsed() < FINAL, "{hosts:#?}\n{}", self.story());
            std::thread::sleep(LOOK);
        }
    }
}
