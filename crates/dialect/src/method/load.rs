//! Both ends of a load whose rate its receiver's reports steer: `capacity`, up and down.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tapeline_base::{BitRate, Clock, MonoTime, MutexExt, WallTime};
use tapeline_engine::{
    Cause, DatagramStamp, Destination, Intervals, Precision, RateOrder, SendCell, SteeredRate,
    Stop, UdpSendEnd, UdpSendPlan, UdpTraffic, run_udp_sender,
};
use tapeline_stats::{HostLimit, LoadSearch, LoadStatus};
use tapeline_sys::{SystemClock, reason};
use tapeline_wire::native::{
    LoadDone, LoadEcho, MAX_ROWS, MethodDatagram, MethodKind, OrderEnd, RowChange, Status,
};

use super::flow::MethodFlow;
use super::load_receiver::LoadReceiver;
use crate::native::clock_sync::nanos;

/// Longest wait between two looks at whether to go on.
const LOOK: Duration = Duration::from_millis(20);
/// Time for the last reports when the load has ended.
const LAST_REPORTS: Duration = Duration::from_millis(300);
/// Room for what waits in this host's queues, bytes as the system counts them.
const SEND_BUFFER: usize = 8 << 20;
/// A status in a datagram, bytes: no report leaves before as much has arrived.
const REPORT: u64 = (MethodDatagram::LENGTH + Status::LENGTH) as u64;

/// How a load is received.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveLoad {
    /// Time between two reports.
    pub feedback: Duration,
    /// When it ends.
    pub until: MonoTime,
    /// Time for the first datagram, and without any after it.
    pub silence: Duration,
    /// Most payload that is taken, bytes.
    pub bytes: Option<u64>,
}

/// What came of a load.
#[derive(Clone, Debug)]
pub struct LoadReceived {
    /// Why it ended.
    pub end: OrderEnd,
    /// More of it, in words.
    pub why: Option<String>,
    /// Everything that arrived; `None` where nothing did.
    pub last: Option<Status>,
    /// Datagrams that this end's socket had no room for.
    pub socket_drops: Option<u64>,
}

/// Receives a load and reports what arrives, to the sender and to `observe`, until it ends or `is_over`.
pub fn receive_load(
    flow: &mut MethodFlow,
    plan: &ReceiveLoad,
    is_over: &mut dyn FnMut() -> bool,
    observe: &mut dyn FnMut(&Status),
) -> LoadReceived {
    flow.expect_load();
    let before = flow.dropped();
    let drops = |flow: &MethodFlow| Some(flow.dropped()?.saturating_sub(before?));
    let began = SystemClock.now();
    let mut receiver = LoadReceiver::new();
    let mut next: Option<MonoTime> = None;
    let mut number = 0;
    let mut why = None;
    let end = loop {
        let now = SystemClock.now();
        let newest = receiver.newest().unwrap_or(began);
        let received = receiver.bytes();
        if is_over() {
            break OrderEnd::Stopped;
        } else if now >= plan.until {
            break OrderEnd::Complete;
        } else if now.since(newest) >= plan.silence {
            break OrderEnd::NoFeedback;
        } else if plan.bytes.is_some_and(|bytes| received > bytes) {
            break OrderEnd::BytesUsedUp;
        }
        let due = next.unwrap_or(plan.until).min(plan.until);
        let came = flow.receive(due.since(now).min(LOOK), |datagram| {
            if datagram.head.kind == MethodKind::Load {
                let now = SystemClock.now();
                receiver.take(&datagram.head, datagram.payload, datagram.arrival, now);
            }
        });
        if let Err(error) = came {
            why = Some(reason(&error));
            break OrderEnd::Failed;
        }
        let now = SystemClock.now();
        if receiver.newest().is_some() {
            let due = *next.get_or_insert(now + plan.feedback);
            if now >= due && receiver.unreported() >= REPORT {
                next = Some((due + plan.feedback).max(now));
                if let Some(status) = receiver.status(drops(flow)) {
                    number += 1;
                    // Another one follows.
                    let _ = flow.send_status(number, &status);
                    observe(&status);
                }
            }
        }
    };
    let socket_drops = drops(flow);
    LoadReceived {
        end,
        why,
        last: receiver.so_far(socket_drops),
        socket_drops,
    }
}

/// How a load is sent.
#[derive(Clone, Copy, Debug)]
pub struct SendLoad {
    /// Payload of a datagram, bytes; at least 48.
    pub length: usize,
    /// When it ends.
    pub until: MonoTime,
    /// Most payload that is sent, bytes.
    pub bytes: Option<u64>,
    /// Most bits per second of IP packets, below the table's first row too.
    pub most: Option<BitRate>,
    /// Time without a report after which nothing more is sent.
    pub silence: Duration,
    /// How due times are waited for.
    pub precision: Precision,
    /// Allow several datagrams per call.
    pub segmentation: bool,
}

/// What was sent of a load.
#[derive(Clone, Debug)]
pub struct LoadSent {
    /// Why it ended.
    pub end: OrderEnd,
    /// More of it, in words.
    pub why: Option<String>,
    /// Datagrams.
    pub datagrams: u64,
    /// Their payload, bytes.
    pub bytes: u64,
    /// What the search did, for the other end.
    pub load: LoadDone,
}

/// What the sender of a load knows when a report has come.
#[derive(Clone, Copy, Debug)]
pub struct LoadStep {
    /// The report.
    pub status: Status,
    /// The row of the search from here on.
    pub row: usize,
}

/// Sends a load whose rate follows the receiver's reports by the rules of `search`, until it ends or
/// `is_over`.
pub fn send_load(
    flow: &mut MethodFlow,
    plan: &SendLoad,
    search: &mut LoadSearch,
    is_over: &mut dyn FnMut() -> bool,
    observe: &mut dyn FnMut(&LoadStep),
) -> LoadSent {
    flow.leave_presence_to_load();
    // Smaller queues of this host would be taken for the path's.
    let _ = flow.socket().enlarge_send_buffer(SEND_BUFFER);
    let length = plan.length.max(MethodKind::Load.shortest());
    let packet_bits = (length as u64 + u64::from(flow.headers())) * 8;
    let start = SystemClock.now();
    let capped = |rate: BitRate| plan.most.map_or(rate, |most| rate.min(most));
    let order = RateOrder::new(capped(search.rate()));
    let echo = Arc::new(Mutex::new((0, WallTime::default())));
    let cell = Arc::new(SendCell::new(Intervals::new(start, None)));
    let stop = Stop::new();
    let whole = |bytes: u64| bytes - bytes % length as u64;
    let send_plan = UdpSendPlan {
        socket: Arc::clone(flow.socket()),
        to: Destination::Connected,
        template: flow.fill(MethodKind::Load, 0, 0, length).to_vec(),
        first: None,
        first_sequence: 0,
        start,
        deadline: Some(plan.until),
        bytes: plan.bytes.map(whole),
        bytes_from: MonoTime::ZERO,
        traffic: UdpTraffic::Steered(SteeredRate::new(start, packet_bits, order.clone())),
        content: None,
        precision: plan.precision,
        segmentation: plan.segmentation,
        ends_refused: false,
        cell: Arc::clone(&cell),
        stop: stop.clone(),
        stamp: LoadStamp {
            echo: Arc::clone(&echo),
        },
    };
    let mut load = LoadDone {
        row_final: search.row() as u32,
        rows: vec![RowChange(0, search.row() as u32)],
        ..LoadDone::default()
    };
    let mut why = None;
    let (end, sent) = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("load".into())
            .spawn_scoped(scope, move || run_udp_sender(send_plan));
        let thread = match thread {
            Ok(thread) => thread,
            Err(error) => {
                why = Some(reason(&error));
                return (OrderEnd::Failed, None);
            }
        };
        let mut heard = start;
        let mut counted = (start, 0);
        let mut newest = 0;
        let mut ended: Option<(OrderEnd, MonoTime)> = None;
        let end = loop {
            let now = SystemClock.now();
            if ended.is_none() {
                let end = if is_over() {
                    Some(OrderEnd::Stopped)
                } else if now >= plan.until {
                    Some(OrderEnd::Complete)
                } else if now.since(heard) >= plan.silence {
                    Some(OrderEnd::NoFeedback)
                } else if thread.is_finished() {
                    Some(OrderEnd::BytesUsedUp)
                } else {
                    None
                };
                if let Some(end) = end {
                    stop.raise();
                    ended = Some((end, now));
                }
            }
            if let Some((end, at)) = ended
                && (end == OrderEnd::Stopped || now.since(at) >= LAST_REPORTS)
            {
                break end;
            }
            let mut status = None;
            let came = flow.receive(LOOK, |datagram| {
                if let Some(read) = datagram.status()
                    && datagram.head.number > newest
                {
                    newest = datagram.head.number;
                    status = Some(read);
                    *echo.lock_unpoisoned() = (datagram.head.sent, datagram.arrival);
                }
            });
            if let Err(error) = came {
                stop.raise();
                why = Some(reason(&error));
                break OrderEnd::Failed;
            }
            let Some(status) = status else {
                continue;
            };
            let now = SystemClock.now();
            heard = now;
            load.statuses += 1;
            if ended.is_none() {
                let total = cell.read().writes;
                let since = now.since(counted.0).as_secs_f64();
                let due = order.rate().0 as f64 * since / packet_bits as f64;
                search.sent(total.saturating_sub(counted.1), due);
                counted = (now, total);
                let before = search.row();
                search.report(&load_status(&status));
                if search.row() != before {
                    order.set(capped(search.rate()));
                    if load.rows.len() < MAX_ROWS {
                        let at = now.since(start).as_millis();
                        let at = u32::try_from(at).unwrap_or(u32::MAX);
                        load.rows.push(RowChange(at, search.row() as u32));
                    }
                }
            }
            observe(&LoadStep {
                status,
                row: search.row(),
            });
        };
        (end, thread.join().ok())
    });
    load.row_final = search.row() as u32;
    load.slow_mode_at_ns = search.slow_since().map(tapeline_base::whole_nanos);
    load.sender_limited = search.host_limit() == Some(HostLimit::Sender);
    let (end, why) = outcome(end, why, sent.as_ref());
    let counters = sent.map(|sent| sent.counters).unwrap_or_default();
    LoadSent {
        end,
        why,
        datagrams: counters.writes,
        bytes: counters.bytes,
        load,
    }
}

/// Why a load ended, as its thread knows better.
fn outcome(
    end: OrderEnd,
    why: Option<String>,
    sent: Option<&UdpSendEnd>,
) -> (OrderEnd, Option<String>) {
    match sent.map(|sent| &sent.ending.cause) {
        Some(Cause::Failed(_, error)) => (OrderEnd::Failed, Some(reason(error))),
        _ => (end, why),
    }
}

/// A report as the search takes it.
#[must_use]
pub fn load_status(status: &Status) -> LoadStatus {
    let known = Some(status.round_trip).filter(|round_trip| *round_trip > 0);
    LoadStatus {
        elapsed: Duration::from_nanos(status.elapsed),
        datagrams: status.datagrams,
        bytes: status.bytes,
        lost: status.lost,
        reordered: status.reordered,
        duplicates: status.duplicates,
        round_trip: known.map(Duration::from_nanos),
        delay_variation: Some(Duration::from_nanos(status.delay_variation)),
        socket_drops: Some(status.socket_drops).filter(|drops| *drops != u64::MAX),
    }
}

/// Number, time, and what a load repeats of the newest status.
struct LoadStamp {
    /// T1 of the newest status, and its arrival.
    echo: Arc<Mutex<(u64, WallTime)>>,
}

impl DatagramStamp for LoadStamp {
    #[inline]
    fn stamp(&mut self, datagram: &mut [u8], sequence: u64, wall: WallTime) {
        let (status_sent, arrived) = *self.echo.lock_unpoisoned();
        let now = nanos(wall);
        let echo = LoadEcho {
            status_sent,
            held: if status_sent > 0 {
                now.saturating_sub(nanos(arrived))
            } else {
                0
            },
        };
        // A template is never shorter.
        if let Some(front) = datagram.first_chunk_mut::<48>() {
            front[12..16].copy_from_slice(&(sequence as u32).to_be_bytes());
            front[24..32].copy_from_slice(&now.to_be_bytes());
            front[32..].copy_from_slice(&echo.encode());
        }
    }
}
