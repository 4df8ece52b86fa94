//! Accounting for frames as their datagrams arrive.

use tapeline_base::WallTime;

use crate::counters::FrameArrivals;

/// Frames that may be incomplete at a time: datagrams of earlier ones that come later are
/// too late.
const OPEN: usize = 4;
/// Step in the numbers from which on they are garbage, not losses.
const ABSURD: u32 = 1 << 20;

/// The frame that an arrived datagram says it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivedFrame {
    /// Number of the frame, from 1.
    pub id: u32,
    /// Number of the frame that the sender sent before, 0 for the first.
    pub previous: u32,
    /// Bytes of the frame.
    pub size: u32,
    /// When the frame was due at the sender; `None` when it did not say.
    pub due: Option<WallTime>,
}

/// A frame of which some bytes have arrived.
#[derive(Clone, Copy, Debug)]
struct OpenFrame {
    id: u32,
    left: u32,
}

/// What a datagram did to the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameProgress {
    /// It is the first that arrived of its frame.
    pub(crate) begins: bool,
    /// It completed its frame, so long after the frame was due, nanoseconds.
    pub(crate) completed: Option<Option<i64>>,
}

/// Counts complete and lost frames. A frame counts as received when its last byte arrives,
/// and as lost when it is given up: `OPEN` later ones have begun, or the flow ends. Numbers
/// that the sender left out are not lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrameTracker {
    open: [Option<OpenFrame>; OPEN],
    /// Highest number seen.
    newest: u32,
    /// Number of the frame that arrived last.
    last: u32,
}

impl FrameTracker {
    /// Takes a datagram of `length` bytes that is no copy.
    pub(crate) fn observe(
        &mut self,
        frame: &ArrivedFrame,
        length: usize,
        arrival: WallTime,
        counts: &mut FrameArrivals,
    ) -> FrameProgress {
        let begins = frame.id != self.last;
        self.last = frame.id;
        let mut progress = FrameProgress {
            begins,
            completed: None,
        };
        if frame.id > self.newest {
            self.advance(frame, counts);
        }
        let mut slots = self.open.iter_mut();
        let slot = slots.find(|slot| slot.is_some_and(|open| open.id == frame.id));
        if let Some(slot) = slot
            && let Some(open) = slot
        {
            open.left = open
                .left
                .saturating_sub(u32::try_from(length).unwrap_or(u32::MAX));
            if open.left == 0 {
                *slot = None;
                let latency = frame.due.map(|due| arrival.nanos_since(due));
                counts.received += 1;
                if let Some(latency) = latency {
                    counts.latency.add(latency as f64 * 1e-9);
                }
                progress.completed = Some(latency);
            }
        }
        progress
    }

    /// A frame above all others begins.
    fn advance(&mut self, frame: &ArrivedFrame, counts: &mut FrameArrivals) {
        let wholly_lost = frame.previous.min(frame.id - 1).saturating_sub(self.newest);
        if wholly_lost < ABSURD && self.newest > 0 {
            counts.lost += u64::from(wholly_lost);
        }
        self.newest = frame.id;
        self.open.rotate_right(1);
        if self.open[0].is_some() {
            counts.lost += 1;
        }
        self.open[0] = Some(OpenFrame {
            id: frame.id,
            left: frame.size,
        });
    }

    /// The flow has ended: what is incomplete is lost.
    pub(crate) fn finish(&mut self, counts: &mut FrameArrivals) {
        for slot in &mut self.open {
            counts.lost += u64::from(slot.take().is_some());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Flow {
        tracker: FrameTracker,
        counts: FrameArrivals,
    }

    impl Flow {
        /// A frame of 300 bytes, due at its number in milliseconds, arrives in part.
        fn arrive(&mut self, id: u32, previous: u32, length: usize) -> FrameProgress {
            let frame = ArrivedFrame {
                id,
                previous,
                size: 300,
                due: Some(WallTime::from_nanos(i64::from(id) * 1_000_000)),
            };
            let arrival = WallTime::from_nanos(i64::from(id) * 1_000_000 + 5_000);
            self.tracker
                .observe(&frame, length, arrival, &mut self.counts)
        }

        fn counts(&self) -> (u64, u64) {
            (self.counts.received, self.counts.lost)
        }
    }

    #[test]
    fn a_frame_is_complete_with_its_last_byte() {
        let mut flow = Flow::default();
        assert!(flow.arrive(1, 0, 200).begins);
        let last = flow.arrive(1, 0, 100);
        assert_eq!((last.begins, last.completed), (false, Some(Some(5_000))));
        assert!(flow.arrive(2, 1, 300).begins);
        assert_eq!(flow.counts(), (2, 0));
        assert!((flow.counts.latency.all.mean - 5e-6).abs() < 1e-12);
    }

    #[test]
    fn overtaken_datagrams_still_complete_their_frame() {
        let mut flow = Flow::default();
        flow.arrive(1, 0, 100);
        flow.arrive(2, 1, 100);
        flow.arrive(1, 0, 200);
        flow.arrive(2, 1, 200);
        assert_eq!(flow.counts(), (2, 0));
    }

    #[test]
    fn lost_frames_are_distinguished_from_those_left_out() {
        let mut flow = Flow::default();
        flow.arrive(1, 0, 300);
        // The sender left out 2 and 3.
        flow.arrive(4, 1, 300);
        assert_eq!(flow.counts(), (2, 0));
        // 5 and 6 never arrived.
        flow.arrive(7, 6, 300);
        assert_eq!(flow.counts(), (3, 2));
    }

    #[test]
    fn incomplete_frames_are_lost_in_the_end() {
        let mut flow = Flow::default();
        for id in 1..=6 {
            flow.arrive(id, id - 1, 100);
        }
        assert_eq!(flow.counts(), (0, 2));
        flow.tracker.finish(&mut flow.counts);
        assert_eq!(flow.counts(), (0, 6));
    }

    #[test]
    fn absurd_numbers_are_no_losses() {
        let mut flow = Flow::default();
        flow.arrive(1, 0, 300);
        flow.arrive(u32::MAX, u32::MAX - 1, 300);
        flow.arrive(5, 4, 300);
        flow.arrive(0, 0, 300);
        assert_eq!(flow.counts(), (2, 0));
    }
}
