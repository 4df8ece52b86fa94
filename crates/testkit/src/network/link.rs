//! A link that carries datagrams, badly.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use tapeline_base::{MonoTime, SplitMix64, whole_nanos};

use super::profile::{LinkProfile, Side};

/// A datagram link between two sides, each direction with a profile of its own.
#[derive(Clone, Debug)]
pub struct Link {
    random: SplitMix64,
    /// By the sending side.
    lanes: [Lane; 2],
    arrivals: BinaryHeap<Reverse<Arrival>>,
    scheduled: u64,
}

/// What happened to the datagrams of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Sent into the link.
    pub sent: u64,
    /// Lost: by chance, on request, in a cut or in a full queue.
    pub lost: u64,
    /// Second copies made.
    pub duplicated: u64,
    /// Delayed so that later ones may overtake.
    pub delayed: u64,
    /// Arrived with a flipped bit, copies not counted.
    pub corrupted: u64,
    /// Delivered, copies included.
    pub delivered: u64,
}

/// One direction.
#[derive(Clone, Debug)]
struct Lane {
    profile: LinkProfile,
    counters: LinkCounters,
    /// When the bottleneck has sent all that waits before it.
    idle_at: MonoTime,
    /// Latest arrival scheduled in order.
    last_due: MonoTime,
    lose_next: u64,
}

/// Ordered by time, then by the order of sending.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    due: MonoTime,
    order: u64,
    to: Side,
    datagram: Vec<u8>,
}

impl Link {
    /// A link that is the same in both directions.
    #[must_use]
    pub fn new(seed: u64, profile: LinkProfile) -> Self {
        Self::asymmetric(seed, profile.clone(), profile)
    }

    /// A link with one profile for what the client sends and one for what the server
    /// sends.
    #[must_use]
    pub fn asymmetric(seed: u64, from_client: LinkProfile, from_server: LinkProfile) -> Self {
        Self {
            random: SplitMix64::new(seed),
            lanes: [Lane::new(from_client), Lane::new(from_server)],
            arrivals: BinaryHeap::new(),
            scheduled: 0,
        }
    }

    /// Sends a datagram to the other side. `now` never goes back.
    pub fn send(&mut self, now: MonoTime, from: Side, datagram: Vec<u8>) {
        let lane = &mut self.lanes[from.index()];
        lane.counters.sent += 1;
        let Some(left) = lane.enter(now, datagram.len() as u64, &mut self.random) else {
            lane.counters.lost += 1;
            return;
        };
        let due = lane.arrival(left, &mut self.random);
        let datagram = lane.corrupted(datagram, &mut self.random);
        if self.random.chance(lane.profile.duplicate) {
            lane.counters.duplicated += 1;
            let copy_due = due + up_to(lane.profile.jitter, &mut self.random);
            self.schedule(copy_due, from.other(), datagram.clone());
        }
        self.schedule(due, from.other(), datagram);
    }

    fn schedule(&mut self, due: MonoTime, to: Side, datagram: Vec<u8>) {
        self.scheduled += 1;
        self.arrivals.push(Reverse(Arrival {
            due,
            order: self.scheduled,
            to,
            datagram,
        }));
    }

    /// Loses the next `count` datagrams of a side, whatever its profile says. For
    /// tests that aim at one datagram.
    pub fn lose_next(&mut self, from: Side, count: u64) {
        self.lanes[from.index()].lose_next = count;
    }

    /// Changes what happens to datagrams that a side sends from now on.
    pub fn set_profile(&mut self, from: Side, profile: LinkProfile) {
        self.lanes[from.index()].profile = profile;
    }

    /// When the next datagram arrives; nothing when none is under way.
    #[must_use]
    pub fn next_due(&self) -> Option<MonoTime> {
        self.arrivals.peek().map(|Reverse(arrival)| arrival.due)
    }

    /// Takes the next datagram that has arrived by `now`, with the side that it
    /// arrives at. Call until there is none.
    pub fn deliver(&mut self, now: MonoTime) -> Option<(Side, Vec<u8>)> {
        if self.next_due()? > now {
            return None;
        }
        let Reverse(arrival) = self.arrivals.pop()?;
        self.lanes[arrival.to.other().index()].counters.delivered += 1;
        Some((arrival.to, arrival.datagram))
    }

    /// What happened so far to the datagrams of a side.
    #[must_use]
    pub fn counters(&self, from: Side) -> LinkCounters {
        self.lanes[from.index()].counters
    }
}

impl Lane {
    fn new(profile: LinkProfile) -> Self {
        Self {
            profile,
            counters: LinkCounters::default(),
            idle_at: MonoTime::ZERO,
            last_due: MonoTime::ZERO,
            lose_next: 0,
        }
    }

    /// When a datagram leaves the bottleneck; nothing when it is lost.
    fn enter(&mut self, now: MonoTime, length: u64, random: &mut SplitMix64) -> Option<MonoTime> {
        // Drawn always, so that a cut does not change what happens after it.
        let unlucky = random.chance(self.profile.loss);
        let aimed_at = self.lose_next > 0;
        self.lose_next = self.lose_next.saturating_sub(1);
        if unlucky || aimed_at || self.profile.cuts.iter().any(|cut| cut.covers(now)) {
            return None;
        }
        let Some(rate) = self.profile.rate else {
            return Some(now);
        };
        let wait = self.idle_at.since(now);
        let waiting = wait.as_nanos() * u128::from(rate.0) / 8_000_000_000;
        let room = self.profile.queue.map_or(u128::MAX, u128::from);
        if waiting > 0 && waiting + u128::from(length) > room {
            return None;
        }
        // A rate of 0 never sends.
        let transmission = rate.gap(length)?;
        self.idle_at = self.idle_at.max(now) + transmission;
        Some(self.idle_at)
    }

    fn arrival(&mut self, left: MonoTime, random: &mut SplitMix64) -> MonoTime {
        let due = left + self.profile.delay + up_to(self.profile.jitter, random);
        let due = due.max(self.last_due);
        if random.chance(self.profile.reorder) {
            self.counters.delayed += 1;
            return due + self.profile.reorder_by;
        }
        self.last_due = due;
        due
    }

    fn corrupted(&mut self, mut datagram: Vec<u8>, random: &mut SplitMix64) -> Vec<u8> {
        if !datagram.is_empty() && random.chance(self.profile.corrupt) {
            let bit = random.below(datagram.len() as u64 * 8);
            datagram[(bit / 8) as usize] ^= 1 << (bit % 8);
            self.counters.corrupted += 1;
        }
        datagram
    }
}

/// A random time from 0 to `longest`.
pub(crate) fn up_to(longest: Duration, random: &mut SplitMix64) -> Duration {
    let nanos = whole_nanos(longest);
    Duration::from_nanos(random.below(nanos.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Cut;
    use tapeline_base::BitRate;

    const MS: Duration = Duration::from_millis(1);

    fn at(milliseconds: u64) -> MonoTime {
        MonoTime::from_nanos(milliseconds * 1_000_000)
    }

    /// Sends numbers from the client, one every millisecond, and returns arrival time
    /// in milliseconds and number of all that the server gets.
    fn received(link: &mut Link, count: u8) -> Vec<(u64, u8)> {
        for number in 0..count {
            link.send(at(u64::from(number)), Side::Client, vec![number; 100]);
        }
        let mut received = Vec::new();
        while let Some(due) = link.next_due() {
            let (to, datagram) = link.deliver(due).unwrap();
            assert_eq!(to, Side::Server);
            received.push((due.as_nanos() / 1_000_000, datagram[0]));
        }
        received
    }

    #[test]
    fn a_perfect_link_delivers_at_once_and_both_ways() {
        let mut link = Link::new(0, LinkProfile::default());
        link.send(at(1), Side::Client, vec![1]);
        link.send(at(1), Side::Server, vec![2]);
        assert_eq!(link.deliver(at(0)), None);
        assert_eq!(link.deliver(at(1)), Some((Side::Server, vec![1])));
        assert_eq!(link.deliver(at(1)), Some((Side::Client, vec![2])));
        assert_eq!(link.next_due(), None);
    }

    #[test]
    fn delay_and_jitter_keep_the_order() {
        let profile = LinkProfile {
            delay: 10 * MS,
            jitter: 5 * MS,
            ..LinkProfile::default()
        };
        let received = received(&mut Link::new(4, profile), 200);
        assert!(received.is_sorted_by_key(|(_, number)| *number));
        let delays: Vec<u64> = received
            .iter()
            .map(|(due, number)| due - u64::from(*number))
            .collect();
        assert!(delays.iter().all(|delay| (10..=15).contains(delay)));
        assert!(delays.iter().any(|delay| *delay != delays[0]));
    }

    #[test]
    fn losses_duplicates_and_reordering_are_counted_truly() {
        let profile = LinkProfile {
            loss: 0.1,
            duplicate: 0.1,
            reorder: 0.1,
            reorder_by: 3 * MS,
            ..LinkProfile::default()
        };
        let mut link = Link::new(9, profile);
        let received = received(&mut link, 200);
        let counters = link.counters(Side::Client);
        assert_eq!(counters.sent, 200);
        assert_eq!(counters.delivered, received.len() as u64);
        assert_eq!(
            counters.delivered,
            200 - counters.lost + counters.duplicated
        );
        let mut numbers: Vec<u8> = received.iter().map(|(_, number)| *number).collect();
        assert!(!numbers.is_sorted());
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len() as u64, 200 - counters.lost);
        assert!(counters.lost > 5 && counters.duplicated > 5 && counters.delayed > 5);
        assert_eq!(link.counters(Side::Server), LinkCounters::default());
    }

    #[test]
    fn a_seed_repeats_the_run() {
        let profile = LinkProfile {
            jitter: 4 * MS,
            loss: 0.2,
            reorder: 0.2,
            reorder_by: 2 * MS,
            ..LinkProfile::default()
        };
        let run = |seed| received(&mut Link::new(seed, profile.clone()), 100);
        assert_eq!(run(5), run(5));
        assert_ne!(run(5), run(6));
    }

    #[test]
    fn a_bottleneck_spaces_datagrams_and_drops_what_its_queue_cannot_hold() {
        let profile = LinkProfile {
            // 100 bytes take 4 ms.
            rate: Some(BitRate(200_000)),
            queue: Some(250),
            ..LinkProfile::default()
        };
        let mut link = Link::new(0, profile);
        let received = received(&mut link, 8);
        let times: Vec<u64> = received.iter().map(|(due, _)| *due).collect();
        assert!(
            times.windows(2).all(|pair| pair[1] - pair[0] >= 4),
            "{times:?}"
        );
        assert_eq!(times[0], 4);
        assert!(link.counters(Side::Client).lost > 0);
    }

    #[test]
    fn a_cut_loses_what_is_sent_in_it() {
        let profile = LinkProfile {
            cuts: vec![Cut {
                from: at(2),
                until: at(5),
            }],
            ..LinkProfile::default()
        };
        let numbers: Vec<u8> = received(&mut Link::new(0, profile), 7)
            .into_iter()
            .map(|(_, number)| number)
            .collect();
        assert_eq!(numbers, [0, 1, 5, 6]);
    }

    #[test]
    fn a_chosen_datagram_can_be_lost() {
        let mut link = Link::new(0, LinkProfile::default());
        link.lose_next(Side::Client, 1);
        link.send(at(0), Side::Server, vec![1]);
        link.send(at(0), Side::Client, vec![2]);
        link.send(at(0), Side::Client, vec![3]);
        assert_eq!(link.deliver(at(0)), Some((Side::Client, vec![1])));
        assert_eq!(link.deliver(at(0)), Some((Side::Server, vec![3])));
        assert_eq!(link.deliver(at(0)), None);
    }

    #[test]
    fn corruption_flips_one_bit() {
        let profile = LinkProfile {
            corrupt: 1.0,
            ..LinkProfile::default()
        };
        let mut link = Link::new(1, profile);
        link.send(at(0), Side::Client, vec![0; 50]);
        link.send(at(0), Side::Client, Vec::new());
        let (_, datagram) = link.deliver(at(0)).unwrap();
        let flipped: u32 = datagram.iter().map(|byte| byte.count_ones()).sum();
        assert_eq!(flipped, 1);
        assert_eq!(link.deliver(at(0)), Some((Side::Server, Vec::new())));
        assert_eq!(link.counters(Side::Client).corrupted, 1);
    }

    #[test]
    fn a_link_can_become_worse() {
        let mut link = Link::new(1, LinkProfile::default());
        let dead = LinkProfile {
            loss: 1.0,
            ..LinkProfile::default()
        };
        link.set_profile(Side::Server, dead);
        link.send(at(0), Side::Server, vec![1]);
        assert_eq!(link.next_due(), None);
    }
}
