//! L4S over UDP (wire document 7.8): stamps and acknowledgements of both ends. Pure: times
//! and datagrams in and out.

use std::time::Duration;

use tapeline_base::{MonoTime, Tos, WallTime};
use tapeline_engine::{DatagramStamp, FramePart, L4sFeedback, L4sProtocol};
use tapeline_wire::iperf2::{L4sAck, L4sStamp};

use super::stamps::{FrameStamp, Stamp16};

/// ECT(1), of the ECN bits.
const ECT1: u8 = 1;

/// A clock as L4S datagrams carry it: microseconds modulo 2^32, never 0.
fn micros(now: MonoTime) -> i32 {
    match (now.as_nanos() / 1000) as i32 {
        0 => 1,
        micros => micros,
    }
}

/// The sender's end.
#[derive(Debug)]
pub(crate) struct L4sSender {
    /// Of video: frames.
    pub(crate) frames: Option<FrameStamp>,
    /// The receiver's clock when it acknowledged last, and ours then.
    last_ack: Option<(i32, MonoTime)>,
}

impl L4sSender {
    pub(crate) fn new(frames: Option<FrameStamp>) -> Self {
        Self {
            frames,
            last_ack: None,
        }
    }
}

impl L4sProtocol for L4sSender {
    fn stamp(
        &mut self,
        datagram: &mut [u8],
        sequence: u64,
        count: u32,
        wall: WallTime,
        now: MonoTime,
    ) {
        Stamp16.stamp(datagram, sequence, wall);
        let echoed = self.last_ack.map_or(0, |(time, at)| {
            let held = now.since(at).as_micros() as i32;
            time.wrapping_add(held)
        });
        L4sStamp {
            time: micros(now),
            echoed_time: echoed,
            sequence: count,
        }
        .write(datagram);
    }

    fn frame(&mut self, datagram: &mut [u8], part: &FramePart) {
        if let Some(frames) = &mut self.frames {
            frames.frame(datagram, part);
        }
    }

    fn read(&mut self, datagram: &[u8], now: MonoTime) -> Option<L4sFeedback> {
        // A report is longer.
        if datagram.len() != tapeline_wire::iperf2::limits::L4S_ACK {
            return None;
        }
        let ack = L4sAck::parse(datagram).ok()?;
        self.last_ack = Some((ack.time, now));
        let elapsed = micros(now).wrapping_sub(ack.echoed_time);
        Some(L4sFeedback {
            round_trip: u64::try_from(elapsed).ok().map(Duration::from_micros),
            received: ack.received,
            marked: ack.marked,
            lost: ack.lost,
            ecn_error: ack.ecn_error,
        })
    }
}

/// The receiver's end: counts, and answers each datagram.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct L4sReceiver {
    received: u32,
    marked: u32,
    lost: u32,
}

impl L4sReceiver {
    /// Takes a datagram that has waited for `held` since it arrived; returns the answer. The
    /// type of service may not be known.
    pub(crate) fn answer(
        &mut self,
        datagram: &[u8],
        tos: Option<Tos>,
        held: Duration,
        now: MonoTime,
    ) -> Option<[u8; tapeline_wire::iperf2::limits::L4S_ACK]> {
        let stamp = L4sStamp::read(datagram)?;
        self.received = self.received.wrapping_add(1);
        if tos.is_some_and(Tos::is_congestion_experienced) {
            self.marked = self.marked.wrapping_add(1);
        }
        let accounted = self.received.wrapping_add(self.lost);
        let skipped = stamp.sequence.wrapping_sub(accounted) as i32;
        if skipped >= 0 {
            self.lost = self.lost.wrapping_add(skipped as u32);
        } else if self.lost > 0 {
            // One of those that were missing.
            self.lost -= 1;
        }
        let held = i32::try_from(held.as_micros()).unwrap_or(i32::MAX);
        Some(
            L4sAck {
                ecn_error: tos
                    .is_some_and(|tos| tos.ecn() != ECT1 && !tos.is_congestion_experienced()),
                time: micros(now),
                echoed_time: stamp.time.wrapping_add(held),
                received: self.received,
                marked: self.marked,
                lost: self.lost,
            }
            .encode(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> MonoTime {
        MonoTime::from_nanos(micros * 1000)
    }

    struct Pair {
        sender: L4sSender,
        receiver: L4sReceiver,
    }

    impl Pair {
        /// A datagram goes there and its answer comes back, 100 us each way.
        fn exchange(&mut self, count: u32, tos: Option<u8>, micros: u64) -> L4sFeedback {
            let mut datagram = [0; 200];
            let wall = WallTime::default();
            self.sender
                .stamp(&mut datagram, u64::from(count), count, wall, at(micros));
            // The receiver's clock is another one, and it answers after 50 us.
            let held = Duration::from_micros(50);
            let ack = self
                .receiver
                .answer(&datagram, tos.map(Tos), held, at(micros + 7_000_150))
                .expect("an answer");
            self.sender
                .read(&ack, at(micros + 250))
                .expect("an acknowledgement")
        }
    }

    fn pair() -> Pair {
        Pair {
            sender: L4sSender::new(None),
            receiver: L4sReceiver::default(),
        }
    }

    #[test]
    fn the_round_trip_is_without_the_receivers_holding_time() {
        let mut pair = pair();
        // Also where the 32-bit clock wraps.
        for begin in [1, 4_294_967_200, 2_147_483_600] {
            let feedback = pair.exchange(1, Some(1), begin);
            assert_eq!(
                feedback.round_trip,
                Some(Duration::from_micros(200)),
                "{begin}"
            );
        }
    }

    #[test]
    fn marks_losses_and_late_datagrams_are_counted() {
        let mut pair = pair();
        let counts = |feedback: L4sFeedback| (feedback.received, feedback.marked, feedback.lost);
        assert_eq!(counts(pair.exchange(1, Some(1), 10)), (1, 0, 0));
        assert_eq!(counts(pair.exchange(2, Some(3), 20)), (2, 1, 0));
        assert_eq!(counts(pair.exchange(5, Some(1), 30)), (3, 1, 2));
        assert_eq!(counts(pair.exchange(3, Some(1), 40)), (4, 1, 1));
        assert_eq!(counts(pair.exchange(6, Some(1), 50)), (5, 1, 1));
    }

    #[test]
    fn cleared_bits_are_an_error_and_unknown_ones_are_not() {
        let mut pair = pair();
        assert!(!pair.exchange(1, None, 10).ecn_error);
        assert!(!pair.exchange(2, Some(1), 20).ecn_error);
        assert!(!pair.exchange(3, Some(3), 30).ecn_error);
        assert!(pair.exchange(4, Some(0), 40).ecn_error);
        assert!(pair.exchange(5, Some(2), 50).ecn_error);
        assert!(!pair.exchange(6, Some(0xb9), 60).ecn_error);
    }

    #[test]
    fn only_acknowledgements_are_read() {
        let mut sender = L4sSender::new(None);
        let report = tapeline_wire::iperf2::ServerReport::default().encode_16();
        assert_eq!(sender.read(&report, at(5)), None);
        assert_eq!(sender.read(&[0x80; 28], at(5)), None);
        let mut receiver = L4sReceiver::default();
        assert!(
            receiver
                .answer(&[0; 63], None, Duration::ZERO, at(5))
                .is_none()
        );
    }
}
