//! `--plan`: what a method would do.

use tapeline_method::{MethodPlan, PlannedPhase};
use tapeline_report::digits;

/// Phases with their lengths and bytes, then the sum.
pub(crate) fn plan_text(plan: &MethodPlan, address: &str) -> String {
    let common = plan.common();
    let phases = plan.phases();
    let standard = match plan.standard() {
        "" => String::new(),
        standard => format!(", {standard}"),
    };
    let mut text = format!(
        "{} to {} ({address}) port {}{standard}: the plan, nothing is measured\n\n",
        plan.word(),
        common.host,
        common.port
    );
    text.push_str(&table(&phases));
    if let Some(budget) = common.budget {
        text.push_str(&format!("budget: {} at most\n", size(budget)));
    }
    text
}

fn table(phases: &[PlannedPhase]) -> String {
    let mut text = format!(
        "{:>5}  {:<28} {:<9} {:>9}  {:>12}\n",
        "phase", "", "direction", "seconds", "payload"
    );
    for (number, phase) in (1..).zip(phases) {
        let direction = phase.direction.map_or("-", |direction| direction.word());
        let payload = phase.bytes.map_or_else(|| "by the path".to_owned(), size);
        text.push_str(&format!(
            "{number:>5}  {:<28} {direction:<9} {:>9.1}  {payload:>12}\n",
            phase.name, phase.seconds
        ));
    }
    let seconds: f64 = phases.iter().map(|phase| phase.seconds).sum();
    let known = phases.iter().filter_map(|phase| phase.bytes);
    let bytes = known.fold(0, u64::saturating_add);
    let rest = phases.iter().any(|phase| phase.bytes.is_none());
    let payload = match (bytes, rest) {
        (0, true) => "by the path".to_owned(),
        (bytes, true) => format!("{} + path", size(bytes)),
        (bytes, false) => size(bytes),
    };
    text.push_str(&format!(
        "{:>5}  {:<28} {:<9} {seconds:>9.1}  {payload:>12}\n",
        "", "together, about", ""
    ));
    text
}

/// `1.05 GB`: decimal, as the sizes of plans of data are.
fn size(bytes: u64) -> String {
    let value = bytes as f64;
    let (factor, unit) = match bytes {
        0..1000 => (1.0, "bytes"),
        1000..1_000_000 => (1e3, "kB"),
        1_000_000..1_000_000_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    if bytes < 1000 {
        format!("{bytes} {unit}")
    } else {
        format!("{} {unit}", digits(value / factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_method::Direction;

    #[test]
    fn a_plan_adds_up_what_is_known() {
        let phases = [
            PlannedPhase::new("path MTU", Some(Direction::Up), 6.0).moving(150_000),
            PlannedPhase::new("baseline", None, 5.0),
        ];
        assert_eq!(
            table(&phases),
            "phase                               direction   seconds       payload\n    \
             1  path MTU                     up              6.0        150 kB\n    \
             2  baseline                     -               5.0   by the path\n       \
             together, about                             11.0  150 kB + path\n"
        );
    }

    #[test]
    fn sizes_are_decimal() {
        assert_eq!(size(999), "999 bytes");
        assert_eq!(size(1_200_000_000), "1.20 GB");
    }
}
