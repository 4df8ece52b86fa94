//! What came out of a row, as it is kept in a file, and how it stands to the bars.

use serde::{Deserialize, Serialize};

use super::quantity::{Bound, Quantity, Sample};
use super::row::{Against, Bar};

/// When and how a row was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Circumstances {
    pub(crate) date: String,
    pub(crate) kernel: String,
    pub(crate) machine: String,
    /// Load average before the first round.
    pub(crate) load: String,
    pub(crate) rounds: usize,
    pub(crate) seconds: f64,
}

/// A contender's samples, one for each round that succeeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Whether others are compared with it: not our own second name.
    pub(crate) peer: bool,
    pub(crate) samples: Vec<Option<Sample>>,
    /// What its last failure said.
    pub(crate) failure: Option<String>,
}

impl Entry {
    /// A contender that has not run yet.
    pub(crate) const fn new(name: String, peer: bool) -> Self {
        Self {
            name,
            peer,
            samples: Vec::new(),
            failure: None,
        }
    }

    /// Median and best value.
    pub(crate) fn figures(&self, quantity: Quantity) -> Option<(f64, f64)> {
        let values: Vec<f64> = self
            .samples
            .iter()
            .filter_map(|sample| sample.as_ref()?.get(&quantity).copied())
            .collect();
        let best = values.iter().copied().reduce(|a, b| quantity.best(a, b));
        Some((median(&values)?, best?))
    }

    /// Median over the rounds of the ratio to another one's figures: only neighbours in time
    /// compare on a machine whose speed varies.
    fn ratio_to(&self, other: &Self, quantity: Quantity) -> Option<f64> {
        let pairs: Vec<(f64, f64)> = self
            .samples
            .iter()
            .zip(&other.samples)
            .filter_map(|(ours, theirs)| {
                Some((
                    *ours.as_ref()?.get(&quantity)?,
                    *theirs.as_ref()?.get(&quantity)?,
                ))
            })
            .collect();
        if quantity.is_rare() && !pairs.is_empty() {
            let sum = |side: fn(&(f64, f64)) -> f64| pairs.iter().map(side).sum::<f64>();
            return Some(ratio(sum(|pair| pair.0), sum(|pair| pair.1)));
        }
        let ratios: Vec<f64> = pairs
            .iter()
            .map(|(ours, theirs)| ratio(*ours, *theirs))
            .collect();
        median(&ratios)
    }
}

/// A bar, and the value that it bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) number: u32,
    pub(crate) quantity: Quantity,
    /// Whom it compares with; nothing when the value itself is bounded.
    pub(crate) against: Option<String>,
    /// Ratio or value; nothing when there is none to judge.
    pub(crate) value: Option<f64>,
    pub(crate) must: Bound,
    pub(crate) stretch: Option<Bound>,
}

/// How a value stands to its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Stretch,
    Must,
    Missed,
    /// There is nothing to judge.
    Unknown,
}

impl Verdict {
    /// How the value stands.
    pub(crate) fn standing(&self) -> Standing {
        match self.value {
            None => Standing::Unknown,
            Some(value) if !self.must.is_met(value) => Standing::Missed,
            Some(value) if self.stretch.is_some_and(|bound| bound.is_met(value)) => {
                Standing::Stretch
            }
            Some(_) => Standing::Must,
        }
    }
}

/// A row over one path with one congestion control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The row's name.
    pub(crate) row: String,
    pub(crate) title: String,
    pub(crate) path: Option<String>,
    pub(crate) congestion: Option<String>,
    /// Who should have taken part.
    pub(crate) absent: String,
    pub(crate) circumstances: Circumstances,
    /// Ours first.
    pub(crate) entries: Vec<Entry>,
    pub(crate) verdicts: Vec<Verdict>,
}

impl Record {
    /// Whether both are of the same row, path and congestion control.
    pub(crate) fn replaces(&self, other: &Self) -> bool {
        (&self.row, &self.path, &self.congestion) == (&other.row, &other.path, &other.congestion)
    }

    /// What was measured, where.
    pub(crate) fn heading(&self) -> String {
        let parts = [self.path.as_deref(), self.congestion.as_deref()];
        std::iter::once(self.title.as_str())
            .chain(parts.into_iter().flatten())
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Judges the bars.
    pub(crate) fn judge(&mut self, bars: &[Bar]) {
        self.verdicts = bars.iter().filter_map(|bar| self.verdict(bar)).collect();
    }

    fn verdict(&self, bar: &Bar) -> Option<Verdict> {
        let (ours, others) = self.entries.split_first()?;
        let other = match bar.against {
            Against::Nobody => None,
            Against::Peer(peer) => Some(peer.label()),
            Against::Best => Some(self.best(others, bar.quantity)),
        };
        let value = match &other {
            None => ours.figures(bar.quantity).map(|(median, _)| median),
            Some(name) => others
                .iter()
                .find(|entry| entry.name == *name)
                .and_then(|entry| ours.ratio_to(entry, bar.quantity)),
        };
        Some(Verdict {
            number: bar.number,
            quantity: bar.quantity,
            against: other,
            value,
            must: bar.must,
            stretch: bar.stretch,
        })
    }

    /// The peer whose median is the best one.
    fn best(&self, others: &[Entry], quantity: Quantity) -> String {
        others
            .iter()
            .filter(|entry| entry.peer)
            .filter_map(|entry| Some((entry.figures(quantity)?.0, &entry.name)))
            .reduce(|a, b| if quantity.best(a.0, b.0) == a.0 { a } else { b })
            .map_or_else(|| "no peer".to_owned(), |(_, name)| name.clone())
    }
}

/// Puts new records in the places of old ones of the same row, and the others behind.
pub(crate) fn merge(records: &mut Vec<Record>, new: Vec<Record>) {
    for record in new {
        match records.iter_mut().find(|old| record.replaces(old)) {
            Some(old) => *old = record,
            None => records.push(record),
        }
    }
}

/// A ratio of two amounts; none of ours is the least there can be, whatever theirs.
fn ratio(ours: f64, theirs: f64) -> f64 {
    if ours == 0.0 { 0.0 } else { ours / theirs }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (upper, lower) = (
        sorted.get(sorted.len() / 2)?,
        sorted.get(sorted.len().saturating_sub(1) / 2)?,
    );
    Some(f64::midpoint(*upper, *lower))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bench::contender::{Contender, Tool};

    const IPERF2: Contender = Contender::both(Tool::Iperf221);

    fn entry(name: &str, quantity: Quantity, values: &[f64]) -> Entry {
        Entry {
            samples: values
                .iter()
                .map(|value| Some(Sample::from([(quantity, *value)])))
                .collect(),
            ..Entry::new(name.to_owned(), name != "ours too")
        }
    }

    pub(crate) fn record(quantity: Quantity, entries: &[(&str, &[f64])], bars: &[Bar]) -> Record {
        let mut record = Record {
            row: "row".to_owned(),
            title: "A row".to_owned(),
            path: Some("loopback".to_owned()),
            congestion: None,
            absent: String::new(),
            circumstances: Circumstances {
                date: "2026-11-21".to_owned(),
                kernel: "6.18".to_owned(),
                machine: "m".to_owned(),
                load: "0.1".to_owned(),
                rounds: 3,
                seconds: 1.0,
            },
            entries: entries
                .iter()
                .map(|(name, values)| entry(name, quantity, values))
                .collect(),
            verdicts: Vec::new(),
        };
        record.judge(bars);
        record
    }

    #[test]
    fn ratios_are_medians_of_neighbours() {
        let quantity = Quantity::Throughput;
        let bar = Bar::new(1, quantity, Bound::AtLeast(1.5)).stretch(Bound::AtLeast(3.0));
        // The machine is twice as fast in the second round.
        let entries: [(&str, &[f64]); 4] = [
            ("ours", &[2.0, 8.0, 3.0]),
            ("iperf 2.2.1", &[1.0, 4.0, 2.0]),
            ("other", &[0.5, 1.0, 1.0]),
            ("ours too", &[9.0, 9.0, 9.0]),
        ];
        let record = record(
            quantity,
            &entries,
            &[bar, bar.against(Against::Peer(IPERF2))],
        );
        for verdict in &record.verdicts {
            assert_eq!(verdict.against.as_deref(), Some("iperf 2.2.1"));
            assert_eq!(verdict.value, Some(2.0));
            assert_eq!(verdict.standing(), Standing::Must);
        }
        assert_eq!(record.entries[1].figures(quantity), Some((2.0, 4.0)));
    }

    #[test]
    fn rounds_without_a_partner_do_not_count() {
        let quantity = Quantity::CpuPerPacket;
        let bar = Bar::new(1, quantity, Bound::AtMost(0.5));
        let entries: [(&str, &[f64]); 2] = [("ours", &[1.0, 1.0]), ("other", &[2.0, 4.0])];
        let mut record = record(quantity, &entries, &[bar]);
        record.entries[1].samples[0] = None;
        record.judge(&[bar]);
        assert_eq!(record.verdicts[0].value, Some(0.25));
        record.entries[1].samples.clear();
        record.judge(&[bar]);
        assert_eq!(record.verdicts[0].standing(), Standing::Unknown);
    }

    #[test]
    fn rare_events_are_added_up() {
        let value = |ours: &[f64], theirs: &[f64]| {
            let quantity = Quantity::BackToBack;
            let bar = Bar::new(25, quantity, Bound::AtMost(0.02));
            let entries: [(&str, &[f64]); 2] = [("ours", ours), ("other", theirs)];
            record(quantity, &entries, &[bar]).verdicts[0].value
        };
        assert_eq!(value(&[1.0, 0.0], &[0.0, 8.0]), Some(0.125));
        assert_eq!(value(&[0.0, 0.0], &[0.0, 0.0]), Some(0.0));
        assert_eq!(value(&[1.0, 0.0], &[0.0, 0.0]), Some(f64::INFINITY));
    }

    #[test]
    fn a_value_can_be_bounded_itself() {
        let quantity = Quantity::WallTime;
        let bar = Bar::new(11, quantity, Bound::AtMost(2.5)).against(Against::Nobody);
        let entries: [(&str, &[f64]); 1] = [("ours", &[2.0, 3.0, 9.0])];
        let verdict = &record(quantity, &entries, &[bar]).verdicts[0];
        assert_eq!((verdict.value, &verdict.against), (Some(3.0), &None));
        assert_eq!(verdict.standing(), Standing::Missed);
    }

    #[test]
    fn a_new_record_takes_the_place_of_the_old_one() {
        let of = |values: &[f64]| record(Quantity::Loss, &[("ours", values)], &[]);
        let other = Record {
            congestion: Some("cubic".to_owned()),
            ..of(&[1.0])
        };
        let mut records = vec![of(&[1.0]), other.clone()];
        merge(&mut records, vec![of(&[2.0])]);
        assert_eq!(records, [of(&[2.0]), other]);
        let text = serde_json::to_string(&records).expect("text");
        let back: Vec<Record> = serde_json::from_str(&text).expect("records");
        assert_eq!(back, records);
    }

    #[test]
    fn a_median_lies_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    }
}
