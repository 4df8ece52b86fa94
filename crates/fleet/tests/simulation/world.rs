//! A site in virtual time: machines, their processes and connections, the server, the hosts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use tapeline_base::{MonoTime, SplitMix64};
use tapeline_fleet::{
    Agent, AgentEffect, AgentInput, Answer, AttemptKey, Collector, Controller, ControllerEffect,
    ControllerInput, HostName, How, Identity, Limits, Outcome, Refusal, ReplyId, Schedules, State,
    WatchInput,
};

use crate::bus::Bus;
use crate::checker::FinalBy;
use crate::clocks::Clocks;
use crate::event::{Caller, Effect, Ending, Event, Input, Message, Node};
use crate::host::{Holder, Host, Work};
use crate::log::{Line, Log};
use crate::queue::Queue;
use crate::{carrying, processes, server};

/// What keeps the guarantees. Each can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// The lock file outlives the agent.
    Lock,
    /// Agents refuse old epochs.
    Epoch,
    /// The server compares before it writes.
    Compare,
    /// Results outlive the agent, until they are in the database.
    Spool,
    /// The database has a key once.
    Key,
}

/// What a world is like.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) seed: u64,
    pub(crate) agents: usize,
    pub(crate) controllers: usize,
    /// This guard is missing.
    pub(crate) without: Option<Guard>,
    /// What the owners of all hosts allow.
    pub(crate) limits: Limits,
    /// Length of a message's way, at most.
    pub(crate) delay: Duration,
    /// The longest pause between two faults; half of it is usual.
    pub(crate) calm: Duration,
    /// Lines are checked by this as they come; otherwise they are kept.
    pub(crate) checked: Option<FinalBy>,
}

/// A process and its connection.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) generation: u64,
    pub(crate) is_up: bool,
    pub(crate) paused_until: MonoTime,
    /// It is paused for so long once it is about to give an order.
    pub(crate) pause_at_order: Option<Duration>,
    /// Both it and the server think that it is connected.
    pub(crate) is_connected: bool,
    pub(crate) cut_to: bool,
    pub(crate) cut_from: bool,
    /// Messages of one direction do not overtake each other.
    pub(crate) last_to: MonoTime,
    pub(crate) last_effect: MonoTime,
    pub(crate) last_from: MonoTime,
    pub(crate) tick: MonoTime,
    pub(crate) clocks: Clocks,
}

impl Peer {
    fn new(random: &mut SplitMix64) -> Self {
        Self {
            generation: 0,
            is_up: true,
            paused_until: MonoTime::ZERO,
            pause_at_order: None,
            is_connected: false,
            cut_to: false,
            cut_from: false,
            last_to: MonoTime::ZERO,
            last_effect: MonoTime::ZERO,
            last_from: MonoTime::ZERO,
            tick: MonoTime::FAR,
            clocks: Clocks::new(random),
        }
    }
}

/// Messages by what they are for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) orders: u64,
    pub(crate) answers: u64,
    pub(crate) steps: u64,
    pub(crate) events: u64,
    pub(crate) results: u64,
    pub(crate) stored: u64,
    pub(crate) beats: u64,
    pub(crate) others: u64,
    /// Tests that ended with a result, at the client.
    pub(crate) measured: u64,
    /// Orders that were refused for their old epoch.
    pub(crate) refused: u64,
    /// Writes that were refused.
    pub(crate) conflicts: u64,
    pub(crate) faults: u64,
}

/// A site.
pub(crate) struct World {
    pub(crate) setting: Setting,
    pub(crate) now: MonoTime,
    pub(crate) random: SplitMix64,
    pub(crate) log: Log,
    pub(crate) counts: Counts,
    pub(crate) bus: Bus,
    pub(crate) hosts: Vec<Host>,
    /// Fingerprints of its keys.
    pub(crate) database: HashSet<u64>,
    pub(crate) is_database_full: bool,
    /// Faults happen until then.
    pub(crate) faults_until: MonoTime,
    pub(crate) names: Vec<HostName>,
    pub(crate) numbers: HashMap<HostName, usize>,
    /// Agents, controllers, the collector.
    pub(crate) peers: Vec<Peer>,
    pub(crate) agents: Vec<Agent>,
    pub(crate) controllers: Vec<Controller>,
    pub(crate) collector: Collector,
    pub(crate) schedules: Schedules,
    pub(crate) queue: Queue,
    pub(crate) process: u64,
    /// Where the servers of attempts run.
    pub(crate) serving: HashMap<AttemptKey, usize>,
    /// Calls whose outcome is waited for, and what they come to without one.
    pub(crate) calls: HashMap<Caller, Outcome>,
    pub(crate) replies: HashMap<ReplyId, Caller>,
    pub(crate) reply: u64,
}

impl World {
    pub(crate) fn new(setting: Setting, schedules: Schedules) -> Self {
        let mut random = SplitMix64::new(setting.seed);
        let names: Vec<HostName> = (0..setting.agents)
            .map(|number| format!("h{number}").parse().expect("a name"))
            .collect();
        let mut world = Self {
            now: MonoTime::ZERO,
            log: Log::new(setting.checked),
            counts: Counts::default(),
            bus: Bus::new(setting.without != Some(Guard::Compare)),
            hosts: vec![Host::default(); setting.agents],
            database: HashSet::new(),
            is_database_full: false,
            faults_until: MonoTime::ZERO,
            numbers: names
                .iter()
                .cloned()
                .enumerate()
                .map(|(at, name)| (name, at))
                .collect(),
            names,
            peers: Vec::new(),
            agents: Vec::new(),
            controllers: Vec::new(),
            collector: Collector::default(),
            schedules,
            queue: Queue::default(),
            process: 0,
            serving: HashMap::new(),
            calls: HashMap::new(),
            replies: HashMap::new(),
            reply: 0,
            random: random.clone(),
            setting,
        };
        for number in 0..world.setting.agents {
            let agent = world.agent(number);
            world.agents.push(agent);
        }
        for number in 0..world.setting.controllers {
            let controller = world.controller(number, 0);
            world.controllers.push(controller);
        }
        for node in world.nodes() {
            world.peers.push(Peer::new(&mut random));
            let spread = world.random.below(1000);
            world.plan(Duration::from_millis(spread), Event::Connect(node, 0));
        }
        world
    }

    pub(crate) fn nodes(&self) -> Vec<Node> {
        let agents = (0..self.setting.agents).map(Node::Agent);
        let controllers = (0..self.setting.controllers).map(Node::Controller);
        agents.chain(controllers).chain([Node::Collector]).collect()
    }

    fn agent(&mut self, number: usize) -> Agent {
        let identity = Identity {
            host: self.names[number].clone(),
            address: format!(
                "10.{}.{}.{}",
                number >> 16,
                (number >> 8) & 255,
                number & 255
            )
            .into(),
            version: "0".into(),
        };
        let disk = &mut self.hosts[number].disk;
        if self.setting.without == Some(Guard::Spool) {
            disk.spool.clear();
        }
        let (kept, spool) = (disk.kept.clone(), disk.spool.clone());
        Agent::new(
            identity,
            self.setting.limits.clone(),
            kept,
            spool,
            self.random.bits(),
        )
    }

    fn controller(&mut self, number: usize, generation: u64) -> Controller {
        let who = format!("c{number}-{generation}");
        let mut controller = Controller::new(who, Vec::new(), self.random.bits());
        controller.set_schedules(self.schedules.clone());
        controller
    }

    pub(crate) fn plan(&mut self, after: Duration, event: Event) {
        self.plan_at(self.now + after, event);
    }

    pub(crate) fn plan_at(&mut self, at: MonoTime, event: Event) {
        self.queue.plan(at, event);
    }

    /// Lets everything happen until then.
    pub(crate) fn run_until(&mut self, until: MonoTime) {
        while let Some((at, event)) = self.queue.next(until) {
            self.now = at;
            if let Some(event) = self.admit(event) {
                self.happen(event);
            }
        }
        self.now = until;
    }

    pub(crate) fn line(&mut self, line: Line) {
        self.log.add(self.now, line);
    }

    fn place(&self, node: Node) -> usize {
        match node {
            Node::Agent(number) => number,
            Node::Controller(number) => self.setting.agents + number,
            Node::Collector => self.setting.agents + self.setting.controllers,
        }
    }

    pub(crate) fn peer(&self, node: Node) -> &Peer {
        &self.peers[self.place(node)]
    }

    fn peer_mut(&mut self, node: Node) -> &mut Peer {
        let place = self.place(node);
        &mut self.peers[place]
    }

    /// The event, if it may happen now: its process is there. If that is paused, it comes back later.
    fn admit(&mut self, event: Event) -> Option<Event> {
        let (node, generation) = match &event {
            Event::Input(node, generation, _)
            | Event::Carry(node, generation, _)
            | Event::Tick(node, generation)
            | Event::Connect(node, generation) => (*node, *generation),
            _ => return Some(event),
        };
        let peer = &self.peer(node);
        if peer.generation != generation || !peer.is_up {
            return None;
        }
        if peer.paused_until > self.now {
            let until = peer.paused_until;
            self.plan_at(until, event);
            return None;
        }
        Some(event)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Input(node, _, input) => self.feed(node, *input),
            Event::Carry(node, _, effect) => match (node, *effect) {
                (Node::Agent(host), Effect::Agent(effect)) => {
                    carrying::agent_does(self, host, effect)
                }
                (Node::Controller(number), Effect::Controller(effect)) => {
                    carrying::controller_does(self, number, effect);
                }
                (_, Effect::Collector(effect)) => carrying::collector_does(self, effect),
                _ => {}
            },
            Event::Tick(node, _) => {
                let now = self.now;
                let peer = self.peer_mut(node);
                if peer.tick > now {
                    // It came earlier, and is planned again.
                    return;
                }
                peer.tick = MonoTime::FAR;
                self.feed(
                    node,
                    match node {
                        Node::Agent(_) => Input::Agent(AgentInput::Tick),
                        Node::Controller(_) => Input::Controller(ControllerInput::Tick),
                        Node::Collector => return,
                    },
                );
            }
            Event::Message(message) => {
                if self.bus.is_up {
                    server::message(self, *message);
                }
            }
            Event::Timeout(caller) => self.no_outcome(caller),
            Event::ProcessEnds { host, process, how } => {
                processes::process_ends(self, host, process, how)
            }
            Event::Restart(node) => self.restart(node),
            Event::Connect(node, generation) => self.connect(node, generation),
            Event::BusReturns => {
                self.bus.is_up = true;
                for node in self.nodes() {
                    let spread = self.random.below(2000);
                    let generation = self.peer_mut(node).generation;
                    self.plan(
                        Duration::from_millis(spread),
                        Event::Connect(node, generation),
                    );
                }
            }
            Event::Redeliver(number) => server::deliver(self, number),
            Event::Submit(number) => server::submit(self, number),
            Event::Cancel(job) => server::cancel(self, &job),
            Event::Fault => crate::faults::strike(self),
            Event::FaultEnds(ending) => match ending {
                Ending::Cut(node) => {
                    let peer = self.peer_mut(node);
                    (peer.cut_to, peer.cut_from) = (false, false);
                    let generation = peer.generation;
                    self.disconnect(node);
                    self.plan(Duration::from_millis(300), Event::Connect(node, generation));
                }
                Ending::FullDisk(host) => self.hosts[host].disk.is_full = false,
                Ending::Stuck(host) => self.hosts[host].is_stuck = false,
                Ending::Database => self.is_database_full = false,
            },
        }
    }

    /// Something happens to a machine; what it wants done is done a moment later.
    fn feed(&mut self, node: Node, input: Input) {
        let now = self.peer(node).clocks.now(self.now);
        match (node, input) {
            (Node::Agent(host), Input::Agent(input)) => {
                let ordered = match &input {
                    AgentInput::Order { order, .. } => Some(order.epoch),
                    _ => None,
                };
                let agent = &mut self.agents[host];
                let effects = agent.handle(input, now);
                let wake = agent.wake_at();
                if let Some(epoch) = ordered
                    && !effects.iter().any(is_refused)
                {
                    self.line(Line::Followed { host, epoch });
                }
                self.carry(node, effects.into_iter().map(Effect::Agent), wake);
            }
            (Node::Controller(number), Input::Controller(input)) => {
                let controller = &mut self.controllers[number];
                let effects = controller.handle(input, now);
                let wake = controller.wake_at();
                let is_order =
                    |effect: &ControllerEffect| matches!(effect, ControllerEffect::Order(..));
                if effects.iter().any(is_order)
                    && let Some(time) = self.peer_mut(node).pause_at_order.take()
                {
                    self.pause(node, time);
                }
                self.carry(node, effects.into_iter().map(Effect::Controller), wake);
            }
            (Node::Collector, Input::Collector(input)) => {
                let effects = self.collector.handle(input).into_iter();
                self.carry(node, effects.map(Effect::Collector), MonoTime::FAR);
            }
            _ => {}
        }
    }

    /// Plans what a machine wants done: in its order, also after what an earlier event led to.
    fn carry(&mut self, node: Node, effects: impl Iterator<Item = Effect>, wake: MonoTime) {
        let now = self.now;
        let place = self.place(node);
        let peer = &mut self.peers[place];
        let generation = peer.generation;
        let mut at = peer.last_effect.max(now);
        for effect in effects {
            at += Duration::from_micros(1 + self.random.below(200));
            let event = Event::Carry(node, generation, Box::new(effect));
            self.queue.plan(at, event);
        }
        peer.last_effect = at;
        let wake = peer.clocks.world(wake, now);
        if wake < peer.tick {
            peer.tick = wake;
            self.queue.plan(wake, Event::Tick(node, generation));
        }
    }

    fn way(&mut self) -> Duration {
        let most = self.setting.delay.as_nanos() as u64;
        Duration::from_nanos(50_000 + self.random.below(most))
    }

    /// A message to the server.
    pub(crate) fn send_from(&mut self, node: Node, message: Message) {
        let way = self.way();
        let now = self.now;
        let is_up = self.bus.is_up;
        let peer = self.peer_mut(node);
        if !peer.is_connected || peer.cut_to || !is_up {
            return;
        }
        peer.last_to = (now + way).max(peer.last_to + Duration::from_nanos(1));
        let at = peer.last_to;
        self.plan_at(at, Event::Message(Box::new(message)));
    }

    /// A message from the server.
    pub(crate) fn send_to(&mut self, node: Node, input: Input) {
        let way = self.way();
        let now = self.now;
        let peer = self.peer_mut(node);
        if !peer.is_connected || peer.cut_from {
            return;
        }
        peer.last_from = (now + way).max(peer.last_from + Duration::from_nanos(1));
        let (at, generation) = (peer.last_from, peer.generation);
        self.plan_at(at, Event::Input(node, generation, Box::new(input)));
    }

    pub(crate) fn send_to_controllers(&mut self, input: &ControllerInput) {
        for number in 0..self.setting.controllers {
            self.send_to(Node::Controller(number), Input::Controller(input.clone()));
        }
    }

    fn connect(&mut self, node: Node, generation: u64) {
        let is_up = self.bus.is_up;
        let peer = self.peer_mut(node);
        if !is_up || !peer.is_up || peer.generation != generation || peer.is_connected {
            return;
        }
        if peer.cut_to || peer.cut_from {
            // The end of the cut brings the connection.
            return;
        }
        peer.is_connected = true;
        match node {
            Node::Agent(_) => self.send_to(node, Input::Agent(AgentInput::Connected)),
            Node::Controller(_) => {
                let jobs = self.bus.jobs.entries.iter();
                let now = self.now;
                let jobs = jobs.map(|(job, (entry, at))| {
                    WatchInput::Job(job.clone(), entry.clone(), now.since(*at))
                });
                let all = std::iter::once(WatchInput::Began)
                    .chain(jobs)
                    .chain([WatchInput::Current]);
                for watch in all.collect::<Vec<_>>() {
                    self.send_to(node, Input::Controller(ControllerInput::Watch(watch)));
                }
            }
            Node::Collector => {
                for number in self.bus.results.unacknowledged() {
                    server::deliver(self, number);
                }
            }
        }
    }

    fn disconnect(&mut self, node: Node) {
        let peer = self.peer_mut(node);
        if !peer.is_connected {
            return;
        }
        peer.is_connected = false;
        let generation = peer.generation;
        if let Node::Agent(_) = node {
            let input = Input::Agent(AgentInput::Disconnected);
            self.plan(
                Duration::ZERO,
                Event::Input(node, generation, Box::new(input)),
            );
        }
    }

    pub(crate) fn call(&mut self, caller: Caller, limit: Duration, without: Outcome) {
        self.calls.insert(caller, without);
        self.plan(limit, Event::Timeout(caller));
    }

    pub(crate) fn outcome(&mut self, caller: Caller, outcome: Outcome) {
        let node = Node::Controller(caller.controller);
        let peer = &self.peer(node);
        if peer.generation == caller.generation && self.calls.contains_key(&caller) {
            let is_cut = peer.cut_from || !peer.is_connected;
            if !is_cut {
                self.calls.remove(&caller);
            }
            self.send_to(
                node,
                Input::Controller(ControllerInput::Outcome(caller.call, outcome)),
            );
        }
    }

    fn no_outcome(&mut self, caller: Caller) {
        let Some(outcome) = self.calls.remove(&caller) else {
            return;
        };
        let node = Node::Controller(caller.controller);
        let input = Input::Controller(ControllerInput::Outcome(caller.call, outcome));
        self.plan(
            Duration::ZERO,
            Event::Input(node, caller.generation, Box::new(input)),
        );
    }

    /// A process dies.
    pub(crate) fn kill(&mut self, node: Node) {
        let peer = self.peer_mut(node);
        peer.is_up = false;
        peer.generation += 1;
        peer.is_connected = false;
        peer.tick = MonoTime::FAR;
        peer.paused_until = MonoTime::ZERO;
        peer.pause_at_order = None;
        if let Node::Agent(host) = node {
            self.hosts[host].close(Holder::Agent);
            // What it started ends with its input.
            let processes: Vec<u64> = self.hosts[host].processes.keys().copied().collect();
            let most = if self.hosts[host].is_stuck {
                40_000
            } else {
                2_000
            };
            for process in processes {
                if self.hosts[host].processes[&process].work != Work::Local {
                    let how = How::Failed("its input ended".to_owned());
                    processes::end_soon(self, host, process, how, most);
                }
            }
        }
    }

    fn restart(&mut self, node: Node) {
        let now = self.now;
        let peer = self.peer_mut(node);
        let generation = peer.generation;
        peer.is_up = true;
        peer.clocks.begin(now);
        match node {
            Node::Agent(host) => {
                let agent = self.agent(host);
                self.agents[host] = agent;
            }
            Node::Controller(number) => {
                let controller = self.controller(number, generation);
                self.controllers[number] = controller;
            }
            Node::Collector => self.collector = Collector::default(),
        }
        self.plan(Duration::from_millis(200), Event::Connect(node, generation));
    }

    pub(crate) fn pause(&mut self, node: Node, time: Duration) {
        let until = self.now + time;
        let peer = self.peer_mut(node);
        peer.paused_until = until.max(peer.paused_until);
    }

    /// Between look and order.
    pub(crate) fn pause_at_order(&mut self, node: Node, time: Duration) {
        self.peer_mut(node).pause_at_order = Some(time);
    }

    pub(crate) fn is_paused(&self, node: Node) -> bool {
        self.peer(node).paused_until > self.now
    }

    pub(crate) fn cut(&mut self, node: Node, to: bool, from: bool) {
        let peer = self.peer_mut(node);
        (peer.cut_to, peer.cut_from) = (to, from);
    }

    pub(crate) fn set_wall(&mut self, node: Node, seconds: i64) {
        self.peer_mut(node).clocks.wall = seconds;
    }

    pub(crate) fn is_up(&self, node: Node) -> bool {
        self.peer(node).is_up
    }

    /// The server goes away, and with it all connections.
    pub(crate) fn stop_bus(&mut self, time: Duration, is_wiped: bool) {
        if !self.bus.is_up {
            return;
        }
        self.bus.is_up = false;
        for node in self.nodes() {
            self.disconnect(node);
        }
        if is_wiped {
            self.bus.results.wipe();
        }
        self.plan(time, Event::BusReturns);
    }

    /// The controllers that act.
    pub(crate) fn active(&self) -> Vec<usize> {
        let all = self.controllers.iter().enumerate();
        let acts = all.filter(|(number, controller)| {
            self.is_up(Node::Controller(*number)) && controller.epoch().is_some()
        });
        acts.map(|(number, _)| number).collect()
    }

    /// Jobs of the bucket by their states' first words.
    pub(crate) fn states(&self) -> BTreeMap<String, usize> {
        let mut states = BTreeMap::new();
        for (entry, _) in self.bus.jobs.entries.values() {
            let state = match &entry.value.state {
                State::Failed { reason } => format!("failed: {reason}"),
                state => state.to_string(),
            };
            *states.entry(state).or_default() += 1;
        }
        states
    }

    /// Processes of tests on all hosts.
    pub(crate) fn processes(&self) -> usize {
        self.hosts.iter().map(|host| host.processes.len()).sum()
    }
}

fn is_refused(effect: &AgentEffect) -> bool {
    let AgentEffect::Answer { answer, .. } = effect else {
        return false;
    };
    let why = Refusal::OldEpoch;
    matches!(answer, Answer::Refused { why: other, .. } if *other == why)
}
