//! Events in the order of their times: a heap of those that are near, lists of those that are later. Most wait for
//! half a minute, a heap of all of which would be out of the processor's caches.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use tapeline_base::MonoTime;

use crate::event::Event;

/// A list is for this power of two of nanoseconds: 67 ms.
const SLOT_BITS: u32 = 26;

/// What is to happen.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// All of the slots before `slot`.
    near: BinaryHeap<Planned>,
    slot: u64,
    /// That of `slot`, and those after it.
    later: VecDeque<Vec<Planned>>,
    number: u64,
}

/// An event in its place: those of one time in the order in which they were planned.
#[derive(Debug)]
struct Planned {
    at: MonoTime,
    number: u64,
    event: Event,
}

impl Queue {
    pub(crate) fn plan(&mut self, at: MonoTime, event: Event) {
        self.number += 1;
        let number = self.number;
        let planned = Planned { at, number, event };
        let slot = at.as_nanos() >> SLOT_BITS;
        let Some(place) = slot.checked_sub(self.slot) else {
            return self.near.push(planned);
        };
        let place = place as usize;
        if place >= self.later.len() {
            self.later.resize_with(place + 1, Vec::new);
        }
        self.later[place].push(planned);
    }

    /// The next event, if it is due until then.
    pub(crate) fn next(&mut self, until: MonoTime) -> Option<(MonoTime, Event)> {
        while self.near.is_empty() {
            if self.slot > until.as_nanos() >> SLOT_BITS {
                return None;
            }
            self.near.extend(self.later.pop_front()?);
            self.slot += 1;
        }
        if self.near.peek()?.at > until {
            return None;
        }
        self.near.pop().map(|planned| (planned.at, planned.event))
    }
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Planned {}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Planned {
    /// The earliest is the greatest, as a heap wants it.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

#[test]
fn events_come_in_the_order_of_their_times_and_of_their_planning() {
    let mut queue = Queue::default();
    let mut random = tapeline_base::SplitMix64::new(1);
    let mut planned = Vec::new();
    let mut now = MonoTime::ZERO;
    let mut came = Vec::new();
    for number in 0..20_000 {
        let far = if random.chance(0.5) { 1 << 20 } else { 1 << 36 };
        let at = MonoTime::from_nanos(now.as_nanos() + random.below(far) / 1000 * 1000);
        planned.push((at, number));
        queue.plan(at, Event::Redeliver(number));
        if random.chance(0.7)
            && let Some((at, Event::Redeliver(number))) = queue.next(MonoTime::FAR)
        {
            assert!(at >= now);
            now = at;
            came.push((at, number));
        }
    }
    while let Some((at, Event::Redeliver(number))) = queue.next(MonoTime::FAR) {
        came.push((at, number));
    }
    planned.sort();
    assert_eq!(came, planned);
}
