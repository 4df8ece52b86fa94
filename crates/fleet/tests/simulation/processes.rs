//! Processes of tests, from their start to their end.

use std::time::Duration;

use tapeline_fleet::{AgentInput, AttemptKey, How, Read};
use tapeline_remote::{Class, Listening, Order};

use crate::event::{Event, Input, Node};
use crate::host::{Holder, Process, Work};
use crate::log::Line;
use crate::world::World;

/// A test's process starts.
pub(crate) fn start(world: &mut World, host: usize, of: AttemptKey, order: Order) {
    let (work, class, seconds) = match &order {
        Order::Serve { class, seconds, .. } => (Work::Serve, *class, *seconds),
        Order::Run { class, .. } => (Work::Run, *class, 0.0),
        _ => return,
    };
    let process = spawn(world, host, Some(of.clone()), work.clone(), class);
    if class == Class::Exclusive {
        world.hosts[host].inherit(process);
    }
    let node = Node::Agent(host);
    let generation = world.peer(node).generation;
    if work == Work::Serve {
        world.serving.insert(of.clone(), host);
        let ports = Listening {
            tcp: Some(5001),
            udp: None,
        };
        let input = Input::Agent(AgentInput::Listening { of, ports });
        world.plan(
            Duration::from_millis(20),
            Event::Input(node, generation, Box::new(input)),
        );
        let how = How::Failed("no client came".to_owned());
        let at = Duration::from_secs_f64(seconds.max(0.1));
        world.plan(at, Event::ProcessEnds { host, process, how });
        return;
    }
    let Read::There(entry) = world.bus.jobs.read(&of.job) else {
        return;
    };
    let spec = entry.value.spec;
    let is_served = world.serving.get(&of) == Some(&world.numbers[&spec.to]);
    let (how, length) = if is_served {
        (How::Measured, Duration::from_secs(u64::from(spec.seconds)))
    } else {
        let refused = How::Failed("the connection was refused".to_owned());
        (refused, Duration::from_millis(10))
    };
    world.plan(length, Event::ProcessEnds { host, process, how });
}

pub(crate) fn spawn(
    world: &mut World,
    host: usize,
    of: Option<AttemptKey>,
    work: Work,
    class: Class,
) -> u64 {
    world.process += 1;
    let process = world.process;
    let parent = world.peer(Node::Agent(host)).generation;
    if class == Class::Exclusive {
        world.line(Line::Started { host, process });
    }
    world.hosts[host].processes.insert(
        process,
        Process {
            of,
            work,
            class,
            parent,
            is_ending: false,
        },
    );
    process
}

pub(crate) fn end_soon(world: &mut World, host: usize, process: u64, how: How, most: u64) {
    let wait = world.random.below(most);
    if let Some(process) = world.hosts[host].processes.get_mut(&process) {
        process.is_ending = true;
    }
    world.plan(
        Duration::from_millis(wait),
        Event::ProcessEnds { host, process, how },
    );
}

pub(crate) fn process_ends(world: &mut World, host: usize, number: u64, how: How) {
    let Some(process) = world.hosts[host].processes.get(&number).cloned() else {
        return;
    };
    if process.is_ending && how == How::Measured && process.work == Work::Run {
        // It was interrupted before.
        return;
    }
    world.hosts[host].processes.remove(&number);
    world.hosts[host].close(Holder::Process(number));
    if process.class == Class::Exclusive {
        world.line(Line::Ended {
            host,
            process: number,
        });
    }
    let Some(of) = process.of else {
        return;
    };
    if process.work == Work::Serve {
        world.serving.remove(&of);
    }
    let mut how = how;
    if process.work == Work::Run {
        // The server of this attempt serves one test. Without it there is no result.
        match world.serving.get(&of).copied() {
            Some(server) => {
                if let Some(process) = world.hosts[server].process_of(&of) {
                    end_soon(world, server, process, how.clone(), 10);
                }
            }
            None if how == How::Measured => {
                how = How::Failed("the server has gone".to_owned());
            }
            None => {}
        }
        world.counts.measured += u64::from(how == How::Measured);
    }
    let node = Node::Agent(host);
    let document = (how == How::Measured).then(|| "{}".to_owned());
    let input = Input::Agent(AgentInput::Ended {
        of,
        how,
        document,
        bytes: 1000,
    });
    world.plan(
        Duration::ZERO,
        Event::Input(node, process.parent, Box::new(input)),
    );
}
