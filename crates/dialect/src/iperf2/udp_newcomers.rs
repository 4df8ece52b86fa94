//! UDP flows of sources that nobody vouches for: who makes room when there are too many. Pure.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use super::flow_table::FlowKey;

/// Flows that are looked at for another one. A flood must not cost more.
const LOOKS: usize = 64;
/// Silence after which a flow may be given up for another one.
const SILENCE: Duration = Duration::from_millis(50);

/// What a flow does, seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It is not known any more.
    Gone,
    /// One datagram has come, and nothing else.
    Lone,
    /// The last datagram came so long ago.
    Silent(Duration),
}

/// Whether there is a place for another flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Free,
    /// When this one is given up.
    InPlaceOf(FlowKey),
    /// All flows are busy.
    None,
}

/// The flows, each once, in the order in which they began or were looked at.
#[derive(Debug, Default)]
pub(super) struct Newcomers {
    queue: VecDeque<FlowKey>,
    /// The same ones: a flood must not cost a look at each.
    known: HashSet<FlowKey>,
}

impl Newcomers {
    /// Finds a place for another flow where `most` may be: that of the first one of which nothing but one
    /// datagram has come, or of the one that has been silent for longest.
    pub(super) fn make_room(&mut self, most: usize, sign: impl Fn(FlowKey) -> Sign) -> Room {
        if self.queue.len() < most {
            return Room::Free;
        }
        let Some((key, room)) = self.displace(sign) else {
            return Room::None;
        };
        self.known.remove(&key);
        room
    }

    /// Takes one out of the queue.
    fn displace(&mut self, sign: impl Fn(FlowKey) -> Sign) -> Option<(FlowKey, Room)> {
        let looks = LOOKS.min(self.queue.len());
        let mut longest: Option<(usize, Duration)> = None;
        for look in 0..looks {
            let Some(key) = self.queue.pop_front() else {
                break;
            };
            match sign(key) {
                Sign::Gone => return Some((key, Room::Free)),
                Sign::Lone => return Some((key, Room::InPlaceOf(key))),
                Sign::Silent(silence) => {
                    self.queue.push_back(key);
                    if silence >= SILENCE && longest.is_none_or(|(_, most)| silence > most) {
                        longest = Some((looks - look, silence));
                    }
                }
            }
        }
        let (behind, _) = longest?;
        let place = self.queue.len().checked_sub(behind)?;
        let key = self.queue.remove(place)?;
        Some((key, Room::InPlaceOf(key)))
    }

    /// A flow begins.
    pub(super) fn add(&mut self, key: FlowKey) {
        // One that began anew is here already.
        if self.known.insert(key) {
            self.queue.push_back(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(port: u16) -> FlowKey {
        FlowKey {
            source: ([192, 0, 2, 1], port).into(),
            at: None,
        }
    }

    fn crowd(count: u16) -> Newcomers {
        let mut newcomers = Newcomers::default();
        (0..count).for_each(|port| newcomers.add(key(port)));
        newcomers
    }

    fn silent(millis: u64) -> Sign {
        Sign::Silent(Duration::from_millis(millis))
    }

    #[test]
    fn the_first_lone_flow_makes_room_then_the_one_that_is_silent_for_longest() {
        let mut newcomers = crowd(4);
        assert_eq!(newcomers.make_room(5, |_| Sign::Lone), Room::Free);
        assert_eq!(
            newcomers.make_room(4, |key| match key.source.port() {
                0 => silent(9000),
                1 | 2 => Sign::Lone,
                _ => silent(0),
            }),
            Room::InPlaceOf(key(1))
        );
        newcomers.add(key(4));
        let sign = |key: FlowKey| silent([60, 0, 400, 400, 49][usize::from(key.source.port())]);
        // 2, 3, 0 and 4 are left, in this order.
        assert_eq!(newcomers.make_room(4, sign), Room::InPlaceOf(key(2)));
        newcomers.add(key(1));
        assert_eq!(newcomers.make_room(4, sign), Room::InPlaceOf(key(3)));
        assert_eq!(newcomers.make_room(4, sign), Room::Free);
        assert_eq!(newcomers.make_room(3, sign), Room::InPlaceOf(key(0)));
        assert_eq!(
            newcomers.make_room(2, sign),
            Room::None,
            "the others are busy"
        );
        assert_eq!(newcomers.make_room(2, |_| Sign::Gone), Room::Free);
    }

    #[test]
    fn a_flow_that_begins_anew_has_one_place_and_a_crowd_is_looked_at_in_turns() {
        let mut newcomers = crowd(3);
        newcomers.add(key(0));
        assert_eq!(newcomers.make_room(4, |_| silent(0)), Room::Free);
        let count = 2 * LOOKS as u16 + 1;
        let mut newcomers = crowd(count);
        let last = |key: FlowKey| match key.source.port() {
            port if port == count - 1 => silent(1000),
            _ => silent(0),
        };
        let found: Vec<Room> = (0..3)
            .map(|_| newcomers.make_room(usize::from(count), last))
            .collect();
        assert_eq!(
            found,
            [Room::None, Room::None, Room::InPlaceOf(key(count - 1))]
        );
    }
}
