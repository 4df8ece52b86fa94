//! What became better or worse from one program to another by more than its noise, with the statistics of
//! `tapeline compare`: rank sums of logarithms, all questions of a run corrected together (Holm).

use tapeline_stats::{Confidence, Shift, holm, median};

use super::quantity::Quantity;
use super::record::{Entry, Record};

const CONFIDENCE: Confidence = Confidence::P95;
/// Smaller shares are no news, however certain they are: figures such as memory hardly vary.
const LEAST: f64 = 0.01;
/// What a look at the speed is to find.
const SOUGHT: f64 = 0.05;

/// A figure of two programs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    /// Row, path and program.
    what: String,
    quantity: Quantity,
    before: f64,
    now: f64,
    /// Of logarithms.
    shift: Shift,
    /// Of no change, corrected for the number of figures.
    p: f64,
}

impl Change {
    /// All figures of records whose entries are pairs: this program, and the one before.
    pub(crate) fn all(records: &[Record]) -> Vec<Self> {
        let mut changes: Vec<Self> = records.iter().flat_map(of_record).collect();
        let raw: Vec<f64> = changes.iter().map(|change| change.shift.p).collect();
        for (change, p) in changes.iter_mut().zip(holm(&raw)) {
            change.p = p;
        }
        changes
    }

    /// Whether the noise does not explain it.
    pub(crate) fn is_beyond_noise(&self) -> bool {
        self.p <= CONFIDENCE.level() && share(self.shift.estimate).abs() >= LEAST
    }

    pub(crate) fn is_worse(&self) -> bool {
        self.quantity.best(self.before, self.now) == self.before
    }

    /// Whether a change of 5 % would be more than the noise.
    pub(crate) fn would_show(&self) -> bool {
        share((self.shift.upper - self.shift.lower) / 2.0) <= SOUGHT
    }

    /// Figures and share, in one line.
    pub(crate) fn line(&self) -> String {
        let kind = if self.is_worse() { "worse" } else { "better" };
        let percent = |logarithm: f64| format!("{:+.1}", share(logarithm) * 100.0);
        format!(
            "{kind}: {}: {} {} instead of {} {}, {} % ({} to {} %)",
            self.what,
            self.quantity.name(),
            self.quantity.shown(self.now),
            self.quantity.shown(self.before),
            self.quantity.unit(),
            percent(self.shift.estimate),
            percent(self.shift.lower),
            percent(self.shift.upper),
        )
    }
}

fn of_record(record: &Record) -> Vec<Change> {
    let mut changes = Vec::new();
    for pair in record.entries.chunks_exact(2) {
        let [now, before] = pair else { continue };
        for quantity in quantities(now) {
            let [after, earlier] = [now, before].map(|entry| values(entry, quantity));
            let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect();
            let (a, b): (Vec<f64>, Vec<f64>) = (logarithms(&earlier), logarithms(&after));
            // A share of nothing has no logarithm.
            if a.iter().chain(&b).any(|value| !value.is_finite()) {
                continue;
            }
            let Some(shift) = Shift::new(&a, &b, CONFIDENCE) else {
                continue;
            };
            changes.push(Change {
                what: format!("{}, {}", record.heading(), now.name),
                quantity,
                before: median(&earlier),
                now: median(&after),
                shift,
                p: shift.p,
            });
        }
    }
    changes
}

fn quantities(entry: &Entry) -> Vec<Quantity> {
    let samples = entry.samples.iter().flatten();
    let mut all: Vec<Quantity> = samples.flat_map(|sample| sample.keys().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn values(entry: &Entry, quantity: Quantity) -> Vec<f64> {
    let samples = entry.samples.iter().flatten();
    samples
        .filter_map(|sample| sample.get(&quantity).copied())
        .collect()
}

fn share(logarithm: f64) -> f64 {
    logarithm.exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::record::tests::record;

    /// Ten rounds with a spread of 2 %.
    fn rounds(level: f64) -> Vec<f64> {
        (0..10)
            .map(|round| level * (0.98 + 0.004 * f64::from(round * 7 % 10)))
            .collect()
    }

    fn changes(quantity: Quantity, now: f64) -> Vec<Change> {
        let (now, before) = (rounds(now), rounds(100.0));
        Change::all(&[record(quantity, &[("now", &now), ("before", &before)], &[])])
    }

    #[test]
    fn five_percent_are_found_and_named_by_their_direction() {
        let worse = &changes(Quantity::PacketRate, 95.0)[0];
        assert!(worse.is_beyond_noise() && worse.is_worse() && worse.would_show());
        let line = worse.line();
        let begin =
            "worse: A row, loopback, now: datagrams received 94.8 instead of 99.8 k/s, -5.0 %";
        assert!(line.starts_with(begin), "{line}");
        let better = &changes(Quantity::CpuPerPacket, 95.0)[0];
        assert!(better.is_beyond_noise() && !better.is_worse());
    }

    #[test]
    fn noise_and_trifles_are_no_change() {
        assert!(!changes(Quantity::PacketRate, 100.0)[0].is_beyond_noise());
        assert!(!changes(Quantity::PacketRate, 99.2)[0].is_beyond_noise());
        // Certain, and not worth a word.
        let steady: (&[f64], &[f64]) = (&[100.4; 10], &[100.0; 10]);
        let records = [record(
            Quantity::ClientMemory,
            &[("now", steady.0), ("before", steady.1)],
            &[],
        )];
        assert!(!Change::all(&records)[0].is_beyond_noise());
    }

    #[test]
    fn figures_without_a_partner_or_a_logarithm_are_left_out() {
        assert!(changes(Quantity::Loss, 0.0).is_empty());
        let alone = record(Quantity::Loss, &[("now", &[1.0])], &[]);
        assert!(Change::all(&[alone]).is_empty());
    }
}
