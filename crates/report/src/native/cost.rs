//! What a test cost at both ends: processor time for its bytes.

use super::other_end::Headline;
use crate::model::{OtherEnd, Phase, ProcessorUse};

/// Bytes from which on a cost says more about the bytes than about the start of a program.
const WORTH_TELLING: u64 = 100_000_000;

/// Collects what both ends say of their processors.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    own: Option<ProcessorUse>,
    /// Seconds for each 10^9 bytes.
    other: Option<f64>,
}

impl Cost {
    /// Takes what this process used.
    pub(super) fn own(&mut self, used: &ProcessorUse) {
        if used.phase == Phase::Total {
            self.own = Some(*used);
        }
    }

    /// Takes what the other end used.
    pub(super) fn other(&mut self, end: &OtherEnd) {
        let bytes = end.flows.iter().map(|flow| flow.total.bytes);
        let bytes = bytes.fold(0, u64::saturating_add);
        let time = end.cpu.zip(end.seconds);
        self.other = time.map(|(cpu, seconds)| per_gigabyte(cpu.total / 100.0 * seconds, bytes));
    }

    /// `cost     0.412 s/GB  processor time here, 45 % CPU, 0.530 s/GB there`, of a test that
    /// moved so many bytes.
    pub(super) fn headline(&self, bytes: u64) -> Option<Headline> {
        let own = self.own.filter(|_| bytes >= WORTH_TELLING)?;
        let time = own.cpu.total / 100.0 * own.span.as_secs_f64();
        let mut details = vec![
            "processor time here".to_owned(),
            format!("{:.0} % CPU", own.cpu.total),
        ];
        details.extend(self.other.map(|other| format!("{other:.3} s/GB there")));
        let number = format!("{:.3} s/GB", per_gigabyte(time, bytes));
        Some(("cost", number, details))
    }
}

fn per_gigabyte(seconds: f64, bytes: u64) -> f64 {
    seconds / (bytes.max(1) as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::CpuUse;

    #[test]
    fn a_cost_is_processor_time_for_bytes() {
        let mut cost = Cost::default();
        assert_eq!(cost.headline(WORTH_TELLING), None);
        let used = |phase, total| ProcessorUse {
            phase,
            span: Duration::from_secs(10),
            cpu: CpuUse {
                total,
                ..CpuUse::default()
            },
        };
        cost.own(&used(Phase::Total, 50.0));
        cost.own(&used(Phase::Interval, 80.0));
        cost.other(&OtherEnd::default());
        let (_, number, details) = cost.headline(10_000_000_000).expect("a cost");
        assert_eq!(number, "0.500 s/GB");
        assert_eq!(details, ["processor time here", "50 % CPU"]);
        assert_eq!(cost.headline(WORTH_TELLING - 1), None);
    }
}
