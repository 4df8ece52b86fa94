//! Whether the peer's threads ran on the CPU that was chosen for them.

use std::collections::BTreeSet;

use tapeline_wire::native::{FlowResult, Results};

/// What is to be said where the server's streams did not run on the CPU that was chosen for them.
pub(crate) fn missed(results: &Results, cpu: u32) -> Option<String> {
    let ran = |flow: &FlowResult| flow.limits.and_then(|limits| limits.cpu);
    let others = results.flows.iter().filter(|flow| ran(flow) != Some(cpu));
    let count = others.clone().count();
    let known: BTreeSet<u32> = others.filter_map(ran).collect();
    let known: Vec<String> = known.iter().map(u32::to_string).collect();
    let on = match known.len() {
        0 => "which CPU they used is not known".to_owned(),
        1 => format!("they used CPU {}", known[0]),
        _ => format!("they used CPUs {}", known.join(", ")),
    };
    (count > 0).then(|| {
        let streams = if count == 1 { "stream" } else { "streams" };
        format!(
            "{count} {streams} of the server did not run on CPU {cpu} (--affinity): {on}. It has no such CPU, \
             or serves several streams with one thread (UDP that it receives, more than 64 TCP streams)"
        )
    })
}

#[cfg(test)]
mod tests {
    use tapeline_wire::native::LimitsResult;

    use super::*;

    fn results(cpus: &[Option<u32>]) -> Results {
        let flow = |cpu: &Option<u32>| FlowResult {
            limits: Some(LimitsResult {
                cpu: *cpu,
                ..LimitsResult::default()
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
            all.starts_with("3 streams of the server did not run on CPU 3"),
            "{all}"
        );
        assert!(all.contains("they used CPUs 0, 2"), "{all}");
        let silent = said(&[None]);
        assert!(silent.starts_with("1 stream of the server"), "{silent}");
        assert!(silent.contains("is not known"), "{silent}");
    }
}
