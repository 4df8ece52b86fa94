//! Fewer, larger trips through the kernel: payload that is not copied, and reads that wait for
//! much at once.

mod common;

use std::sync::Arc;
use std::thread;

use tapeline_base::{Clock, MonoTime};
use tapeline_engine::{
    ByteIntake, Cause, Intervals, ReceiveCell, ReceiveCounters, SendCell, Stop, StreamContent,
    TcpReceivePlan, TcpReceiver, TcpSendPlan, TcpSender, run_blocking,
};
use tapeline_sys::{SystemClock, TcpConn};

use common::{LIMIT, connection};

fn whole() -> Intervals {
    Intervals::new(MonoTime::ZERO, None)
}

/// Sends `bytes` without copies in writes of `block`; what arrives.
fn spliced(chunk: &[u8], block: usize, bytes: u64) -> Vec<u8> {
    let (here, there) = connection();
    let content = StreamContent::spliced(chunk.into(), block);
    let stop = Stop::new();
    let cell = Arc::new(SendCell::new(whole()));
    let plan = TcpSendPlan {
        bytes: Some(bytes),
        idle_timeout: LIMIT,
        ..TcpSendPlan::new(Arc::new(here), content, block, cell, stop.clone())
    };
    let now = SystemClock.now();
    let sending = thread::spawn(move || run_blocking(&mut TcpSender::new(plan, now), &stop));
    let mut received = Vec::new();
    std::io::Read::read_to_end(&mut &there, &mut received).expect("data");
    let ending = sending.join().expect("the sender");
    assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
    received
}

#[test]
fn blocks_that_are_not_copied_hold_what_copied_ones_would() {
    let chunk: Vec<u8> = (0..32_768_u32).map(|byte| (byte % 251) as u8).collect();
    for (length, block, bytes) in [
        (100, 100, 1050),
        (32_768, 131_072, 1_000_000),
        (32_768, 1 << 20, 20_000_001),
        (32_768, 3 << 20, 10_000_000),
    ] {
        let chunk = &chunk[..length];
        let one_block = || chunk.iter().cycle().take(block);
        let expected = std::iter::repeat_with(one_block).flatten().take(bytes);
        let received = spliced(chunk, block, bytes as u64);
        assert!(received.iter().eq(expected), "{length} {block} {bytes}");
    }
}

/// Receives all that comes.
fn receive(conn: TcpConn, gathers: bool, discard: bool) -> ReceiveCounters {
    let now = SystemClock.now();
    let stop = Stop::new();
    let cell = Arc::new(ReceiveCell::new(whole()));
    let plan = TcpReceivePlan {
        gathers,
        discard,
        idle_timeout: LIMIT,
        ..TcpReceivePlan::new(Arc::new(conn), 131_072, stop.clone())
    };
    let intake = ByteIntake::new(Arc::clone(&cell), 131_072, 0, now);
    let ending = run_blocking(&mut TcpReceiver::new(plan, intake), &stop);
    assert!(matches!(ending.cause, Cause::Complete), "{ending:?}");
    cell.read()
}

#[test]
fn a_flood_of_small_writes_is_read_in_large_pieces() {
    const WRITES: u64 = 100_000;
    let [plain, gathered] = [false, true].map(|gathers| {
        let (here, there) = connection();
        here.set_nodelay(true).expect("no delay");
        let sending = thread::spawn(move || {
            for _ in 0..WRITES {
                here.send_all(&[b'x'; 100]).expect("room");
            }
        });
        let counters = receive(there, gathers, false);
        sending.join().expect("the sender");
        assert_eq!(counters.bytes, WRITES * 100);
        counters.reads.reads
    });
    assert!(gathered < plain / 2, "{gathered} {plain}");
}

#[test]
fn what_is_discarded_is_counted_to_the_last_byte() {
    let bytes = 300_000_007;
    let (here, there) = connection();
    let stop = Stop::new();
    let content = StreamContent::Repeated(vec![b'x'; 32_768].into());
    let cell = Arc::new(SendCell::new(whole()));
    let plan = TcpSendPlan {
        bytes: Some(bytes),
        idle_timeout: LIMIT,
        ..TcpSendPlan::new(Arc::new(here), content, 1 << 20, cell, stop.clone())
    };
    let now = SystemClock.now();
    let sending = thread::spawn(move || run_blocking(&mut TcpSender::new(plan, now), &stop));
    assert_eq!(receive(there, true, true).bytes, bytes);
    sending.join().expect("the sender");
}
