//! What processes do that their machines wanted done.

use std::time::Duration;

use tapeline_fleet::{
    AgentEffect, AgentInput, CallId, CollectorEffect, CollectorInput, ControllerEffect, How,
    Inserted, Outcome, Read, Reply, Spooled, Written,
};

use crate::event::{Caller, Event, Input, Message, Node};
use crate::host::Holder;
use crate::log::{Line, fingerprint};
use crate::processes;
use crate::world::{Guard, World};

/// How long an order waits for its answer.
const ANSWER: Duration = Duration::from_secs(2);
/// How long a write or a read does.
const STORE_ANSWER: Duration = Duration::from_secs(3);

pub(crate) fn controller_does(world: &mut World, number: usize, effect: ControllerEffect) {
    let node = Node::Controller(number);
    let generation = world.peer(node).generation;
    let caller = |call: CallId| Caller {
        controller: number,
        generation,
        call,
    };
    match effect {
        ControllerEffect::Order(call, host, order) => {
            let caller = caller(call);
            world.call(caller, ANSWER, Outcome::Reply(Reply::NoAnswer));
            world.counts.orders += 1;
            let host = world.numbers[&host];
            world.send_from(
                node,
                Message::Order {
                    caller,
                    host,
                    order,
                },
            );
        }
        ControllerEffect::Write(call, target, expected) => {
            let caller = caller(call);
            world.call(caller, STORE_ANSWER, Outcome::Written(Written::Unknown));
            world.send_from(
                node,
                Message::Write {
                    caller,
                    target,
                    expected,
                },
            );
        }
        ControllerEffect::ReadJob(call, job) => {
            let caller = caller(call);
            world.call(caller, STORE_ANSWER, Outcome::Job(Read::Unknown));
            world.counts.others += 1;
            world.send_from(node, Message::ReadJob { caller, job });
        }
        ControllerEffect::ReadLease(call) => {
            let caller = caller(call);
            world.call(caller, STORE_ANSWER, Outcome::Lease(Read::Unknown));
            world.counts.others += 1;
            world.send_from(node, Message::ReadLease { caller });
        }
        ControllerEffect::Ask(ask) => world.send_from(node, Message::Ask(ask)),
        ControllerEffect::Event(event) => {
            world.counts.events += 1;
            let controller = number;
            world.send_from(node, Message::Event { controller, event });
        }
    }
}

pub(crate) fn agent_does(world: &mut World, host: usize, effect: AgentEffect) {
    let node = Node::Agent(host);
    let generation = world.peer(node).generation;
    match effect {
        AgentEffect::Answer { reply, answer } => {
            world.send_from(node, Message::Answer { reply, answer });
        }
        AgentEffect::Beat(beat) => world.send_from(node, Message::Beat(beat)),
        AgentEffect::Lock(of) => {
            let is_guarded = world.setting.without != Some(Guard::Lock);
            let is_ours = world.hosts[host].lock(Holder::Agent, is_guarded);
            let input = Input::Agent(AgentInput::Locked { of, is_ours });
            world.plan(
                Duration::ZERO,
                Event::Input(node, generation, Box::new(input)),
            );
        }
        AgentEffect::Unlock => world.hosts[host].close(Holder::Agent),
        AgentEffect::Start { of, order } => processes::start(world, host, of, order),
        AgentEffect::Stop(of) => {
            if let Some(process) = world.hosts[host].process_of(&of) {
                let how = How::Failed("it was stopped".to_owned());
                processes::end_soon(world, host, process, how, 500);
            }
        }
        AgentEffect::Keep(kept) => {
            let epoch = kept.epoch;
            world.line(Line::Knows { host, epoch });
            world.hosts[host].disk.kept = kept;
        }
        AgentEffect::Spool { key, document } => {
            let bytes = (!world.hosts[host].disk.is_full).then_some(document.len() as u64);
            if let Some(bytes) = bytes {
                let key = key.clone();
                world.line(Line::Spooled { key: key.clone() });
                world.hosts[host].disk.spool.push(Spooled { key, bytes });
            }
            let input = Input::Agent(AgentInput::Kept { key, bytes });
            world.plan(
                Duration::from_millis(5),
                Event::Input(node, generation, Box::new(input)),
            );
        }
        AgentEffect::Unspool(key) => {
            world.hosts[host].unspool(&key);
            if !world.database.contains(&fingerprint(&key)) {
                world.line(Line::GivenUp { key });
            }
        }
        AgentEffect::Publish(key) => {
            world.counts.results += 1;
            world.send_from(node, Message::Result(key));
        }
    }
}

pub(crate) fn collector_does(world: &mut World, effect: CollectorEffect) {
    let node = Node::Collector;
    let generation = world.peer(node).generation;
    match effect {
        CollectorEffect::Insert { delivery, key, .. } => {
            let inserted = if world.is_database_full {
                Inserted::Failed
            } else if !world.database.insert(fingerprint(&key))
                && world.setting.without != Some(Guard::Key)
            {
                Inserted::Existed
            } else {
                world.line(Line::Inserted { key });
                Inserted::New
            };
            let input = Input::Collector(CollectorInput::Inserted(delivery, inserted));
            world.plan(
                Duration::from_millis(5),
                Event::Input(node, generation, Box::new(input)),
            );
        }
        CollectorEffect::Stored(host, stored) => {
            let host = world.numbers[&host];
            world.send_from(node, Message::Stored { host, stored });
        }
        CollectorEffect::Acknowledge(delivery) => {
            world.send_from(node, Message::Acknowledge(delivery));
        }
    }
}
