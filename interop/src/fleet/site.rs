//! A site with a real server, and the processes of its roles.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::node::Node;
use super::wall_clock::WallClock;
use crate::{Finished, Invocation, NamespacePair, Program, Switch, nats_server};

/// Numbers of hosts on the bridge that are none of the fleet's.
const SERVER: u8 = 254;
const COLLECTOR: u8 = 253;
const FIRST_CONTROLLER: u8 = 250;
/// For what should be there soon.
const SOON: Duration = Duration::from_secs(60);
/// For an operator's order.
const ORDERING: Duration = Duration::from_secs(3600);
/// Between two looks at what says nothing by itself.
const LOOK: Duration = Duration::from_millis(200);

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// What a fleet has.
#[derive(Clone, Copy, Debug)]
pub struct FleetOptions {
    /// Agents, on hosts `h1` and on.
    pub agents: u8,
    /// Controllers; at most 3.
    pub controllers: u8,
    /// What each host may send and receive, bit/s.
    pub rate: u64,
}

/// A result in the database.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FleetResult {
    /// Its job.
    pub job: String,
    /// Whose it is.
    pub host: String,
    /// What was measured, as JSON.
    pub document: String,
}

/// A site `lab` in a folder of its own, its server and its roles. All ends when it is dropped.
#[derive(Debug)]
pub struct Fleet {
    /// nats-server.
    pub server: Node,
    /// Any number; one is active.
    pub controllers: Vec<Node>,
    /// The collector.
    pub collector: Node,
    /// `h1` and on.
    pub agents: Vec<Node>,
    /// What they are joined to.
    pub switch: Switch,
    folder: Folder,
}

impl Fleet {
    /// Why there can be none here, or nothing when there can.
    #[must_use]
    pub fn unavailable() -> Option<String> {
        if nats_server().is_none() {
            return Some("no nats-server: see peers/install".to_owned());
        }
        let program = Program::Tapeline.missing();
        program.or_else(NamespacePair::unavailable).or_else(|| {
            let help = Invocation::new(Program::Tapeline)
                .line("fleet --help")
                .run();
            let has_fleet = help.is_ok_and(|help| help.code() == Some(0));
            let reason = "tapeline was built without its feature fleet";
            (!has_fleet).then(|| reason.to_owned())
        })
    }

    /// Why its hosts can have no clocks of their own here, or nothing when they can.
    #[must_use]
    pub fn no_clocks() -> Option<String> {
        let reason = "no libfaketime: apt-get install faketime";
        WallClock::library().is_none().then(|| reason.to_owned())
    }

    /// A site whose hosts are enrolled; nothing runs yet.
    ///
    /// # Errors
    /// The system refuses, or tapeline does.
    pub fn new(options: FleetOptions) -> io::Result<Self> {
        let folder = Folder::new()?;
        let path = folder.0.clone();
        let switch = Switch::new()?;
        let program = nats_server().ok_or(io::ErrorKind::NotFound)?;
        let tapeline = || Program::Tapeline.path().to_owned();
        let place = |name: &str| -> io::Result<PathBuf> {
            let place = path.join("home").join(name);
            fs::create_dir_all(&place)?;
            Ok(place)
        };
        let config = |role: &str| path.join(format!("{role}.toml")).display().to_string();
        let host = switch.host("n", SERVER)?;
        let address = host.address();
        let conf = path.join("nats-server.conf").display().to_string();
        let server = Node::new(
            host,
            "server",
            program,
            &format!("-c {conf}"),
            place("server")?,
        );
        let order = |line: String| -> io::Result<()> {
            let done = server.tapeline(&line).run()?;
            match done.code() {
                Some(0) => Ok(()),
                _ => Err(io::Error::other(done.to_string())),
            }
        };
        let out = path.display();
        order(format!(
            "fleet init --site lab --out {out} --server nats://{address}:4222 --plain"
        ))?;
        let mut agents = Vec::new();
        for number in 1..=options.agents {
            let name = format!("h{number}");
            let host = switch.host(&name, number)?;
            if options.rate > 0 {
                switch.limit(&host, options.rate)?;
            }
            order(format!(
                "fleet enrol {name} --out {out} --address {}",
                host.address()
            ))?;
            give_spool(&path, &name)?;
            let line = format!("agent --config {}", config(&name));
            agents.push(Node::new(host, &name, tapeline(), &line, place(&name)?));
        }
        let mut controllers = Vec::new();
        for number in 0..options.controllers {
            let (name, line) = (
                format!("controller{number}"),
                format!("fleet controller --config {}", config("controller")),
            );
            let host = switch.host("c", FIRST_CONTROLLER + number)?;
            controllers.push(Node::new(host, &name, tapeline(), &line, place(&name)?));
        }
        let host = switch.host("l", COLLECTOR)?;
        let line = format!(
            "fleet collect --config {} --history {}",
            config("collector"),
            path.join("fleet.db").display()
        );
        let collector = Node::new(host, "collector", tapeline(), &line, place("collector")?);
        Ok(Self {
            server,
            controllers,
            collector,
            agents,
            switch,
            folder,
        })
    }

    /// The same, and everything runs.
    ///
    /// # Panics
    /// As [`Fleet::start`].
    #[track_caller]
    #[must_use]
    pub fn started(options: FleetOptions) -> Self {
        let mut fleet = Self::new(options).expect("a fleet");
        fleet.start();
        fleet
    }

    /// Starts everything: the first controller is active, every agent is there.
    ///
    /// # Panics
    /// Something does not come.
    #[track_caller]
    pub fn start(&mut self) {
        self.start_server();
        // The streams are there before others ask for them.
        for (number, controller) in self.controllers.iter_mut().enumerate() {
            controller.start().expect("a controller");
            let words = if number == 0 {
                ": is active"
            } else {
                ": stands by"
            };
            controller.await_log(SOON, words, |log| log.contains(words));
        }
        self.collector.start().expect("a collector");
        for agent in &mut self.agents {
            agent.start().expect("an agent");
        }
        for agent in &self.agents {
            agent.await_log(SOON, "waiting", |log| log.contains(": waits for orders"));
        }
        let collector = &self.collector;
        collector.await_log(SOON, "collecting", |log| log.contains(": collects"));
        self.await_hosts(self.agents.len(), |state| state == "free");
    }

    /// Starts the server, unless it runs, and waits until it is ready.
    ///
    /// # Panics
    /// It does not come.
    #[track_caller]
    pub fn start_server(&mut self) {
        self.server.start().expect("a server");
        self.server
            .await_log(SOON, "ready", |log| log.contains("Server is ready"));
    }

    /// The folder of the site.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// The folder of an agent's spool.
    #[must_use]
    pub fn spool(&self, agent: usize) -> PathBuf {
        spool(self.folder(), self.agents[agent].name())
    }

    /// An operator's line, on the server's host: no cut cable keeps it away.
    #[must_use]
    pub fn operator(&self, line: &str) -> Invocation {
        let config = self.folder().join("operator.toml");
        let (line, test) = line.split_once(" -- ").unwrap_or((line, ""));
        let behind = if test.is_empty() { "" } else { "--" };
        let line = format!("{line} --config {} {behind} {test}", config.display());
        self.server.tapeline(&line).deadline(ORDERING)
    }

    /// The document of an operator's line that gives one.
    ///
    /// # Panics
    /// There is none.
    #[track_caller]
    #[must_use]
    pub fn document(&self, line: &str) -> Value {
        let finished = self.operator(line).run().expect("tapeline");
        document(&finished)
    }

    /// A file of hosts with the first `count` agents.
    ///
    /// # Panics
    /// It cannot be written.
    #[must_use]
    pub fn hosts_file(&self, count: usize) -> PathBuf {
        let path = self.folder().join(format!("hosts-{count}.toml"));
        let hosts = self.agents.iter().take(count);
        let text: String = hosts
            .map(|host| format!("[hosts.{}]\n", host.name()))
            .collect();
        fs::write(&path, text).expect("a file");
        path
    }

    /// Name and state of each host.
    ///
    /// # Panics
    /// The server does not say.
    #[track_caller]
    #[must_use]
    pub fn hosts(&self) -> Vec<(String, String)> {
        let document = self.document("fleet hosts --json");
        let rows = document["hosts"].as_array().expect("hosts").iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        rows.map(|row| (text(&row["host"]), text(&row["state"])))
            .collect()
    }

    /// Waits until so many hosts have such a state.
    ///
    /// # Panics
    /// They do not.
    #[track_caller]
    pub fn await_hosts(&self, count: usize, is_such: impl Fn(&str) -> bool) {
        let until = Instant::now() + SOON;
        loop {
            let hosts = self.hosts();
            if hosts.iter().filter(|(_, state)| is_such(state)).count() == count {
                return;
            }
            assert!(Instant::now() < until, "{hosts:?}{}", self.logs());
            std::thread::sleep(LOOK);
        }
    }

    /// The jobs that the bucket holds.
    ///
    /// # Panics
    /// The server does not say.
    #[track_caller]
    #[must_use]
    pub fn jobs(&self) -> Vec<Value> {
        let document = self.document("fleet jobs --json");
        document["jobs"].as_array().expect("jobs").clone()
    }

    /// The results in the database; one that is there twice is there twice.
    ///
    /// # Panics
    /// There is no database.
    #[track_caller]
    #[must_use]
    pub fn results(&self) -> Vec<FleetResult> {
        let line = format!(
            "history list last:1000000 --json --history {}",
            self.folder().join("fleet.db").display()
        );
        let finished = self.collector.tapeline(&line).deadline(ORDERING).run();
        let finished = finished.expect("tapeline");
        if finished.stderr.contains("no runs") {
            return Vec::new();
        }
        let document = document(&finished);
        let runs = document["runs"].as_array().expect("runs").iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        runs.map(|run| FleetResult {
            job: text(&run["tags"]["job"]),
            host: text(&run["from_host"]),
            document: run["document"].to_string(),
        })
        .collect()
    }

    /// What everything has said, for messages.
    #[must_use]
    pub fn logs(&self) -> String {
        let nodes = self.controllers.iter().chain([&self.collector]);
        let nodes = nodes.chain(&self.agents).chain([&self.server]);
        nodes
            .map(|node| format!("\n--- {}\n{}", node.name(), node.log()))
            .collect()
    }
}

fn document(finished: &Finished) -> Value {
    let document = serde_json::from_str(&finished.stdout);
    document.unwrap_or_else(|_| panic!("{finished}"))
}

fn spool(folder: &Path, name: &str) -> PathBuf {
    folder.join("spool").join(name)
}

/// The spools of hosts that share a disk are apart.
fn give_spool(folder: &Path, name: &str) -> io::Result<()> {
    let path = folder.join(format!("{name}.toml"));
    let text = fs::read_to_string(&path)?;
    let lines = text.lines().map(|line| match line.starts_with("spool =") {
        true => format!("spool = \"{}\"\n", spool(folder, name).display()),
        false => format!("{line}\n"),
    });
    fs::write(&path, lines.collect::<String>())
}

/// A folder that is gone when dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tapeline-fleet-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
