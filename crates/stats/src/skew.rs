//! Skew between two clocks: the slope of the fastest packets' transit times.

use std::collections::VecDeque;

/// Shortest run whose skew is worth removing, seconds.
const SHORTEST_RUN: f64 = 10.0;
/// Fewest packets on the hull that make a skew credible.
const FEWEST_CANDIDATES: usize = 10;
/// A larger slope is a step or an error, not a skew.
const LARGEST_SKEW: f64 = 500e-6;
/// Smallest difference that is called a clock step, seconds.
const SMALLEST_STEP: f64 = 100e-6;
/// How far a step stands out of the ordinary delay variation.
const STEP_OVER_RESIDUAL: f64 = 5.0;
/// Corners kept before the hull is thinned. Real delays have a few dozen; a smooth
/// convex series could have one per packet.
const MAX_CORNERS: usize = 4_096;

/// The line under all transit times that touches them most closely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Skew {
    /// Slope α: seconds of transit time per second of run.
    pub slope: f64,
    /// Transit time of the line at time 0, seconds.
    pub intercept: f64,
    /// Corners of the lower hull.
    pub candidates: usize,
    /// Time from the first packet to the last, seconds.
    pub span: f64,
}

impl Skew {
    /// The transit time of the line at `time`, seconds.
    #[must_use]
    pub fn at(&self, time: f64) -> f64 {
        self.intercept + self.slope * time
    }

    /// Whether transit times should be corrected by it: a run of 10 s, ten corners and
    /// at most 500 ppm.
    #[must_use]
    pub fn is_applicable(&self) -> bool {
        self.span >= SHORTEST_RUN
            && self.candidates >= FEWEST_CANDIDATES
            && self.slope.abs() <= LARGEST_SKEW
    }

    /// The transit time with the skew since `origin` removed.
    #[must_use]
    pub fn corrected(&self, time: f64, transit: f64, origin: f64) -> f64 {
        transit - self.slope * (time - origin)
    }
}

/// The lower convex hull of (time, transit) points, built as packets arrive (Moon,
/// Skelly, Towsley, INFOCOM 1999). The line that minimises the summed distance to all
/// points while staying below them is the edge of the hull over the mean time.
#[derive(Clone, Debug, Default)]
pub struct SkewHull {
    corners: Vec<(f64, f64)>,
    count: u64,
    mean_time: f64,
}

impl SkewHull {
    /// No point yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a packet: `time` in seconds since the start of the run, not before the
    /// previous packet's, and `transit` in seconds. Points out of order or without a
    /// value are ignored.
    pub fn add(&mut self, time: f64, transit: f64) {
        if !(time.is_finite() && transit.is_finite()) {
            return;
        }
        match self.corners.last() {
            Some((last, _)) if time < *last => return,
            Some((last, lowest)) if time == *last && transit >= *lowest => {
                self.count_time(time);
                return;
            }
            Some((last, _)) if time == *last => {
                self.corners.pop();
            }
            _ => {}
        }
        self.count_time(time);
        while let [.., before, last] = self.corners[..] {
            if turns_left(before, last, (time, transit)) {
                break;
            }
            self.corners.pop();
        }
        if self.corners.len() == MAX_CORNERS {
            self.thin();
        }
        self.corners.push((time, transit));
    }

    fn count_time(&mut self, time: f64) {
        self.count += 1;
        self.mean_time += (time - self.mean_time) / self.count as f64;
    }

    /// Keeps about half of the corners, spread evenly over the time.
    fn thin(&mut self) {
        let [first, .., last] = self.corners[..] else {
            return;
        };
        let spacing = (last.0 - first.0) / (MAX_CORNERS / 2) as f64;
        let mut due = first.0;
        self.corners.retain(|corner| {
            let keep = corner.0 >= due || corner.0 == last.0;
            if keep {
                due = corner.0 + spacing;
            }
            keep
        });
    }

    /// The corners of the hull, in the order of time.
    #[must_use]
    pub fn corners(&self) -> &[(f64, f64)] {
        &self.corners
    }

    /// The skew line; nothing before two points at different times.
    #[must_use]
    pub fn skew(&self) -> Option<Skew> {
        let right = self
            .corners
            .partition_point(|(time, _)| *time < self.mean_time)
            .clamp(1, self.corners.len().max(2) - 1);
        let (start, end) = (*self.corners.get(right - 1)?, *self.corners.get(right)?);
        let slope = (end.1 - start.1) / (end.0 - start.0);
        Some(Skew {
            slope,
            intercept: start.1 - slope * start.0,
            candidates: self.corners.len(),
            span: self.corners.last()?.0 - self.corners.first()?.0,
        })
    }
}

/// Whether the way a → b → c bends upwards.
fn turns_left(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> bool {
    (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0) > 0.0
}

/// A sudden change of the difference between two clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockStep {
    /// Time of the first packet after the step, seconds.
    pub at: f64,
    /// Change of the transit time, seconds.
    pub size: f64,
}

/// Looks for one clock step in (time, transit) points ordered by time, in seconds.
///
/// The point where the lower envelope jumps most is taken as the candidate; it is a
/// step when the lines under both sides differ there by more than five times the
/// median distance of the points above them and by more than 100 µs.
#[must_use]
pub fn find_clock_step(points: &[(f64, f64)]) -> Option<ClockStep> {
    let cut = largest_jump(points)?;
    let (left, right) = points.split_at(cut);
    let (before, after) = (skew_of(left)?, skew_of(right)?);
    let at = right[0].0;
    let size = after.at(at) - before.at(at);
    let mut residuals: Vec<f64> = left
        .iter()
        .map(|point| (point, before))
        .chain(right.iter().map(|point| (point, after)))
        .map(|((time, transit), line)| transit - line.at(*time))
        .collect();
    let middle = residuals.len() / 2;
    let (_, median, _) = residuals.select_nth_unstable_by(middle, f64::total_cmp);
    let threshold = (STEP_OVER_RESIDUAL * *median).max(SMALLEST_STEP);
    (size.abs() > threshold).then_some(ClockStep { at, size })
}

fn skew_of(points: &[(f64, f64)]) -> Option<Skew> {
    let mut hull = SkewHull::new();
    points
        .iter()
        .for_each(|(time, transit)| hull.add(*time, *transit));
    hull.skew()
}

/// The index at which the lower envelope jumps most: the minimum over a tenth of the
/// series after it against that before it.
fn largest_jump(points: &[(f64, f64)]) -> Option<usize> {
    let reach = (points.len() / 10).max(FEWEST_CANDIDATES);
    let lowest = lowest_ahead(points, reach);
    let jump = |cut: usize| lowest[cut] - lowest[cut - reach];
    let cuts = reach..=points.len().checked_sub(reach)?;
    let most = cuts
        .clone()
        .map(jump)
        .max_by(|left, right| left.abs().total_cmp(&right.abs()))?;
    // A step upwards shows as soon as no point ahead is from before it, one downwards
    // as long as no point behind is from after it.
    if most > 0.0 {
        cuts.clone().find(|cut| jump(*cut) > most / 2.0)
    } else {
        cuts.clone().rfind(|cut| jump(*cut) < most / 2.0)
    }
}

/// For each index the smallest transit among it and the points after it, `reach` in
/// all.
fn lowest_ahead(points: &[(f64, f64)], reach: usize) -> Vec<f64> {
    let mut lowest = vec![0.0; points.len()];
    // Indices whose transits rise towards the back: the front is the lowest ahead.
    let mut candidates: VecDeque<usize> = VecDeque::new();
    for index in (0..points.len()).rev() {
        while candidates
            .back()
            .is_some_and(|last| points[*last].1 >= points[index].1)
        {
            candidates.pop_back();
        }
        candidates.push_back(index);
        if candidates
            .front()
            .is_some_and(|first| *first >= index + reach)
        {
            candidates.pop_front();
        }
        lowest[index] = points[candidates[0]].1;
    }
    lowest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hull_of(points: &[(f64, f64)]) -> SkewHull {
        let mut hull = SkewHull::new();
        points
            .iter()
            .for_each(|(time, transit)| hull.add(*time, *transit));
        hull
    }

    /// A run of `seconds` with 100 packets a second, skewed, with delays that touch
    /// the minimum every seventh packet.
    fn run(seconds: u32, slope: f64, step_at: f64, step: f64) -> Vec<(f64, f64)> {
        (0..seconds * 100)
            .map(|index| {
                let time = f64::from(index) / 100.0;
                let queue = f64::from(index * 37 % 7) * 20e-6;
                let stepped = if time < step_at { 0.0 } else { step };
                (time, 0.010 + slope * time + queue + stepped)
            })
            .collect()
    }

    #[test]
    fn vector_of_the_methodology() {
        let transits = [5.0, 5.3, 5.1, 6.0, 5.2, 5.9, 5.3];
        let points: Vec<(f64, f64)> = (0..7).map(f64::from).zip(transits).collect();
        let hull = hull_of(&points);
        let skew = hull.skew().unwrap();
        assert!((skew.slope - 0.05).abs() < 1e-12);
        assert!((skew.intercept - 5.0).abs() < 1e-12);
        assert_eq!(hull.corners().first(), Some(&(0.0, 5.0)));
        assert_eq!(hull.corners().last(), Some(&(6.0, 5.3)));
        assert!(hull.corners().contains(&(2.0, 5.1)));
        assert!((skew.corrected(6.0, 5.3, 0.0) - 5.0).abs() < 1e-12);
    }

    #[test]
    fn too_few_points_have_no_skew() {
        assert_eq!(SkewHull::new().skew(), None);
        assert_eq!(hull_of(&[(1.0, 2.0)]).skew(), None);
        assert_eq!(hull_of(&[(1.0, 2.0), (1.0, 1.0), (1.0, 3.0)]).skew(), None);
    }

    #[test]
    fn points_that_go_back_in_time_are_ignored() {
        let hull = hull_of(&[(0.0, 1.0), (2.0, 1.0), (1.0, -5.0), (f64::NAN, 0.0)]);
        assert_eq!(hull.corners(), [(0.0, 1.0), (2.0, 1.0)]);
    }

    #[test]
    fn only_long_runs_with_a_small_slope_are_corrected() {
        let skew = |span, slope| Skew {
            slope,
            intercept: 0.0,
            candidates: 20,
            span,
        };
        assert!(skew(10.0, 50e-6).is_applicable());
        assert!(!skew(9.0, 50e-6).is_applicable());
        assert!(!skew(10.0, -501e-6).is_applicable());
    }

    #[test]
    fn a_convex_series_stays_bounded_and_below_the_points() {
        let points: Vec<(f64, f64)> = (0..50_000)
            .map(|index| (f64::from(index), f64::from(index).powi(2)))
            .collect();
        let hull = hull_of(&points);
        assert!(hull.corners().len() <= MAX_CORNERS);
        // The tangent at the mean time has twice its slope.
        let skew = hull.skew().unwrap();
        assert!((skew.slope / 50_000.0 - 1.0).abs() < 0.01, "{}", skew.slope);
    }

    #[test]
    fn a_step_is_found_and_a_skew_is_not_one() {
        let step = find_clock_step(&run(20, 20e-6, 12.0, 0.002)).unwrap();
        assert!((step.at - 12.0).abs() < 0.1, "{}", step.at);
        assert!((step.size - 0.002).abs() < 1e-4, "{}", step.size);
        let back = find_clock_step(&run(20, 20e-6, 5.0, -0.001)).unwrap();
        assert!((back.at - 5.0).abs() < 0.1, "{}", back.at);
        assert!((back.size + 0.001).abs() < 1e-4, "{}", back.size);
        assert_eq!(find_clock_step(&run(20, 100e-6, 99.0, 0.0)), None);
        assert_eq!(find_clock_step(&[]), None);
    }

    proptest! {
        #[test]
        fn the_line_is_below_all_points_and_finds_the_slope(
            slope in -400e-6..400e-6_f64,
            queues in prop::collection::vec(0.0..0.01_f64, 200..400),
        ) {
            let points: Vec<(f64, f64)> = queues
                .iter()
                .enumerate()
                .map(|(index, queue)| {
                    let time = index as f64 / 10.0;
                    // Every fourth packet meets an empty queue.
                    let queue = if index % 4 == 0 { 0.0 } else { *queue };
                    (time, 0.03 + slope * time + queue)
                })
                .collect();
            let skew = hull_of(&points).skew().unwrap();
            prop_assert!((skew.slope - slope).abs() < 1e-9);
            for (time, transit) in &points {
                prop_assert!(skew.at(*time) <= transit + 1e-9);
            }
        }
    }
}
