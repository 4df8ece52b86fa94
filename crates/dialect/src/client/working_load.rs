//! `--working-load`: bulk TCP flows next to a test, so that it is measured under load.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, Transport};
use tapeline_engine::{Pacer, Precision, Stop};

use super::connector::Connector;
use super::target::Target;
use super::tcp_start::Starter;
use crate::iperf2::banner;
use crate::iperf2::tcp_flow::payload;
use crate::plan::{
    Arrangement, ClientPlan, ClientWorkload, Limit, LoadDirection, Payload, Shape, SocketPlan,
    StartTime,
};
use crate::run::context::Context;
use crate::run::tasks::Tally;
use crate::sampler::GroupKey;

/// Unsent data above which a load flow writes no more, as in 2.2.1: queues build up in the
/// network and not in this host.
const PREFETCH: u32 = 262_144;
/// Time for load flows to end by their own time after the test.
const GRACE: Duration = Duration::from_millis(500);
/// Time between two looks at whether they have.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A load that is to run: its flows have their numbers.
pub(crate) struct WorkingLoad {
    plan: ClientPlan,
    tags: Vec<FlowTag>,
}

impl WorkingLoad {
    /// The load of a test, if there is any.
    pub(crate) fn for_plan(plan: &ClientPlan, context: &Arc<Context>) -> Option<Self> {
        let plan = load_plan(plan)?;
        let tag = || FlowTag {
            id: context.next_id(),
            reversed: false,
        };
        let tags = (0..plan.parallel).map(|_| tag()).collect();
        Some(Self { plan, tags })
    }

    /// Connects and starts the flows; those that cannot be had are logged. Their rows are added up
    /// in `group`.
    pub(crate) fn begin(
        self,
        target: &Target,
        context: &Arc<Context>,
        group: GroupKey,
    ) -> RunningLoad {
        let plan = &self.plan;
        let stop = context.stop().child();
        let tally = Tally::new();
        let options = banner::client_options(plan);
        let target = target.for_load();
        let connector = Connector {
            plan,
            target: &target,
            options: &options,
            context,
        };
        let starter = Starter {
            held: None,
            plan,
            context,
            group,
            tally: &tally,
            payload: payload(plan.tcp_write_length(), plan.techniques),
            stop: stop.clone(),
            watch: None,
            control: None,
        };
        let ready = connector.connect_all(&self.tags, |flow| flow);
        if ready.len() < self.tags.len() {
            tally.fail();
        }
        starter.start_all(ready);
        RunningLoad {
            stop,
            tally,
            by_time: matches!(plan.limit, Limit::Time(_)),
        }
    }
}

/// Load flows that were started.
pub(crate) struct RunningLoad {
    stop: Stop,
    tally: Arc<Tally>,
    /// They end by themselves, at about the time of the test.
    by_time: bool,
}

impl RunningLoad {
    /// Ends the load, as the test has ended; returns whether any of it failed.
    pub(crate) fn end(self) -> bool {
        if self.by_time {
            self.await_own_end();
        }
        self.stop.raise();
        self.tally.wait()
    }

    fn await_own_end(&self) {
        let clock = tapeline_sys::SystemClock;
        let now = || tapeline_base::Clock::now(&clock);
        let mut pacer = Pacer::new(Precision::Economical);
        let until = now() + GRACE;
        while self.tally.pending() > 0 && now() < until {
            if pacer.wait(now() + POLL_INTERVAL, &self.stop).is_none() {
                return;
            }
        }
    }
}

/// The load as a test of its own: bulk TCP with the type of service 0.
fn load_plan(plan: &ClientPlan) -> Option<ClientPlan> {
    let load = plan.working_load.as_ref().filter(|load| load.flows > 0)?;
    let arrangement = match load.direction {
        LoadDirection::Up => Arrangement::Forward,
        LoadDirection::Down => Arrangement::Reverse,
        LoadDirection::Both => Arrangement::FullDuplex,
    };
    Some(ClientPlan {
        transport: Transport::Tcp,
        workload: ClientWorkload::Stream(arrangement),
        limit: match plan.limit {
            // The load fills the queues while a test that starts later waits.
            Limit::Time(time) => Limit::Time(time + lead(plan.start)),
            // Ended together with the test.
            Limit::Bytes(_) | Limit::Never => Limit::Never,
        },
        length: None,
        pace: None,
        parallel: load.flows,
        socket: SocketPlan {
            congestion: load.congestion.clone(),
            write_prefetch: Some(PREFETCH),
            quickack: plan.socket.quickack || acknowledges_at_once(plan),
            ..SocketPlan::default()
        },
        connect_sync: true,
        growth: None,
        retry: None,
        peer_detect: false,
        shape: Shape::Steady,
        payload: Payload::Digits,
        start: match plan.start {
            StartTime::At(time) => StartTime::At(time),
            StartTime::Now | StartTime::After(_) | StartTime::Moment(_) => StartTime::Now,
        },
        latency: crate::plan::LatencyPlan::default(),
        working_load: None,
        l2_checks: false,
        l4s: false,
        ..plan.clone()
    })
}

/// Time by which the load begins before the test.
fn lead(start: StartTime) -> Duration {
    match start {
        StartTime::After(delay) => delay,
        StartTime::Now | StartTime::At(_) | StartTime::Moment(_) => Duration::ZERO,
    }
}

/// As 2.2.1, whose bounce-back turns TCP_QUICKACK on for all flows.
fn acknowledges_at_once(plan: &ClientPlan) -> bool {
    matches!(plan.workload, ClientWorkload::RequestResponse(exchange) if exchange.quickack)
}

#[cfg(test)]
mod tests {
    use tapeline_base::{Bytes, Pace, PacketRate, Tos};

    use super::*;
    use crate::plan::client::tests::client_plan;

    #[test]
    fn a_load_is_bulk_tcp_of_its_own() {
        let mut plan = client_plan();
        assert!(load_plan(&plan).is_none());
        plan.transport = Transport::Udp;
        plan.pace = Some(Pace::Packets(PacketRate(10)));
        plan.limit = Limit::Bytes(Bytes(10));
        plan.parallel = 3;
        plan.socket.tos = Some(Tos(0xb8));
        plan.working_load = Some(crate::plan::WorkingLoad {
            direction: LoadDirection::Down,
            flows: 2,
            congestion: Some("reno".into()),
        });
        let load = load_plan(&plan).expect("a load");
        assert_eq!(load.transport, Transport::Tcp);
        assert_eq!(load.arrangement(), Arrangement::Reverse);
        assert_eq!(
            (load.limit, load.pace, load.parallel),
            (Limit::Never, None, 2)
        );
        assert_eq!(
            (load.socket.tos, load.socket.write_prefetch),
            (None, Some(PREFETCH))
        );
        assert_eq!(load.socket.congestion.as_deref(), Some("reno"));
        assert!(load.working_load.is_none());
        // A load runs from the beginning of a test's wait to its end.
        let seconds = Duration::from_secs;
        plan.limit = Limit::Time(seconds(10));
        plan.start = StartTime::After(seconds(2));
        let load = load_plan(&plan).expect("a load");
        assert_eq!(load.limit, Limit::Time(seconds(12)));
        assert_eq!(load.start, StartTime::Now);
    }
}
