//! How flows end when the peer does not play along.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tapeline_base::{Clock, MonoTime, WallTime};
use tapeline_engine::{
    Answer, ByteIntake, Cause, Ending, Intake, Intervals, NextRead, ReceiveCell, RequestPlan,
    RequestResponseCell, RequestResponseHistograms, RequestStamp, Requester, Respond, Responder,
    ResponsePlan, SendCell, SendEnd, ServerTimes, Stop, StreamContent, TcpReceivePlan, TcpReceiver,
    TcpSendPlan, TcpSender, TcpWork, run_blocking,
};
use tapeline_sys::{SystemClock, TcpConn};

use common::{LIMIT, connection};

const TIMEOUT: Duration = Duration::from_millis(60);

fn intervals() -> Intervals {
    Intervals::new(SystemClock.now(), None)
}

/// Runs a flow on a thread; fails when it takes much longer than anything it may wait for.
#[track_caller]
fn run(mut work: impl TcpWork + 'static, stop: &Stop) -> Ending {
    let stop = stop.clone();
    let began = Instant::now();
    let thread = std::thread::spawn(move || run_blocking(&mut work, &stop));
    while !thread.is_finished() {
        assert!(began.elapsed() < LIMIT, "no end");
        std::thread::sleep(Duration::from_millis(1));
    }
    thread.join().expect("the flow")
}

fn sender(conn: TcpConn, bytes: Option<u64>, end: SendEnd, stop: &Stop) -> TcpSender {
    let now = SystemClock.now();
    let cell = Arc::new(SendCell::new(intervals()));
    let content = StreamContent::Repeated(vec![1; 4096].into());
    let plan = TcpSendPlan {
        bytes,
        end,
        idle_timeout: TIMEOUT,
        ..TcpSendPlan::new(Arc::new(conn), content, 65_536, cell, stop.clone())
    };
    TcpSender::new(plan, now)
}

fn receiver(conn: TcpConn, stop: &Stop) -> TcpReceiver<ByteIntake> {
    let now = SystemClock.now();
    let cell = Arc::new(ReceiveCell::new(intervals()));
    let plan = TcpReceivePlan {
        idle_timeout: TIMEOUT,
        first_idle_timeout: TIMEOUT,
        ..TcpReceivePlan::new(Arc::new(conn), 8192, stop.clone())
    };
    TcpReceiver::new(plan, ByteIntake::new(cell, 8192, 0, now))
}

/// Is stopped between the look at the flag and the read.
struct Stopped {
    intake: ByteIntake,
    stop: Stop,
}

impl Intake for Stopped {
    fn bytes(&self) -> u64 {
        self.intake.bytes()
    }

    fn last(&self) -> MonoTime {
        self.intake.last()
    }

    fn next_read(&self, length: usize) -> NextRead {
        self.stop.raise();
        self.intake.next_read(length)
    }

    fn take(&mut self, count: usize, data: &[u8], now: MonoTime) {
        self.intake.take(count, data, now);
    }

    fn publish(&self) {
        self.intake.publish();
    }

    fn next_boundary(&self) -> MonoTime {
        self.intake.next_boundary()
    }
}

#[test]
fn a_peer_that_closes_while_the_flow_is_stopped_is_not_early() {
    let (there, here) = connection();
    drop(here);
    let stop = Stop::new();
    let now = SystemClock.now();
    let cell = Arc::new(ReceiveCell::new(intervals()));
    let plan = TcpReceivePlan {
        expected: Some(now + Duration::from_secs(3600)),
        ..TcpReceivePlan::new(Arc::new(there), 8192, stop.clone())
    };
    let intake = Stopped {
        intake: ByteIntake::new(cell, 8192, 0, now),
        stop: stop.clone(),
    };
    let ending = run(TcpReceiver::new(plan, intake), &stop);
    assert!(matches!(ending.cause, Cause::Stopped), "{ending:?}");
}

#[test]
fn data_that_is_held_back_is_waited_for() {
    let (there, here) = connection();
    let stop = Stop::new();
    let now = SystemClock.now();
    let cell = Arc::new(ReceiveCell::new(intervals()));
    let plan = TcpReceivePlan {
        idle_timeout: TIMEOUT,
        first_idle_timeout: Duration::from_secs(3600),
        ..TcpReceivePlan::new(Arc::new(there), 8192, stop.clone())
    };
    let work = TcpReceiver::new(plan, ByteIntake::new(Arc::clone(&cell), 8192, 0, now));
    let late = std::thread::spawn(move || {
        std::thread::sleep(TIMEOUT + TIMEOUT / 4);
        here.send_all(&[0; 1000]).expect("data");
    });
    let ending = run(work, &stop);
    assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
    assert_eq!(cell.read().bytes, 1000);
    late.join().expect("the sender");
}

/// The silence belongs to the cause, not to the time measured.
#[track_caller]
fn assert_vanished(ending: &Ending, began: MonoTime) {
    let Cause::Vanished(silence) = ending.cause else {
        panic!("{ending:?}");
    };
    let ended = SystemClock.now();
    assert!(silence > TIMEOUT);
    assert!(ended.since(ending.at) >= TIMEOUT, "{ending:?}");
    assert!(ending.at >= began);
}

#[test]
fn a_receiver_whose_sender_is_silent() {
    let (there, here) = connection();
    let began = SystemClock.now();
    there.send_all(b"some").expect("send");
    assert_vanished(&run(receiver(here, &Stop::new()), &Stop::new()), began);
}

#[test]
fn a_sender_whose_receiver_does_not_read() {
    let (there, _here) = connection();
    let began = SystemClock.now();
    let stop = Stop::new();
    let end = SendEnd::ShutdownAndDrain(LIMIT);
    assert_vanished(&run(sender(there, None, end, &stop), &stop), began);
}

#[test]
fn a_peer_that_never_closes_does_not_lengthen_the_test() {
    let (there, _here) = connection();
    let stop = Stop::new();
    let end = SendEnd::ShutdownAndDrain(TIMEOUT);
    let ending = run(sender(there, Some(1000), end, &stop), &stop);
    assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
    assert!(SystemClock.now().since(ending.at) >= TIMEOUT);
}

#[test]
fn data_arrives_whole_although_the_close_does_not_count() {
    let (there, here) = connection();
    let stop = Stop::new();
    let begun = Arc::new(std::sync::Barrier::new(2));
    let ready = Arc::clone(&begun);
    let reader = std::thread::spawn(move || {
        // Unread by the sender, an answer would turn an early close into a reset.
        here.send_all(&[0; 28]).expect("an answer");
        ready.wait();
        std::thread::sleep(Duration::from_millis(50));
        let began = SystemClock.now();
        let mut read = vec![0; 1000];
        here.recv_exact(&mut read).expect("all of it");
        began
    });
    begun.wait();
    let end = SendEnd::ShutdownUncounted(LIMIT);
    let ending = run(sender(there, Some(1000), end, &stop), &stop);
    assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
    let first_read = reader.join().expect("the reader");
    assert!(ending.at < first_read, "{ending:?}");
}

#[test]
fn a_peer_that_talks_without_end_is_not_listened_to_without_end() {
    let (there, here) = connection();
    let stop = Stop::new();
    let talker = std::thread::spawn(move || while here.send_all(&[0; 4096]).is_ok() {});
    let end = SendEnd::ShutdownAndDrain(TIMEOUT);
    let ending = run(sender(there, Some(1000), end, &stop), &stop);
    assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
    talker.join().expect("the talker");
}

#[test]
fn a_stopped_sender_does_not_wait_for_the_close() {
    let (there, _here) = connection();
    let stop = Stop::new();
    let work = sender(there, Some(1000), SendEnd::ShutdownAndDrain(LIMIT), &stop);
    let stopper = stop.clone();
    let later = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        stopper.raise();
    });
    let began = Instant::now();
    let ending = run(work, &stop);
    assert!(began.elapsed() < LIMIT / 2);
    assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
    later.join().expect("the stopper");
}

struct Plain;

impl RequestStamp for Plain {
    fn stamp(&mut self, _: &mut [u8], _: u32, _: WallTime) {}

    fn is_response(&self, _: &[u8]) -> bool {
        true
    }

    fn server_times(&self, _: &[u8]) -> Option<ServerTimes> {
        None
    }
}

impl Respond for Plain {
    fn read(&mut self, request: &[u8]) -> Answer {
        Answer::Reply {
            length: request.len(),
            hold: Duration::ZERO,
        }
    }

    fn stamp(&mut self, _: &mut [u8], _: WallTime, _: WallTime) {}
}

fn requester(conn: TcpConn, deadline: MonoTime, stop: &Stop) -> Requester<Plain> {
    let now = SystemClock.now();
    Requester::new(
        RequestPlan {
            conn: Arc::new(conn),
            request: vec![0; 100],
            response_length: 100_000,
            burst: None,
            quickack: true,
            yield_spin: true,
            one_way: false,
            deadline: Some(deadline),
            requests: None,
            idle_timeout: TIMEOUT,
            cell: Arc::new(RequestResponseCell::new(intervals())),
            histograms: RequestResponseHistograms::default(),
            stop: stop.clone(),
            stamp: Plain,
        },
        now,
    )
}

#[test]
fn an_answer_byte_by_byte_is_not_waited_for_without_end() {
    let (there, here) = connection();
    let stop = Stop::new();
    let work = requester(there, SystemClock.now(), &stop);
    let trickle = std::thread::spawn(move || {
        while here.send_all(&[0]).is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let ending = run(work, &stop);
    assert!(matches!(ending.cause, Cause::Vanished(_)), "{ending:?}");
    trickle.join().expect("the answerer");
}

#[test]
fn a_slow_answer_is_no_silence() {
    // Each half takes less than the timeout, both together more.
    let (there, here) = connection();
    let stop = Stop::new();
    let work = requester(there, SystemClock.now() + TIMEOUT, &stop);
    let answerer = std::thread::spawn(move || {
        let mut request = [0; 100];
        here.recv_exact(&mut request).expect("a request");
        for _ in 0..5 {
            std::thread::sleep(TIMEOUT / 4);
            here.send_all(&[0; 20_000]).expect("an answer");
        }
        let mut rest = [0; 4096];
        while here.recv(&mut rest).is_ok_and(|count| count > 0) {}
    });
    let ending = run(work, &stop);
    assert!(!matches!(ending.cause, Cause::Failed(..)), "{ending:?}");
    answerer.join().expect("the answerer");
}

#[test]
fn a_responder_whose_client_is_silent_within_a_request() {
    let (there, here) = connection();
    let stop = Stop::new();
    there.send_all(&[0; 50]).expect("half a request");
    let work = responder(here, &stop);
    let ending = run(work, &stop);
    assert!(matches!(ending.cause, Cause::Vanished(_)), "{ending:?}");
}

#[test]
fn a_responder_waits_for_a_client_between_requests() {
    let (there, here) = connection();
    let stop = Stop::new();
    let client = std::thread::spawn(move || {
        for _ in 0..2 {
            there.send_all(&[0; 100]).expect("a request");
            there.recv_exact(&mut [0; 100]).expect("a response");
            std::thread::sleep(TIMEOUT * 2);
        }
    });
    let ending = run(responder(here, &stop), &stop);
    assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
    client.join().expect("the client");
}

#[test]
fn a_client_that_goes_within_a_request_has_failed() {
    let (there, here) = connection();
    let stop = Stop::new();
    there.send_all(&[0; 50]).expect("half a request");
    drop(there);
    let ending = run(responder(here, &stop), &stop);
    assert!(matches!(ending.cause, Cause::Failed(..)), "{ending:?}");
}

fn responder(conn: TcpConn, stop: &Stop) -> Responder<Plain> {
    Responder::new(
        ResponsePlan {
            conn: Arc::new(conn),
            request_length: 100,
            buffer: vec![0; 100],
            already: 0,
            read_length: 100,
            quickack: true,
            yield_spin: true,
            deadline: None,
            idle_timeout: TIMEOUT,
            cell: Arc::new(ReceiveCell::new(intervals())),
            stop: stop.clone(),
            respond: Plain,
        },
        SystemClock.now(),
    )
}
