//! What a flow's own thread does until its socket is ready.

mod common;

use std::time::Duration;

use tapeline_base::{Clock, MonoTime};
use tapeline_engine::{Call, Cause, Ending, Step, Stop, TcpWork, WaitMode, run_waiting};
use tapeline_sys::{Interest, SystemClock, TcpConn};

use common::connection;

/// Never ready; notes how it is called, and ends when it has been allowed to block.
struct Silent {
    conn: TcpConn,
    interest: Interest,
    calls: Vec<(MonoTime, Call)>,
}

impl TcpWork for Silent {
    fn step(&mut self, now: MonoTime, call: Call, _: &mut [u8]) -> Step {
        self.calls.push((now, call));
        match call {
            Call::Blocking => Step::Finished(Ending::new(Cause::Complete, now)),
            Call::NonBlocking => Step::NotReady,
        }
    }

    fn scratch_length(&self) -> usize {
        0
    }

    fn conn(&self) -> &TcpConn {
        &self.conn
    }

    fn interest(&self) -> Interest {
        self.interest
    }

    fn next_look(&self) -> MonoTime {
        MonoTime::FAR
    }
}

/// The calls of a workload on which nothing ever arrives.
fn calls(mode: WaitMode, interest: Interest) -> (MonoTime, Vec<(MonoTime, Call)>) {
    let (conn, _peer) = connection();
    let mut work = Silent {
        conn,
        interest,
        calls: Vec::new(),
    };
    let start = SystemClock.now();
    run_waiting(&mut work, &Stop::new(), mode);
    (start, work.calls)
}

#[test]
fn a_receiver_that_stays_awake_looks_and_sleeps_when_its_peer_is_silent() {
    for mode in [WaitMode::Spin, WaitMode::Yield] {
        let (start, calls) = calls(mode, Interest::READ);
        let (last, looks) = calls.split_last().expect("calls");
        assert!(looks.len() > 1000, "{mode:?}: {} looks", looks.len());
        assert!(looks.iter().all(|(_, call)| *call == Call::NonBlocking));
        assert_eq!(last.1, Call::Blocking, "{mode:?}");
        assert!(last.0.since(start) >= Duration::from_secs(1), "{mode:?}");
    }
}

#[test]
fn a_thread_that_may_sleep_and_a_sender_block_at_once() {
    for (mode, interest) in [
        (WaitMode::Auto, Interest::READ),
        (WaitMode::Sleep, Interest::READ),
        (WaitMode::Spin, Interest::WRITE),
        (WaitMode::Yield, Interest::WRITE),
    ] {
        let (_, calls) = calls(mode, interest);
        assert_eq!(calls.len(), 1, "{mode:?} {interest:?}");
        assert_eq!(calls[0].1, Call::Blocking, "{mode:?} {interest:?}");
    }
}
