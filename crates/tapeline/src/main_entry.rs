//! The way of the program.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};

use tapeline_base::ExitCode;
use tapeline_dialect::{Limits, Personality};
use tapeline_sys::share_one_heap;

use crate::cli::invocation::understand;
use crate::cli::refusal;
use crate::help::{self, native};
use crate::message::{CliMessage, print};
use crate::plan::{HelpPage, Invocation, Plan, Resolution};
use crate::{explain, generate, identity, run};

/// Reads the process's command line, does the job, returns the exit code.
///
/// Standard output is written line by line; when its reader has gone away the program
/// ends quietly.
#[must_use]
pub fn main() -> std::process::ExitCode {
    #[cfg(debug_assertions)]
    {
        crate::cli::environment::displace_clock();
        crate::cli::environment::step_clock();
    }
    share_one_heap();
    run::end_with_input();
    let (personality, resolution) = understood();
    let unwritten = resolution.refusals.iter().map(refusal::write);
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
                let text = message.text.lines().next().unwrap_or_default();
                text.strip_prefix("error: ").unwrap_or(text)
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
        Plan::ThirdParty(job) => run::third_party(job),
        Plan::Flows(plan, presentation) => run::flows(plan, presentation),
        Plan::Server(plan, presentation, life, supervision) => {
            let supervisor = run::Supervisor::new(*supervision, limits_now);
            run::server(plan, presentation, *life, supervisor)
        }
        Plan::Iperf3(job) => run::iperf3(job),
        Plan::Method(job) => run::method(job),
        #[cfg(feature = "history")]
        Plan::History(job) => run::history(job),
        #[cfg(feature = "history")]
        Plan::Compare(job) => run::compare(job),
        #[cfg(feature = "history")]
        Plan::Gate(job) => run::gate(job),
        #[cfg(feature = "mesh")]
        Plan::Mesh(job) => run::mesh(job),
        #[cfg(feature = "mesh")]
        Plan::Inventory(file) => run::inventory(file),
        #[cfg(feature = "fleet")]
        Plan::Agent(job) => run::agent(job),
        #[cfg(feature = "fleet")]
        Plan::Fleet(job) => run::fleet(job),
        #[cfg(feature = "web")]
        Plan::Web(job) => run::web(job, generate::form),
        Plan::Iperf3Version => show(identity::iperf3_version()),
        Plan::Try(plan, presentation) => run::trial(plan, presentation),
        #[cfg(feature = "prometheus")]
        Plan::Exporter(plan) => run::exporter(plan),
        // Refused when it was resolved.
        #[cfg(not(feature = "prometheus"))]
        Plan::Exporter(_) => ExitCode::Usage,
        Plan::Help(page) => show(help_page(*page)),
        Plan::Version => show(identity::version(personality)),
        Plan::Configuration(text) => show(text.clone()),
        Plan::Explain(None) => show(explain::list(native::terminal_width())),
        Plan::Explain(Some(name)) => {
            let width = native::terminal_width();
            show(explain::warning(name, width).unwrap_or_default())
        }
        Plan::Remote => run::remote(),
        Plan::Generate(document, name) => show(generate::document::text(*document, *name)),
    }
}

/// The text of a page without its last line end.
fn help_page(page: HelpPage) -> String {
    let native = |detail| native::page(native::terminal_width(), detail);
    match page {
        HelpPage::Iperf2 => help::iperf2::page(),
        HelpPage::Iperf3 => help::iperf3::page(),
        HelpPage::Short => native(native::Detail::Short),
        HelpPage::Full => native(native::Detail::Full),
        #[cfg(feature = "history")]
        HelpPage::Command(word) => help::command::page(word, native::terminal_width()),
        HelpPage::Method(word) => help::method::page(word, native::terminal_width()),
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
