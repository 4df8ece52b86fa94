//! A situation of which it is known what limits a test: a few lines of data.

use std::fmt;

use interop::{Program, Transport};

use crate::cause::Truth;

/// What a test meets, seen from its data: the same in either direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Situation {
    pub(crate) name: &'static str,
    pub(crate) transport: Transport,
    /// The client's options.
    pub(crate) client: &'static str,
    /// Options of the end that sends the data.
    pub(crate) sender: &'static str,
    /// Options of the end that receives the data.
    pub(crate) receiver: &'static str,
    /// Options of the server, whichever end it is.
    pub(crate) server: &'static str,
    /// The way of the data.
    pub(crate) data: Way,
    /// The way of the acknowledgements.
    pub(crate) back: Way,
    /// Largest send buffer that the sending host gives a connection, bytes; 0 for the usual one.
    pub(crate) send_memory: u32,
    /// Largest receive buffer that the receiving host gives a connection, bytes.
    pub(crate) receive_memory: u32,
    /// What the sending end runs on.
    pub(crate) sending_host: Host,
    /// What the receiving end runs on.
    pub(crate) receiving_host: Host,
    /// Options of a second client, which runs all the time to a server of its own.
    pub(crate) competitor: Option<&'static str>,
    /// Whether there is a server, and what may run next to it.
    pub(crate) setting: Setting,
    /// With whom, and which way.
    pub(crate) runs: &'static [Run],
    pub(crate) truth: Truth,
    /// Part of the sample that runs with every change.
    pub(crate) sample: bool,
}

/// What a situation needs in addition to its networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// Its rates are low, so that others may run at the same time.
    Shared,
    /// It is about processors: nothing may run next to it.
    Alone,
    /// Nobody listens: the test must fail.
    NoServer,
}

/// One way between the hosts. Rates, times and queues are multiplied by a seed's factors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// A rate and a queue, on the sending host's own device.
    pub(crate) device: Option<Rate>,
    /// A rate and a queue, on the way.
    pub(crate) link: Option<Rate>,
    /// A rate without a queue, on the way; its queue is the burst that it takes.
    pub(crate) policer: Option<Rate>,
    /// Time on the way, milliseconds.
    pub(crate) delay: f64,
    /// Further time at most, milliseconds.
    pub(crate) jitter: f64,
    /// Packets leave together, once in so many milliseconds.
    pub(crate) aggregation: f64,
    /// Packets that are lost at random, percent.
    pub(crate) loss: f64,
    /// Test datagrams that are held back for 3 ms and overtaken, percent.
    pub(crate) overtaken: f64,
    /// One UDP datagram to the server in so many is filtered on its arrival; 0 for none.
    pub(crate) filtered_one_in: u32,
}

/// A rate and the time for which its queue is full of packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    /// Megabits per second.
    pub(crate) megabits: f64,
    /// Milliseconds.
    pub(crate) queue: f64,
}

/// What an end runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    /// The machine as it is.
    Free,
    /// This share of a processor, percent.
    Quota(u32),
    /// What a busy processor leaves (`SCHED_IDLE`).
    Leftovers,
    /// A processor that it shares with a busy process.
    Neighbour,
}

/// Who is the peer of a run, and which way the data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    pub(crate) peer: Program,
    /// The peer is the client, and the verdict tapeline's as a server.
    pub(crate) calls: bool,
    pub(crate) direction: Direction,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calling = if self.calls { " calling" } else { "" };
        write!(f, "{}{calling}, {}", self.peer, self.direction.label())
    }
}

/// Which end sends the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Direction {
    Forward,
    Reverse,
}

impl Direction {
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        }
    }
}

const fn run(peer: Program, direction: Direction) -> Run {
    Run {
        peer,
        calls: false,
        direction,
    }
}

const fn call(peer: Program, direction: Direction) -> Run {
    Run {
        peer,
        calls: true,
        direction,
    }
}

const TAPELINE: Program = Program::Tapeline;
const IPERF2: Program = Program::Iperf221;
const IPERF3: Program = Program::Iperf3V22;
use Direction::{Forward, Reverse};

/// Every peer as a server, both ways.
pub(crate) const SERVERS: &[Run] = &[
    run(TAPELINE, Forward),
    run(TAPELINE, Reverse),
    run(IPERF2, Forward),
    run(IPERF2, Reverse),
    run(IPERF3, Forward),
    run(IPERF3, Reverse),
];
/// Every peer as a server and as a client, both ways.
pub(crate) const EVERYONE: &[Run] = &[
    run(TAPELINE, Forward),
    run(TAPELINE, Reverse),
    run(IPERF2, Forward),
    run(IPERF2, Reverse),
    run(IPERF3, Forward),
    run(IPERF3, Reverse),
    call(TAPELINE, Forward),
    call(TAPELINE, Reverse),
    call(IPERF2, Forward),
    call(IPERF2, Reverse),
    call(IPERF3, Forward),
    call(IPERF3, Reverse),
];
/// tapeline, both ways.
pub(crate) const OURS: &[Run] = &[run(TAPELINE, Forward), run(TAPELINE, Reverse)];
/// tapeline, from the client to the server.
pub(crate) const OURS_FORWARD: &[Run] = &[run(TAPELINE, Forward)];
/// The other programs, from the server to the client.
pub(crate) const OTHERS_REVERSE: &[Run] = &[run(IPERF2, Reverse), run(IPERF3, Reverse)];
/// The other programs, from the client to the server.
pub(crate) const OTHERS_FORWARD: &[Run] = &[run(IPERF2, Forward), run(IPERF3, Forward)];
/// Everyone, from the client to the server.
pub(crate) const EVERYONE_FORWARD: &[Run] = &[
    run(TAPELINE, Forward),
    run(IPERF2, Forward),
    run(IPERF3, Forward),
];
/// Programs that speak iperf 2's protocol, from the client to the server.
pub(crate) const IPERF2S_FORWARD: &[Run] = &[run(TAPELINE, Forward), run(IPERF2, Forward)];
/// iperf3, whose client sends the server its options, both ways.
pub(crate) const IPERF3S: &[Run] = &[run(IPERF3, Forward), run(IPERF3, Reverse)];
/// Everyone but iperf 2.2.1 as a server that sends: of several flows of datagrams it leaves some out.
pub(crate) const SENDING_STREAMS: &[Run] = &[
    run(TAPELINE, Forward),
    run(TAPELINE, Reverse),
    run(IPERF2, Forward),
    run(IPERF3, Forward),
    run(IPERF3, Reverse),
];

/// A cable without limits.
pub(crate) const CABLE: Way = Way {
    device: None,
    link: None,
    policer: None,
    delay: 0.0,
    jitter: 0.0,
    aggregation: 0.0,
    loss: 0.0,
    overtaken: 0.0,
    filtered_one_in: 0,
};

impl Way {
    /// A shaped device: megabits per second, and milliseconds of its queue.
    pub(crate) const fn shaped(megabits: f64, queue: f64) -> Self {
        Self {
            device: Some(Rate { megabits, queue }),
            ..CABLE
        }
    }

    /// A link on the way, of so many milliseconds.
    pub(crate) const fn link(megabits: f64, queue: f64, delay: f64) -> Self {
        Self {
            link: Some(Rate { megabits, queue }),
            delay,
            ..CABLE
        }
    }

    /// A way of so many milliseconds.
    pub(crate) const fn far(delay: f64) -> Self {
        Self { delay, ..CABLE }
    }

    /// Whether the packets have to be carried by the relay.
    pub(crate) fn needs_relay(&self) -> bool {
        self.link.is_some()
            || self.policer.is_some()
            || [
                self.delay,
                self.jitter,
                self.aggregation,
                self.loss,
                self.overtaken,
            ]
            .iter()
            .any(|it| *it > 0.0)
    }
}

/// A TCP test of three seconds between free hosts: what situations differ from.
pub(crate) const TCP: Situation = Situation {
    name: "",
    transport: Transport::Tcp,
    client: "-t 3",
    sender: "",
    receiver: "",
    server: "",
    data: CABLE,
    back: CABLE,
    send_memory: 0,
    receive_memory: 0,
    sending_host: Host::Free,
    receiving_host: Host::Free,
    competitor: None,
    setting: Setting::Shared,
    runs: OURS,
    truth: Truth {
        right: &[],
        borne: &[],
    },
    sample: false,
};

/// A UDP test of three seconds between free hosts.
pub(crate) const UDP: Situation = Situation {
    transport: Transport::Udp,
    ..TCP
};

/// The truth of one cause alone.
pub(crate) const fn only(right: &'static [crate::cause::Cause]) -> Truth {
    Truth { right, borne: &[] }
}
