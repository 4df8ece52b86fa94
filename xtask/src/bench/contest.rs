//! Alternated runs of several programs, and what they say.

use interop::Program;

use crate::shell::Result;
use crate::tally::Tally;

/// One figure that a benchmark yields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    /// What it is.
    pub(crate) name: &'static str,
    /// Its unit.
    pub(crate) unit: &'static str,
    /// Digits after the point in the table.
    pub(crate) digits: usize,
    /// Whether more is better.
    pub(crate) higher_is_better: bool,
    /// Whether it is the share of an event so rare that a round may see none: its ratio is that of
    /// the sums over the rounds.
    pub(crate) rare: bool,
    /// The ratio to iperf 2.2.1 that must be met.
    pub(crate) bar: Option<Bar>,
}

/// A bound for the ratio tapeline / iperf 2.2.1.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bar {
    /// At least this much.
    AtLeast(f64),
    /// At most this much.
    AtMost(f64),
    /// Less than this much.
    Below(f64),
}

impl Bar {
    /// Whether a ratio meets it.
    pub(crate) fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(bound) => ratio >= bound,
            Self::AtMost(bound) => ratio <= bound,
            Self::Below(bound) => ratio < bound,
        }
    }
}

impl std::fmt::Display for Bar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, ">= {bound:.2}"),
            Self::AtMost(bound) => write!(f, "<= {bound:.2}"),
            Self::Below(bound) => write!(f, "< {bound:.2}"),
        }
    }
}

/// One run of a program: a value for each measure.
pub(crate) type Sample = Vec<f64>;

/// A thing to measure.
pub(crate) struct Benchmark<'a> {
    /// Its name.
    pub(crate) name: String,
    /// What a run yields.
    pub(crate) measures: &'static [Measure],
    /// Runs a program once.
    pub(crate) run: Box<dyn Fn(Program) -> Result<Sample> + 'a>,
}

/// The results of a benchmark.
#[derive(Debug)]
pub(crate) struct Contest {
    /// Name of the benchmark.
    pub(crate) name: String,
    /// What was measured.
    pub(crate) measures: &'static [Measure],
    /// The samples of each program, one for each round.
    pub(crate) samples: Vec<(Program, Vec<Sample>)>,
}

impl Contest {
    /// Runs all programs in every round, forwards and backwards in turn.
    ///
    /// # Errors
    /// A program fails.
    pub(crate) fn hold(
        benchmark: Benchmark<'_>,
        programs: &[Program],
        rounds: usize,
    ) -> Result<Self> {
        println!("{}", benchmark.name);
        let mut samples: Vec<(Program, Vec<Sample>)> = programs
            .iter()
            .map(|program| (*program, Vec::new()))
            .collect();
        for round in 0..rounds {
            let mut order: Vec<usize> = (0..programs.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for index in order {
                let (program, samples) = &mut samples[index];
                let sample = (benchmark.run)(*program)
                    .map_err(|error| format!("{}: {program}: {error}", benchmark.name))?;
                println!("  round {} {program}: {sample:.4?}", round + 1);
                samples.push(sample);
            }
        }
        Ok(Self {
            name: benchmark.name,
            measures: benchmark.measures,
            samples,
        })
    }

    /// The values of a measure, one for each round.
    fn values(&self, program: Program, measure: usize) -> Option<Vec<f64>> {
        let (_, samples) = self.samples.iter().find(|(of, _)| *of == program)?;
        Some(samples.iter().map(|sample| sample[measure]).collect())
    }

    /// Median and best value of a measure.
    pub(crate) fn figures(&self, program: Program, measure: usize) -> Option<(f64, f64)> {
        let values = self.values(program, measure)?;
        let best = if self.measures[measure].higher_is_better {
            f64::max
        } else {
            f64::min
        };
        Some((median(&values)?, values.iter().copied().reduce(best)?))
    }

    /// Median over the rounds of a measure's ratio, tapeline / iperf 2.2.1.
    pub(crate) fn ratio(&self, measure: usize) -> Option<f64> {
        let ours = self.values(Program::TapelineAsIperf, measure)?;
        let theirs = self.values(Program::Iperf221, measure)?;
        if self.measures[measure].rare {
            return Some(ratio(ours.iter().sum(), theirs.iter().sum()));
        }
        let ratios: Vec<f64> = ours
            .iter()
            .zip(&theirs)
            .map(|(ours, theirs)| ratio(*ours, *theirs))
            .collect();
        median(&ratios)
    }

    /// Counts the bars that are met and missed.
    pub(crate) fn judge(&self, tally: &mut Tally) {
        for (index, measure) in self.measures.iter().enumerate() {
            let Some(bar) = measure.bar else { continue };
            let name = format!("{}: {}", self.name, measure.name);
            match self.ratio(index) {
                Some(ratio) if bar.is_met(ratio) => tally.pass(),
                Some(ratio) => tally.fail(format!("{name}: ratio {ratio:.2}, the bar is {bar}")),
                None => tally.skip(format!("{name}: nothing to compare with")),
            }
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
mod tests {
    use super::*;

    const MEASURES: [Measure; 1] = [Measure {
        name: "m",
        unit: "u",
        digits: 1,
        higher_is_better: true,
        rare: false,
        bar: Some(Bar::AtLeast(1.5)),
    }];

    #[test]
    fn ratios_are_medians_of_neighbours() {
        let samples = |values: [f64; 3]| values.map(|value| vec![value]).to_vec();
        // The machine is twice as fast in the second round.
        let contest = Contest {
            name: "n".to_owned(),
            measures: &MEASURES,
            samples: vec![
                (Program::TapelineAsIperf, samples([2.0, 8.0, 3.0])),
                (Program::Iperf221, samples([1.0, 4.0, 2.0])),
            ],
        };
        assert_eq!(contest.ratio(0), Some(2.0));
        assert_eq!(contest.figures(Program::Iperf221, 0), Some((2.0, 4.0)));
        let mut tally = Tally::default();
        contest.judge(&mut tally);
        assert_eq!(tally.to_string(), "1 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn rare_events_are_added_up() {
        const RARE: [Measure; 1] = [Measure {
            rare: true,
            higher_is_better: false,
            bar: Some(Bar::Below(0.25)),
            ..MEASURES[0]
        }];
        let ratio = |ours: [f64; 2], theirs: [f64; 2]| {
            let samples = |values: [f64; 2]| values.map(|value| vec![value]).to_vec();
            let samples = vec![
                (Program::TapelineAsIperf, samples(ours)),
                (Program::Iperf221, samples(theirs)),
            ];
            Contest {
                name: "n".to_owned(),
                measures: &RARE,
                samples,
            }
            .ratio(0)
        };
        assert_eq!(ratio([1.0, 0.0], [0.0, 8.0]), Some(0.125));
        assert_eq!(ratio([0.0, 0.0], [0.0, 0.0]), Some(0.0));
        assert_eq!(ratio([1.0, 0.0], [0.0, 0.0]), Some(f64::INFINITY));
    }

    #[test]
    fn the_programs_alternate() {
        let order = std::cell::RefCell::new(Vec::new());
        let benchmark = Benchmark {
            name: "n".to_owned(),
            measures: &MEASURES,
            run: Box::new(|program| {
                order.borrow_mut().push(program);
                Ok(vec![1.0])
            }),
        };
        let [a, b] = [Program::TapelineAsIperf, Program::Iperf221];
        Contest::hold(benchmark, &[a, b], 2).expect("no failure");
        assert_eq!(order.into_inner(), [a, b, b, a]);
    }

    #[test]
    fn a_median_lies_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    }
}
