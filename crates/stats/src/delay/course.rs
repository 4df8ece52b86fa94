//! Delays in the order of their arrival: what two clocks drift apart in a test can be taken out of them.

use tapeline_base::WallTime;

use super::counts::DelayCounts;

/// The delays of a part of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelaySlice {
    /// The first arrival, by the receiver's clock.
    pub first: WallTime,
    /// The last one.
    pub last: WallTime,
    /// Smallest delay, nanoseconds.
    pub least: i64,
    /// Largest delay.
    pub largest: i64,
    /// All of them, each as the middle of a bucket, which may lie outside of those two.
    pub counts: DelayCounts,
}

impl DelaySlice {
    /// The middle of its time.
    #[must_use]
    pub fn middle(&self) -> WallTime {
        let half = self.last.nanos_since(self.first) / 2;
        WallTime::from_nanos(self.first.as_nanos().saturating_add(half))
    }

    /// Its delays within its extremes, all longer by `nanos`.
    fn moved(&self, nanos: i64) -> impl Iterator<Item = (i64, u64)> + '_ {
        let (least, largest) = (self.least.min(self.largest), self.largest);
        let points = self.counts.points().iter();
        points.map(move |(delay, count)| {
            let delay = (*delay).clamp(least, largest);
            (delay.saturating_add(nanos), *count)
        })
    }
}

/// A flow's delays, slice by slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelayCourse {
    slices: Vec<DelaySlice>,
}

impl FromIterator<DelaySlice> for DelayCourse {
    fn from_iter<T: IntoIterator<Item = DelaySlice>>(slices: T) -> Self {
        Self {
            slices: slices.into_iter().collect(),
        }
    }
}

impl DelayCourse {
    /// The slices, in the order of time.
    #[must_use]
    pub fn slices(&self) -> &[DelaySlice] {
        &self.slices
    }

    /// All delays as they are.
    #[must_use]
    pub fn all(&self) -> DelayCounts {
        self.moved(|_| 0)
    }

    /// All delays, those of each slice longer by what `longer` says of it, nanoseconds.
    #[must_use]
    pub fn moved(&self, longer: impl Fn(&DelaySlice) -> i64) -> DelayCounts {
        let slices = self.slices.iter();
        slices
            .flat_map(|slice| slice.moved(longer(slice)))
            .collect()
    }

    /// At most `max` delays in all slices, but one in each: neighbours are put together at their mean,
    /// where there are most of them, until that is so.
    #[must_use]
    pub fn coarsened(&self, max: usize) -> Self {
        let mut slices = self.slices.clone();
        let points = |slice: &DelaySlice| slice.counts.points().len();
        let mut left: usize = slices.iter().map(points).sum();
        while left > max {
            let Some(largest) = slices.iter_mut().max_by_key(|slice| points(slice)) else {
                break;
            };
            let before = points(largest);
            if before <= 1 {
                break;
            }
            largest.counts = largest.counts.coarsened(before.div_ceil(2));
            left -= before - points(largest);
        }
        Self { slices }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(first: i64, delays: &[i64]) -> DelaySlice {
        DelaySlice {
            first: WallTime::from_nanos(first),
            last: WallTime::from_nanos(first + 10),
            least: delays.iter().copied().min().expect("a delay"),
            largest: delays.iter().copied().max().expect("a delay"),
            counts: delays.iter().copied().collect(),
        }
    }

    #[test]
    fn each_slice_is_moved_by_its_own_time() {
        let course: DelayCourse = [slice(0, &[100, 102]), slice(1_000, &[200, 202])]
            .into_iter()
            .collect();
        assert_eq!(course.all().count(), 4);
        let drift = |slice: &DelaySlice| -(slice.middle().as_nanos() - 5) / 10;
        let moved = course.moved(drift);
        assert_eq!(moved.points(), [(100, 2), (102, 2)]);
    }

    #[test]
    fn a_bucket_reaches_no_further_than_what_was_measured() {
        let course: DelayCourse = [DelaySlice {
            least: 98,
            largest: 103,
            ..slice(0, &[90, 100, 110])
        }]
        .into_iter()
        .collect();
        assert_eq!(course.all().points(), [(98, 1), (100, 1), (103, 1)]);
    }

    #[test]
    fn the_fullest_slices_are_made_coarser() {
        let many: Vec<i64> = (0..64).collect();
        let course: DelayCourse = [slice(0, &many), slice(100, &[5])].into_iter().collect();
        let coarse = course.coarsened(20);
        let points = |place: usize| coarse.slices()[place].counts.points().len();
        assert_eq!((points(0), points(1)), (16, 1));
        assert_eq!(coarse.all().count(), 65);
        assert_eq!(course.coarsened(0).slices()[0].counts.points().len(), 1);
        assert_eq!(course.coarsened(1000), course);
    }
}
