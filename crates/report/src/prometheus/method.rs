//! What an exporter answers of a method.

use std::time::Duration;

use super::family::{Family, Labels, text};
use crate::method::MethodDocument;

/// A method that was run for the answer.
#[derive(Clone, Debug)]
pub struct MethodProbe<'a> {
    /// The host that was asked for.
    pub target: &'a str,
    /// Its port.
    pub port: u16,
    /// The method ran to its end.
    pub success: bool,
    /// How long the answer took.
    pub duration: Duration,
    /// What it came to.
    pub document: &'a MethodDocument,
}

impl MethodProbe<'_> {
    /// The metrics. Headline numbers that are known are there even if the method failed.
    #[must_use]
    pub fn text(&self) -> String {
        let labels = || -> Labels {
            vec![
                ("target", self.target.to_owned()),
                ("port", self.port.to_string()),
                ("method", self.document.method.to_owned()),
            ]
        };
        let with = |more: Labels| -> Labels { labels().into_iter().chain(more).collect() };
        let quantities = self.document.result.quantities().into_iter();
        let quantities = quantities.filter_map(|quantity| {
            let more = vec![
                ("quantity", quantity.name),
                ("unit", quantity.unit.to_owned()),
            ];
            Some((with(more), quantity.value?))
        });
        let failure = self.document.error.as_ref();
        let failure = failure.map(|failure| (with(vec![("id", failure.id.clone())]), 1.0));
        let phases = self.document.phases.iter().map(|phase| {
            let direction = phase.direction.map_or("", |direction| direction.word());
            let more = vec![
                ("phase", phase.name.to_owned()),
                ("direction", direction.to_owned()),
                ("state", phase.state.word().to_owned()),
            ];
            (with(more), phase.seconds.unwrap_or(0.0))
        });
        text(vec![
            Family::gauge(
                "tapeline_method_success",
                "Whether the method ran to its end",
                [(labels(), f64::from(u8::from(self.success)))],
            ),
            Family::gauge(
                "tapeline_probe_duration_seconds",
                "How long the probe took",
                [(labels(), self.duration.as_secs_f64())],
            ),
            Family::gauge(
                "tapeline_probe_failure",
                "Why the probe failed; always 1",
                failure,
            ),
            Family::gauge(
                "tapeline_method_result",
                "A headline number of the method, in the unit of its label",
                quantities,
            ),
            Family::gauge(
                "tapeline_method_phase_seconds",
                "How long a phase took",
                phases,
            ),
        ])
    }
}
