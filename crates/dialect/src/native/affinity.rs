//! Whether the peer's threads ran on the CPU that was chosen for them.

use std::collections::BTreeSet;

use tapeline_wire::native::{FlowResult, Results};

/// What is to be said where the server's streams did not run on the CPU that was chosen for them.
pub(crate) fn missed(results: &Results, cpu: u32) -> Option<String> {
    let ran = |flow: &FlowResult| flow.placement.and_then(|placement| placement.cpu);
    let others = results.flows.iter().filter(|flow| ran(flow) != Some(cpu));
    let count = others.clone().count();
    let known: BTreeSet<u32> = others.filter_map(ran).collect();
    let known: Vec<String> = known.iter().map(u32::to_string).collect();
    let on = match known.as_slice() {
        [] => "a CPU that is not known".to_owned(),
        [one] => format!("CPU {one}"),
        _ => format!("CPUs {}", known.join(", ")),
    };
    let streams = if count == 1 { "stream" } else { "streams" };
    (count > 0).then(|| {
        format!(
            "{count} {streams} of the server ran on {on} rather than {cpu} (--affinity): it has no such CPU, or one \
             thread for several streams (UDP that it receives, more than 64 TCP streams)"
        )
    })
}

#[cfg(test)]
mod tests {
    use tapeline_wire::native::PlacementResult;

    use super::*;

    fn results(cpus: &[Option<u32>]) -> Results {
        let flow = |cpu: &Option<u32>| FlowResult {
            placement: Some(PlacementResult {
                cpu: *cpu,
                ..PlacementResult::default()
            }),
            ..FlowResult::default()
        };
        Results {
            flows: cpus.iter().map(flow).collect(),
            ..Results::default()
        }
    }

    #[test]
    fn streams_that_ran_elsewhere_are_named_with_their_cpus() {
        assert_eq!(missed(&results(&[Some(3), Some(3)]), 3), None);
        let said = |cpus: &[Option<u32>]| missed(&results(cpus), 3).expect("a sentence");
        let all = said(&[Some(2), Some(3), Some(0), Some(2)]);
        assert!(
            all.starts_with("3 streams of the server ran on CPUs 0, 2 rather than 3 "),
            "{all}"
        );
        let silent = said(&[None]);
        assert!(
            silent.starts_with("1 stream of the server ran on a CPU that is not known "),
            "{silent}"
        );
    }
}
