//! An agent, a host without processes, and what both must not do.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use serde_json::json;
use tapeline_base::{MonoTime, parse_seconds};
use tapeline_remote::{Class, GivenOption, Listening, Order};

use crate::agent::{Agent, AgentEffect, AgentInput, Identity, Kept, Limits};
use crate::clock::{Now, UnixTime};
use crate::job::{AttemptKey, Epoch, SPARE};
use crate::message::{Action, AgentOrder, Answer, Ask, How, Refusal, ReplyId};

/// What the agent knows at first.
const EPOCH: Epoch = Epoch(5);
/// The longest test that its owner allows, seconds.
const LONGEST: f64 = 60.0;
/// An empty line is this long.
const PAUSE: Duration = Duration::from_secs(20);
/// Tests of the background at a time.
const BACKGROUND: usize = 4;

/// An order that waits for its answer.
#[derive(Clone, Debug)]
struct Waiting {
    of: AttemptKey,
    action: Action,
}

/// A test that was started and has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Running {
    class: Class,
    is_server: bool,
}

pub(crate) struct OrderWorld<'a> {
    agent: Agent,
    now: Now,
    known: Epoch,
    last_reply: ReplyId,
    waiting: BTreeMap<ReplyId, Waiting>,
    granted: BTreeSet<AttemptKey>,
    /// Attempts of which a test was started.
    started: BTreeSet<AttemptKey>,
    running: BTreeMap<AttemptKey, Running>,
    starts: &'a mut dyn FnMut(&Order),
}

impl<'a> OrderWorld<'a> {
    pub(crate) fn new(starts: &'a mut dyn FnMut(&Order)) -> Self {
        let identity = Identity {
            host: "h1".parse().expect("a name"),
            address: "192.0.2.1".into(),
            version: "0".into(),
        };
        let kept = Kept {
            epoch: EPOCH,
            ..Kept::default()
        };
        let now = Now {
            mono: MonoTime::ZERO,
            wall: UnixTime(1_795_000_000),
            utc_offset: 0,
        };
        let mut world = Self {
            agent: Agent::new(identity, limits(), kept, Vec::new(), 1),
            now,
            known: EPOCH,
            last_reply: ReplyId(0),
            waiting: BTreeMap::new(),
            granted: BTreeSet::new(),
            started: BTreeSet::new(),
            running: BTreeMap::new(),
            starts,
        };
        world.take(AgentInput::Connected);
        world
    }

    /// The agent gets an order, and has done all about it that is done at once.
    pub(crate) fn order(&mut self, order: AgentOrder) {
        self.last_reply.0 += 1;
        let reply = self.last_reply;
        let waiting = Waiting {
            of: order.of.clone(),
            action: order.action.clone(),
        };
        self.waiting.insert(reply, waiting);
        if order.epoch < self.known {
            let mut effects = self
                .agent
                .handle(AgentInput::Order { order, reply }, self.now);
            effects.retain(|effect| !matches!(effect, AgentEffect::Beat(_)));
            let [AgentEffect::Answer { answer, .. }] = effects.as_slice() else {
                panic!("an old epoch leads to {effects:?}");
            };
            let why = Refusal::OldEpoch;
            assert!(
                matches!(answer, Answer::Refused { why: other, .. } if *other == why),
                "an old epoch is answered by {answer:?}"
            );
            self.waiting.remove(&reply);
            return;
        }
        self.known = order.epoch;
        self.take(AgentInput::Order { order, reply });
        assert!(!self.waiting.contains_key(&reply), "no answer");
    }

    /// Tests end, and slots become free.
    pub(crate) fn time_passes(&mut self) {
        self.now.mono += PAUSE;
        self.now.wall = self.now.wall.after(PAUSE);
        self.take(AgentInput::Tick);
    }

    /// All tests end, and all slots become free.
    pub(crate) fn ends(mut self) {
        let running: Vec<AttemptKey> = self.running.keys().cloned().collect();
        for of in running {
            self.test_ends(of, How::Measured, Some("{}".to_owned()));
        }
        // The longest slot, renewed as often as it can be.
        let most = (2.0 * (LONGEST + SPARE.as_secs_f64()) / PAUSE.as_secs_f64()) as usize + 1;
        for _ in 0..most {
            self.time_passes();
        }
        let asked = AgentInput::Asked(Ask { epoch: None });
        let effects = self.agent.handle(asked, self.now);
        let is_free = effects
            .iter()
            .any(|effect| matches!(effect, AgentEffect::Beat(beat) if beat.is_free));
        assert!(is_free && self.running.is_empty(), "{effects:?}");
    }

    fn take(&mut self, input: AgentInput) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for effect in self.agent.handle(input, self.now) {
                inputs.extend(self.carry_out(effect));
            }
        }
    }

    fn carry_out(&mut self, effect: AgentEffect) -> Option<AgentInput> {
        match effect {
            AgentEffect::Answer { reply, answer } => self.answered(reply, &answer),
            AgentEffect::Lock(of) => {
                let mut running = self.running.values();
                let is_ours = running.all(|running| running.class != Class::Exclusive);
                return Some(AgentInput::Locked { of, is_ours });
            }
            AgentEffect::Start { of, order } => return self.start(of, &order),
            AgentEffect::Stop(of) => {
                let how = How::Failed("it was stopped".to_owned());
                self.test_ends(of, how, None);
            }
            AgentEffect::Keep(kept) => assert!(kept.epoch >= EPOCH && kept.epoch <= self.known),
            AgentEffect::Spool { key, document } => {
                let bytes = Some(document.len() as u64);
                return Some(AgentInput::Kept { key, bytes });
            }
            AgentEffect::Publish(key) => return Some(AgentInput::Published { key }),
            AgentEffect::Beat(_) | AgentEffect::Unlock | AgentEffect::Unspool(_) => {}
        }
        None
    }

    fn answered(&mut self, reply: ReplyId, answer: &Answer) {
        let waiting = self.waiting.remove(&reply);
        let Waiting { of, action } = waiting.expect("one answer for each order");
        let fits = match answer {
            Answer::Refused { why, .. } => *why != Refusal::OldEpoch,
            Answer::Granted { seconds } => {
                let longest = 2.0 * (LONGEST + SPARE.as_secs_f64());
                assert!(f64::from(*seconds) <= longest, "granted for {seconds} s");
                self.granted.insert(of);
                matches!(action, Action::Reserve { .. })
            }
            Answer::Listening(_) => matches!(action, Action::Serve { .. }),
            Answer::Started => matches!(action, Action::Run { .. }) && self.started.contains(&of),
            Answer::Status { .. } => matches!(action, Action::Renew { .. }),
            Answer::Released => {
                self.granted.remove(&of);
                action == Action::Release
            }
        };
        assert!(fits, "{action:?} is answered by {answer:?}");
    }

    fn start(&mut self, of: AttemptKey, order: &Order) -> Option<AgentInput> {
        assert!(self.granted.contains(&of), "{of} starts without a slot");
        assert!(self.started.insert(of.clone()), "{of} starts twice");
        let running = match order {
            Order::Run { options, class, .. } => {
                is_short(options);
                Running {
                    class: *class,
                    is_server: false,
                }
            }
            Order::Serve {
                options,
                allow,
                seconds,
                class,
                ..
            } => {
                allow
                    .iter()
                    .for_each(|host| assert!(is_allowed(host), "a test with {host}"));
                is_short(options);
                assert!(*seconds <= 2.0 * (LONGEST + SPARE.as_secs_f64()));
                Running {
                    class: *class,
                    is_server: true,
                }
            }
            other => panic!("an agent starts {other:?}"),
        };
        (self.starts)(order);
        self.running.insert(of.clone(), running);
        let of_class = |class| {
            let running = self.running.values();
            running.filter(|running| running.class == class).count()
        };
        assert!(of_class(Class::Exclusive) <= 1, "{:?}", self.running);
        assert!(
            of_class(Class::Background) <= BACKGROUND,
            "{:?}",
            self.running
        );
        let ports = Listening {
            tcp: Some(5001),
            udp: None,
        };
        running
            .is_server
            .then_some(AgentInput::Listening { of, ports })
    }

    fn test_ends(&mut self, of: AttemptKey, how: How, document: Option<String>) {
        assert!(
            self.running.remove(&of).is_some(),
            "{of} does not run and ends"
        );
        let bytes = 1000;
        self.take(AgentInput::Ended {
            of,
            how,
            document,
            bytes,
        });
    }
}

fn limits() -> Limits {
    let limits = json!({"peers": ["192.0.2.0/24"], "max-time": LONGEST.to_string()});
    serde_json::from_value(limits).expect("limits")
}

/// Whether the agent's owner allows tests with the host.
#[must_use]
pub fn is_allowed(host: &str) -> bool {
    let address = host.parse().map(|address: IpAddr| address.to_canonical());
    matches!(address, Ok(IpAddr::V4(address)) if address.octets()[..3] == [192, 0, 2])
}

fn is_short(options: &[GivenOption]) {
    let times = options.iter().filter(|option| option.name == "time");
    for text in times.filter_map(|option| option.value.as_deref()) {
        let seconds = parse_seconds(text).expect("seconds");
        assert!(seconds > 0.0 && seconds <= LONGEST, "a test of {seconds} s");
    }
}
