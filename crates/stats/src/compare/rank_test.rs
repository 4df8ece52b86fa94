//! The rank sum test of Wilcoxon, Mann and Whitney, exact with ties.

use std::cmp::Ordering;

use crate::distributions::normal_two_sided;

/// Product of both numbers of runs up to which the distribution is counted out: 20 against 20.
const EXACT_PAIRS: usize = 400;

/// Whether two sets of independent runs have the same place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// Two-sided: twice the smaller tail, at most 1.
    pub p: f64,
    /// By the exact distribution of these ranks; else by the normal one, corrected for ties and
    /// for continuity.
    pub exact: bool,
}

impl RankTest {
    /// Whether so many runs can be significant at all at this level (0.05 for 95 %).
    #[must_use]
    pub fn can_show(a: usize, b: usize, level: f64) -> bool {
        2.0 <= level * combinations(a + b, a.min(b))
    }

    /// Of finite values; nothing where a side has none.
    #[must_use]
    pub fn new(a: &[f64], b: &[f64]) -> Option<Self> {
        if a.is_empty() || b.is_empty() {
            return None;
        }
        let sides = Sides::new(a, b);
        Some(Self {
            p: sides.p(Cut::At(0.0)),
            exact: sides.is_exact(),
        })
    }
}

/// How many ways there are to choose `k` of `n`; infinite beyond what a float holds.
fn combinations(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |ways, step| {
        ways * (n - step) as f64 / (step + 1) as f64
    })
}

/// How far B is moved down before it is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cut {
    /// By this much.
    At(f64),
    /// By a trifle more: what would be equal is less.
    Above(f64),
}

impl Cut {
    /// How `b` stands to `a` once it is moved.
    fn compare(self, a: f64, b: f64) -> Ordering {
        let (Self::At(cut) | Self::Above(cut)) = self;
        match ((b - a).total_cmp(&cut), self) {
            _ if b - a == cut && matches!(self, Self::At(_)) => Ordering::Equal,
            (Ordering::Equal, Self::Above(_)) => Ordering::Less,
            (order, _) => order,
        }
    }
}

/// Both sides in their order.
#[derive(Clone, Debug)]
pub(crate) struct Sides {
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
}

/// Twice the mean ranks of both sides together, in their order.
struct Ranks {
    doubled: Vec<usize>,
    /// Sum of those of the smaller side.
    sum: usize,
    /// Σ (t³ − t) over groups of t equal values.
    ties: f64,
}

impl Sides {
    pub(crate) fn new(a: &[f64], b: &[f64]) -> Self {
        let sorted = |values: &[f64]| {
            // There is one zero.
            let mut values: Vec<f64> = values.iter().map(|value| value + 0.0).collect();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        Self {
            a: sorted(a),
            b: sorted(b),
        }
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.a.len() * self.b.len() <= EXACT_PAIRS
    }

    /// Whether no side has two equal values, so that all cuts between differences have the same
    /// distribution.
    pub(crate) fn are_distinct(&self) -> bool {
        let distinct = |values: &[f64]| values.windows(2).all(|pair| pair[0] != pair[1]);
        distinct(&self.a) && distinct(&self.b)
    }

    /// The two-sided p where B is moved down by the cut.
    pub(crate) fn p(&self, cut: Cut) -> f64 {
        let ranks = self.ranks(cut);
        if self.is_exact() {
            exact_p(&ranks, self.a.len().min(self.b.len()))
        } else {
            self.normal_p(&ranks)
        }
    }

    /// Merges both sides.
    fn ranks(&self, cut: Cut) -> Ranks {
        let (a, b) = (&self.a, &self.b);
        let smaller_is_b = b.len() <= a.len();
        let mut ranks = Ranks {
            doubled: Vec::with_capacity(a.len() + b.len()),
            sum: 0,
            ties: 0.0,
        };
        let (mut from_a, mut from_b) = (0, 0);
        while from_a < a.len() || from_b < b.len() {
            let order = match (a.get(from_a), b.get(from_b)) {
                (Some(a), Some(b)) => cut.compare(*a, *b),
                (Some(_), None) => Ordering::Greater,
                (None, _) => Ordering::Less,
            };
            let alike = |values: &[f64], from: usize| {
                values[from..]
                    .iter()
                    .take_while(|value| **value == values[from])
                    .count()
            };
            let of_a = if order == Ordering::Less {
                0
            } else {
                alike(a, from_a)
            };
            let of_b = if order == Ordering::Greater {
                0
            } else {
                alike(b, from_b)
            };
            let (before, count) = (from_a + from_b, of_a + of_b);
            // Ranks before + 1 to before + count; twice their mean.
            let doubled = 2 * before + count + 1;
            ranks.doubled.extend(std::iter::repeat_n(doubled, count));
            ranks.sum += doubled * if smaller_is_b { of_b } else { of_a };
            ranks.ties += (count as f64).powi(3) - count as f64;
            from_a += of_a;
            from_b += of_b;
        }
        ranks
    }

    fn normal_p(&self, ranks: &Ranks) -> f64 {
        let (a, b) = (self.a.len() as f64, self.b.len() as f64);
        let (all, smaller) = (a + b, a.min(b));
        let mean = smaller * (all + 1.0) / 2.0;
        let distance = (ranks.sum as f64 / 2.0 - mean).abs() - 0.5;
        let variance = a * b / 12.0 * (all + 1.0 - ranks.ties / (all * (all - 1.0)));
        if variance <= 0.0 {
            return 1.0;
        }
        // Within half a step of the middle both tails are more than half.
        if distance <= 0.0 {
            1.0
        } else {
            normal_two_sided(distance / variance.sqrt())
        }
    }
}

/// The two-sided p of these ranks, `chosen` of which are the smaller side's.
fn exact_p(ranks: &Ranks, chosen: usize) -> f64 {
    let halved = ranks.doubled.iter().all(|rank| rank % 2 == 0);
    let unit = if halved { 2 } else { 1 };
    let items: Vec<usize> = ranks.doubled.iter().map(|rank| rank / unit).collect();
    let counts = ways_by_sum(&items, chosen);
    let sum = ranks.sum / unit;
    let total: f64 = counts.iter().sum();
    let at_most: f64 = counts[..=sum].iter().sum();
    let at_least: f64 = counts[sum..].iter().sum();
    (2.0 * at_most.min(at_least) / total).min(1.0)
}

/// How many ways there are to choose so many of the items (in their order) with each sum. They
/// stay below 2^53 for [`EXACT_PAIRS`], so each count is exact.
fn ways_by_sum(items: &[usize], chosen: usize) -> Vec<f64> {
    let most: usize = items.iter().rev().take(chosen).sum();
    let width = most + 1;
    // A row for each number of chosen items, a column for each sum.
    let mut ways = vec![0.0_f64; (chosen + 1) * width];
    ways[0] = 1.0;
    for (number, item) in items.iter().enumerate() {
        for k in (1..=chosen.min(number + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(k * width);
            let fewer = &fewer[(k - 1) * width..];
            for (more, fewer) in more[..width].iter_mut().skip(*item).zip(fewer) {
                *more += fewer;
            }
        }
    }
    ways.split_off(chosen * width)
}

/// Of how many pairs at most B may be above, or below, for the exact test to reject at this level
/// where no values are equal; one more, so that 0 says that it never does.
pub(crate) fn rejected_pairs(a: usize, b: usize, level: f64) -> usize {
    let items: Vec<usize> = (1..=a + b).collect();
    let smaller = a.min(b);
    let counts = ways_by_sum(&items, smaller);
    let total: f64 = counts.iter().sum();
    let mut tail = 0.0;
    let from_least = counts[smaller * (smaller + 1) / 2..].iter();
    from_least
        .take_while(|count| {
            tail += **count;
            2.0 * tail <= level * total
        })
        .count()
}
