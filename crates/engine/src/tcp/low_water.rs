//! When a receiver lets the kernel gather data, so that it wakes for much at once.
//!
//! A flood of small writes costs a wake-up and a call each, and a receiver that copies nothing
//! is back for more before there is any. While one of these lasts, reads wait until a
//! [`Batch`] is there, at most [`LONGEST_WAIT`]; shortly before each interval's end they do not,
//! so that the boundary falls between the same two reads as ever, and the flow is looked at
//! anew.

use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_sys::TcpConn;

use crate::work::RECEIVE_LIMIT;

/// Longest time that data waits for more.
const LONGEST_WAIT: Duration = Duration::from_millis(10);
/// Shortest time over which reads are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Longest time until they are looked at again.
const SPAN: Duration = Duration::from_secs(1);
/// Time before a boundary in which no read waits: a wait, and the clock of the system's timers.
const MARGIN: Duration = Duration::from_millis(20);

/// What is worth waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batch {
    /// Small reads, at least 10,000 a second of less than 4 KiB. Larger ones lose by any mark
    /// (docs/dev/performance.md).
    OfSmall,
    /// Payload that stays in the kernel, at least 100 MB a second.
    OfUncopied,
}

impl Batch {
    /// Bytes that a read waits for (`SO_RCVLOWAT`).
    fn mark(self) -> u32 {
        match self {
            Self::OfSmall => 64 * 1024,
            Self::OfUncopied => 256 * 1024,
        }
    }

    /// Whether so much in `time` is worth it.
    fn pays(self, reads: u64, bytes: u64, time: Duration) -> bool {
        let per_second = |count: u64| u128::from(count) * 1_000_000_000 / time.as_nanos();
        match self {
            Self::OfSmall => per_second(reads) >= 10_000 && bytes < 4096 * reads,
            Self::OfUncopied => per_second(bytes) >= 100_000_000,
        }
    }
}

/// What is to change at the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Reads wait for a batch.
    Gather(Batch),
    /// Reads return with what is there.
    Release,
}

impl Change {
    /// Asks the kernel for it; whether it agreed.
    pub(crate) fn apply(self, conn: &TcpConn) -> bool {
        let (mark, wait) = match self {
            Self::Gather(batch) => (batch.mark(), LONGEST_WAIT),
            Self::Release => (1, RECEIVE_LIMIT),
        };
        conn.set_receive_timeout(Some(wait)).is_ok() && conn.set_receive_lowat(mark).is_ok()
    }
}

/// Watches the reads of one receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LowWater {
    batch: Batch,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Watching {
        since: MonoTime,
        reads: u64,
        bytes: u64,
    },
    Gathering {
        until: MonoTime,
    },
}

impl Phase {
    fn watching(since: MonoTime) -> Self {
        Self::Watching {
            since,
            reads: 0,
            bytes: 0,
        }
    }
}

impl LowWater {
    pub(crate) fn new(batch: Batch, now: MonoTime) -> Self {
        Self {
            batch,
            phase: Phase::watching(now),
        }
    }

    /// A read returned `length` bytes at `now`, 0 when it waited in vain; `boundary` is the next
    /// end of an interval.
    #[inline]
    pub(crate) fn read(
        &mut self,
        length: u64,
        now: MonoTime,
        boundary: MonoTime,
    ) -> Option<Change> {
        match &mut self.phase {
            Phase::Watching {
                since,
                reads,
                bytes,
            } => {
                *reads += u64::from(length > 0);
                *bytes += length;
                let time = now.since(*since);
                if time < POLL_INTERVAL {
                    return None;
                }
                let until = (now + SPAN).min(boundary - MARGIN);
                if !self.batch.pays(*reads, *bytes, time) || until <= now {
                    self.phase = Phase::watching(now);
                    return None;
                }
                self.phase = Phase::Gathering { until };
                Some(Change::Gather(self.batch))
            }
            Phase::Gathering { until } if now >= *until => {
                self.phase = Phase::watching(now);
                Some(Change::Release)
            }
            Phase::Gathering { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> MonoTime {
        MonoTime::from_nanos(micros * 1000)
    }

    /// Reads of `bytes` every `gap` microseconds from `from` to `to`; what changed, and when.
    fn watch(
        state: &mut LowWater,
        (from, to): (u64, u64),
        gap: u64,
        bytes: u64,
        boundary: MonoTime,
    ) -> Vec<(u64, Change)> {
        let times = (from..to).step_by(gap as usize);
        times
            .filter_map(|time| Some((time, state.read(bytes, at(time), boundary)?)))
            .collect()
    }

    #[test]
    fn a_flood_is_gathered_until_shortly_before_a_boundary() {
        let mut state = LowWater::new(Batch::OfSmall, at(0));
        let boundary = at(500_000);
        let changes = watch(&mut state, (0, 520_000), 50, 100, boundary);
        let expected = [
            (10_000, Change::Gather(Batch::OfSmall)),
            (480_000, Change::Release),
        ];
        assert_eq!(changes, expected);
        // Behind it, the same flood.
        let changes = watch(&mut state, (520_000, 540_000), 50, 100, at(1_000_000));
        assert_eq!(changes.len(), 1, "{changes:?}");
    }

    #[test]
    fn without_boundaries_it_is_looked_at_each_second() {
        let mut state = LowWater::new(Batch::OfSmall, at(0));
        let changes = watch(&mut state, (0, 1_015_000), 50, 100, MonoTime::FAR);
        let expected = [
            (10_000, Change::Gather(Batch::OfSmall)),
            (1_010_000, Change::Release),
        ];
        assert_eq!(changes, expected);
        // It has ended meanwhile.
        let changes = watch(
            &mut state,
            (1_015_000, 3_000_000),
            10_000,
            100,
            MonoTime::FAR,
        );
        assert_eq!(changes, []);
    }

    #[test]
    fn slow_and_bulky_reads_are_left_alone() {
        for (gap, bytes) in [(200, 100), (20, 5000), (2, 131_072)] {
            let mut state = LowWater::new(Batch::OfSmall, at(0));
            let changes = watch(&mut state, (0, 2_000_000), gap, bytes, MonoTime::FAR);
            assert_eq!(changes, [], "{gap} {bytes}");
        }
    }

    #[test]
    fn uncopied_payload_is_gathered_by_its_rate() {
        for (gap, expected) in [(100, 1), (2000, 0)] {
            let mut state = LowWater::new(Batch::OfUncopied, at(0));
            let changes = watch(&mut state, (0, 500_000), gap, 65_536, MonoTime::FAR);
            assert_eq!(changes.len(), expected, "{changes:?}");
        }
    }
}
