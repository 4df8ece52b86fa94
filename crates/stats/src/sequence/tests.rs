use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn tracked(first: u64, arrivals: &[u64]) -> SequenceTracker {
    let mut tracker = SequenceTracker::new(first);
    for sequence in arrivals {
        tracker.observe(*sequence);
    }
    tracker
}

#[test]
fn vector_of_the_methodology() {
    let mut tracker = SequenceTracker::new(1);
    let arrivals: Vec<Arrival> = [1, 2, 3, 6, 4, 5, 7, 7, 10, 8]
        .into_iter()
        .map(|sequence| tracker.observe(sequence))
        .collect();
    let in_order = Arrival::InOrder { gap: 0 };
    assert_eq!(
        arrivals,
        [
            in_order,
            in_order,
            in_order,
            Arrival::InOrder { gap: 2 },
            Arrival::Reordered { extent: 1 },
            Arrival::Reordered { extent: 2 },
            in_order,
            Arrival::Duplicate,
            Arrival::InOrder { gap: 2 },
            Arrival::Reordered { extent: 1 },
        ]
    );
    let loss = tracker.finish(Some(10));
    assert_eq!((loss.sent, loss.lost), (10, 1));
    assert_eq!((loss.runs.count, loss.runs.longest), (1, 1));
    assert_eq!(loss.counts.received, 9);
    assert_eq!(loss.counts.duplicates, 1);
    assert_eq!(loss.counts.reordered, 3);
    assert_eq!(loss.counts.discontinuities, 2);
    assert_eq!(loss.counts.longest_extent, 2);
    assert!((loss.reordered_ratio() - 0.3333).abs() < 1e-4);
    // iperf 2's view of the same arrivals.
    assert_eq!(loss.counts.skipped(), 4);
    assert_eq!(loss.counts.out_of_order(), 4);
    assert_eq!(loss.counts.iperf2_lost(), 0);
    assert_eq!(tracker.highest(), Some(10));
}

#[test]
fn a_run_of_next_numbers_is_as_one_by_one() {
    for run in [0, 1, 2, 3, 4, 5, 63, 1000] {
        let (mut single, mut many) = (tracked(1, &[1, 2, 5]), tracked(1, &[1, 2, 5]));
        many.observe_next(run);
        for number in 6..6 + run {
            single.observe(number);
        }
        // What comes late looks back at the last ones.
        let after = 6 + run;
        for number in [after + 3, 3, after, after] {
            assert_eq!(single.observe(number), many.observe(number));
        }
        assert_eq!(single.counts(), many.counts());
        assert_eq!(single.finish(None), many.finish(None));
    }
}

#[test]
fn n_reordering_looks_at_the_arrivals_just_before() {
    let tracker = tracked(1, &[1, 5, 6, 7, 2, 9, 8]);
    // 2 follows 5, 6, 7; 8 follows 9 and 2.
    assert_eq!(tracker.counts().n_reordered, [2, 1, 1]);
}

#[test]
fn nothing_received_is_all_lost() {
    let loss = SequenceTracker::new(0).finish(Some(5));
    assert_eq!((loss.lost, loss.runs.longest), (5, 5));
    assert_eq!(loss.ratio(), 1.0);
    let nothing = SequenceTracker::new(0).finish(None);
    assert_eq!((nothing.lost, nothing.ratio()), (0, 0.0));
    assert!(!nothing.sent_known);
}

#[test]
fn a_lost_tail_shows_only_when_the_sender_reports_it() {
    let tracker = tracked(0, &[0, 1, 3]);
    assert_eq!(tracker.finish(None).lost, 1);
    let loss = tracker.finish(Some(8));
    assert_eq!((loss.lost, loss.runs.count, loss.runs.longest), (5, 2, 4));
    // A sender that claims fewer packets than arrived is not believed.
    let claimed = tracker.finish(Some(2));
    assert_eq!(
        (claimed.sent, claimed.lost, claimed.sent_known),
        (4, 1, false)
    );
}

#[test]
fn the_first_packets_can_be_lost() {
    let tracker = tracked(1, &[4]);
    assert_eq!(tracker.counts().lost(), 3);
    assert_eq!(tracker.counts().discontinuities, 1);
}

#[test]
fn numbers_before_the_first_are_not_judged() {
    let mut tracker = SequenceTracker::new(10);
    assert_eq!(tracker.observe(3), Arrival::TooOld);
    assert_eq!(tracker.counts().lost(), 0);
    assert_eq!(tracker.counts().too_old, 1);
}

#[test]
fn a_flow_without_gaps_takes_no_memory_and_knows_all_duplicates() {
    let mut tracker = SequenceTracker::new(0);
    for sequence in 0..200_000 {
        tracker.observe(sequence);
    }
    assert_eq!(tracker.observe(0), Arrival::Duplicate);
    assert!(tracker.history.is_none());
}

#[test]
fn late_packets_beyond_the_window_stay_lost() {
    let mut tracker = SequenceTracker::new(0);
    tracker.observe(1);
    for sequence in 2..100_000 {
        tracker.observe(sequence);
    }
    assert_eq!(tracker.observe(0), Arrival::TooOld);
    assert_eq!(tracker.counts().lost(), 1);
    assert_eq!(tracker.finish(Some(100_000)).runs.packets, 1);
}

#[test]
fn a_wider_window_judges_later_packets() {
    let mut tracker = SequenceTracker::with_window(0, 100_001);
    for sequence in 1..=130_000 {
        tracker.observe(sequence);
    }
    assert_eq!(tracker.observe(0), Arrival::Reordered { extent: 130_000 });
}

#[test]
fn numbers_at_the_end_of_the_range_do_no_harm() {
    let mut tracker = SequenceTracker::new(u64::MAX);
    assert_eq!(tracker.observe(u64::MAX - 1), Arrival::InOrder { gap: 0 });
    assert_eq!(tracker.observe(u64::MAX), Arrival::TooOld);
    let mut jump = SequenceTracker::new(0);
    jump.observe(u64::MAX - 1);
    assert_eq!(jump.observe(u64::MAX), Arrival::TooOld);
    assert_eq!(jump.observe(1), Arrival::TooOld);
    assert_eq!(jump.finish(None).runs.longest, u64::MAX - 1);
    let mut sum = jump.counts();
    sum.merge(&jump.counts());
    assert_eq!(sum.span, u64::MAX);
}

/// The definitions of the methodology, written without any cleverness.
#[derive(Default)]
struct Model {
    arrivals: Vec<u64>,
    duplicates: u64,
    discontinuities: u64,
    n_reordered: [u64; 3],
    extents: Vec<u64>,
}

impl Model {
    fn observe(&mut self, sequence: u64) -> Arrival {
        if self.arrivals.contains(&sequence) {
            self.duplicates += 1;
            return Arrival::Duplicate;
        }
        let index = self.arrivals.len();
        let next = self.arrivals.iter().max().map_or(0, |highest| highest + 1);
        let earliest = self.arrivals.iter().position(|seen| *seen > sequence);
        let arrival = match earliest {
            None => {
                self.discontinuities += u64::from(sequence > next);
                Arrival::InOrder {
                    gap: sequence - next,
                }
            }
            Some(earliest) => {
                for n in 1..=3 {
                    let before = index.checked_sub(n).map(|from| &self.arrivals[from..]);
                    let all = before.is_some_and(|b| b.iter().all(|seen| *seen > sequence));
                    self.n_reordered[n - 1] += u64::from(all);
                }
                let extent = (index - earliest) as u64;
                self.extents.push(extent);
                Arrival::Reordered { extent }
            }
        };
        self.arrivals.push(sequence);
        arrival
    }

    fn loss_runs(&self, sent: u64) -> LossRuns {
        let received: BTreeSet<u64> = self.arrivals.iter().copied().collect();
        let mut runs = LossRuns::default();
        let mut run = 0;
        for sequence in 0..sent {
            if received.contains(&sequence) {
                runs.add(std::mem::take(&mut run));
            } else {
                run += 1;
            }
        }
        runs.add(run);
        runs
    }
}

/// A sequence as a bad network delivers it: each packet has a delay (reordering) and
/// arrives 0, 1 or 2 times.
fn delivered() -> impl Strategy<Value = (u64, Vec<u64>)> {
    let packet = (
        0_u64..30,
        prop_oneof![1 => Just(0), 8 => Just(1), 1 => Just(2)],
    );
    prop::collection::vec(packet, 1..400).prop_map(|packets| {
        let sent = packets.len() as u64;
        let mut arrivals = Vec::new();
        for (sequence, (delay, copies)) in (0..).zip(packets) {
            // Most packets are on time, so that runs in order occur as well.
            let delay = delay.saturating_sub(20);
            for copy in 0..copies {
                arrivals.push((sequence + delay + copy * 3, sequence));
            }
        }
        arrivals.sort();
        (
            sent,
            arrivals.into_iter().map(|(_, sequence)| sequence).collect(),
        )
    })
}

proptest! {
    #[test]
    fn agrees_with_the_naive_model((sent, arrivals) in delivered()) {
        let mut tracker = SequenceTracker::new(0);
        let mut model = Model::default();
        for sequence in &arrivals {
            prop_assert_eq!(tracker.observe(*sequence), model.observe(*sequence));
            prop_assert_eq!(tracker.open_runs(), tracker.loss_runs().count);
        }
        let loss = tracker.finish(Some(sent));
        prop_assert_eq!(loss.counts.received, model.arrivals.len() as u64);
        prop_assert_eq!(loss.counts.duplicates, model.duplicates);
        prop_assert_eq!(loss.counts.reordered, model.extents.len() as u64);
        prop_assert_eq!(loss.counts.discontinuities, model.discontinuities);
        prop_assert_eq!(loss.counts.n_reordered, model.n_reordered);
        prop_assert_eq!(loss.counts.longest_extent, model.extents.iter().copied().max().unwrap_or(0));
        prop_assert_eq!(loss.lost, sent - model.arrivals.len() as u64);
        prop_assert_eq!(loss.runs, model.loss_runs(sent));
    }

    #[test]
    fn agrees_with_the_naive_model_on_any_permutation(
        arrivals in Just((0..120_u64).collect::<Vec<_>>()).prop_shuffle(),
        kept in 0..120_usize,
    ) {
        let mut tracker = SequenceTracker::new(0);
        let mut model = Model::default();
        for sequence in &arrivals[..kept] {
            prop_assert_eq!(tracker.observe(*sequence), model.observe(*sequence));
            prop_assert_eq!(tracker.open_runs(), tracker.loss_runs().count);
        }
        prop_assert_eq!(tracker.finish(Some(120)).runs, model.loss_runs(120));
    }

    #[test]
    fn losses_add_up_when_the_window_slides(lost in prop::collection::vec(1_u64..90_000, 0..40)) {
        // Gaps of any size, far beyond the window: every number is either received or
        // in a run.
        let mut tracker = SequenceTracker::new(0);
        let mut sequence = 0;
        for gap in lost {
            sequence += gap;
            for _ in 0..300 {
                tracker.observe(sequence);
                sequence += 1;
            }
        }
        let loss = tracker.finish(None);
        prop_assert_eq!(loss.runs.packets, loss.lost);
        prop_assert_eq!(loss.runs.packets + loss.counts.received, loss.sent);
        prop_assert_eq!(loss.runs.count, loss.counts.discontinuities);
    }

    #[test]
    fn intervals_add_up_to_the_total((_, arrivals) in delivered(), cut in 0..400_usize) {
        let cut = cut.min(arrivals.len());
        let mut tracker = tracked(0, &arrivals[..cut]);
        let earlier = tracker.counts();
        for sequence in &arrivals[cut..] {
            tracker.observe(*sequence);
        }
        let mut sum = earlier;
        sum.merge(&tracker.counts().since(&earlier));
        prop_assert_eq!(sum, tracker.counts());
    }
}
