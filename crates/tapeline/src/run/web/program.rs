//! What the page needs of this program.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tapeline_base::Endpoint;
use tapeline_remote::GivenOption;
use tapeline_sys::{host_addresses, system_information};
use tapeline_web::{
    CompareRequest, Fault, Form, Job, MeshCommand, MeshRequest, NameLine, Names, PlanAnswer,
    PlanRequest, Program, Refusal, SessionFacts,
};

use super::mesh;
use super::results::Results;
use crate::cli::environment::SAVE;
use crate::cli::form::{self, FormJob};
use crate::plan::{CommandName, Target, WebJob};
use crate::run::history::note;

/// This program, as far as the page asks it.
#[derive(Debug)]
pub(crate) struct ThisProgram {
    results: Results,
    file: Option<PathBuf>,
    saves: bool,
    targets: Option<Vec<Target>>,
    /// Prints the option table as JSON.
    form: fn() -> String,
}

impl ThisProgram {
    pub(crate) fn new(job: &WebJob, form: fn() -> String) -> Self {
        Self {
            results: Results::new(job.file.clone()),
            file: job.file.clone(),
            saves: job.saves && job.file.is_some(),
            targets: job.targets.clone(),
            form,
        }
    }
}

impl Program for ThisProgram {
    fn facts(&self) -> SessionFacts {
        SessionFacts {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            // It is ordered as `uname -a` has it.
            host: system_information()
                .split(' ')
                .nth(1)
                .unwrap_or_default()
                .to_owned(),
            addresses: host_addresses().iter().map(ToString::to_string).collect(),
            history: self.file.as_ref().map(|file| file.display().to_string()),
            saves: self.saves,
            targets: self
                .targets
                .as_ref()
                .map(|targets| targets.iter().map(|target| target.text.clone()).collect()),
        }
    }

    fn form(&self) -> String {
        (self.form)()
    }

    fn last_form(&self) -> Option<PlanAnswer> {
        let latest = self
            .results
            .latest()
            .filter(|run| run.is_own && run.role == "client")?;
        Some(answer(&form::read(&without_outputs(&latest.command)).ok()?))
    }

    fn plan(&self, request: &PlanRequest) -> PlanAnswer {
        match &request.line {
            Some(line) => match form::read(line) {
                Ok(read) => answer(&read),
                Err(text) => PlanAnswer {
                    faults: vec![Fault { option: None, text }],
                    ..PlanAnswer::default()
                },
            },
            None => {
                let job = match request.job {
                    Job::Client | Job::Mesh => FormJob::Client,
                    Job::Server => FormJob::Server,
                };
                answer(&form::Form::new(job, request.options.clone()))
            }
        }
    }

    fn admit(&self, options: &[GivenOption], host: &str) -> Result<(), Refusal> {
        let Some(targets) = &self.targets else {
            return Ok(());
        };
        let refuse = |why: String| Err(Refusal::Forbidden(why));
        let address = host.parse().ok();
        let is_named = targets.iter().any(|target| match target.network {
            Some(network) => address.is_some_and(|address| network.contains(address)),
            None => target.text.eq_ignore_ascii_case(host),
        });
        if !is_named {
            return refuse(format!(
                "{host} is none of the hosts that may be tested from this page (--targets)"
            ));
        }
        // It sends to neighbours of the host, too.
        if options.iter().any(|given| given.name == "incr-dstip") {
            return refuse("--incr-dstip tests other hosts than the one that is named".to_owned());
        }
        Ok(())
    }

    fn check_mesh(&self, request: &MeshRequest) -> Result<String, Refusal> {
        let admit = |options: &[GivenOption], host: &str| self.admit(options, host);
        mesh::check(request, admit, self.targets.is_some())
    }

    fn last_mesh(&self) -> MeshRequest {
        let latest = self.results.latest_mesh();
        latest.unwrap_or_else(mesh::example)
    }

    fn mesh(&self, request: &MeshRequest) -> Result<MeshCommand, Refusal> {
        self.check_mesh(request)?;
        mesh::command(request, self.file.as_deref().filter(|_| self.saves))
    }

    fn export_mesh(&self, document: &[u8], form: Form) -> Result<String, Refusal> {
        mesh::export(document, form)
    }

    fn executor(&self) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--as", "tapeline", "remote"]);
        command.env(SAVE, if self.saves { "1" } else { "0" });
        if let Some(file) = &self.file {
            command.env("TAPELINE_HISTORY", file);
        }
        Ok(command)
    }

    fn log(&self, line: &str) {
        note(line);
    }

    fn export(&self, stream: &[u8], form: Form) -> Result<String, Refusal> {
        Results::of_stream(stream, form)
    }

    fn runs(&self, runs: Option<&str>, most: usize, without: &[String]) -> Result<Value, Refusal> {
        self.results.list(runs, most, without)
    }

    fn run(&self, name: &str, form: Form) -> Result<String, Refusal> {
        self.results.run(name, form)
    }

    fn names(&self, runs: &str) -> Result<Vec<String>, Refusal> {
        self.results.names(runs)
    }

    fn note(&self, runs: &str, text: &str) -> Result<Vec<String>, Refusal> {
        self.results.note(runs, text)
    }

    fn tag(&self, runs: &str, key: &str, value: Option<&str>) -> Result<Vec<String>, Refusal> {
        self.results.tag(runs, key, value)
    }

    fn remove(&self, runs: &[String]) -> Result<(), Refusal> {
        self.results.remove(runs)
    }

    fn import(&self, name: &str, content: &[u8]) -> Result<Vec<String>, Refusal> {
        self.results.import(name, content)
    }

    fn compare(&self, request: &CompareRequest) -> Result<Value, Refusal> {
        self.results.compare(request)
    }

    fn comparison_page(&self, request: &CompareRequest) -> Result<String, Refusal> {
        self.results.comparison_page(request)
    }
}

/// A test's line without what is said of its outputs, which are the page's own affair.
fn without_outputs(line: &str) -> String {
    let words = line.split(' ');
    let kept = words.filter(|word| !matches!(*word, "--json" | "--json-stream" | "--save"));
    kept.collect::<Vec<_>>().join(" ")
}

/// A form with its command lines and what is wrong with them.
fn answer(form: &form::Form) -> PlanAnswer {
    let under = |name| match form::line(form, name) {
        Ok(line) => NameLine::Line(line),
        Err(why) => NameLine::Why(why),
    };
    let fault = |finding: form::Finding| Fault {
        option: finding.option,
        text: finding.text,
    };
    let findings = form::findings(form);
    let host = form.options().iter().find(|given| given.name == "client");
    let host = host.and_then(|given| given.value.as_deref());
    PlanAnswer {
        job: match form.job() {
            FormJob::Client => Job::Client,
            FormJob::Server => Job::Server,
        },
        host: host.map(|text| Endpoint::parse(text).host),
        names: Some(Names {
            tapeline: under(CommandName::Tapeline),
            iperf: under(CommandName::Iperf),
            iperf3: under(CommandName::Iperf3),
        }),
        options: Some(form.options().to_vec()),
        faults: findings.faults.into_iter().map(fault).collect(),
        notes: findings.notes.into_iter().map(fault).collect(),
    }
}
