//! Events of flows that run together, on their way to whoever reports the whole.
//!
//! A run measures the quiet path behind its own traffic, where other flows may still send. So what is
//! said of round trips waits until all have ended, and the last row of probes is the quiet path of all.

use std::sync::{Arc, Mutex};

use tapeline_base::MutexExt;
use tapeline_report::{Event, FlowEvent, LoadedLatency};

/// Joins the events of several runs; clones are the same.
#[derive(Clone)]
pub struct FlowEvents(Arc<Mutex<Joined>>);

type Sink = Box<dyn FnMut(Event) + Send>;

struct Joined {
    sink: Sink,
    /// What is held back, for each flow.
    latencies: Vec<Option<LoadedLatency>>,
    /// The flow whose row of probes came last.
    quiet: Option<usize>,
}

impl FlowEvents {
    /// For so many flows; `sink` gets [`Event::OfFlow`] only.
    #[must_use]
    pub fn new(flows: usize, sink: impl FnMut(Event) + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Joined {
            sink: Box::new(sink),
            latencies: vec![None; flows],
            quiet: None,
        })))
    }

    /// Takes an event of the flow at this place.
    pub fn observe(&self, flow: usize, event: Event) {
        let mut joined = self.0.lock_unpoisoned();
        match event {
            Event::LoadedLatency(latency) => joined.hold(flow, *latency),
            event => joined.pass(flow, Some(event)),
        }
    }

    /// The run of the flow at this place is over.
    pub fn end(&self, flow: usize) {
        self.0.lock_unpoisoned().pass(flow, None);
    }

    /// All runs are over: what was held back is passed on.
    pub fn finish(&self) {
        let mut joined = self.0.lock_unpoisoned();
        let idle = joined
            .quiet
            .and_then(|flow| Some(joined.latencies[flow].as_ref()?.idle.clone()));
        let held = std::mem::take(&mut joined.latencies);
        for (flow, latency) in held.into_iter().enumerate() {
            let Some(latency) = latency else {
                continue;
            };
            let latency = match &idle {
                Some(idle) if joined.quiet != Some(flow) => latency.with_idle(idle.clone()),
                _ => latency,
            };
            joined.pass(flow, Some(Event::LoadedLatency(Box::new(latency))));
        }
    }
}

impl Joined {
    fn hold(&mut self, flow: usize, latency: LoadedLatency) {
        if latency.idle.round_trips.count() > 0 {
            self.quiet = Some(flow);
        }
        if let Some(place) = self.latencies.get_mut(flow) {
            *place = Some(latency);
        }
    }

    fn pass(&mut self, flow: usize, event: Option<Event>) {
        let flow = u32::try_from(flow).unwrap_or(u32::MAX);
        (self.sink)(Event::OfFlow(FlowEvent {
            flow: flow.saturating_add(1),
            event: event.map(Box::new),
        }));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tapeline_report::{Notice, ProbeSeries};
    use tapeline_stats::DelayCounts;

    use super::*;

    fn series(milliseconds: i64, count: u64) -> ProbeSeries {
        ProbeSeries {
            sent: count,
            round_trips: DelayCounts::from_iter([(milliseconds * 1_000_000, count)]),
        }
    }

    fn latency(idle: ProbeSeries, loaded: i64) -> Event {
        let latency = LoadedLatency {
            idle: ProbeSeries::default(),
            loaded: series(loaded, 100),
            load: Duration::from_secs(10),
            ..LoadedLatency::default()
        };
        Event::LoadedLatency(Box::new(latency.with_idle(idle)))
    }

    #[test]
    fn the_quiet_path_is_that_of_the_last_row() {
        let (sender, events) = mpsc::channel();
        let joined = FlowEvents::new(3, move |event| {
            let _ = sender.send(event);
        });
        joined.observe(1, latency(series(80, 24), 90));
        joined.observe(0, latency(series(20, 24), 60));
        joined.observe(2, latency(ProbeSeries::default(), 30));
        joined.observe(2, Event::Notice(Notice::Interrupted));
        joined.end(2);
        let passed: Vec<_> = events.try_iter().collect();
        assert_eq!(passed.len(), 2, "the latencies wait: {passed:?}");
        joined.finish();
        let increases: Vec<_> = events
            .try_iter()
            .map(|event| match event {
                Event::OfFlow(FlowEvent {
                    flow,
                    event: Some(event),
                }) => match *event {
                    Event::LoadedLatency(latency) => {
                        let milliseconds = latency.increase.map(|it| (it * 1e3).round());
                        (flow, milliseconds)
                    }
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            increases,
            [(1, Some(40.0)), (2, Some(70.0)), (3, Some(10.0))]
        );
    }
}
