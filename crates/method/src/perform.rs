//! A method from its start to its document.

use std::time::Instant;

use tapeline_base::{Clock, WallTime};
use tapeline_dialect::Interruption;
use tapeline_report::Calendar;
use tapeline_report::document::{Failure, Peer};
use tapeline_report::method::{METHOD_SCHEMA, MethodDocument, MethodHead, PassLimit, judge};
use tapeline_sys::SystemClock;

use crate::client_runs::{ClientRuns, Program};
use crate::error::MethodError;
use crate::phase_guard::PhaseGuard;
use crate::plan::MethodPlan;
use crate::run::Run;
use crate::watch::Watch;

/// What a method came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Performed {
    /// Its document.
    pub document: MethodDocument,
    /// What its page needs besides.
    pub head: MethodHead,
    /// Why it did not run to its end.
    pub error: Option<MethodError>,
}

/// Runs a method. `interruption` is the user's wish to end: the running phase ends in order then.
pub fn perform(
    plan: &MethodPlan,
    limits: &[PassLimit],
    program: &Program,
    interruption: &Interruption,
    watch: &mut dyn Watch,
) -> Performed {
    let began = Instant::now();
    let started: WallTime = SystemClock.wall();
    let common = plan.common();
    let guard = PhaseGuard::new(interruption);
    let runs = ClientRuns::new(&guard, program, common.budget);
    let (result, ended, traces) = std::thread::scope(|scope| {
        scope.spawn(|| guard.watch());
        let ender = EndsGuard(&guard);
        let mut run = Run::new(common, plan.phases(), &guard, &runs, watch);
        let (result, ended) = plan.run(&mut run);
        let gone = match ended {
            Err(MethodError::Failed { .. }) => run.server_has_gone(),
            _ => None,
        };
        let traces = run.close(&ended);
        drop(ender);
        (result, gone.map_or(ended, Err), traces)
    });
    let error = ended.err();
    let pass = judge(limits, |name| result.criterion(name));
    let complete = error.is_none();
    let document = MethodDocument {
        schema: METHOD_SCHEMA,
        version: program.version.clone(),
        command: program.command.clone(),
        method: plan.word(),
        standard: plan.standard(),
        conforming: complete && traces.deviations.is_empty() && !plan.standard().is_empty(),
        deviations: traces.deviations,
        peer: runs.peer().unwrap_or_else(|| Peer {
            host: (!program.hide_addresses).then(|| common.host.clone()),
            ..Peer::default()
        }),
        started: Calendar::new(true).rfc3339(started),
        seconds: began.elapsed().as_secs_f64(),
        complete,
        interrupted: error == Some(MethodError::Interrupted),
        phases: traces.phases,
        pass,
        verdict: result.verdict(),
        result,
        warnings: traces.warnings,
        error: error.as_ref().and_then(MethodError::failure),
        tests: runs.take_tests(),
    };
    let head = head(plan, program, &document);
    Performed {
        document,
        head,
        error,
    }
}

/// The document of a command line that the method of that word cannot carry out; `None` where there is no
/// such method. Its error is `usage`, as that of a test.
#[must_use]
pub fn refused(word: &str, program: &Program, why: &str) -> Option<MethodDocument> {
    let (method, standard, result) = MethodPlan::unmeasured(word)?;
    Some(MethodDocument {
        schema: METHOD_SCHEMA,
        version: program.version.clone(),
        command: program.command.clone(),
        method,
        standard,
        conforming: false,
        deviations: Vec::new(),
        peer: Peer::default(),
        started: Calendar::new(true).rfc3339(SystemClock.wall()),
        seconds: 0.0,
        complete: false,
        interrupted: false,
        phases: Vec::new(),
        pass: Vec::new(),
        verdict: String::new(),
        result,
        warnings: Vec::new(),
        error: Some(Failure {
            id: "usage".to_owned(),
            text: why.to_owned(),
        }),
        tests: Vec::new(),
    })
}

fn head(plan: &MethodPlan, program: &Program, document: &MethodDocument) -> MethodHead {
    let common = plan.common();
    let peer = &document.peer;
    let shown = peer.address.as_ref().filter(|_| !program.hide_addresses);
    let version = peer.version.as_deref().unwrap_or_default();
    MethodHead {
        method: document.method,
        standard: document.standard,
        version: program.version.clone(),
        host: if program.hide_addresses {
            "a hidden host".to_owned()
        } else {
            common.host.clone()
        },
        port: common.port,
        address: shown.and_then(|address| address.parse().ok()),
        peer: peer
            .program
            .as_ref()
            .map(|program| format!("{program} {version}").trim_end().to_owned()),
        congestion: common.congestion.clone(),
        directions: common.direction.directions().to_vec(),
        seconds: document.seconds,
        interrupted: !document.complete,
        pass: document.pass.clone(),
        deviations: document.deviations.clone(),
    }
}

/// Ends the guard's watch, after a panic too.
struct EndsGuard<'a>(&'a PhaseGuard<'a>);

impl Drop for EndsGuard<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
