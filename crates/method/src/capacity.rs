//! `capacity`: the maximum IP-layer capacity of a path (RFC 9097).
//!
//! ```text
//!  up    send_load (here, the law on each Status) ───► the server counts
//!  down  receive_load (here: counts, reports)     ◄─── the server sends by the same law
//!                └─► SubIntervals ─► maximum ─► DirectionCapacity
//! ```

use std::cell::RefCell;
use std::num::NonZeroU64;
use std::time::Duration;

use tapeline_base::{BitRate, Clock};
use tapeline_dialect::{
    Done, Interruption, LoadDone, LoadParameters, MethodSession, Order, OrderDirection, OrderEnd,
    Precision, Ready, ReceiveLoad, SendLoad, SessionError, SessionEvent, Status, Technique,
    load_status, receive_load, send_load,
};
use tapeline_report::method::{
    Capacity, CapacityInterval, CapacityResult, Direction, DirectionCapacity, PlannedPhase,
};
use tapeline_stats::{LoadRules, LoadSearch, LoadTable, SubInterval, SubIntervals};
use tapeline_sys::SystemClock;

use crate::common::Common;
use crate::error::{MethodError, RunError};
use crate::procedure::Procedure;
use crate::run::Run;
use crate::session_slot::{NoSession, knows};

/// The one phase, for each direction.
const PHASE: &str = "capacity";
/// Length of a test that nothing else decides.
const TIME: Duration = Duration::from_secs(10);
/// Time around it: the order, the last reports.
const AROUND: Duration = Duration::from_secs(2);
/// Payload of a datagram: 1250 bytes of IPv4 packet.
const PAYLOAD: u32 = 1222;
/// Time without any load after which its receiver gives up.
const NO_LOAD: Duration = Duration::from_secs(3);
/// Time without a report after which nothing more is sent.
const NO_REPORT: Duration = Duration::from_secs(1);
/// Time for what is in queues still, behind the end of a load.
const STRAGGLERS: Duration = Duration::from_millis(300);
/// Time for the server's last word.
const LAST_WORD: Duration = Duration::from_secs(3);
/// The end of a test in which a rate that only rose means that it was too short.
const RISING: Duration = Duration::from_secs(1);
/// Lost share of the maximum from which on the path has shown its rate.
const LOSSY: f64 = 0.005;
/// Round trip above the smallest from which on something waits in a queue.
const QUEUED: Duration = Duration::from_millis(1);
/// Share of the maximum from which on a sub-interval is as good.
const BEST_SHARE: f64 = 0.99;
/// Share of the maximum below which a load does not fill the path.
const FULL_SHARE: f64 = 0.9;
/// Share of the last row's rate from which on it is what limits.
const TOP_KEPT: f64 = 0.98;
/// What is sent to public addresses at most, unless the user says more.
const MOST_ELSEWHERE: BitRate = BitRate(1_000_000_000);
/// IP and TCP headers with time stamps, bytes.
const TCP_HEADERS: u32 = 52;
const TCP_HEADERS_V6: u32 = 72;

/// What `capacity` is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityPlan {
    /// As for all methods.
    pub common: Common,
    /// Datagrams as long as the path's packets.
    pub fills_packets: bool,
    /// Length of a sub-interval.
    pub sub_interval: Duration,
    /// Time between two reports.
    pub feedback: Duration,
    /// The constants of the search.
    pub rules: LoadRules,
    /// `--bimodal`: so many sub-intervals have a maximum of their own.
    pub bimodal: Option<usize>,
}

impl CapacityPlan {
    /// Towards a host, with everything else at its default.
    #[must_use]
    pub fn new(common: Common) -> Self {
        Self {
            common,
            fills_packets: false,
            sub_interval: Duration::from_secs(1),
            feedback: Duration::from_millis(50),
            rules: LoadRules::default(),
            bimodal: None,
        }
    }

    fn time(&self) -> Duration {
        self.common.time_or(TIME)
    }

    /// The most payload that the law lets a direction move: it rises without ever being held.
    fn most_bytes(&self) -> u64 {
        let mut search = LoadSearch::new(LoadTable::up_to(self.common.rate), self.rules);
        let mut status = tapeline_stats::LoadStatus::default();
        let mut bits = 0.0;
        while status.elapsed < self.time() {
            bits += search.rate().0 as f64 * self.feedback.as_secs_f64();
            status.elapsed += self.feedback;
            status.round_trip = Some(Duration::from_millis(1));
            status.delay_variation = Some(Duration::ZERO);
            search.report(&status);
        }
        (bits / 8.0) as u64
    }
}

impl Procedure for CapacityPlan {
    const WORD: &'static str = "capacity";
    const STANDARD: &'static str = "RFC 9097";
    const ABOUT: &'static str = "maximum IP-layer capacity, by a UDP load that floods the path";

    type Result = CapacityResult;

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn phases(&self) -> Vec<PlannedPhase> {
        let directions = self.common.direction.directions().iter();
        let seconds = (self.time() + AROUND).as_secs_f64();
        let phases = directions.map(|direction| {
            PlannedPhase::new(PHASE, Some(*direction), seconds).moving(self.most_bytes())
        });
        phases.collect()
    }

    fn run(&self, run: &mut Run<'_>, result: &mut CapacityResult) -> Result<(), MethodError> {
        result.seconds = self.time().as_secs_f64();
        let mut first = true;
        Bench::check(run)?;
        for direction in self.common.direction.directions() {
            if run.bytes_left() == Some(0) {
                run.skip(PHASE, Some(*direction), "the budget is used up");
                continue;
            }
            if !std::mem::take(&mut first) {
                run.pause()?;
            }
            let mut one = DirectionCapacity::default();
            let ended = Bench::measure(self, run, *direction, &mut one);
            let measured = match ended {
                Ok(()) | Err(RunError::BudgetUsed(_)) => Some(one),
                Err(_) => one.broken_off(),
            };
            match direction {
                Direction::Up => result.up = measured,
                Direction::Down => result.down = measured,
            }
            match ended {
                Err(RunError::BudgetUsed(_)) => run.deviate("the budget is used up"),
                other => other?,
            }
        }
        Ok(())
    }
}

/// Measures the capacity of one direction, as a phase of another method.
///
/// # Errors
/// As of the method; a server that takes no orders for `capacity` is `test-refused`.
pub fn measure_capacity(
    run: &mut Run<'_>,
    direction: Direction,
    time: Duration,
) -> Result<DirectionCapacity, RunError> {
    let mut plan = CapacityPlan::new(run.common().clone());
    plan.common.time = Some(time);
    // What is written there is of the other method's tests.
    plan.common.length = None;
    Bench::check(run)?;
    let mut one = DirectionCapacity::default();
    Bench::measure(&plan, run, direction, &mut one)?;
    Ok(one)
}

/// A session, and what measures over it.
struct Bench<'p> {
    plan: &'p CapacityPlan,
    session: &'p mut MethodSession,
    stop: Interruption,
}

/// What one direction came to, before it is put into words.
struct Load {
    end: OrderEnd,
    why: Option<String>,
    /// What the sender of the load did; `None` where it did not say.
    sender: Option<LoadDone>,
    sent_bytes: Option<u64>,
    /// Datagrams for which the receiver's socket had no room.
    socket_drops: Option<u64>,
}

impl Bench<'_> {
    /// The server takes orders for it.
    fn check(run: &mut Run<'_>) -> Result<(), RunError> {
        match run.session() {
            Some(session) if knows(session, PHASE) => return Ok(()),
            Some(_) => return Err(no_feedback()),
            None => {}
        }
        match run.no_session() {
            Some(NoSession::Failed(error)) => Err(failure(run, error)),
            Some(NoSession::NoResources(why)) => Err(RunError::failed("out-of-resources", why)),
            _ => Err(no_feedback()),
        }
    }

    /// Measures a direction; what is known when it fails is entered into `one` all the same.
    fn measure(
        plan: &CapacityPlan,
        run: &mut Run<'_>,
        direction: Direction,
        one: &mut DirectionCapacity,
    ) -> Result<(), RunError> {
        let stop = Interruption::new()
            .map_err(|error| RunError::failed("out-of-resources", error.to_string()))?;
        run.lend_session(|run, session| {
            let session = session.ok_or_else(no_feedback)?;
            let mut bench = Bench {
                plan,
                session,
                stop,
            };
            bench.load(run, direction, one)
        })
    }

    /// The most that may be sent, at the IP layer.
    fn most(&self) -> Option<BitRate> {
        let address = self.session.peer().ip();
        let near = address.is_loopback() || tapeline_dialect::Networks::default().contain(address);
        self.plan.common.rate.or((!near).then_some(MOST_ELSEWHERE))
    }

    fn headers(&self) -> u32 {
        if self.session.peer().is_ipv4() {
            28
        } else {
            48
        }
    }

    /// The largest packet of the path as TCP knows it.
    fn mtu(&self) -> Option<u32> {
        self.session.tcp_info().and_then(|info| info.pmtu)
    }

    fn payload(&self) -> u32 {
        let filled = self.mtu().filter(|_| self.plan.fills_packets);
        let filled = filled.map(|mtu| mtu.min(9000) - self.headers());
        filled
            .or(self.plan.common.length)
            .unwrap_or(PAYLOAD)
            .max(48)
    }

    fn order(&self, run: &Run<'_>, direction: Direction) -> Order {
        let rules = self.plan.rules;
        let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let (direction, seconds) = match direction {
            // The server's time begins with the order, and ends behind the load.
            Direction::Up => (OrderDirection::Up, self.plan.time() + AROUND),
            Direction::Down => (OrderDirection::Down, self.plan.time()),
        };
        Order {
            method: PHASE.to_owned(),
            direction,
            seconds,
            parameters: LoadParameters {
                bits_per_second: self.most().and_then(|rate| NonZeroU64::new(rate.0)),
                bytes: run.bytes_left().and_then(NonZeroU64::new),
                length: Some(self.payload()),
                tos: self.plan.common.tos.map(|tos| tos.0),
                feedback_ms: Some(small(self.plan.feedback.as_millis() as u64)),
                low_ms: Some(rules.low_ms as u32),
                upper_ms: Some(rules.upper_ms as u32),
                errors: Some(small(rules.errors)),
                slow_after: Some(rules.slow_after),
                count_reordering: Some(rules.count_reordering),
                one_way: Some(rules.one_way),
                ..LoadParameters::default()
            },
        }
    }

    /// Loads the direction and enters what came of it.
    fn load(
        &mut self,
        run: &mut Run<'_>,
        direction: Direction,
        one: &mut DirectionCapacity,
    ) -> Result<(), RunError> {
        run.begin(PHASE, Some(direction), self.plan.time() + AROUND);
        let _ends = run.ends(&self.stop);
        let order = self.order(run, direction);
        let ready = match self.session.order(&order) {
            Ok(ready) => ready,
            Err(error) => return Err(failure(run, &error)),
        };
        if ready.seconds < order.seconds {
            let granted = ready.seconds.as_secs_f64();
            run.deviate(format!("{direction}: the server grants {granted} s"));
        }
        one.packet_bytes = self.payload() + self.headers();
        let tcp_headers = match self.session.peer().is_ipv4() {
            true => TCP_HEADERS,
            false => TCP_HEADERS_V6,
        };
        one.tcp_segment_bytes = self.session.segment_size();
        one.tcp_packet_bytes = one.tcp_segment_bytes.map(|segment| segment + tcp_headers);
        let headers = u64::from(self.headers());
        let cut = RefCell::new(SubIntervals::new(self.plan.sub_interval));
        let newest = RefCell::new(None);
        let load = {
            let mut observe = |status: &Status| {
                *newest.borrow_mut() = Some(*status);
                let complete = cut.borrow_mut().report(&load_status(status));
                if let Some(interval) = complete {
                    run.sample(
                        "Received at the IP layer, Mbit/s",
                        interval.ip_rate(headers) / 1e6,
                    );
                    run.trial(&CapacityInterval::of(&interval, headers));
                }
            };
            match direction {
                Direction::Up => self.send(&ready, &mut observe),
                Direction::Down => self.receive(&ready, &mut observe),
            }
        };
        let load = match load {
            Ok(load) => load,
            Err(error) => return Err(failure(run, &error)),
        };
        let mut cut = cut.into_inner();
        cut.finish();
        self.enter(one, &cut, &load, &ready);
        if let Some(trip) = cut.smallest_round_trip() {
            run.know_round_trip(trip);
        }
        run.check()?;
        let arrived = newest.into_inner().map_or(0, |status| status.bytes);
        let counted = run.count_bytes(load.sent_bytes.unwrap_or(arrived).max(arrived));
        match load.end {
            OrderEnd::Complete | OrderEnd::Stopped => {}
            OrderEnd::BytesUsedUp => {
                run.deviate(format!(
                    "{direction}: ended when the granted bytes were used up"
                ));
            }
            end => return Err(self.ended(end, load.why.as_deref(), direction)),
        }
        counted?;
        if cut.all().is_empty() {
            let text = format!("{direction}: nothing of the load arrived");
            return Err(RunError::failed("no-reply", text).hinting("is UDP blocked on the way?"));
        }
        Ok(())
    }

    /// Sends a load that the server's reports steer.
    fn send(
        &mut self,
        ready: &Ready,
        observe: &mut dyn FnMut(&Status),
    ) -> Result<Load, SessionError> {
        let mut flow = self.session.flow(ready)?;
        let granted = ready.bits_per_second.map(|rate| BitRate(rate.get()));
        let most = self.most().into_iter().chain(granted).min();
        let mut search = LoadSearch::new(LoadTable::up_to(most), self.plan.rules);
        let techniques = self.plan.common.techniques;
        let plan = SendLoad {
            length: self.payload() as usize,
            until: SystemClock.now() + self.plan.time().min(ready.seconds),
            bytes: ready.bytes.map(NonZeroU64::get),
            most,
            silence: NO_REPORT,
            precision: techniques.precision(Precision::Precise),
            segmentation: techniques.uses(Technique::UdpSegmentation),
        };
        let stop = self.stop.clone();
        let sent = send_load(
            &mut flow,
            &plan,
            &mut search,
            &mut || stop.is_raised(),
            &mut |step| observe(&step.status),
        );
        self.session.end_order("the load has ended");
        let done = self.session.wait_done(LAST_WORD).ok();
        Ok(Load {
            end: sent.end,
            why: sent.why,
            sender: Some(sent.load),
            sent_bytes: Some(sent.bytes),
            socket_drops: done.and_then(|done| done.socket_drops),
        })
    }

    /// Receives a load of the server, and steers it by reports.
    fn receive(
        &mut self,
        ready: &Ready,
        observe: &mut dyn FnMut(&Status),
    ) -> Result<Load, SessionError> {
        let mut flow = self.session.flow(ready)?;
        let plan = ReceiveLoad {
            feedback: self.plan.feedback,
            until: SystemClock.now() + self.plan.time() + AROUND + NO_LOAD,
            silence: NO_LOAD,
            bytes: None,
        };
        let stop = self.stop.clone();
        let session = &mut *self.session;
        let mut done: Option<(Done, _)> = None;
        let received = receive_load(
            &mut flow,
            &plan,
            &mut || {
                if done.is_none()
                    && let Ok(Some(SessionEvent::Done(end))) = session.next_event(Duration::ZERO)
                {
                    done = Some((*end, SystemClock.now() + STRAGGLERS));
                }
                let over = done
                    .as_ref()
                    .is_some_and(|(_, end)| SystemClock.now() >= *end);
                over || stop.is_raised()
            },
            observe,
        );
        if let Some(last) = &received.last {
            observe(last);
        }
        if done.is_none() {
            session.end_order("the client has ended it");
        }
        let done = match done {
            Some((done, _)) => Some(done),
            None => session.wait_done(LAST_WORD).ok(),
        };
        let end = match (&done, received.end) {
            // The server's word counts where it has ended the load.
            (Some(done), OrderEnd::Stopped | OrderEnd::Complete) => done.end,
            (_, end) => end,
        };
        Ok(Load {
            end,
            why: received
                .why
                .or(done.as_ref().and_then(|done| done.why.clone())),
            sent_bytes: done.as_ref().map(|done| done.bytes_sent),
            sender: done.and_then(|done| done.load),
            socket_drops: received.socket_drops,
        })
    }

    /// Enters what was measured.
    fn enter(&self, one: &mut DirectionCapacity, cut: &SubIntervals, load: &Load, ready: &Ready) {
        let headers = u64::from(self.headers());
        let of = |interval| CapacityInterval::of(interval, headers);
        one.sub_intervals = cut.all().iter().map(of).collect();
        one.sent_bytes = load.sent_bytes;
        one.bimodal = self.plan.bimodal.and_then(|first| {
            let [first, rest] = cut.bimodal(first, headers);
            let of =
                |maximum: tapeline_stats::CapacityMaximum| Capacity::of(&maximum.interval, headers);
            Some(vec![of(first?), of(rest?)])
        });
        let granted = ready.bits_per_second.map(|rate| BitRate(rate.get()));
        let table = LoadTable::up_to(self.most().into_iter().chain(granted).min());
        if let Some(sender) = &load.sender {
            one.table_row_final = Some(sender.row_final);
            one.slow_mode_at_seconds = sender.slow_mode_at_ns.map(|nanos| nanos as f64 / 1e9);
        }
        let at_top = one
            .table_row_final
            .is_some_and(|row| row as usize >= table.last());
        let limited_above =
            granted.is_some_and(|granted| self.most().is_none_or(|most| granted < most));
        let maximum = cut.maximum(headers);
        // Whether something waited all the time of a sub-interval: the path was full.
        let least = cut.smallest_round_trip();
        let waits = |one: &SubInterval, longer: Duration| {
            let trips = one.round_trip.zip(least);
            trips.is_some_and(|((trip, _), least)| trip >= least + longer)
        };
        // One that was interrupted has had less time.
        let (sender, time) = (load.sender.as_ref(), cut.elapsed());
        // A path that is full in a second as good as the best, or loses what is too much, has shown its rate:
        // whatever the hosts did besides, and although the search goes on.
        let low = Duration::from_secs_f64(self.plan.rules.low_ms / 1e3);
        let best = maximum.map_or(0.0, |maximum| maximum.ip_rate);
        let shown = cut.all().iter().any(|one| {
            let loses = one.loss_ratio().is_some_and(|loss| loss >= LOSSY);
            let is_best = one.ip_rate(headers) >= BEST_SHARE * best;
            is_best && one.socket_drops.unwrap_or(0) == 0 && (loses || waits(one, low))
        });
        one.still_rising = !shown && sender.is_some_and(|sender| is_still_rising(sender, time));
        // The last row was kept, whatever came behind that.
        let top = table.rate(table.last()).0 as f64;
        let kept_top = maximum.is_some_and(|maximum| maximum.ip_rate >= TOP_KEPT * top);
        one.limited_by = match sender {
            Some(_) if at_top && kept_top && limited_above => Some("granted_rate"),
            Some(_) if at_top && kept_top => Some("requested_rate"),
            Some(sender) if sender.sender_limited && !shown => Some("sender_host"),
            _ if load.socket_drops.is_some_and(|drops| drops > 0) && !shown => {
                Some("receiver_host")
            }
            Some(_) if one.still_rising => None,
            None => None,
            Some(_) => Some("network"),
        };
        if let Some(maximum) = maximum {
            let enough = maximum.ip_rate * FULL_SHARE;
            let swings = sender.is_some_and(|sender| lowest_rate(sender, table, time) < enough);
            let full = cut.all().iter().any(|one| waits(one, QUEUED));
            one.approximate = one.limited_by == Some("network") && swings && !full;
            one.enter(&maximum, headers);
        }
    }

    /// Why a load ended that was not to.
    fn ended(&self, end: OrderEnd, why: Option<&str>, direction: Direction) -> RunError {
        let host = &self.plan.common.host;
        match (end, direction) {
            (OrderEnd::NoFeedback, Direction::Up) => {
                let text = format!("no report of {host} came for 1 s: the load was stopped");
                RunError::failed("peer-lost", text)
                    .hinting("the way back is broken, or something drops UDP on it")
            }
            (OrderEnd::NoFeedback, Direction::Down) => {
                let text = format!("the load of {host} stopped coming, or it got no reports of it");
                RunError::failed("peer-lost", text).hinting("something drops UDP on the way")
            }
            (end, _) => {
                let why = why.map_or_else(|| format!("{end:?}"), str::to_owned);
                RunError::failed("test-stopped", format!("{host} ended the load: {why}"))
            }
        }
    }
}

/// Whether the rate only rose in the end: the test was too short.
fn is_still_rising(sender: &LoadDone, time: Duration) -> bool {
    let end = time.saturating_sub(RISING).as_millis() as u32;
    let rows = &sender.rows;
    let late = rows.windows(2).filter(|pair| pair[1].0 >= end);
    let (mut rose, mut fell) = (false, false);
    for pair in late {
        rose |= pair[1].1 > pair[0].1;
        fell |= pair[1].1 < pair[0].1;
    }
    rose && !fell && !sender.sender_limited
}

/// The lowest rate of the second half, bits per second at the IP layer.
fn lowest_rate(sender: &LoadDone, table: LoadTable, time: Duration) -> f64 {
    let middle = (time / 2).as_millis() as u32;
    let rows = &sender.rows;
    let before = rows.partition_point(|change| change.0 < middle);
    let late = &rows[before.saturating_sub(1)..];
    let rates = late.iter().map(|change| table.rate(change.1 as usize).0);
    rates.min().map_or(f64::INFINITY, |rate| rate as f64)
}

/// A server that reports nothing while a load comes.
fn no_feedback() -> RunError {
    let text = "this server gives no feedback: capacity needs tapeline at both ends";
    RunError::failed("test-refused", text)
        .hinting("find-rate searches a rate with ordinary UDP tests, which iperf servers know too")
}

/// Why a session came to nothing.
fn failure(run: &Run<'_>, error: &SessionError) -> RunError {
    match error {
        SessionError::NotTapeline | SessionError::NoMethods => no_feedback(),
        _ => run.session_failure(error),
    }
}

#[cfg(test)]
mod tests {
    use tapeline_wire::native::RowChange;

    use super::*;

    #[test]
    fn a_plan_knows_the_most_that_it_moves() {
        let mut plan = CapacityPlan::new(Common::new("192.0.2.1", 5001));
        plan.common.rate = Some(BitRate(100_000_000));
        // Half a second of rising, then 100 Mbit/s.
        let bytes = plan.most_bytes();
        assert!((118_000_000..125_000_000).contains(&bytes), "{bytes}");
        let phases = plan.phases();
        assert_eq!(phases.len(), 2);
        assert_eq!(phases[0].bytes, Some(bytes));
    }

    #[test]
    fn a_rate_that_only_rose_in_the_end_is_no_capacity() {
        let rising = |rows: &[(u32, u32)]| {
            let sender = LoadDone {
                rows: rows.iter().map(|(at, row)| RowChange(*at, *row)).collect(),
                ..LoadDone::default()
            };
            is_still_rising(&sender, Duration::from_secs(10))
        };
        assert!(rising(&[(0, 0), (9500, 50), (9600, 51)]));
        assert!(!rising(&[(0, 0), (9500, 50), (9600, 49)]));
        assert!(!rising(&[(0, 0), (5000, 50), (8900, 51)]));
        assert!(!rising(&[]));
    }

    #[test]
    fn the_lowest_rate_is_that_of_the_second_half() {
        let lowest = |rows: &[(u32, u32)]| {
            let sender = LoadDone {
                rows: rows.iter().map(|(at, row)| RowChange(*at, *row)).collect(),
                ..LoadDone::default()
            };
            lowest_rate(&sender, LoadTable::up_to(None), Duration::from_secs(10))
        };
        assert_eq!(lowest(&[(0, 0), (4000, 7), (6000, 9)]), 7e6);
        assert_eq!(lowest(&[(0, 0), (4000, 7), (4500, 9), (6000, 8)]), 8e6);
        assert_eq!(lowest(&[]), f64::INFINITY);
    }
}
