//! What an exporter answers: results of a test that was run for the answer, and its own counters.

use std::time::Duration;

use super::family::{Distribution, Family, Labels, text};
use super::result;
use crate::document::{Protocol, Report, SenderDetails};

/// Upper bounds of the buckets of a probe's duration, seconds.
const DURATIONS: [f64; 11] = [
    0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0,
];

/// A probe that is over.
#[derive(Clone, Debug)]
pub struct ProbeResult<'a> {
    /// The host that was asked for.
    pub target: &'a str,
    /// Its port.
    pub port: u16,
    /// The test ran to its end.
    pub success: bool,
    /// How long the answer took.
    pub duration: Duration,
    /// What it came to.
    pub report: &'a Report,
}

impl ProbeResult<'_> {
    /// The metrics: those of the exporter for iperf3 that is most used, then tapeline's own. Of a
    /// probe that failed there is nothing but that.
    #[must_use]
    pub fn text(&self) -> String {
        let labels = || -> Labels {
            vec![
                ("target", self.target.to_owned()),
                ("port", self.port.to_string()),
            ]
        };
        let one = |name, help, value: Option<f64>| {
            Family::gauge(name, help, value.map(|value| (labels(), value)))
        };
        let report = self.success.then_some(self.report);
        let sum = report.map(|report| &report.sum);
        let sent = sum.map(|sum| &sum.sender.end);
        let received = sum.map(|sum| &sum.receiver.end);
        let count = |number: Option<u64>| number.map(|number| number as f64);
        let retransmits = sum.and_then(|sum| match &sum.sender.details {
            Some(SenderDetails::Tcp { retransmits, .. }) => *retransmits,
            _ => None,
        });
        let mut families = vec![
            one(
                "iperf3_up",
                "Whether the probe was successful",
                Some(f64::from(u8::from(self.success))),
            ),
            one(
                "iperf3_sent_seconds",
                "Time in which the sender counted",
                sent.and_then(|end| end.seconds),
            ),
            one(
                "iperf3_sent_bytes",
                "Payload that the sender counted",
                count(sent.and_then(|end| end.bytes)),
            ),
            one(
                "iperf3_sent_bps",
                "Payload over time at the sender, bits per second",
                sent.and_then(|end| end.bits_per_second),
            ),
            one(
                "iperf3_received_seconds",
                "Time in which the receiver counted",
                received.and_then(|end| end.seconds),
            ),
            one(
                "iperf3_received_bytes",
                "Payload that the receiver counted",
                count(received.and_then(|end| end.bytes)),
            ),
            one(
                "iperf3_received_bps",
                "Payload over time at the receiver, bits per second",
                received.and_then(|end| end.bits_per_second),
            ),
            one(
                "iperf3_retransmits",
                "Segments that were sent again",
                count(retransmits),
            ),
            one(
                "tapeline_probe_duration_seconds",
                "How long the probe took",
                Some(self.duration.as_secs_f64()),
            ),
            self.failure(labels()),
        ];
        if let Some(report) = report {
            families.push(peer(report, labels()));
            families.extend(result::families(&[(labels(), report)]));
        }
        text(families)
    }

    fn failure(&self, mut labels: Labels) -> Family {
        let failed = self.report.error.as_ref().filter(|_| !self.success);
        let samples = failed.map(|failure| {
            labels.push(("id", failure.id.clone()));
            (labels, 1.0)
        });
        Family::gauge(
            "tapeline_probe_failure",
            "Why the probe failed; always 1",
            samples,
        )
    }
}

/// What answered: `tapeline`, `iperf 2` or `iperf3`. Who speaks iperf 2's protocol and does not say
/// that it is tapeline is iperf 2.
fn peer(report: &Report, mut labels: Labels) -> Family {
    let program = match (report.peer.program.as_deref(), report.test.protocol) {
        (Some("iperf") | None, Some(Protocol::Iperf2)) => Some("iperf 2"),
        (program, _) => program,
    };
    let known = [
        ("program", program),
        ("version", report.peer.version.as_deref()),
    ];
    for (name, value) in known {
        if let Some(value) = value {
            labels.push((name, value.to_owned()));
        }
    }
    Family::gauge(
        "tapeline_test_peer",
        "The other end; always 1",
        [(labels, 1.0)],
    )
}

/// The counters of an exporter.
#[derive(Clone, Debug)]
pub struct ExporterMetrics {
    version: String,
    running: u64,
    errors: u64,
    durations: Distribution,
}

impl ExporterMetrics {
    /// No probe so far; `version` is that of the program.
    #[must_use]
    pub fn new(version: &str) -> Self {
        Self {
            version: version.to_owned(),
            running: 0,
            errors: 0,
            durations: Distribution::new(&DURATIONS),
        }
    }

    /// A probe begins, unless as many run as `most` allows.
    pub fn begin(&mut self, most: u64) -> bool {
        let room = self.running < most;
        self.running += u64::from(room);
        room
    }

    /// A probe that began is over.
    pub fn end(&mut self, success: bool, duration: Duration) {
        self.running = self.running.saturating_sub(1);
        self.errors += u64::from(!success);
        self.durations.add(duration.as_secs_f64(), 1);
    }

    /// A request could not be obeyed.
    pub fn refused(&mut self) {
        self.errors += 1;
    }

    /// The metrics.
    #[must_use]
    pub fn text(&self) -> String {
        text(vec![
            Family::build(&self.version),
            Family::gauge(
                "tapeline_exporter_probes_active",
                "Probes that run",
                [(Labels::new(), self.running as f64)],
            ),
            Family::counter(
                "iperf3_exporter_errors",
                "Probes that failed, and requests that could not be obeyed",
                [(Labels::new(), self.errors)],
            ),
            Family::histogram(
                "iperf3_exporter_duration_seconds",
                "How long probes took",
                [(Labels::new(), self.durations.clone())],
            ),
        ])
    }
}
