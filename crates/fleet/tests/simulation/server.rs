//! What the server does about messages, and what people do with its buckets.

use std::time::Duration;

use tapeline_fleet::{
    AgentInput, Answer, CollectorInput, ControllerInput, Delivery, Expected, JobId, JobRecord,
    JobSpec, Outcome, Read, Refusal, Reply, ReplyId, Target, UnixTime, WatchInput, Written,
};
use tapeline_remote::Class;

use crate::event::{Caller, Event, Input, Message, Node};
use crate::log::Line;
use crate::world::{Guard, World};

/// What the collector does not acknowledge comes again after this time.
const REDELIVER: Duration = Duration::from_secs(10);

/// Something reaches the server.
pub(crate) fn message(world: &mut World, message: Message) {
    match message {
        Message::Order {
            caller,
            host,
            mut order,
        } => {
            let node = Node::Agent(host);
            if !world.peer(node).is_connected {
                return world.outcome(caller, Outcome::Reply(Reply::NoAgent));
            }
            let kept = world.hosts[host].disk.kept.epoch;
            let epoch = order.epoch;
            world.reply += 1;
            let reply = ReplyId(world.reply);
            world.replies.insert(reply, caller);
            if world.setting.without == Some(Guard::Epoch) {
                order.epoch = order.epoch.max(kept);
                world.line(Line::Followed { host, epoch });
            }
            let input = AgentInput::Order { order, reply };
            // A client that is not sure sends again.
            if world.random.chance(0.01) {
                world.send_to(node, Input::Agent(input.clone()));
            }
            world.send_to(node, Input::Agent(input));
        }
        Message::Answer { reply, answer } => {
            world.counts.answers += 1;
            if matches!(
                answer,
                Answer::Refused {
                    why: Refusal::OldEpoch,
                    ..
                }
            ) {
                world.counts.refused += 1;
            }
            if let Some(caller) = world.replies.remove(&reply) {
                world.outcome(caller, Outcome::Reply(Reply::Answer(answer)));
            }
        }
        Message::Beat(beat) => {
            world.counts.beats += 1;
            world.send_to_controllers(&ControllerInput::Beat(beat));
        }
        Message::Write {
            caller,
            target,
            expected,
        } => write(world, caller, target, expected),
        Message::ReadJob { caller, job } => {
            let read = world.bus.jobs.read(&job);
            world.outcome(caller, Outcome::Job(read));
        }
        Message::ReadLease { caller } => {
            let read = world.bus.lease.read(&());
            world.outcome(caller, Outcome::Lease(read));
        }
        Message::Ask(ask) => {
            for host in 0..world.setting.agents {
                let asked = Input::Agent(AgentInput::Asked(ask));
                world.send_to(Node::Agent(host), asked);
            }
        }
        Message::Event { controller, event } => {
            let input = ControllerInput::EventKept(event.job, event.revision);
            world.send_to(Node::Controller(controller), Input::Controller(input));
        }
        Message::Result(key) => {
            let host = world.numbers[&key.host];
            if let Some(number) = world.bus.results.publish(&key, world.now) {
                deliver(world, number);
                world.send_to(
                    Node::Agent(host),
                    Input::Agent(AgentInput::Published { key }),
                );
            }
        }
        Message::Stored { host, stored } => {
            world.counts.stored += 1;
            let input = AgentInput::Stored(stored.clone());
            world.send_to(Node::Agent(host), Input::Agent(input));
            world.send_to_controllers(&ControllerInput::Stored(stored));
        }
        Message::Acknowledge(delivery) => world.bus.results.acknowledge(delivery.0),
    }
}

pub(crate) fn write(world: &mut World, caller: Caller, target: Target, expected: Expected) {
    let written = match target {
        Target::Lease(record) => {
            world.counts.others += 1;
            world
                .bus
                .lease
                .write(&(), Some(record), expected, world.now)
        }
        Target::Job(job, record) => {
            world.counts.steps += 1;
            write_job(world, &job, record, expected)
        }
        Target::NoJob(job) => {
            let written = world.bus.jobs.write(&job, None, expected, world.now);
            if matches!(written, Written::At(_)) {
                world.line(Line::Deleted { job: job.clone() });
                world.send_to_controllers(&ControllerInput::Watch(WatchInput::Gone(job)));
            }
            written
        }
    };
    if written == Written::Conflict {
        world.counts.conflicts += 1;
        world.line(Line::Refused);
    }
    world.outcome(caller, Outcome::Written(written));
}

pub(crate) fn write_job(
    world: &mut World,
    job: &JobId,
    record: JobRecord,
    expected: Expected,
) -> Written {
    let written = world
        .bus
        .jobs
        .write(job, Some(record.clone()), expected, world.now);
    if let Written::At(revision) = written {
        world.line(Line::Wrote {
            job: job.clone(),
            record,
            revision,
        });
        if let Read::There(entry) = world.bus.jobs.read(job) {
            let watch = WatchInput::Job(job.clone(), entry, Duration::ZERO);
            world.send_to_controllers(&ControllerInput::Watch(watch));
        }
    }
    written
}

/// A result goes to the collector, and again later if that does not acknowledge it.
pub(crate) fn deliver(world: &mut World, number: u64) {
    let Some(key) = world.bus.results.message(number) else {
        return;
    };
    if !world.bus.is_up || !world.peer(Node::Collector).is_connected {
        return;
    }
    let delivery = Delivery(number);
    let document = "{}".to_owned();
    let input = CollectorInput::Delivered {
        delivery,
        key,
        document,
    };
    world.send_to(Node::Collector, Input::Collector(input));
    world.plan(REDELIVER, Event::Redeliver(number));
}

/// A person submits a job.
pub(crate) fn submit(world: &mut World, number: u64) {
    if !world.bus.is_up {
        return;
    }
    let from = world.random.below(world.setting.agents as u64) as usize;
    let step = 1 + world.random.below(world.setting.agents as u64 - 1) as usize;
    let to = (from + step) % world.setting.agents;
    let is_background = world.random.chance(0.15);
    let wait = 120 + world.random.below(600) as i64;
    let spec = JobSpec {
        from: world.names[from].clone(),
        to: world.names[to].clone(),
        options: Vec::new(),
        seconds: 1 + world.random.below(3) as u32,
        class: if is_background {
            Class::Background
        } else {
            Class::Exclusive
        },
        priority: world.random.below(3) as i32,
        earliest: None,
        expires: UnixTime(1_795_000_000 + (world.now.as_nanos() / 1_000_000_000) as i64 + wait),
        live: false,
    };
    let job: JobId = format!("j{number}").parse().expect("a name");
    write_job(world, &job, JobRecord::new(spec), Expected::Absent);
    if world.random.chance(0.1) {
        let wait = world.random.below(20_000);
        world.plan(Duration::from_millis(wait), Event::Cancel(job));
    }
}

pub(crate) fn cancel(world: &mut World, job: &JobId) {
    let Read::There(entry) = world.bus.jobs.read(job) else {
        return;
    };
    if let Ok(record) = entry.value.cancelled()
        && world.bus.is_up
    {
        write_job(world, job, record, Expected::At(entry.revision));
    }
}
