//! The way of the program.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};

use tapeline_base::ExitCode;
use tapeline_dialect::{Limits, Personality};
use tapeline_sys::share_one_heap;

use crate::invocation::{Invocation, understand};
use crate::message::{CliMessage, print};
use crate::plan::Plan;
use crate::refusal::RefusalDocument;
use crate::resolve::Resolution;
use crate::{explain, generate, help, run, version};

/// Reads the process's command line, does the job, returns the exit code.
///
/// Standard output is written line by line; when its reader has gone away the program
/// ends quietly.
#[must_use]
pub fn main() -> std::process::ExitCode {
    #[cfg(debug_assertions)]
    {
        crate::environment::displace_clock();
        crate::environment::step_clock();
    }
    share_one_heap();
    let (personality, resolution) = understood();
    let unwritten = resolution.refusals.iter().map(RefusalDocument::write);
    let unwritten = unwritten.filter_map(Result::err);
    let said: Vec<CliMessage> = resolution.messages.into_iter().chain(unwritten).collect();
    let code = match print(&said) {
        Ok(()) => resolution
            .outcome
            .map_or_else(|code| code, |plan| carry_out(&plan, personality)),
        Err(error) => code_of(&error),
    };
    std::process::ExitCode::from(code.code())
}

/// The process's command line, understood.
fn understood() -> (Personality, Resolution) {
    let mut words = std::env::args_os();
    let program = words.next().unwrap_or_else(|| "tapeline".into());
    understand(&Invocation {
        program,
        arguments: words.collect(),
        variable: &|name| std::env::var_os(name),
        resolver: addresses,
    })
}

/// The limits that the command line and its file name now.
fn limits_now() -> Result<Limits, String> {
    let (_, resolution) = understood();
    match resolution.outcome {
        Ok(Plan::Server(plan, ..)) => Ok(plan.limits),
        _ => {
            let said = resolution.messages.iter().map(|message| {
                let text = message.text.as_str();
                text.strip_prefix("tapeline: ").unwrap_or(text)
            });
            Err(said.collect::<Vec<_>>().join("; "))
        }
    }
}

fn carry_out(plan: &Plan, personality: Personality) -> ExitCode {
    match plan {
        Plan::Client(plan, presentation, repeat) => {
            run::client(plan, presentation, repeat.as_ref())
        }
        Plan::Server(plan, presentation, life, supervision) => {
            let supervisor = run::Supervisor::new(*supervision, limits_now);
            run::server(plan, presentation, *life, supervisor)
        }
        Plan::Iperf3(job) => run::iperf3(job),
        Plan::Iperf3Version => show(version::iperf3()),
        Plan::Try(plan, presentation) => run::trial(plan, presentation),
        #[cfg(feature = "prometheus")]
        Plan::Exporter(plan) => run::exporter(plan),
        // Refused when it was resolved.
        #[cfg(not(feature = "prometheus"))]
        Plan::Exporter(_) => ExitCode::Usage,
        Plan::Help(page) => show(help::page(*page, help::terminal_width())),
        Plan::Version => show(version::line(personality)),
        Plan::Configuration(text) => show(text.clone()),
        Plan::Explain(None) => show(explain::list()),
        Plan::Explain(Some(name)) => show(explain::warning(name).unwrap_or_default()),
        Plan::Generate(document, name) => show(generate::text(*document, *name)),
    }
}

fn show(text: String) -> ExitCode {
    match print(&[CliMessage::out(text)]) {
        Ok(()) => ExitCode::Success,
        Err(error) => code_of(&error),
    }
}

/// A reader that went away (`| head`) is no failure.
fn code_of(error: &io::Error) -> ExitCode {
    match error.kind() {
        io::ErrorKind::BrokenPipe => ExitCode::Success,
        _ => ExitCode::Failure,
    }
}

fn addresses(name: &str) -> Vec<IpAddr> {
    (name, 0)
        .to_socket_addrs()
        .map(|found| found.map(|address| address.ip()).collect())
        .unwrap_or_default()
}
