//! The TCP client: connect all flows, send the headers, start the traffic together.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Role};
use tapeline_report::{Event, Notice};
use tapeline_sys::{TcpConn, TcpProbe};

use super::connect_only;
use super::connector::Connector;
use super::dual_listener::ClientListener;
use super::target::{Target, control_test};
use super::tcp_start::{Starter, wait_until};
use super::working_load::{RunningLoad, WorkingLoad};
use crate::iperf2::banner;
use crate::iperf2::banner::SocketFacts;
use crate::iperf2::start_time::held_start;
use crate::iperf2::tcp_flow::payload;
use crate::iperf2::test_groups::TestSums;
use crate::iperf2::wrong_protocol::WrongProtocolWatch;
use crate::native::client::{ClientTest, TrafficEnd};
use crate::plan::{Arrangement, ClientPlan, ClientWorkload, FlowGrowth};
use crate::run::context::Context;
use crate::run::tasks::Tally;

/// Time before a start that servers do not wait for at which connections are made: they
/// would take silence for a fault.
const CONNECT_AHEAD: Duration = Duration::from_secs(5);
/// Time between two looks at how fast the senders are whose unsent data is kept short.
const UNSENT_PERIOD: Duration = Duration::from_millis(100);

/// Runs the test; returns whether anything failed.
pub(crate) fn run(plan: &ClientPlan, target: &Target, context: &Arc<Context>) -> bool {
    if target.first().ip().is_multicast() {
        context.notice(Notice::Text("Multicast requires -u option".into()));
        return true;
    }
    let tally = Tally::new();
    let sums = TestSums::for_client(&context.reporter, plan);
    let listener = match ClientListener::open(plan, target, context, sums.back) {
        Ok(listener) => listener,
        Err(notice) => {
            context.notice(notice);
            return true;
        }
    };
    let plan = &ClientListener::completed(listener.as_ref(), plan);
    let Some(plan) = &announce(plan, target, context) else {
        return true;
    };
    let options = banner::client_options(plan);
    if let ClientWorkload::ConnectOnly { count, report_each } = plan.workload {
        return connect_only::run(plan, target, &options, context, count, report_each);
    }
    let tags: Vec<FlowTag> = (0..plan.parallel)
        .map(|_| FlowTag {
            id: context.next_id(),
            reversed: false,
        })
        .collect();
    let load = WorkingLoad::for_plan(plan, context);
    let connector = Connector {
        plan,
        target,
        options: &options,
        context,
    };
    let mut held = held_start(plan, context.both());
    if let Some(start) = &mut held
        && start.at.since(context.now()) > CONNECT_AHEAD
    {
        let announced = start.announced.take();
        for tag in &tags {
            context.report_start(*tag, Role::Client, announced);
        }
        if !wait_until(start.at - CONNECT_AHEAD, context) {
            return false;
        }
    }
    let stop = context.stop().child();
    let control = control_test(plan, context, &stop);
    if let (Some(listener), Some(control)) = (&listener, &control) {
        listener.belongs_to(control);
    }
    let watch = Arc::new(WrongProtocolWatch::new(plan, stop.clone()));
    let starter = Starter {
        held,
        plan,
        context,
        group: sums.opened,
        tally: &tally,
        payload: payload(plan.tcp_write_length(), plan.techniques),
        stop,
        watch: Some(&watch),
        control: control.as_ref(),
    };
    let begin_load = || load.map(|load| load.begin(target, context, sums.opened));
    let (missing, load) = if let Some(growth) = plan.growth {
        let turns = Turns {
            growth,
            tags: &tags,
        };
        (turns.start(&connector, &starter), begin_load())
    } else if plan.connect_sync {
        let ready = connector.connect_all(&tags, |flow| flow);
        let connected = ready.len();
        let load = if connected > 0 { begin_load() } else { None };
        starter.start_all(ready);
        (plan.parallel - connected, load)
    } else {
        let load = begin_load();
        let ready = connector.connect_all(&tags, |flow| starter.start_all(vec![flow]));
        (plan.parallel - ready.len(), load)
    };
    if missing > 0 {
        tally.fail();
    }
    let failed = watch.wait(plan, context, &tally);
    let failed = load.is_some_and(RunningLoad::end) || failed;
    let failed = control.as_ref().is_some_and(ClientTest::is_refused) || failed;
    // Nobody connects back from a server of another family, or one that refuses the test.
    let given_up = starter.stop.is_raised() && !context.stop().is_raised();
    let failed = match listener {
        Some(listener) if !given_up => listener.wait() || failed,
        _ => failed,
    };
    let cut = control.is_some_and(|control| control.finish(TrafficEnd::new(failed, context)));
    failed || cut
}

/// Flows that do not start together.
struct Turns<'a> {
    growth: FlowGrowth,
    tags: &'a [FlowTag],
}

impl Turns<'_> {
    /// Starts them until the test ends; returns how many could not be connected.
    ///
    /// Senders keep what waits unsent short meanwhile.
    fn start(&self, connector: &Connector<'_>, starter: &Starter<'_>) -> usize {
        let (context, tally) = (starter.context, starter.tally);
        let began = context.now();
        let sends = starter.plan.arrangement().tags(self.tags[0]).0.is_some();
        let mut senders: Vec<Arc<TcpConn>> = Vec::new();
        let (mut missing, mut started) = (0, 0);
        for turn in 0_u32.. {
            let over = starter.stop.is_raised() || (turn > 0 && tally.pending() == 0);
            let wanted = match turn {
                0 => self.growth.initial,
                _ => self.growth.added,
            };
            let end = (started + wanted.max(1)).min(self.tags.len());
            let tags = &self.tags[started..end];
            started = end;
            // Without senders nothing is left to do once all flows run.
            if over || (tags.is_empty() && !sends) {
                break;
            }
            if !tags.is_empty() {
                let ready = connector.connect_all(tags, |flow| flow);
                missing += tags.len() - ready.len();
                let connected = ready.iter().map(|flow| Arc::clone(&flow.conn));
                senders.extend(connected.filter(|_| sends));
                starter.start_all(ready);
            }
            if !self.attend(&senders, began + self.growth.every * (turn + 1), context) {
                break;
            }
        }
        missing
    }

    /// Adapts what may wait unsent to the senders' rates until the next turn; returns whether the run goes on.
    fn attend(&self, senders: &[Arc<TcpConn>], turn: MonoTime, context: &Arc<Context>) -> bool {
        loop {
            for conn in senders {
                // A system that cannot limit it sends as before.
                let _ = conn.limit_unsent(self.growth.unsent);
            }
            let next = turn.min(context.now() + UNSENT_PERIOD);
            if !wait_until(next, context) {
                return false;
            }
            if next == turn {
                return true;
            }
        }
    }
}

/// Shows the banner; returns the plan as the system lets it be carried out, `None` when the
/// test cannot go on.
fn announce(plan: &ClientPlan, target: &Target, context: &Arc<Context>) -> Option<ClientPlan> {
    let options = banner::client_options(plan);
    let probe = match TcpProbe::of(target.first(), &options) {
        Ok(probe) => probe,
        Err(error) => {
            context.notice(Notice::Text(error.to_string()));
            return None;
        }
    };
    if let Err(notice) = banner::log_refusals(&probe.refused, &options, plan.personality, context) {
        context.notice(notice);
        return None;
    }
    let mut plan = plan.clone();
    let connects_back = matches!(
        plan.arrangement(),
        Arrangement::Dual { .. } | Arrangement::Tradeoff { .. }
    );
    if plan.peer_detect && connects_back {
        context.notice(Notice::Remark(
            "-X is ignored: a header that asks for the version cannot order -d or -r".into(),
        ));
        plan.peer_detect = false;
    }
    if let (Some(wanted), Some(actual)) = (plan.socket.tos, probe.tos)
        && wanted != actual
    {
        context.notice(Notice::TosFailed { wanted, actual });
        plan.socket.tos = Some(actual);
    }
    banner::log_clamped(
        plan.socket.window,
        probe.send_buffer,
        plan.personality,
        context,
    );
    let facts = SocketFacts {
        buffer: probe.send_buffer,
        mss: probe.mss,
        congestion: probe.congestion,
    };
    let banner = banner::client_banner(&plan, target.bound(), target.is_ipv6(), facts);
    context.reporter.event(Event::Connecting(banner));
    Some(plan)
}
