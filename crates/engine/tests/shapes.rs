//! Shaped TCP traffic: stamped bursts and their latency, frames, pauses, input.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use allocation_counter::measure;
use tapeline_base::{Clock, MonoTime, WallTime};
use tapeline_engine::{
    BurstCell, BurstFormat, BurstHead, BurstIntake, BurstPlan, BurstStamp, BurstStart, ByteIntake,
    Call, Cause, DelayCell, DelayPublisher, FrameClock, FrameSizes, HistogramCell, HistogramReader,
    HistogramRecorder, Intervals, KernelPacing, LatencyFrom, PayloadSource, Preamble, ReceiveCell,
    Rest, Schedule, SendCell, Step, Stop, StreamContent, TcpReceivePlan, TcpReceiver, TcpSendPlan,
    TcpSender, TcpWork, Timing, WriteTimes, run_blocking,
};
use tapeline_stats::HistogramShape;
use tapeline_sys::{SystemClock, TcpConn};

use common::{LIMIT, connection};

const HEADER: usize = 24;

/// A stamp of three words: number and size, end, time.
#[derive(Debug, Default)]
struct Stamp(Arc<AtomicU64>);

impl BurstStamp for Stamp {
    fn length(&self) -> usize {
        HEADER
    }

    fn stamp(&mut self, bytes: &mut [u8], burst: &BurstStart) {
        self.0.store(burst.end, Ordering::Relaxed);
        bytes[..4].copy_from_slice(&(burst.id as u32).to_be_bytes());
        bytes[4..8].copy_from_slice(&burst.size.to_be_bytes());
        bytes[8..16].copy_from_slice(&burst.end.to_be_bytes());
        bytes[16..24].copy_from_slice(&burst.wall.as_nanos().to_be_bytes());
    }
}

struct Format;

impl BurstFormat for Format {
    const HEADER: usize = HEADER;

    fn head(&self, header: &[u8]) -> Option<BurstHead> {
        let word = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("four"));
        let nanos = i64::from_be_bytes(header[16..24].try_into().expect("eight"));
        Some(BurstHead {
            id: word(0),
            size: word(4),
            written: WallTime::from_nanos(nanos),
        })
    }

    fn preamble(&self, _: &[u8]) -> Preamble {
        Preamble::Length(0)
    }
}

fn intervals(now: MonoTime) -> Intervals {
    // Short, so that boundaries are among what is measured.
    Intervals::new(now, Some(Duration::from_micros(500)))
}

fn send_plan(conn: TcpConn, content: StreamContent, block: usize) -> TcpSendPlan {
    let cell = Arc::new(SendCell::new(intervals(SystemClock.now())));
    TcpSendPlan {
        idle_timeout: LIMIT,
        ..TcpSendPlan::new(Arc::new(conn), content, block, cell, Stop::new())
    }
}

fn stamped(block: usize) -> StreamContent {
    StreamContent::stamped(vec![7; block].into(), Box::new(Stamp::default()))
}

fn bursts(
    conn: TcpConn,
    length: usize,
    discard: bool,
) -> (TcpReceiver<BurstIntake<Format>>, Arc<BurstCell>) {
    let now = SystemClock.now();
    let cell = Arc::new(BurstCell::new(intervals(now)));
    let shape = HistogramShape::DELAY;
    let histogram = Arc::new(HistogramCell::new(shape, intervals(now)));
    let plan = BurstPlan {
        cell: Arc::clone(&cell),
        length,
        already: 0,
        latency_from: LatencyFrom::Stamp,
        discard,
        histogram: Some(HistogramRecorder::new(histogram)),
        log: None,
    };
    let receive = TcpReceivePlan {
        idle_timeout: LIMIT,
        discard,
        ..TcpReceivePlan::new(Arc::new(conn), length, Stop::new())
    };
    let intake = BurstIntake::new(Format, plan, false, now);
    (TcpReceiver::new(receive, intake), cell)
}

/// Runs a sender and a receiver of bytes to their ends; what was received.
fn through(plan: TcpSendPlan, there: TcpConn) -> u64 {
    let now = SystemClock.now();
    let cell = Arc::new(ReceiveCell::new(intervals(now)));
    let stop = Stop::new();
    let receive = TcpReceivePlan::new(Arc::new(there), 65_536, stop.clone());
    let mut receiver =
        TcpReceiver::new(receive, ByteIntake::new(Arc::clone(&cell), 65_536, 0, now));
    let reading = std::thread::spawn(move || run_blocking(&mut receiver, &stop));
    let stop = plan.stop.clone();
    let ending = run_blocking(&mut TcpSender::new(plan, now), &stop);
    assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
    reading.join().expect("the receiver");
    cell.read().bytes
}

#[test]
fn every_burst_is_measured_and_nothing_is_allocated() {
    for discard in [false, true] {
        let (here, there) = connection();
        let mut sender = TcpSender::new(send_plan(here, stamped(9_000), 9_000), SystemClock.now());
        let (mut receiver, cell) = bursts(there, 8192, discard);
        let mut scratch = vec![0; 8192];
        let mut round = || {
            for _ in 0..500 {
                for work in [&mut sender as &mut dyn TcpWork, &mut receiver] {
                    let now = SystemClock.now();
                    let step = work.step(now, Call::NonBlocking, &mut scratch);
                    assert!(!matches!(step, Step::Finished(_)), "{step:?}");
                }
            }
        };
        round();
        assert_eq!(measure(round).count_total, 0);
        let counters = cell.read();
        assert!(counters.latency.count > 100, "{counters:?}");
        assert_eq!(counters.complete, counters.latency.count * 9_000);
        assert!(counters.latency.min > 0.0, "{counters:?}");
        assert!(!counters.broken);
        assert_eq!(counters.skipped, 0);
    }
}

#[test]
fn frames_are_as_long_as_drawn_and_cut_by_the_byte_limit() {
    let (here, there) = connection();
    let now = SystemClock.now();
    let errors = Arc::new(DelayCell::new(Intervals::new(now, None)));
    let plan = TcpSendPlan {
        bytes: Some(100_000),
        timing: Timing::Clocked {
            clock: FrameClock::new(now, Duration::from_millis(2)),
            sizes: FrameSizes::new(10_000.0, 0.0, 1),
        },
        schedule_errors: Some(DelayPublisher::new(Arc::clone(&errors))),
        ..send_plan(here, stamped(4_000), 4_000)
    };
    let stop = Stop::new();
    let (mut receiver, cell) = bursts(there, 65_536, false);
    let reading = std::thread::spawn(move || run_blocking(&mut receiver, &stop));
    let sent = Arc::clone(&plan.cell);
    let stop = plan.stop.clone();
    run_blocking(&mut TcpSender::new(plan, now), &stop);
    reading.join().expect("the receiver");
    let (sent, received) = (sent.read(), cell.read());
    assert_eq!((sent.bytes, sent.frames.sent), (100_000, 10));
    assert_eq!((received.complete, received.latency.count), (100_000, 10));
    // What the sender's clock left out is what the receiver misses.
    assert_eq!(received.skipped, sent.frames.missed);
    let errors = errors.read().delays;
    assert_eq!(errors.count, 10);
    assert!(errors.min >= 0.0);
    // Ten frames of three writes each.
    assert_eq!(sent.writes, 30);
}

#[test]
fn input_is_sent_whole_and_ends_the_test() {
    for stamp in [false, true] {
        let (here, there) = connection();
        let input: Vec<u8> = vec![b'i'; 300_001];
        let source = PayloadSource::start(std::io::Cursor::new(input), 1000).expect("a thread");
        let stamp = stamp.then(|| Box::new(Stamp::default()) as Box<dyn BurstStamp>);
        let stamped = stamp.is_some();
        let plan = send_plan(here, StreamContent::input(1024, source, stamp), 1024);
        let received = through(plan, there);
        if stamped {
            assert!(received > 300_001, "{received}");
        } else {
            assert_eq!(received, 300_001);
        }
    }
}

#[test]
fn a_flow_that_begins_after_its_deadline_sends_one_block() {
    let (here, there) = connection();
    let plan = TcpSendPlan {
        deadline: Some(SystemClock.now()),
        ..send_plan(here, StreamContent::Repeated(vec![1; 4096].into()), 4096)
    };
    assert_eq!(through(plan, there), 4096);
}

#[test]
fn near_congestion_pauses_after_each_block() {
    let (here, there) = connection();
    let plan = TcpSendPlan {
        bytes: Some(200_000),
        // The round-trip time of loopback is tens of microseconds: a thousand of them are
        // longer than anything else in this test.
        timing: Timing::Resting(Rest::new(1000.0)),
        ..send_plan(here, StreamContent::Repeated(vec![1; 4096].into()), 20_000)
    };
    let rtt = plan.conn.tcp_info().and_then(|info| info.rtt_us);
    let began = SystemClock.now();
    assert_eq!(through(plan, there), 200_000);
    if rtt.is_some_and(|rtt| rtt > 0) {
        let took = SystemClock.now().since(began);
        assert!(took > Duration::from_millis(9), "{took:?}");
    }
}

#[test]
fn writes_are_timed() {
    let (here, there) = connection();
    let now = SystemClock.now();
    let times = Arc::new(DelayCell::new(Intervals::new(now, None)));
    let histogram = Arc::new(HistogramCell::new(
        HistogramShape::DELAY,
        Intervals::new(now, None),
    ));
    let recorder = HistogramRecorder::new(Arc::clone(&histogram));
    let publisher = DelayPublisher::new(Arc::clone(&times));
    let plan = TcpSendPlan {
        bytes: Some(100_000),
        write_times: Some(WriteTimes::new(publisher, Some(recorder))),
        ..send_plan(here, StreamContent::Repeated(vec![1; 4096].into()), 10_000)
    };
    through(plan, there);
    let times = times.read().delays;
    assert_eq!(times.count, 10);
    assert!(times.min > 0.0);
    assert_eq!(HistogramReader::new(histogram).total().total(), 10);
}

#[test]
fn pacing_steps_while_the_sender_runs() {
    let (here, there) = connection();
    let now = SystemClock.now();
    let plan = TcpSendPlan {
        deadline: Some(now + Duration::from_millis(60)),
        pacing: Some(KernelPacing::stepped(
            8_000_000,
            1_000_000,
            Duration::from_millis(20),
            now,
        )),
        ..send_plan(here, StreamContent::Repeated(vec![1; 4096].into()), 4096)
    };
    let cell = Arc::clone(&plan.cell);
    through(plan, there);
    let rate = cell.read().pacing_rate;
    assert!((10_000_000..=12_000_000).contains(&rate), "{rate}");
}

#[test]
fn a_write_waits_for_room_before_it_is_stamped() {
    let (here, there) = connection();
    if here.set_notsent_lowat(1).is_err() {
        return;
    }
    let plan = TcpSendPlan {
        wait_for_room: true,
        ..send_plan(here, stamped(60_000), 60_000)
    };
    let cell = Arc::clone(&plan.cell);
    let mut sender = TcpSender::new(plan, SystemClock.now());
    let mut scratch = vec![0; 4096];
    // Nobody reads: at some point no burst may begin any more, although the send buffer as
    // such could take some.
    let mut waits = 0;
    for _ in 0..10_000 {
        let step = sender.step(SystemClock.now(), Call::NonBlocking, &mut scratch);
        waits = if matches!(step, Step::NotReady) {
            waits + 1
        } else {
            0
        };
        if waits == 100 {
            break;
        }
    }
    assert_eq!(waits, 100);
    drop(there);
    assert!(cell.read().bytes > 0);
}

#[test]
fn a_limited_receiver_counts_bytes_not_reads() {
    let (here, there) = connection();
    let now = SystemClock.now();
    let plan = TcpSendPlan {
        bytes: Some(400_000),
        ..send_plan(here, StreamContent::Repeated(vec![1; 500].into()), 500)
    };
    let cell = Arc::new(ReceiveCell::new(intervals(now)));
    let stop = Stop::new();
    // 16 Mbit/s: 0.2 s, however short the reads are.
    let receive = TcpReceivePlan {
        schedule: Schedule::at_bit_rate(now, 8, 16_000_000),
        ..TcpReceivePlan::new(Arc::new(there), 100_000, stop.clone())
    };
    let intake = ByteIntake::new(Arc::clone(&cell), 100_000, 0, now);
    let mut receiver = TcpReceiver::new(receive, intake);
    let reading = std::thread::spawn(move || run_blocking(&mut receiver, &stop));
    let stop = plan.stop.clone();
    run_blocking(&mut TcpSender::new(plan, now), &stop);
    let ending = reading.join().expect("the receiver");
    assert_eq!(cell.read().bytes, 400_000);
    let took = ending.at.since(now);
    assert!(took > Duration::from_millis(150), "{took:?}");
    assert!(took < Duration::from_secs(5), "{took:?}");
}
