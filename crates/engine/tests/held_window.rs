//! A window that the sender keeps by itself.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tapeline_base::Clock;
use tapeline_engine::{
    Cause, HeldWindow, Intervals, SendCell, SendEnd, Stop, StreamContent, TcpSendPlan, TcpSender,
    run_blocking,
};
use tapeline_sys::{SystemClock, TcpConn};

use common::{LIMIT, connection};

const WINDOW: u32 = 30_001;

fn sender(conn: &Arc<TcpConn>, stop: &Stop) -> TcpSender {
    let now = SystemClock.now();
    let cell = Arc::new(SendCell::new(Intervals::new(now, None)));
    let content = StreamContent::Repeated(vec![1; 4096].into());
    let plan = TcpSendPlan {
        window: Some(HeldWindow::new(WINDOW, Duration::from_millis(20))),
        end: SendEnd::Leave,
        idle_timeout: Duration::from_millis(300),
        ..TcpSendPlan::new(Arc::clone(conn), content, 1 << 20, cell, stop.clone())
    };
    TcpSender::new(plan, now)
}

#[test]
fn a_full_window_is_exact_in_bytes_and_stays_full() {
    let (there, here) = connection();
    let conn = Arc::new(there);
    let stop = Stop::new();
    let mut work = sender(&conn, &stop);
    let flag = stop.clone();
    let thread = std::thread::spawn(move || run_blocking(&mut work, &flag));
    // Nobody reads: first the receiver's buffer fills, then the window.
    let began = Instant::now();
    let mut most = 0;
    while !thread.is_finished() {
        assert!(began.elapsed() < LIMIT, "no end");
        most = most.max(conn.unacknowledged_bytes().unwrap_or(0));
        std::thread::sleep(Duration::from_micros(500));
    }
    let ending = thread.join().expect("the flow");
    // A peer that takes nothing is given up as ever.
    assert!(matches!(ending.cause, Cause::Vanished(_)), "{ending:?}");
    if conn.unacknowledged_bytes().is_some() {
        assert_eq!(conn.unacknowledged_bytes(), Some(u64::from(WINDOW)));
        assert_eq!(most, u64::from(WINDOW));
    }
    drop(here);
}

#[test]
fn looks_follow_the_round_trip_within_bounds() {
    let polls = [
        (0, 100),
        (800, 100),
        (8000, 500),
        (20_000, 1000),
        (600_000, 1000),
    ];
    for (round_trip, expected) in polls {
        let window = HeldWindow::new(1, Duration::from_micros(round_trip));
        assert_eq!(window.poll, Duration::from_micros(expected));
    }
}
