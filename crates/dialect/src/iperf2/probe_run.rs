//! Probes on new connections (`tapeline responsiveness`): those of one run are one flow of the server, however
//! many connections they come on.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, MutexExt};
use tapeline_engine::{Intervals, ReceiveCell, ReceiveCounters, ReceivePublisher, Stop};
use tapeline_report::Endpoints;
use tapeline_stats::ReadSizes;
use tapeline_sys::{Interest, TcpConn, Wait};
use tapeline_wire::iperf2::{Bounceback, Timestamp, limits};

use crate::policy::Slot;
use crate::run::context::Context;
use crate::run::tasks::Part;
use crate::sampler::{CounterCell, FlowEnd, FlowExtras, FlowStart, GroupKey};

/// Bytes of a probe, and of its answer.
const LENGTH: usize = limits::MIN_BOUNCEBACK as usize;
/// Silence behind which a run is over: pauses between its loads are shorter.
const SILENCE: Duration = Duration::from_secs(10);
/// Time for the rest of a probe.
const REST: Duration = Duration::from_secs(1);
/// Time for a client to close a connection that was answered.
const CLOSING: Duration = Duration::from_secs(4);
/// Time between two looks at what has closed.
const LOOK: Duration = Duration::from_millis(50);
/// Runs at a time; the probes of others are flows of their own.
const MAX_RUNS: usize = 64;

/// Whose run it is, and its number in the marks.
pub(crate) type ProbeRunName = (IpAddr, NonZeroU32);

/// The name of the run that a first request belongs to, if it is a probe of one.
pub(crate) fn probe_run(client: IpAddr, first: &Bounceback) -> Option<ProbeRunName> {
    let plain = first.request_size as usize == LENGTH
        && first.reply_length() == first.request_size
        && first.hold_micros == 0
        && !first.stop;
    first
        .mark
        .filter(|_| plain)
        .map(|mark| (client, mark.number))
}

/// A connection with a probe, of which the beginning is read.
pub(crate) struct Probe {
    pub(crate) conn: Arc<TcpConn>,
    pub(crate) already: Vec<u8>,
    /// Its place among the server's tests.
    pub(crate) _slot: Option<Slot>,
}

/// The runs of a server's clients.
#[derive(Debug, Default)]
pub(crate) struct ProbeRuns(Mutex<HashMap<ProbeRunName, Sender<Probe>>>);

impl ProbeRuns {
    /// Where the probes of a run go that has begun.
    pub(crate) fn link(&self, name: ProbeRunName) -> Option<Sender<Probe>> {
        self.0.lock_unpoisoned().get(&name).cloned()
    }

    /// Begins a run; none beyond [`MAX_RUNS`].
    pub(crate) fn open(&self, name: ProbeRunName) -> Option<Receiver<Probe>> {
        let mut runs = self.0.lock_unpoisoned();
        if runs.len() >= MAX_RUNS {
            return None;
        }
        let (link, probes) = mpsc::channel();
        runs.insert(name, link);
        Some(probes)
    }

    /// No probe comes to this run any more, but for those that are on their way.
    fn close(&self, name: ProbeRunName) {
        self.0.lock_unpoisoned().remove(&name);
    }
}

/// A run: the flow that its probes are.
pub(crate) struct ProbeRun {
    pub(crate) name: ProbeRunName,
    pub(crate) runs: Arc<ProbeRuns>,
    pub(crate) context: Arc<Context>,
    pub(crate) stop: Stop,
    /// What the server waits for.
    pub(crate) part: Part,
}

impl ProbeRun {
    /// Answers the probes of the run on a thread of its own; `flow` has everything but the counters.
    pub(crate) fn begin(self, flow: ProbeFlow, first: Probe, probes: Receiver<Probe>) {
        let cell = Arc::new(ReceiveCell::new(Intervals::new(flow.start, flow.interval)));
        let running = self.context.reporter.start(FlowStart {
            tag: flow.tag,
            cell: CounterCell::TcpReceive(Arc::clone(&cell)),
            start: flow.start,
            interval: flow.interval,
            endpoints: flow.endpoints,
            groups: vec![flow.group],
            conn: None,
            histograms: Vec::new(),
            extras: FlowExtras::default(),
        });
        let (name, runs) = (self.name, Arc::clone(&self.runs));
        let answering = Answering {
            clock: Arc::clone(&self.context),
            counters: ReceiveCounters {
                last: flow.start,
                ..ReceiveCounters::new(ReadSizes::new(LENGTH as u64))
            },
            publisher: ReceivePublisher::new(cell),
            closing: Vec::new(),
        };
        let thread = std::thread::Builder::new().name("probes".into());
        let spawned = thread.spawn(move || {
            let at = answering.run(first, &probes, &self);
            running.end(FlowEnd {
                at,
                ..FlowEnd::default()
            });
            self.part.end(false);
        });
        if spawned.is_err() {
            runs.close(name);
        }
    }
}

/// What is reported of a run beside its counters.
pub(crate) struct ProbeFlow {
    pub(crate) tag: FlowTag,
    pub(crate) start: MonoTime,
    pub(crate) interval: Option<Duration>,
    pub(crate) endpoints: Endpoints,
    pub(crate) group: GroupKey,
}

/// What answers.
struct Answering {
    clock: Arc<Context>,
    counters: ReceiveCounters,
    publisher: ReceivePublisher,
    /// Connections that their clients have not closed yet, and until when they may stay.
    closing: Vec<(MonoTime, Probe)>,
}

impl Answering {
    /// Answers until the run is over; returns when its last probe was answered.
    fn run(mut self, first: Probe, probes: &Receiver<Probe>, run: &ProbeRun) -> MonoTime {
        let mut next = Some(first);
        let mut looked = self.clock.now();
        let mut closed = false;
        loop {
            if let Some(probe) = next.take() {
                self.take(probe);
            }
            let now = self.clock.now();
            let stopped = run.stop.is_raised();
            if !closed && (stopped || now.since(self.counters.last) >= SILENCE) {
                closed = true;
                run.runs.close(run.name);
            }
            if now.since(looked) >= LOOK {
                looked = now;
                self.let_go(now);
            }
            match probes.recv_timeout(LOOK) {
                Ok(probe) => next = Some(probe),
                Err(RecvTimeoutError::Timeout) => {}
                // Nothing is on its way any more.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.publisher.publish(&self.counters);
        self.counters.last
    }

    /// Answers a probe. A connection that fails is not counted: its client knows.
    fn take(&mut self, probe: Probe) {
        if let Ok(bytes) = self.answer(&probe) {
            let now = self.clock.now();
            self.publisher.at(now, &self.counters);
            self.counters.bytes += bytes;
            self.counters.reads.record(LENGTH as u64);
            self.counters.last = now;
            self.publisher.publish(&self.counters);
            self.closing.push((now + CLOSING, probe));
        }
    }

    /// Reads what is left of a probe, and answers; returns the bytes of both.
    fn answer(&self, probe: &Probe) -> io::Result<u64> {
        let conn = &probe.conn;
        let mut message = [0; LENGTH];
        let mut length = probe.already.len().min(LENGTH);
        message[..length].copy_from_slice(&probe.already[..length]);
        let until = self.clock.now() + REST;
        while length < LENGTH {
            match conn.recv_nonblocking(&mut message[length..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(more) => length += more,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) => {
                    let left = until.since(self.clock.now());
                    if left.is_zero() || !conn.wait_ready(Interest::READ, Wait::AtMost(left))? {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
            }
        }
        let now = Timestamp::from(self.clock.wall());
        Bounceback::stamp_reply(&mut message, now, now);
        // So few bytes always fit into an empty send buffer.
        let sent = conn.send_nonblocking(&message)?;
        Ok((LENGTH + sent) as u64)
    }

    /// Closes what the clients have closed, so that the ports that wait after it are theirs.
    fn let_go(&mut self, now: MonoTime) {
        let waits = |conn: &TcpConn| {
            let read = conn.recv_nonblocking(&mut [0; 1]);
            matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
        };
        self.closing
            .retain(|(until, probe)| now < *until && waits(&probe.conn));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_wire::native::Mark;

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn number(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).expect("a number")
    }

    #[test]
    fn only_a_marked_request_that_is_nothing_else_is_a_probe() {
        let probe = Bounceback {
            request_size: limits::MIN_BOUNCEBACK,
            mark: Some(Mark {
                version: 1,
                number: number(7),
            }),
            ..Bounceback::default()
        };
        assert_eq!(probe_run(CLIENT, &probe), Some((CLIENT, number(7))));
        for other in [
            Bounceback {
                mark: None,
                ..probe
            },
            Bounceback {
                request_size: 100,
                ..probe
            },
            Bounceback {
                reply_size: Some(100),
                ..probe
            },
            Bounceback {
                hold_micros: 1,
                ..probe
            },
            Bounceback {
                stop: true,
                ..probe
            },
        ] {
            assert_eq!(probe_run(CLIENT, &other), None, "{other:?}");
        }
    }

    #[test]
    fn runs_are_bounded_and_closed_ones_take_nothing() {
        let runs = ProbeRuns::default();
        let name = |of| (CLIENT, number(of));
        let open: Vec<_> = (1..=100).filter_map(|of| runs.open(name(of))).collect();
        assert_eq!(open.len(), MAX_RUNS);
        assert!(runs.link(name(1)).is_some() && runs.link(name(100)).is_none());
        runs.close(name(1));
        assert!(runs.link(name(1)).is_none());
        let over = open[0].recv_timeout(Duration::ZERO);
        assert_eq!(over.err(), Some(RecvTimeoutError::Disconnected));
        assert!(runs.open(name(100)).is_some());
    }
}
