//! What every run needs: outputs, a way to be interrupted, a reporter, and who looks on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tapeline_base::{ExitCode, MutexExt, Role};
use tapeline_dialect::{
    FlowEvents, Interruption, Reporter, ReporterHandle, ReporterSettings, SingleSums,
};
use tapeline_report::document::RunInfo;
use tapeline_report::flows::FlowsInfo;
use tapeline_report::{Event, Notice};
use tapeline_sys::{reason, run_on_processor};

use super::outputs::Outputs;
use super::printer::Closer;
use crate::message::cannot;
use crate::presentation::{Presentation, TextStyle};

/// Share of an interval above which a last partial one is reported: iperf 2's quarter, and
/// the 5 % that the measurement rules ask for. iperf3 reports each that has data.
pub(crate) fn settings(presentation: &Presentation) -> ReporterSettings {
    ReporterSettings {
        partial_share: match presentation.style {
            TextStyle::Native | TextStyle::Document(_) => 0.05,
            TextStyle::Iperf3(_) => 0.0,
            TextStyle::Iperf2Text | TextStyle::Csv => 0.25,
        },
        single_sums: match presentation.style {
            _ if presentation.sum_only => SingleSums::All,
            TextStyle::Iperf2Text | TextStyle::Csv => SingleSums::BothDirections,
            TextStyle::Native | TextStyle::Document(_) | TextStyle::Iperf3(_) => SingleSums::None,
        },
    }
}

/// Has the process run on this CPU alone, if one was chosen: before it starts threads, which inherit that.
///
/// # Errors
/// The exit code; why not has been printed.
pub(crate) fn choose_cpu(affinity: Option<u32>) -> Result<(), ExitCode> {
    let Some(cpu) = affinity else { return Ok(()) };
    run_on_processor(cpu).map_err(|error| {
        let usable = std::thread::available_parallelism().map_or(1, usize::from);
        cannot(&format!(
            "--affinity: this process cannot use CPU {cpu}, of {usable} counted from 0: {}",
            reason(&error)
        ))
    })
}

/// What every run needs: output, a way to be interrupted, whoever watches.
pub(crate) struct RunSetup {
    pub(crate) outputs: Outputs,
    settings: ReporterSettings,
    pub(crate) interruption: Interruption,
    gate: Option<LimitGate>,
    running: Arc<RunningTest>,
    /// What is said where the process ends at once.
    last_words: Option<&'static str>,
}

/// The test that runs: its reporter, and whether that it is interrupted needs no more reporting.
#[derive(Default)]
struct RunningTest {
    /// One, or one for each of different flows.
    reporters: Mutex<Vec<ReporterHandle>>,
    interrupted: AtomicBool,
}

impl RunningTest {
    fn observe(&self, event: &Event) {
        if matches!(
            event,
            Event::Notice(Notice::Interrupted) | Event::TestEnd(_)
        ) {
            self.interrupted.store(true, Ordering::Relaxed);
        }
    }

    /// Ends what runs, with its totals.
    fn close(&self) {
        let reporters = self.reporters.lock_unpoisoned();
        for reporter in reporters.iter() {
            if !self.interrupted.load(Ordering::Relaxed) {
                reporter.event(Event::Notice(Notice::Interrupted));
            }
            reporter.quit();
        }
    }
}

impl RunSetup {
    pub(crate) fn new(
        role: Role,
        interval: bool,
        presentation: &Presentation,
        run_info: &RunInfo,
    ) -> Result<Self, ExitCode> {
        let interruption = interruption()?;
        let outputs = Outputs::start(presentation, interval, run_info, role, &interruption)?;
        Ok(Self::with(outputs, interruption, role, presentation))
    }

    /// For a client of different flows.
    pub(crate) fn for_flows(
        presentation: &Presentation,
        info: &FlowsInfo,
    ) -> Result<Self, ExitCode> {
        let interruption = interruption()?;
        let outputs = Outputs::of_flows(presentation, info, &interruption)?;
        Ok(Self::with(
            outputs,
            interruption,
            Role::Client,
            presentation,
        ))
    }

    fn with(
        outputs: Outputs,
        interruption: Interruption,
        role: Role,
        presentation: &Presentation,
    ) -> Self {
        Self {
            outputs,
            settings: settings(presentation),
            interruption,
            gate: presentation.fail_if_host_limited.then(LimitGate::default),
            last_words: (role == Role::Client && presentation.style == TextStyle::Native)
                .then_some("stopped at once; no totals from the server"),
            running: Arc::new(RunningTest {
                // A server's tests are its clients'.
                interrupted: AtomicBool::new(role == Role::Server),
                ..RunningTest::default()
            }),
        }
    }

    /// What leaves whole outputs where the process ends at once.
    pub(crate) fn closing(&self) -> impl FnOnce() + Send + 'static {
        let (running, closers) = (Arc::clone(&self.running), self.outputs.closers());
        let last_words = self.last_words;
        move || {
            running.close();
            closers.iter().for_each(Closer::close);
            if let Some(words) = last_words {
                cannot(words);
            }
        }
    }

    /// A reporter in front of the outputs; what it reports is shown to `observe` too.
    pub(crate) fn reporter(
        &self,
        mut observe: impl FnMut(&Event) + Send + 'static,
    ) -> Result<Reporter, ExitCode> {
        let mut sink = self.outputs.sink();
        let gate = self.gate.clone();
        let running = Arc::clone(&self.running);
        let sink = move |event: Event| {
            running.observe(&event);
            if let Some(gate) = &gate {
                gate.observe(&event);
            }
            observe(&event);
            sink(event);
        };
        let reporter = Reporter::start(self.settings, sink)
            .map_err(|error| cannot(&format!("no reporter thread: {error}")))?;
        *self.running.reporters.lock_unpoisoned() = vec![reporter.handle()];
        Ok(reporter)
    }

    /// A reporter for each of different flows in front of the outputs, and what joins them.
    pub(crate) fn flow_reporters(
        &self,
        flows: usize,
    ) -> Result<(Vec<Reporter>, FlowEvents), ExitCode> {
        let joined = FlowEvents::new(flows, self.outputs.sink());
        let reporters = (0..flows).map(|flow| {
            let gate = self.gate.clone();
            let running = Arc::clone(&self.running);
            let joined = joined.clone();
            let sink = move |event: Event| {
                running.observe(&event);
                if let Some(gate) = &gate {
                    gate.observe(&event);
                }
                joined.observe(flow, event);
            };
            Reporter::start(self.settings, sink)
                .map_err(|error| cannot(&format!("no reporter thread: {error}")))
        });
        let reporters = reporters.collect::<Result<Vec<_>, _>>()?;
        *self.running.reporters.lock_unpoisoned() =
            reporters.iter().map(Reporter::handle).collect();
        Ok((reporters, joined))
    }

    /// Reports what no reporter does, while none runs.
    pub(crate) fn report(&self, event: Event) {
        (self.outputs.sink())(event);
    }

    /// Prints what is left; a failed output makes the run a failure.
    pub(crate) fn end(self, code: ExitCode) -> ExitCode {
        let code = self.outputs.finish(code);
        self.gate.map_or(code, |gate| gate.pass(code))
    }
}

fn interruption() -> Result<Interruption, ExitCode> {
    Interruption::new().map_err(|error| cannot(&format!("no wake-up channel: {error}")))
}

/// Remembers verdicts against the hosts.
#[derive(Clone, Debug, Default)]
struct LimitGate(Arc<AtomicBool>);

impl LimitGate {
    /// Takes note of what is reported.
    fn observe(&self, event: &Event) {
        if let Event::LimitVerdict(limit_verdict) = event
            && limit_verdict.blames_a_host()
        {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// The exit code of a run that would end with `code`.
    fn pass(&self, code: ExitCode) -> ExitCode {
        match code {
            ExitCode::Success if self.0.load(Ordering::Relaxed) => ExitCode::Limited,
            code => code,
        }
    }
}
