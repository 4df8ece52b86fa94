//! The tests of different flows, side by side.

use std::time::Duration;

use super::document::{self, FLOWS_SCHEMA, FlowReport, FlowsReport};
use crate::document::{LatencyUnderLoad, Report, ReportTracker, RunInfo, Step, figures};
use crate::model::{Event, FlowEvent, LoadedLatency};

/// What no event says of different flows.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowsInfo {
    /// Of the whole.
    pub run_info: RunInfo,
    /// The server as it was typed.
    pub host: String,
    /// Of each.
    pub flows: Vec<FlowInfo>,
}

/// What no event says of one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowInfo {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its options, as they were given.
    pub options: String,
    /// When it begins, after the test's beginning.
    pub start: Duration,
    /// Differentiated services code point of what it sends.
    pub dscp: u8,
    /// Of its test.
    pub run_info: RunInfo,
}

/// A step in the test of a flow, of which the number is given.
pub(crate) type FlowStep = (u32, Step);

/// Puts the documents of all flows together.
#[derive(Debug)]
pub(crate) struct FlowsTracker {
    info: FlowsInfo,
    flows: Vec<Tracked>,
}

/// A flow's test.
#[derive(Debug)]
struct Tracked {
    tracker: ReportTracker,
    latency: Option<LoadedLatency>,
}

impl FlowsTracker {
    /// Nothing told yet; documents with or without their intervals.
    pub(crate) fn new(info: FlowsInfo, keeps_intervals: bool) -> Self {
        let flows = info.flows.iter().map(|flow| {
            let run_info = flow.run_info.clone();
            Tracked {
                tracker: match keeps_intervals {
                    true => ReportTracker::new(run_info),
                    false => ReportTracker::without_intervals(run_info),
                },
                latency: None,
            }
        });
        Self {
            flows: flows.collect(),
            info,
        }
    }

    pub(crate) fn info(&self) -> &FlowsInfo {
        &self.info
    }

    /// Takes an event; what belongs to no flow adds nothing.
    pub(crate) fn observe(&mut self, event: &Event) -> Vec<FlowStep> {
        let Event::OfFlow(FlowEvent {
            flow,
            event: Some(event),
        }) = event
        else {
            return Vec::new();
        };
        let place = usize::try_from(*flow).unwrap_or(0).wrapping_sub(1);
        let Some(tracked) = self.flows.get_mut(place) else {
            return Vec::new();
        };
        if let Event::LoadedLatency(latency) = &**event {
            tracked.latency = Some((**latency).clone());
        }
        let steps = tracked.tracker.observe(event).into_iter();
        steps.map(|step| (*flow, step)).collect()
    }

    /// Rows that never came here, of whichever flow.
    pub(crate) fn missed(&mut self, rows: u64) {
        for tracked in &mut self.flows {
            tracked.tracker.missed(rows);
        }
    }

    /// Nothing follows: what the flows' tests still add, and all of them together.
    pub(crate) fn finish(&mut self) -> (Vec<FlowStep>, FlowsReport) {
        let mut steps = Vec::new();
        let mut flows = Vec::new();
        for (number, (info, tracked)) in (1..).zip(self.info.flows.iter().zip(&mut self.flows)) {
            for step in tracked.tracker.finish() {
                if let Step::End { report, .. } = &step {
                    flows.push(flow_report(number, info, report));
                }
                steps.push((number, step));
            }
        }
        let seconds = document::length(&flows);
        let latencies: Vec<&LoadedLatency> = self
            .flows
            .iter()
            .filter_map(|tracked| tracked.latency.as_ref())
            .collect();
        let started = flows
            .iter()
            .filter_map(|flow| flow.report.test.started.clone());
        let report = FlowsReport {
            schema: FLOWS_SCHEMA,
            version: self.info.run_info.version.clone(),
            command: self.info.run_info.command.clone(),
            host: self.info.host.clone(),
            // RFC 3339 in universal time sorts by time.
            started: started.min(),
            seconds: seconds.map(figures::rounded_seconds),
            complete: flows.iter().all(|flow| flow.report.test.complete),
            interrupted: flows.iter().any(|flow| flow.report.test.interrupted),
            directions: document::ways(&flows, seconds),
            latency_under_load: LoadedLatency::joined(&latencies)
                .map(|latency| LatencyUnderLoad::new(&latency)),
            flows,
        };
        (steps, report)
    }
}

fn flow_report(number: u32, info: &FlowInfo, report: &Report) -> FlowReport {
    FlowReport {
        flow: number,
        name: info.name.clone(),
        options: info.options.clone(),
        start_seconds: figures::seconds(info.start),
        dscp: info.dscp,
        report: report.clone(),
    }
}
