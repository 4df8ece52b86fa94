//! What goes wrong.

use std::time::Duration;

use crate::event::{Ending, Event, Node};
use crate::host::{Holder, Work};
use crate::log::Line;
use crate::processes::spawn;
use crate::world::{Guard, World};
use tapeline_fleet::How;
use tapeline_remote::Class;

/// One fault by chance, which ends before the time of faults is over; and plans the next.
pub(crate) fn strike(world: &mut World) {
    if world.now >= world.faults_until {
        return;
    }
    let calm = world.setting.calm.as_millis() as u64;
    let next = Duration::from_millis(200 + world.random.below(calm));
    if world.now + next < world.faults_until {
        world.plan(next, Event::Fault);
    }
    let left = world.faults_until.since(world.now);
    // Many short ones, and a few that are long.
    let longest = if world.random.chance(0.2) {
        60_000
    } else {
        8_000
    };
    let length = Duration::from_millis(100 + world.random.below(longest)).min(left);
    let nodes = world.nodes();
    // One in two hits a controller or the collector.
    let agents = world.setting.agents as u64;
    let agent = world.random.below(agents) as usize;
    let node = if world.random.chance(0.5) {
        let others = nodes.len() as u64 - agents;
        nodes[(agents + world.random.below(others)) as usize]
    } else {
        Node::Agent(agent)
    };
    let kind = world.random.below(10);
    match kind {
        0 | 1 if world.is_up(node) => {
            if let Node::Agent(host) = node
                && world.random.chance(0.4)
            {
                world.hosts[host].is_stuck = true;
                world.plan(length, Event::FaultEnds(Ending::Stuck(host)));
            }
            world.kill(node);
            world.plan(length.min(Duration::from_secs(20)), Event::Restart(node));
        }
        2 => world.pause(node, length),
        3 => {
            // It must end with the faults.
            let number = world.random.below(world.setting.controllers as u64) as usize;
            if length < left / 2 {
                world.pause_at_order(Node::Controller(number), length);
            }
        }
        4 => {
            let is_wiped = world.random.chance(0.5);
            world.stop_bus(length.min(Duration::from_secs(15)), is_wiped);
        }
        5 | 6 => {
            let way = world.random.below(3);
            world.cut(node, way != 0, way != 1);
            world.plan(length, Event::FaultEnds(Ending::Cut(node)));
        }
        7 => {
            let hour = world.random.below(7200) as i64 - 3600;
            world.set_wall(node, hour);
        }
        8 => {
            world.hosts[agent].disk.is_full = true;
            world.plan(length, Event::FaultEnds(Ending::FullDisk(agent)));
            if world.random.chance(0.3) {
                world.is_database_full = true;
                world.plan(length, Event::FaultEnds(Ending::Database));
            }
        }
        9 => local_test(world, agent, length),
        _ => {}
    }
    world.counts.faults += 1;
    let what = format!("{kind} {node:?} agent {agent} for {length:?}");
    world.line(Line::Fault { what });
}

/// A person runs an exclusive test on a host by hand.
fn local_test(world: &mut World, host: usize, length: Duration) {
    let is_guarded = world.setting.without != Some(Guard::Lock);
    let number = spawn(world, host, None, Work::Local, Class::Background);
    if !world.hosts[host].lock(Holder::Process(number), is_guarded) {
        world.hosts[host].processes.remove(&number);
        return;
    }
    if let Some(process) = world.hosts[host].processes.get_mut(&number) {
        process.class = Class::Exclusive;
    }
    world.line(Line::Started {
        host,
        process: number,
    });
    let how = How::Measured;
    let process = number;
    world.plan(
        length.min(Duration::from_secs(10)),
        Event::ProcessEnds { host, process, how },
    );
}
