//! Requests and responses: when they leave, what they count.

mod common;

use std::sync::{Arc, mpsc};
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, WallTime};
use tapeline_engine::{
    Answer, Cause, Ending, HistogramCell, HistogramReader, HistogramRecorder, Intervals, Pool,
    ReceiveCell, RequestBurst, RequestPlan, RequestResponseCell, RequestResponseHistograms,
    RequestStamp, Requester, Respond, Responder, ResponsePlan, ServerTimes, Stop, TcpWork,
    run_blocking,
};
use tapeline_stats::HistogramShape;
use tapeline_sys::{SystemClock, TcpConn};

use common::{LIMIT, connection};

const SIZE: usize = 100;

/// Number and time in front of a message; responses carry the server's times behind.
struct Plain {
    /// Held back by this responder.
    hold: Duration,
    /// Seconds that the server's clock is ahead.
    ahead: i64,
    /// The client loses its processor for as long while it stamps a request.
    pause: Duration,
}

const EXACT: Plain = Plain {
    hold: Duration::ZERO,
    ahead: 0,
    pause: Duration::ZERO,
};

fn put(message: &mut [u8], at: usize, wall: WallTime) {
    message[at..at + 8].copy_from_slice(&wall.as_nanos().to_be_bytes());
}

fn get(message: &[u8], at: usize) -> WallTime {
    let bytes = message[at..at + 8].try_into().expect("eight bytes");
    WallTime::from_nanos(i64::from_be_bytes(bytes))
}

impl RequestStamp for Plain {
    fn stamp(&mut self, request: &mut [u8], number: u32, wall: WallTime) {
        request[..4].copy_from_slice(&number.to_be_bytes());
        put(request, 4, wall);
        std::thread::sleep(self.pause);
    }

    fn is_response(&self, response: &[u8]) -> bool {
        response[..4] != [0; 4]
    }

    fn server_times(&self, response: &[u8]) -> Option<ServerTimes> {
        Some(ServerTimes {
            received: get(response, 12),
            sent: get(response, 20),
        })
    }
}

impl Respond for Plain {
    fn read(&mut self, _: &[u8]) -> Answer {
        Answer::Reply {
            length: SIZE,
            hold: self.hold,
        }
    }

    fn stamp(&mut self, buffer: &mut [u8], received: WallTime, sent: WallTime) {
        let ahead = self.ahead * 1_000_000_000;
        let shift = |wall: WallTime| WallTime::from_nanos(wall.as_nanos() + ahead);
        put(buffer, 12, shift(received));
        put(buffer, 20, shift(sent));
    }
}

fn request_plan(conn: TcpConn, start: MonoTime) -> RequestPlan<Plain> {
    RequestPlan {
        conn: Arc::new(conn),
        request: vec![0; SIZE],
        response_length: SIZE,
        burst: None,
        quickack: true,
        yield_spin: true,
        one_way: false,
        deadline: None,
        requests: None,
        idle_timeout: LIMIT,
        cell: Arc::new(RequestResponseCell::new(Intervals::new(start, None))),
        histograms: RequestResponseHistograms::default(),
        stop: Stop::new(),
        stamp: EXACT,
    }
}

fn responder(conn: TcpConn, respond: Plain, stop: &Stop) -> Responder<Plain> {
    responder_with(conn, respond, true, stop)
}

fn responder_with(conn: TcpConn, respond: Plain, quickack: bool, stop: &Stop) -> Responder<Plain> {
    let now = SystemClock.now();
    Responder::new(
        ResponsePlan {
            conn: Arc::new(conn),
            request_length: SIZE,
            buffer: vec![0; SIZE],
            already: 0,
            read_length: 800,
            quickack,
            yield_spin: true,
            deadline: None,
            idle_timeout: LIMIT,
            cell: Arc::new(ReceiveCell::new(Intervals::new(now, None))),
            stop: stop.clone(),
            respond,
        },
        now,
    )
}

fn serve(conn: TcpConn, respond: Plain) -> std::thread::JoinHandle<Ending> {
    let stop = Stop::new();
    let mut work = responder(conn, respond, &stop);
    std::thread::spawn(move || run_blocking(&mut work, &stop))
}

#[test]
fn a_burst_leaves_at_each_tick_under_the_number_of_its_slot() {
    const PERIOD: Duration = Duration::from_millis(20);
    let (there, here) = connection();
    let start = SystemClock.now();
    let mut plan = request_plan(there, start);
    plan.burst = Some(RequestBurst {
        requests: 3,
        period: PERIOD,
    });
    plan.requests = Some(12);
    let mut requester = Requester::new(plan, start);
    let client = std::thread::spawn(move || run_blocking(&mut requester, &Stop::new()));
    let mut arrivals = Vec::new();
    let mut message = [0; SIZE];
    while here.recv_exact(&mut message).is_ok() {
        let number = u32::from_be_bytes(message[..4].try_into().expect("four bytes"));
        arrivals.push((number, SystemClock.now()));
        here.send_all(&message).expect("a response");
    }
    let ending = client.join().expect("the client");
    assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
    assert_eq!(arrivals.len(), 12);
    for burst in arrivals.chunks(3) {
        let slot = burst[0].0;
        assert!(burst.iter().all(|(number, _)| *number == slot), "{burst:?}");
        let tick = start + PERIOD * (slot - 1);
        assert!(burst[0].1 >= tick, "{burst:?}");
    }
    let slots: Vec<u32> = arrivals.chunks(3).map(|burst| burst[0].0).collect();
    assert_eq!(slots[0], 1);
    assert!(slots.is_sorted_by(|a, b| a < b), "{slots:?}");
}

#[test]
fn a_test_with_a_period_lasts_until_its_time_is_over() {
    let (there, here) = connection();
    let server = serve(here, EXACT);
    let start = SystemClock.now();
    let mut plan = request_plan(there, start);
    plan.burst = Some(RequestBurst {
        requests: 2,
        period: LIMIT,
    });
    let deadline = start + Duration::from_millis(50);
    plan.deadline = Some(deadline);
    let cell = Arc::clone(&plan.cell);
    let ending = run_blocking(&mut Requester::new(plan, start), &Stop::new());
    assert!(ending.at >= deadline);
    assert_eq!(cell.read().round_trips.count, 2);
    assert_eq!(cell.read().sent, 200);
    assert!(matches!(
        server.join().expect("the server").cause,
        Cause::Complete
    ));
}

#[test]
fn the_first_request_waits_for_the_start() {
    let (there, here) = connection();
    let start = SystemClock.now() + Duration::from_millis(30);
    let mut plan = request_plan(there, start);
    plan.requests = Some(1);
    let mut requester = Requester::new(plan, start);
    let client = std::thread::spawn(move || run_blocking(&mut requester, &Stop::new()));
    here.recv_exact(&mut [0; SIZE]).expect("a request");
    assert!(SystemClock.now() >= start);
    here.send_all(&[0; SIZE]).expect("a response");
    client.join().expect("the client");
}

/// Runs `count` exchanges with one-way delays against a server; the counters and the histograms.
fn one_way(count: u64, respond: Plain) -> (Arc<RequestResponseCell>, [HistogramReader; 3]) {
    let (there, here) = connection();
    let stamp = Plain { ..respond };
    let server = serve(here, respond);
    let start = SystemClock.now();
    let intervals = Intervals::new(start, None);
    let cells = [0; 3].map(|_| Arc::new(HistogramCell::new(HistogramShape::DELAY, intervals)));
    let mut recorders = cells
        .iter()
        .map(|cell| HistogramRecorder::new(Arc::clone(cell)));
    let mut plan = request_plan(there, start);
    plan.stamp = stamp;
    plan.one_way = true;
    plan.requests = Some(count);
    plan.histograms = RequestResponseHistograms {
        round_trips: recorders.next(),
        transmit: recorders.next(),
        receive: recorders.next(),
    };
    let cell = Arc::clone(&plan.cell);
    run_blocking(&mut Requester::new(plan, start), &Stop::new());
    server.join().expect("the server");
    (cell, cells.map(HistogramReader::new))
}

#[test]
fn one_way_delays_leave_the_hold_out() {
    let hold = Duration::from_millis(15);
    let (cell, histograms) = one_way(3, Plain { hold, ..EXACT });
    let counters = cell.read();
    let delays = counters.one_way;
    assert_eq!(delays.clock_errors, 0);
    assert!(counters.round_trips.min >= hold.as_secs_f64());
    for (series, name) in [
        (delays.transmit.all, "transmit"),
        (delays.receive.all, "receive"),
        (delays.asymmetry.all, "asymmetry"),
    ] {
        assert_eq!(series.count, 3, "{name}");
        assert!(series.min >= 0.0, "{name}");
    }
    let ways = delays.transmit.all.mean + delays.receive.all.mean;
    assert!(ways + hold.as_secs_f64() <= counters.round_trips.mean + 1e-4);
    for histogram in histograms {
        assert_eq!(histogram.total().total(), 3);
    }
}

#[test]
fn a_client_that_loses_its_processor_while_it_stamps_has_no_negative_delays() {
    let pause = Duration::from_millis(3);
    let (cell, _) = one_way(3, Plain { pause, ..EXACT });
    let delays = cell.read().one_way;
    assert_eq!((delays.receive.all.count, delays.clock_errors), (3, 0));
}

#[test]
fn clocks_that_disagree_are_errors_and_no_delays() {
    for ahead in [5, -5] {
        let (cell, _) = one_way(4, Plain { ahead, ..EXACT });
        let counters = cell.read();
        assert_eq!(counters.round_trips.count, 4);
        assert_eq!(counters.one_way.clock_errors, 4, "{ahead} s");
        assert!(counters.one_way.transmit.all.is_empty());
    }
}

#[test]
fn a_hold_does_not_block_the_other_flows_of_a_worker() {
    let pool = Pool::new(0);
    let stop = Stop::new();
    let run = |work: Box<dyn TcpWork>| {
        let (end, ended) = mpsc::channel();
        let on_end = Box::new(move |ending| drop(end.send(ending)));
        pool.run(work, &stop, true, on_end);
        ended
    };
    // On every worker a flow that holds its response for as long as the test may take.
    let held: Vec<_> = (0..std::thread::available_parallelism().map_or(2, |n| n.get().max(2)))
        .map(|_| {
            let (there, here) = connection();
            there.send_all(&[0; SIZE]).expect("a request");
            let respond = Plain {
                hold: LIMIT * 10,
                ..EXACT
            };
            let ended = run(Box::new(responder(here, respond, &stop)));
            (there, ended)
        })
        .collect();
    for _ in 0..held.len() {
        let (there, here) = connection();
        let ended = run(Box::new(responder(here, EXACT, &stop)));
        there.send_all(&[7; SIZE]).expect("a request");
        there.set_receive_timeout(Some(LIMIT)).expect("timeout");
        there.recv_exact(&mut [0; SIZE]).expect("a response");
        drop(there);
        let ending = ended.recv_timeout(LIMIT).expect("an end");
        assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
    }
    stop.raise();
    for (_there, ended) in held {
        let ending = ended.recv_timeout(LIMIT).expect("an end");
        assert!(matches!(ending.cause, Cause::Stopped), "{ending:?}");
    }
}

#[test]
fn responses_of_another_size_are_distinguished() {
    // Longer ones: the second one read begins inside the first one.
    let (there, here) = connection();
    let mut message = [0; 150];
    message[3] = 1;
    here.send_all(&message).expect("a response");
    here.send_all(&message).expect("a response");
    let start = SystemClock.now();
    let mut plan = request_plan(there, start);
    plan.requests = Some(3);
    let ending = run_blocking(&mut Requester::new(plan, start), &Stop::new());
    assert_misfit(&ending);
    // Shorter ones: as much as the request, and silence.
    let (there, here) = connection();
    here.send_all(&message[..SIZE]).expect("a response");
    let start = SystemClock.now();
    let mut plan = request_plan(there, start);
    plan.response_length = 150;
    plan.idle_timeout = Duration::from_millis(60);
    let ending = run_blocking(&mut Requester::new(plan, start), &Stop::new());
    assert_misfit(&ending);
    drop(here);
}

#[track_caller]
fn assert_misfit(ending: &Ending) {
    let Cause::Failed(_, error) = &ending.cause else {
        panic!("{ending:?}");
    };
    assert!(error.to_string().contains("size"), "{error}");
}

/// Time for which nothing leaves an end that could carry an acknowledgement; shorter than
/// systems put one off (40 ms).
#[cfg(target_os = "linux")]
const PAUSE: Duration = Duration::from_millis(30);

/// Whether what `conn` sent is acknowledged before anything comes back.
#[cfg(target_os = "linux")]
fn is_acknowledged_alone(conn: &TcpConn) -> bool {
    use tapeline_sys::{Interest, Wait};
    loop {
        if conn
            .wait_ready(Interest::READ, Wait::Never)
            .expect("readiness")
        {
            return false;
        }
        if conn.unacknowledged_bytes() == Some(0) {
            return true;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// In how many of the later exchanges that was so: at first systems acknowledge at once.
#[cfg(target_os = "linux")]
fn acknowledged_alone(mut exchange: impl FnMut() -> bool) -> usize {
    let alone: Vec<bool> = (0..16).map(|_| exchange()).collect();
    alone[8..].iter().filter(|alone| **alone).count()
}

#[cfg(target_os = "linux")]
#[test]
fn a_held_request_is_acknowledged_at_once_when_asked_for() {
    for quickack in [true, false] {
        let (there, here) = connection();
        let stop = Stop::new();
        let respond = Plain {
            hold: PAUSE,
            ..EXACT
        };
        let mut work = responder_with(here, respond, quickack, &stop);
        let server = std::thread::spawn(move || run_blocking(&mut work, &Stop::new()));
        let alone = acknowledged_alone(|| {
            there.send_all(&[0; SIZE]).expect("a request");
            let alone = is_acknowledged_alone(&there);
            there.recv_exact(&mut [0; SIZE]).expect("a response");
            alone
        });
        drop(there);
        server.join().expect("the server");
        assert_eq!(alone > 4, quickack, "{alone} of 8");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_response_is_acknowledged_at_once_when_asked_for() {
    for quickack in [true, false] {
        let (there, here) = connection();
        let start = SystemClock.now();
        let mut plan = request_plan(there, start);
        plan.quickack = quickack;
        plan.requests = Some(17);
        plan.burst = Some(RequestBurst {
            requests: 1,
            period: PAUSE,
        });
        let mut work = Requester::new(plan, start);
        let client = std::thread::spawn(move || run_blocking(&mut work, &Stop::new()));
        let mut message = [0; SIZE];
        let alone = acknowledged_alone(|| {
            here.recv_exact(&mut message).expect("a request");
            here.send_all(&message).expect("a response");
            is_acknowledged_alone(&here)
        });
        drop(here);
        client.join().expect("the client");
        assert_eq!(alone > 4, quickack, "{alone} of 8");
    }
}
