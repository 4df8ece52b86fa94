use std::sync::Arc;
use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_stats::{Moments, ReadSizes};

use super::cell::NO_EXTREMES;
use super::*;

fn at(millis: u64) -> MonoTime {
    MonoTime::from_nanos(millis * 1_000_000)
}

fn seconds() -> Intervals {
    Intervals::new(at(0), Some(Duration::from_secs(1)))
}

fn counters(transits: &[f64]) -> DatagramCounters {
    let mut transit = Moments::EMPTY;
    for t in transits {
        transit.add(*t);
    }
    DatagramCounters {
        received: transits.len() as u64,
        transit,
        jitter_ns: 1.5,
        ..DatagramCounters::default()
    }
}

#[test]
fn every_counter_survives_the_cell() {
    let cell = Arc::new(DatagramCell::new(seconds()));
    let publisher = DatagramPublisher::new(Arc::clone(&cell));
    let mut c = counters(&[1.0, 3.0]);
    c.bytes = 1;
    c.total = 2;
    c.lost = 3;
    c.reordered = 4;
    c.duplicates = 5;
    c.skipped = 6;
    c.out_of_order = 7;
    c.truncated = 8;
    c.jitter_count = 9;
    c.jitter_mean_ns = 0.25;
    c.last = MonoTime::from_nanos(10);
    publisher.publish(&c);
    assert_eq!(cell.read(), c);

    let receive = Arc::new(ReceiveCell::new(seconds()));
    let mut reads = ReadSizes::new(131_072);
    reads.record(131_072);
    reads.record(5);
    let c = ReceiveCounters {
        bytes: 131_077,
        reads,
        last: MonoTime::from_nanos(3),
    };
    ReceivePublisher::new(Arc::clone(&receive)).publish(&c);
    assert_eq!(receive.read(), c);

    let bursts = Arc::new(BurstCell::new(seconds()));
    let c = BurstCounters {
        receive: c,
        latency: [0.25, 0.5, 0.125].into_iter().collect(),
        complete: 1,
        skipped: 2,
        broken: true,
        ..BurstCounters::new(reads)
    };
    BurstPublisher::new(Arc::clone(&bursts)).publish(&c);
    assert_eq!(bursts.read(), c);

    let delays = Arc::new(DelayCell::new(seconds()));
    assert_eq!(delays.read().delays, Moments::EMPTY);
    let c = DelayCounters { delays: c.latency };
    DelayPublisher::new(Arc::clone(&delays)).publish(&c);
    assert_eq!(delays.read(), c);

    let send = Arc::new(SendCell::new(seconds()));
    let c = SendCounters {
        bytes: 1,
        writes: 2,
        errors: 3,
        timeouts: 4,
        late: 5,
        frames: crate::pacing::FrameCounts {
            sent: 6,
            missed: 7,
            slips: 8,
        },
        pacing_rate: 9,
        input_awaited: 11,
        room_awaited: 12,
        refused: 13,
        unreachable: 14,
        last: MonoTime::from_nanos(10),
    };
    SendPublisher::new(Arc::clone(&send)).publish(&c);
    assert_eq!(send.read(), c);
}

#[test]
fn an_unpublished_cell_is_empty() {
    let reads = ReadSizes::new(0);
    let received = ReceiveCell::new(seconds()).read();
    assert_eq!(received, ReceiveCounters::new(reads));
    assert_eq!(BurstCell::new(seconds()).read(), BurstCounters::new(reads));
    let datagrams = DatagramCell::new(seconds()).read();
    assert_eq!((datagrams.bytes, datagrams.transit.count), (0, 0));
    let sent = SendCell::new(seconds()).close_interval(0).counters;
    assert_eq!(sent, SendCounters::default());
}

#[test]
fn a_late_sampler_still_sees_the_boundary() {
    let cell = Arc::new(SendCell::new(seconds()));
    let mut publisher = SendPublisher::new(Arc::clone(&cell));
    let mut c = SendCounters::default();
    for millis in [100, 900, 1010, 1020] {
        publisher.at(at(millis), &c);
        c.bytes += 1;
        publisher.publish(&c);
    }
    // Read at 1.02 s: two events belong to the first interval, two to the second.
    let closed = cell.close_interval(0);
    assert_eq!((closed.counters.bytes, closed.next), (2, 1));
    assert_eq!(cell.close_interval(1).counters.bytes, 4);
}

#[test]
fn a_sampler_that_missed_a_boundary_gets_one_long_interval() {
    let cell = Arc::new(SendCell::new(seconds()));
    let mut publisher = SendPublisher::new(Arc::clone(&cell));
    let mut c = SendCounters::default();
    for millis in [500, 1500, 2500] {
        publisher.at(at(millis), &c);
        c.bytes += 1;
        publisher.publish(&c);
    }
    let closed = cell.close_interval(0);
    assert_eq!((closed.counters.bytes, closed.next), (2, 2));
}

#[test]
fn an_idle_flow_has_empty_intervals() {
    let cell = Arc::new(SendCell::new(seconds()));
    let publisher = SendPublisher::new(Arc::clone(&cell));
    let c = SendCounters {
        bytes: 7,
        ..SendCounters::default()
    };
    publisher.publish(&c);
    for index in 0..3 {
        let closed = cell.close_interval(index);
        assert_eq!((closed.counters.bytes, closed.next), (7, index + 1));
    }
}

#[test]
fn extremes_belong_to_their_interval() {
    let cell = Arc::new(DatagramCell::new(seconds()));
    let mut publisher = DatagramPublisher::new(Arc::clone(&cell));
    let mut seen = vec![];
    for (millis, transit) in [(100, 3.0), (200, 1.0), (2100, 9.0), (2200, 8.0)] {
        publisher.at(at(millis), &counters(&seen));
        publisher.extreme(transit);
        seen.push(transit);
        publisher.publish(&counters(&seen));
        if millis == 200 {
            assert_eq!(cell.close_interval(0).extremes, (1.0, 3.0));
            assert_eq!(cell.close_interval(1).extremes, NO_EXTREMES);
        }
    }
    assert_eq!(cell.close_interval(2).extremes, (8.0, 9.0));
}

#[test]
fn words_and_boundary_are_read_together() {
    // Each mark says of which boundary it is; a reader must never see them mixed.
    let cell = Arc::new(SendCell::new(Intervals::new(
        at(0),
        Some(Duration::from_nanos(1)),
    )));
    let writer = {
        let cell = Arc::clone(&cell);
        std::thread::spawn(move || {
            let mut publisher = SendPublisher::new(cell);
            for boundary in 1..200_000 {
                let counters = SendCounters {
                    bytes: boundary,
                    ..SendCounters::default()
                };
                publisher.at(MonoTime::from_nanos(boundary), &counters);
            }
        })
    };
    loop {
        let closed = cell.close_interval(0);
        if closed.counters.bytes > 0 {
            assert_eq!(closed.counters.bytes, closed.next);
        }
        if closed.next == 199_999 {
            break;
        }
    }
    writer.join().expect("writer");
}
