use std::net::SocketAddr;
use std::sync::Arc;

use tapeline_sys::{SocketOptions, TcpConn, TcpListener};

use super::*;
use crate::counters::{Intervals, ReceiveCell, SendCell};
use crate::pacing::{Schedule, Timing};
use crate::tcp::{
    ByteIntake, SendEnd, StreamContent, TcpReceivePlan, TcpReceiver, TcpSendPlan, TcpSender,
};

/// Long enough for the busiest machine; only a failing test waits for it.
const LIMIT: Duration = Duration::from_secs(30);

fn connection() -> (Arc<TcpConn>, TcpConn) {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = SocketOptions::default();
    let listener = TcpListener::bind(any, &options, 8)
        .expect("listener")
        .socket;
    let to = listener.local_addr().expect("address");
    let client = TcpConn::connect(to, None, &options, Some(LIMIT)).expect("connection");
    loop {
        if let Some((server, _)) = listener.accept().expect("accept") {
            return (Arc::new(client.conn), server);
        }
        std::thread::yield_now();
    }
}

/// Panics at its third step.
struct Faulty {
    conn: Arc<TcpConn>,
    steps: usize,
}

impl TcpWork for Faulty {
    fn step(&mut self, _: MonoTime, _: Call, _: &mut [u8]) -> Step {
        self.steps += 1;
        assert!(self.steps < 3, "a fault, as ordered by the test");
        Step::Progress
    }
    fn scratch_length(&self) -> usize {
        0
    }
    fn conn(&self) -> &TcpConn {
        &self.conn
    }
    fn interest(&self) -> Interest {
        Interest::WRITE
    }
    fn next_look(&self) -> MonoTime {
        MonoTime::FAR
    }
}

fn sender(conn: &Arc<TcpConn>, stop: &Stop, bytes: Option<u64>) -> Box<dyn TcpWork> {
    let now = SystemClock.now();
    let plan = TcpSendPlan {
        bytes,
        end: SendEnd::Leave,
        idle_timeout: LIMIT,
        ..TcpSendPlan::new(
            Arc::clone(conn),
            StreamContent::Repeated(vec![0; 8192].into()),
            8192,
            Arc::new(SendCell::new(Intervals::new(now, None))),
            stop.clone(),
        )
    };
    Box::new(TcpSender::new(plan, now))
}

fn run(pool: &Pool, work: Box<dyn TcpWork>, stop: &Stop, many: bool) -> mpsc::Receiver<Ending> {
    let (end, ended) = mpsc::channel();
    let on_end = Box::new(move |ending| end.send(ending).expect("the test waits"));
    pool.run(work, stop, many, on_end);
    ended
}

#[test]
fn a_panic_ends_its_own_flow_only() {
    for many in [false, true] {
        let pool = Pool::new(8);
        let stop = Stop::new();
        let pairs: Vec<_> = (0..4).map(|_| connection()).collect();
        let healthy: Vec<_> = pairs
            .iter()
            .map(|(conn, _)| run(&pool, sender(conn, &stop, None), &stop, many))
            .collect();
        let (conn, _server) = connection();
        let faulty = Box::new(Faulty { conn, steps: 0 });
        let ending = run(&pool, faulty, &stop, many)
            .recv_timeout(LIMIT)
            .expect("an end");
        assert!(matches!(ending.cause, Cause::Worker(_)), "{ending:?}");
        stop.raise();
        for flow in healthy {
            let ending = flow.recv_timeout(LIMIT).expect("an end");
            assert!(matches!(ending.cause, Cause::Stopped), "{ending:?}");
        }
        assert_eq!(pool.threaded.load(Ordering::Acquire), 0);
    }
}

#[test]
fn a_panic_at_the_end_of_a_flow_leaves_the_worker() {
    let pool = Pool::new(0);
    let stop = Stop::new();
    for _ in 0..4 {
        let (conn, _server) = connection();
        pool.run(
            sender(&conn, &stop, Some(1)),
            &stop,
            true,
            Box::new(|_| panic!("a fault, as ordered by the test")),
        );
    }
    let (conn, _server) = connection();
    let ending = run(&pool, sender(&conn, &stop, Some(1)), &stop, true)
        .recv_timeout(LIMIT)
        .expect("an end");
    assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
}

#[test]
fn both_directions_of_a_connection_run_polled() {
    let pool = Pool::new(0);
    let stop = Stop::new();
    let (conn, _server) = connection();
    // More than there are workers: some of them meet the connection again.
    let flows: Vec<_> = (0..pool.max_workers * 2)
        .map(|_| run(&pool, sender(&conn, &stop, Some(8192)), &stop, true))
        .collect();
    for flow in flows {
        let ending = flow.recv_timeout(LIMIT).expect("an end");
        assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
    }
}

#[test]
fn workers_end_with_their_pool_and_its_flows() {
    let pool = Pool::new(0);
    let stop = Stop::new();
    let (conn, _server) = connection();
    let flow = run(&pool, sender(&conn, &stop, None), &stop, true);
    let counter = Arc::downgrade(&pool.threaded);
    drop(pool);
    assert!(flow.recv_timeout(Duration::from_millis(50)).is_err());
    stop.raise();
    let ending = flow.recv_timeout(LIMIT).expect("an end");
    assert!(matches!(ending.cause, Cause::Stopped), "{ending:?}");
    let until = std::time::Instant::now() + LIMIT;
    while counter.strong_count() > 0 {
        assert!(std::time::Instant::now() < until, "a worker is left");
        std::thread::yield_now();
    }
}

#[test]
fn a_pool_of_threads_shares_no_worker() {
    let names = |pool: &Pool| {
        let stop = Stop::new();
        let (reports, names) = mpsc::channel();
        let pairs: Vec<_> = (0..3).map(|_| connection()).collect();
        for (conn, _) in &pairs {
            let reports = reports.clone();
            let on_end = Box::new(move |_| {
                let name = std::thread::current().name().map(str::to_owned);
                reports.send(name).expect("the test waits");
            });
            pool.run(sender(conn, &stop, Some(1)), &stop, true, on_end);
        }
        [0; 3].map(|_| names.recv_timeout(LIMIT).expect("an end"))
    };
    let called = |name: &str| [0; 3].map(|_| Some(name.to_owned()));
    assert_eq!(names(&Pool::default()), called("flows"));
    assert_eq!(names(&Pool::of_threads()), called("flow"));
}

/// A worker of many flows: free and paced senders, and their receivers.
#[test]
fn a_polling_worker_allocates_nothing_while_its_flows_run() {
    let waker = Arc::new(Waker::new().expect("waker"));
    let (jobs, inbox) = mpsc::channel();
    let mut poller = Poller::new().expect("poller");
    poller
        .register(&waker, WAKE_TOKEN, Interest::READ)
        .expect("registration");
    let mut worker = Polled::new(poller, Arc::clone(&waker), inbox, Arc::default());
    let stop = Stop::new();
    let now = SystemClock.now();
    // Short, so that boundaries are among what is measured.
    let intervals = || Intervals::new(now, Some(Duration::from_millis(1)));
    let give = |work: Box<dyn TcpWork>| {
        let job = Job {
            work,
            stop: stop.clone(),
            end: End(Some(Box::new(|_| {}))),
        };
        jobs.send(job).expect("a worker");
    };
    let mut cells = Vec::new();
    for paced in [false, true, true, false, false, true] {
        let (conn, peer) = connection();
        let content = StreamContent::Repeated(vec![0; 8192].into());
        let mut plan = TcpSendPlan {
            idle_timeout: LIMIT,
            ..TcpSendPlan::new(
                conn,
                content,
                8192,
                Arc::new(SendCell::new(intervals())),
                stop.clone(),
            )
        };
        if paced {
            let schedule = Schedule::at_bit_rate(now, 8 * 8192, 200_000_000);
            plan.timing = Timing::Paced(schedule.expect("a rate"));
        }
        give(Box::new(TcpSender::new(plan, now)));
        let cell = Arc::new(ReceiveCell::new(intervals()));
        cells.push(Arc::clone(&cell));
        let plan = TcpReceivePlan::new(Arc::new(peer), 8192, stop.clone());
        give(Box::new(TcpReceiver::new(
            plan,
            ByteIntake::new(cell, 8192, 0, now),
        )));
    }
    waker.wake();
    let mut events = Events::with_capacity(EVENTS);
    let mut rounds = |count| {
        for _ in 0..count {
            worker.round(&mut events).expect("a round");
        }
    };
    rounds(2000);
    let before: Vec<u64> = cells.iter().map(|cell| cell.read().bytes).collect();
    let allocated = allocation_counter::measure(|| rounds(4000));
    assert_eq!(allocated.count_total, 0);
    for (cell, before) in cells.iter().zip(before) {
        assert!(cell.read().bytes > before, "a flow that stood still");
    }
}

#[test]
fn a_polled_flow_ends_at_its_deadline_and_when_its_peer_is_silent() {
    let pool = Pool::new(0);
    let stop = Stop::new();
    let now = SystemClock.now();
    let plan = |conn: Arc<TcpConn>| TcpReceivePlan::new(conn, 100, stop.clone());
    let receive = |plan: TcpReceivePlan| -> Box<dyn TcpWork> {
        let cell = Arc::new(ReceiveCell::new(Intervals::new(now, None)));
        Box::new(TcpReceiver::new(plan, ByteIntake::new(cell, 100, 0, now)))
    };
    let (conn, _silent) = connection();
    let deadline = receive(TcpReceivePlan {
        deadline: Some(now + Duration::from_millis(50)),
        ..plan(conn)
    });
    let deadline = run(&pool, deadline, &stop, true);
    let (conn, _silent) = connection();
    let idle_timeout = Duration::from_millis(80);
    let silence = receive(TcpReceivePlan {
        idle_timeout,
        first_idle_timeout: idle_timeout,
        ..plan(conn)
    });
    let silence = run(&pool, silence, &stop, true);
    let ending = deadline.recv_timeout(LIMIT).expect("an end");
    assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
    let ending = silence.recv_timeout(LIMIT).expect("an end");
    assert!(
        matches!(ending.cause, Cause::Vanished(after) if after > idle_timeout),
        "{ending:?}"
    );
}
