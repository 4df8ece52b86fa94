//! A server that is tapeline too: round trips, the path's MTU to the byte, and the state of its TCP senders.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tapeline_base::{Clock, SplitMix64, Transport};
use tapeline_dialect::{
    FlowProbes, Interruption, LoadParameters, MethodSession, Order, OrderDirection, PathMtuRequest,
    Sample, SessionError, SessionEvent, measure_path_mtu,
};
use tapeline_report::method::Direction;
use tapeline_sys::{SystemClock, reason};

use crate::common::PeerKind;
use crate::error::RunError;
use crate::run::Run;

/// Time between two round trips: least, and how much longer it may be.
const SPACING: Duration = Duration::from_millis(50);
const SPREAD: Duration = Duration::from_millis(100);
/// What the search for the MTU may take, and its last word.
const SEARCH: Duration = Duration::from_secs(25);
const DONE: Duration = Duration::from_secs(3);
/// Longest wait between two looks at the control connection.
const LOOK: Duration = Duration::from_millis(20);
/// Time of an order for samples beyond the run itself.
const AROUND: Duration = Duration::from_secs(15);

/// The session with such a server.
pub(crate) struct FarEnd {
    session: MethodSession,
    interruption: Interruption,
}

/// The samples of a run: which test, and when they began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    pub(crate) test: NonZeroU32,
    pub(crate) began: Instant,
}

impl FarEnd {
    /// Opens the session; `None` of any other server.
    pub(crate) fn open(run: &Run<'_>) -> Option<Self> {
        let common = run.common();
        if common.peer != PeerKind::Auto || !common.control {
            return None;
        }
        let interruption = Interruption::new().ok()?;
        let plan = run.client_plan(Transport::Tcp, Direction::Up);
        let _ends = run.ends(&interruption);
        let session = MethodSession::open(&plan, &interruption).ok()?;
        Some(Self {
            session,
            interruption,
        })
    }

    /// Measures round trips, nanoseconds.
    pub(crate) fn probe(&mut self, run: &Run<'_>, count: u32) -> Result<Vec<i64>, RunError> {
        let _ends = run.ends(&self.interruption);
        let mut random = SplitMix64::new(SystemClock.now().as_nanos());
        let mut trips = Vec::new();
        for _ in 0..count {
            run.check()?;
            let Ok(row) = self.session.probe(1, Duration::ZERO) else {
                break;
            };
            let nanos = row.round_trips.into_iter().map(|trip| trip.as_nanos());
            trips.extend(nanos.filter_map(|nanos| i64::try_from(nanos).ok()));
            let extra = random.below(SPREAD.as_nanos() as u64);
            run.wait(SPACING + Duration::from_nanos(extra))?;
        }
        Ok(trips)
    }

    /// The largest packet that passes; `None` where it is not known to the byte.
    pub(crate) fn path_mtu(
        &mut self,
        run: &Run<'_>,
        direction: Direction,
    ) -> Result<Option<u32>, RunError> {
        let _ends = run.ends(&self.interruption);
        let found = match direction {
            Direction::Up => self.mtu_up(run),
            Direction::Down => self.mtu_down(run),
        };
        run.check()?;
        Ok(found.unwrap_or(None))
    }

    fn mtu_up(&mut self, run: &Run<'_>) -> Result<Option<u32>, SessionError> {
        let ready = self.session.order(&search(OrderDirection::Up))?;
        let mut flow = self.session.flow(&ready)?;
        let socket = Arc::clone(flow.socket());
        let request = PathMtuRequest {
            round_trip: Some(self.session.connect_time()),
            seed: flow.key().get(),
            ..PathMtuRequest::default()
        };
        let mut is_over = || run.check().is_err();
        let mut probes = FlowProbes::new(&mut flow, &mut is_over);
        let found = measure_path_mtu(&socket, &request, &mut probes)
            .map_err(|error| SessionError::Socket(reason(&error)));
        self.session.end_order("the search is over");
        // What was found counts.
        drop(self.session.wait_done(DONE));
        let outcome = found?.outcome;
        Ok(outcome.size.filter(|_| outcome.is_exact).map(u32::from))
    }

    fn mtu_down(&mut self, run: &Run<'_>) -> Result<Option<u32>, SessionError> {
        let ready = self.session.order(&search(OrderDirection::Down))?;
        let mut flow = self.session.flow(&ready)?;
        let until = Instant::now() + SEARCH + DONE;
        loop {
            if run.check().is_err() || Instant::now() >= until {
                self.session.end_order("interrupted");
                drop(self.session.wait_done(DONE));
                return Ok(None);
            }
            flow.answer_probes(LOOK)
                .map_err(|error| SessionError::Socket(reason(&error)))?;
            if let Some(SessionEvent::Done(done)) = self.session.next_event(Duration::ZERO)? {
                let found = done.path_mtu.filter(|found| found.exact);
                return Ok(found.and_then(|found| found.mtu_bytes));
            }
        }
    }

    /// Has the server's senders of a test sampled that is about to begin.
    pub(crate) fn sample(&mut self, length: Duration) -> Option<Sampling> {
        let test = MethodSession::test_number();
        let order = Order {
            method: "samples".into(),
            direction: OrderDirection::Down,
            seconds: length + AROUND,
            parameters: LoadParameters {
                test: Some(test),
                ..LoadParameters::default()
            },
        };
        self.session.order(&order).ok()?;
        Some(Sampling {
            test,
            began: Instant::now(),
        })
    }

    /// The samples of the test, which has ended.
    pub(crate) fn samples(&mut self) -> Vec<Sample> {
        self.session.end_order("the test is over");
        let mut samples = Vec::new();
        while let Ok(Some(event)) = self.session.next_event(DONE) {
            match event {
                SessionEvent::Sample(sample) => samples.push(sample),
                SessionEvent::Done(_) => break,
                SessionEvent::Status(_) => {}
            }
        }
        samples
    }
}

fn search(direction: OrderDirection) -> Order {
    Order {
        method: "mtu".into(),
        direction,
        seconds: SEARCH,
        parameters: LoadParameters::default(),
    }
}
