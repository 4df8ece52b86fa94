//! `--connect-only`: connections without data, one after the other.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Transport};
use tapeline_engine::{Pacer, Precision};
use tapeline_report::{ConnectTimes, ConnectionFlavour, Event, Notice};
use tapeline_stats::Moments;
use tapeline_sys::{Operation, SocketError, SocketOptions, TcpConn};

use super::target::Target;
use crate::iperf2::banner;
use crate::plan::{ClientPlan, Limit};
use crate::run::context::Context;

/// Shortest time from a failed attempt to the next one.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Connections reported between two waits for the reader of the output.
const FLUSH_EVERY: u64 = 1024;

/// What the connections of one flow came to.
struct Outcome {
    times: Moments,
    errors: u64,
}

impl Outcome {
    const NOTHING: Self = Self {
        times: Moments::EMPTY,
        errors: 0,
    };
}

/// Connects and closes, with as many connections at a time as there are flows; returns whether
/// anything failed.
pub(crate) fn run(
    plan: &ClientPlan,
    target: &Target,
    options: &SocketOptions,
    context: &Arc<Context>,
    count: Option<u64>,
    report_each: bool,
) -> bool {
    let flows: Vec<Flow<'_>> = (0..plan.parallel)
        .map(|index| Flow {
            plan,
            target,
            options,
            context,
            index,
            tag: FlowTag {
                id: context.next_id(),
                reversed: false,
            },
            count: attempts(plan, count),
            report_each,
        })
        .collect();
    let outcomes: Vec<Option<Outcome>> = std::thread::scope(|scope| {
        let threads: Vec<_> = flows
            .iter()
            .skip(1)
            .map(|flow| std::thread::Builder::new().spawn_scoped(scope, || flow.run()))
            .collect();
        let mut outcomes: Vec<_> = flows.iter().take(1).map(|flow| Some(flow.run())).collect();
        outcomes.extend(threads.into_iter().map(|thread| thread.ok()?.join().ok()));
        outcomes
    });
    let mut all = Outcome::NOTHING;
    let mut failed = false;
    for outcome in &outcomes {
        let Some(outcome) = outcome else {
            context.notice(Notice::Text("a stream has no thread to connect on".into()));
            failed = true;
            continue;
        };
        all.times.merge(&outcome.times);
        all.errors += outcome.errors;
    }
    context.reporter.event(Event::ConnectTimes(ConnectTimes {
        times: all.times,
        errors: all.errors,
    }));
    failed || all.errors > 0
}

/// Connections of a flow; `None` as many as its time allows. A number of bytes asks for one: 2.2.1
/// connects once then.
fn attempts(plan: &ClientPlan, count: Option<u64>) -> Option<u64> {
    count.or(match plan.limit {
        Limit::Bytes(_) => Some(1),
        Limit::Time(_) | Limit::Never => None,
    })
}

/// One connection after the other.
struct Flow<'a> {
    plan: &'a ClientPlan,
    target: &'a Target,
    options: &'a SocketOptions,
    context: &'a Arc<Context>,
    index: usize,
    tag: FlowTag,
    count: Option<u64>,
    report_each: bool,
}

impl Flow<'_> {
    fn run(&self) -> Outcome {
        let start = self.context.now();
        let deadline = self.plan.time_limit().map(|time| start + time);
        let mut outcome = Outcome::NOTHING;
        let mut pacer = Pacer::new(Precision::Economical);
        let mut due = start;
        let mut attempt = 0;
        // Reported once: the next attempts find no port either.
        let mut exhausted = false;
        while self.count.is_none_or(|count| attempt < count) {
            if deadline.is_some_and(|deadline| due >= deadline)
                || pacer.wait(due, self.context.stop()).is_none()
                || self.context.stop().is_raised()
            {
                break;
            }
            attempt += 1;
            let attempted = self.context.now();
            match self.connect() {
                Ok(time) => {
                    outcome.times.add(time.as_secs_f64());
                    due = self.next(start, due, Duration::ZERO);
                }
                Err(_) if self.context.interruption.is_raised() => break,
                Err(error) => {
                    let no_port = error.kind() == std::io::ErrorKind::AddrNotAvailable;
                    if !(no_port && exhausted) {
                        let after = self.context.now().since(attempted);
                        self.log(&error, after, outcome.times.count);
                    }
                    exhausted |= no_port;
                    outcome.errors += 1;
                    due = self.next(start, due, AFTER_FAILURE);
                }
            }
            if self.report_each && attempt % FLUSH_EVERY == 0 {
                self.context.reporter.flush();
            }
        }
        outcome
    }

    /// When to connect again: at the next tick of `-i`, else at once; not before `pause` is over.
    fn next(&self, start: MonoTime, due: MonoTime, pause: Duration) -> MonoTime {
        let now = self.context.now();
        match self.plan.interval.filter(|every| !every.is_zero()) {
            None => now + pause,
            Some(every) => {
                let ticks = now.since(start).as_nanos().div_ceil(every.as_nanos());
                let nanos = u64::try_from(ticks.saturating_mul(every.as_nanos()));
                let tick = start + Duration::from_nanos(nanos.unwrap_or(u64::MAX));
                tick.max(due + every)
            }
        }
    }

    /// Connects, reports it and closes; how long connecting took. Connections that are not reported
    /// may be many, so they are aborted: a close in order would keep each one's port for a minute.
    fn connect(&self) -> Result<Duration, SocketError> {
        let peer = self.target.peer(self.index);
        let connected = TcpConn::connect_or_cancel(
            peer,
            self.target.local(self.index),
            self.options,
            Some(self.plan.connect_timeout),
            self.context.interruption.waker(),
        )?;
        let conn = connected.conn;
        if !self.report_each {
            let _ = conn.set_linger_zero();
            return Ok(connected.connect_time);
        }
        let local = conn.local_addr().unwrap_or(peer);
        let mut line = banner::connected(
            self.tag,
            Transport::Tcp,
            local,
            conn.peer_addr().unwrap_or(peer),
        );
        line.flavour = ConnectionFlavour::ConnectOnly;
        line.congestion = conn.congestion();
        line.congestion_by_user = self.plan.socket.congestion.is_some();
        line.initial = banner::initial_tcp(&conn);
        line.connect_time = Some(connected.connect_time);
        line.at = Some(self.context.wall());
        self.context.reporter.event(Event::Connected(line));
        Ok(connected.connect_time)
    }

    fn log(&self, error: &SocketError, after: Duration, connected: u64) {
        let notice = if error.kind() == std::io::ErrorKind::AddrNotAvailable {
            Notice::Text(format!(
                "no local port is free any more after {connected} connections: closed ones keep \
                 theirs for about a minute; connect less often (-i) or from another address (-B)"
            ))
        } else if error.operation == Operation::Bind {
            Notice::BindFailed {
                address: error.address.unwrap_or(self.target.first()),
                reason: error.reason(),
            }
        } else {
            Notice::ConnectFailed {
                tag: self.tag,
                peer: self.target.peer(self.index),
                reason: error.reason(),
                after,
                at: self.context.wall(),
                retrying: false,
            }
        };
        self.context.notice(notice);
    }
}
