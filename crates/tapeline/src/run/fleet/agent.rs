//! `tapeline agent`.

use tapeline_base::ExitCode;

use crate::message::cannot;
use crate::plan::AgentJob;

/// Takes this host's part in tests.
pub(crate) fn agent(_: &AgentJob) -> ExitCode {
    cannot("agent: not in this build")
}
