//! The packet loops allocate nothing.

mod common;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use allocation_counter::measure;
use tapeline_base::{Clock, MonoTime, WallTime};
use tapeline_engine::{
    Answer, ArrivedDatagram, ArrivedFrame, ByteIntake, Call, DatagramCell, DatagramReceiver,
    DatagramStamp, FrameClock, FrameSizes, FrameTraffic, HistogramCell, HistogramRecorder,
    Intervals, LengthChain, LengthPace, LengthTraffic, Precision, ReceiveCell, ReceiverHistograms,
    RequestBurst, RequestPlan, RequestResponseCell, RequestResponseHistograms, RequestStamp,
    Requester, Respond, Responder, ResponsePlan, Schedule, SendCell, ServerTimes, Step, Stop,
    StreamContent, TcpReceivePlan, TcpReceiver, TcpSendPlan, TcpSender, TcpWork, Timing,
    UdpSendPlan, UdpTraffic, VariableRate, run_blocking, run_udp_sender,
};
use tapeline_stats::HistogramShape;
use tapeline_sys::{SocketOptions, SystemClock, TcpConn, UdpSocket};

use common::{LIMIT, connection};

fn intervals(now: MonoTime) -> Intervals {
    // Short, so that boundaries are among what is measured.
    Intervals::new(now, Some(Duration::from_micros(200)))
}

/// Allocations of the calling thread in `body`.
fn allocations(body: impl FnOnce()) -> u64 {
    measure(body).count_total
}

#[test]
fn stream_steps() {
    let (there, here) = connection();
    let now = SystemClock.now();
    let stop = Stop::new();
    let content = StreamContent::Repeated(vec![1; 4096].into());
    let cell = Arc::new(SendCell::new(intervals(now)));
    let schedule = Schedule::at_bit_rate(now, 16_384 * 8, 100_000_000_000);
    let mut sender = TcpSender::new(
        TcpSendPlan {
            timing: Timing::Paced(schedule.expect("a rate")),
            idle_timeout: LIMIT,
            ..TcpSendPlan::new(Arc::new(there), content, 16_384, cell, stop.clone())
        },
        now,
    );
    let cell = Arc::new(ReceiveCell::new(intervals(now)));
    let mut receiver = TcpReceiver::new(
        TcpReceivePlan::new(Arc::new(here), 8192, stop),
        ByteIntake::new(cell, 8192, 0, now),
    );
    let mut scratch = vec![0; receiver.scratch_length()];
    let mut progress = 0;
    let mut round = || {
        for _ in 0..1000 {
            for work in [&mut sender as &mut dyn TcpWork, &mut receiver] {
                let now = SystemClock.now();
                let step = work.step(now, Call::NonBlocking, &mut scratch);
                assert!(!matches!(step, Step::Finished(_)), "{step:?}");
                progress += u32::from(matches!(step, Step::Progress | Step::Partial));
            }
        }
    };
    round();
    assert_eq!(allocations(round), 0);
    assert!(progress > 1000, "{progress}");
}

/// Allocations of a thread that sends so many bytes, its beginning and end included.
fn of_a_stream(bytes: u64) -> u64 {
    let (there, here) = connection();
    let now = SystemClock.now();
    let stop = Stop::new();
    let content = StreamContent::Repeated(vec![1; 4096].into());
    let cell = Arc::new(SendCell::new(intervals(now)));
    let mut sender = TcpSender::new(
        TcpSendPlan {
            bytes: Some(bytes),
            idle_timeout: LIMIT,
            ..TcpSendPlan::new(Arc::new(there), content, 16_384, cell, stop.clone())
        },
        now,
    );
    let cell = Arc::new(ReceiveCell::new(intervals(now)));
    let mut receiver = TcpReceiver::new(
        TcpReceivePlan::new(Arc::new(here), 8192, stop.clone()),
        ByteIntake::new(Arc::clone(&cell), 8192, 0, now),
    );
    let other = stop.clone();
    let receiving = std::thread::spawn(move || {
        allocations(|| {
            run_blocking(&mut receiver, &other);
        })
    });
    let sending = allocations(|| {
        run_blocking(&mut sender, &stop);
    });
    let receiving = receiving.join().expect("the receiver");
    assert_eq!(cell.read().bytes, bytes);
    sending + receiving
}

#[test]
fn threads_of_streams() {
    assert_eq!(of_a_stream(100_000_000), of_a_stream(100_000));
}

/// Allocations of both threads of so many exchanges.
fn of_exchanges(requests: u64) -> u64 {
    let (there, here) = connection();
    let now = SystemClock.now();
    let mut plan = exchange_plan(there, now);
    plan.burst = None;
    plan.requests = Some(requests);
    let mut requester = Requester::new(plan, now);
    let mut responder = Responder::new(response_plan(here, now), now);
    let serving = std::thread::spawn(move || {
        allocations(|| {
            run_blocking(&mut responder, &Stop::new());
        })
    });
    let asking = allocations(|| {
        run_blocking(&mut requester, &Stop::new());
    });
    asking + serving.join().expect("the server")
}

#[test]
fn threads_of_exchanges() {
    assert_eq!(of_exchanges(5000), of_exchanges(50));
}

#[test]
fn arriving_datagrams() {
    let now = SystemClock.now();
    let cell = Arc::new(DatagramCell::new(intervals(now)));
    let recorder = || {
        let cell = HistogramCell::new(HistogramShape::DELAY, intervals(now));
        Some(HistogramRecorder::new(Arc::new(cell)))
    };
    let mut receiver = DatagramReceiver::new(1, cell, now).with_histograms(ReceiverHistograms {
        transit: recorder(),
        frames: recorder(),
        jitter: recorder(),
    });
    let mut sequence = 0_u64;
    let mut observe = |batches: u64| {
        for batch in 0..batches {
            let (now, now_wall) = (SystemClock.now(), SystemClock.wall());
            for n in 0..64 {
                sequence += 1;
                // Gaps, late ones and copies among them.
                let number = match (batch + n) % 50 {
                    0 => sequence + 7,
                    1 => sequence.saturating_sub(20).max(1),
                    _ => sequence,
                };
                let datagram = ArrivedDatagram {
                    sequence: number,
                    sent: WallTime::from_nanos(n as i64 * 1000),
                    arrival: WallTime::from_nanos(n as i64 * 1100),
                    length: 1470,
                    truncated: false,
                    marked: n % 3 == 0,
                    joined: false,
                    frame: Some(ArrivedFrame {
                        id: sequence as u32 / 10 + 1,
                        previous: sequence as u32 / 10,
                        size: 14_700,
                        due: Some(now_wall),
                    }),
                };
                receiver.observe(&datagram, now);
            }
            receiver.publish();
        }
    };
    // The history of gaps doubles a few times until it covers its window.
    observe(1100);
    assert_eq!(allocations(|| observe(1000)), 0);
    let counters = receiver.counters();
    assert!(counters.reordered > 0 && counters.duplicates > 0 && counters.marked > 0);
    assert!(counters.frames.received > 0 && counters.frames.lost > 0);
}

struct Number;

impl DatagramStamp for Number {
    fn stamp(&mut self, datagram: &mut [u8], sequence: u64, _: WallTime) {
        datagram[..8].copy_from_slice(&sequence.to_be_bytes());
    }
}

/// Allocations of a sender of `count` datagrams, its beginning included.
fn of_sending(count: u64, segmentation: bool, traffic: impl FnOnce(MonoTime) -> UdpTraffic) -> u64 {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = SocketOptions::default();
    let sink = UdpSocket::bind(any, &options).expect("socket").socket;
    let to = sink.local_addr().expect("address");
    let socket = UdpSocket::connected(to, None, &options).expect("socket");
    let start = SystemClock.now();
    let plan = UdpSendPlan {
        socket: Arc::new(socket.socket),
        to: tapeline_engine::Destination::Connected,
        template: vec![0; 100],
        first: None,
        first_sequence: 1,
        start,
        deadline: None,
        bytes: Some(count * 100),
        bytes_from: MonoTime::ZERO,
        traffic: traffic(start),
        content: None,
        precision: Precision::Precise,
        segmentation,
        ends_refused: false,
        cell: Arc::new(SendCell::new(intervals(start))),
        stop: Stop::new(),
        stamp: Number,
    };
    let mut end = None;
    let allocations = allocations(|| end = Some(run_udp_sender(plan)));
    let end = end.expect("an end");
    assert_eq!(end.counters.writes, count, "{end:?}");
    allocations
}

#[test]
fn leaving_datagrams() {
    for segmentation in [false, true] {
        for rate in [None, Some(400_000_000)] {
            let traffic = |start| {
                let schedule = rate.and_then(|rate| Schedule::at_bit_rate(start, 800, rate));
                UdpTraffic::steady(schedule)
            };
            let few = of_sending(128, segmentation, traffic);
            let many = of_sending(12_800, segmentation, traffic);
            assert_eq!(few, many, "segmentation {segmentation}, rate {rate:?}");
        }
    }
}

#[test]
fn leaving_datagrams_of_every_shape() {
    let frames = |start| {
        let clock = FrameClock::new(start, Duration::from_micros(50));
        let sizes = FrameSizes::new(1_000.0, 0.0, 1);
        UdpTraffic::Frames(FrameTraffic::new(clock, sizes, 100, 1, Duration::ZERO))
    };
    let lengths = |_| {
        let rows = [vec![0.5, 0.5], vec![0.5, 0.5]];
        let chain = LengthChain::new(&[100, 100], &rows, 1).expect("a chain");
        UdpTraffic::Lengths(LengthTraffic::new(chain, LengthPace::Unpaced))
    };
    let variable = |start| {
        let rate = VariableRate::new(start, 800, 400e6, 100e6, 1).expect("a rate");
        UdpTraffic::Variable(rate)
    };
    assert_eq!(
        of_sending(128, true, frames),
        of_sending(12_800, true, frames)
    );
    assert_eq!(
        of_sending(128, true, lengths),
        of_sending(12_800, true, lengths)
    );
    assert_eq!(
        of_sending(128, true, variable),
        of_sending(12_800, true, variable)
    );
}

struct Echo;

impl RequestStamp for Echo {
    fn stamp(&mut self, request: &mut [u8], number: u32, _: WallTime) {
        request[..4].copy_from_slice(&number.to_be_bytes());
    }

    fn is_response(&self, _: &[u8]) -> bool {
        true
    }

    fn server_times(&self, _: &[u8]) -> Option<ServerTimes> {
        let now = SystemClock.wall();
        Some(ServerTimes {
            received: now,
            sent: now,
        })
    }
}

impl Respond for Echo {
    fn read(&mut self, request: &[u8]) -> Answer {
        Answer::Reply {
            length: request.len(),
            hold: Duration::ZERO,
        }
    }

    fn stamp(&mut self, _: &mut [u8], _: WallTime, _: WallTime) {}
}

fn exchange_plan(conn: TcpConn, now: MonoTime) -> RequestPlan<Echo> {
    let histogram = || {
        let cell = HistogramCell::new(HistogramShape::DELAY, intervals(now));
        Some(HistogramRecorder::new(Arc::new(cell)))
    };
    RequestPlan {
        conn: Arc::new(conn),
        request: vec![0; 100],
        response_length: 100,
        burst: Some(RequestBurst {
            requests: 10,
            period: Duration::from_micros(50),
        }),
        quickack: true,
        yield_spin: true,
        one_way: true,
        deadline: None,
        requests: None,
        idle_timeout: LIMIT,
        cell: Arc::new(RequestResponseCell::new(intervals(now))),
        histograms: RequestResponseHistograms {
            round_trips: histogram(),
            transmit: histogram(),
            receive: histogram(),
        },
        stop: Stop::new(),
        stamp: Echo,
    }
}

fn response_plan(conn: TcpConn, now: MonoTime) -> ResponsePlan<Echo> {
    ResponsePlan {
        conn: Arc::new(conn),
        request_length: 100,
        buffer: vec![0; 100],
        already: 0,
        read_length: 800,
        quickack: true,
        yield_spin: true,
        deadline: None,
        idle_timeout: LIMIT,
        cell: Arc::new(ReceiveCell::new(intervals(now))),
        stop: Stop::new(),
        respond: Echo,
    }
}

#[test]
fn exchange_steps() {
    let (there, here) = connection();
    let now = SystemClock.now();
    let mut requester = Requester::new(exchange_plan(there, now), now);
    let mut responder = Responder::new(response_plan(here, now), now);
    let mut progress = 0;
    let mut round = || {
        for _ in 0..4000 {
            for work in [&mut requester as &mut dyn TcpWork, &mut responder] {
                let step = work.step(SystemClock.now(), Call::NonBlocking, &mut []);
                assert!(!matches!(step, Step::Finished(_)), "{step:?}");
                progress += u32::from(matches!(step, Step::Progress));
            }
        }
    };
    round();
    assert_eq!(allocations(round), 0);
    assert!(progress > 1000, "{progress}");
}
