//! `--fail-if-limited`: whether the network, and not a host, limited a test.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tapeline_base::ExitCode;
use tapeline_report::Event;

/// Remembers verdicts against the hosts.
#[derive(Clone, Debug, Default)]
pub(super) struct Gate(Arc<AtomicBool>);

impl Gate {
    /// Takes note of what is told.
    pub(super) fn watch(&self, event: &Event) {
        if let Event::Judgement(judgement) = event
            && judgement.blames_a_host()
        {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// The exit code of a run that would end with `code`.
    pub(super) fn pass(&self, code: ExitCode) -> ExitCode {
        match code {
            ExitCode::Success if self.0.load(Ordering::Relaxed) => ExitCode::Limited,
            code => code,
        }
    }
}
