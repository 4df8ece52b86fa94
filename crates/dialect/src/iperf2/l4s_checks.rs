//! What must hold for any datagrams of an L4S flow, at either end.

use std::time::Duration;

use tapeline_base::{MonoTime, Tos, WallTime};
use tapeline_engine::{L4sProtocol, Prague};
use tapeline_wire::iperf2::{L4sAck, L4sStamp, limits};

use super::l4s::{L4sReceiver, L4sSender};
use crate::contracts::Events;

const START: MonoTime = MonoTime::from_nanos(1_000_000_000_000);
/// Longest datagram of the flow, bytes.
const LONGEST: u32 = 1470;
/// Bounds of its rate, bytes per second.
const SLOWEST: f64 = 12_500.0;
const FASTEST: f64 = 1e9;
/// Datagrams that leave between two events, at most.
const MOST_SENT: u32 = 64;

/// A sender with its congestion control, and a receiver. Of an event the first byte says how much later
/// it is, the second what comes: any datagram, or an acknowledgement that may be a true one.
pub(crate) fn both_ends(input: &[u8]) {
    let mut sender = L4sSender::new(None);
    let mut receiver = L4sReceiver::default();
    let mut control = Prague::new(LONGEST, Some(FASTEST), START);
    let mut told = L4sAck::default();
    let (mut now, mut sent) = (START, 0_u32);
    for ([gap, what], bytes) in Events::<2>::new(input) {
        now += Duration::from_micros(u64::from(gap) * u64::from(gap) * 16);
        for _ in 0..(u32::from(what) % MOST_SENT).min(control.window_packets()) {
            sent += 1;
            let mut datagram = [0; L4sStamp::END];
            sender.stamp(
                &mut datagram,
                u64::from(sent),
                sent,
                WallTime::default(),
                now,
            );
        }
        let made;
        let datagram: &[u8] = if what & 0x80 == 0 {
            bytes
        } else {
            told = grown(told, bytes, now);
            made = told.encode();
            &made
        };
        if let Some(feedback) = sender.read(datagram, now) {
            assert_eq!(datagram.len(), limits::L4S_ACK);
            control.acknowledged(&feedback, sent, now);
        }
        if now >= control.silent_at() {
            control.silence(now);
        }
        bounded(&control, sent);
        let held = Duration::from_micros(u64::from(gap));
        let tos = (what & 4 != 0).then_some(Tos(what & 3));
        if let Some(answer) = receiver.answer(bytes, tos, held, now) {
            assert!(answer.len() <= bytes.len());
            assert!(L4sAck::parse(&answer).is_ok());
        }
    }
}

/// The acknowledgement after `told`: the first bytes say by how much it differs.
fn grown(told: L4sAck, bytes: &[u8], now: MonoTime) -> L4sAck {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let by = |at: usize| u32::from(byte(at));
    L4sAck {
        ecn_error: byte(3) & 1 != 0,
        time: told.time.wrapping_add(1),
        echoed_time: ((now.as_nanos() / 1000) as i32).wrapping_sub(by(4) as i32 * 64),
        received: told.received.wrapping_add(by(0)),
        marked: told.marked.wrapping_add(by(1)),
        lost: told.lost.wrapping_add_signed(i32::from(byte(2) as i8)),
    }
}

/// Whatever is told, the flow goes on within its bounds.
fn bounded(control: &Prague, sent: u32) {
    let rate = control.rate();
    assert!((SLOWEST..=FASTEST).contains(&rate), "{control:?}");
    assert!(
        (1..=LONGEST).contains(&control.packet_size()),
        "{control:?}"
    );
    assert!(control.window_packets() >= 2, "{control:?}");
    assert!(control.in_flight(sent) <= u32::MAX / 2);
}
