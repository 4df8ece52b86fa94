//! Orders from standard input.

use std::ffi::OsString;
use std::io;

use tapeline_base::ExitCode;
use tapeline_remote::{
    CommandLine, GivenOption, Hello, Host, Job, PROTOCOL_VERSION, SessionEnd, execute, unix_time,
};
use tapeline_sys::{HostFacts, host_addresses};

use crate::cli::environment::{KEY, SAVE};
use crate::cli::order;
use crate::identity;
use crate::message::cannot;

/// Carries out orders from standard input until it ends.
pub(crate) fn remote() -> ExitCode {
    let program = match identity::executable() {
        Ok(program) => program,
        Err(why) => return cannot(&why),
    };
    let end = execute(io::stdin().lock(), io::stdout(), &program, &ThisProgram);
    match end {
        SessionEnd::InputOver | SessionEnd::OutputGone => ExitCode::Success,
        SessionEnd::BrokenLine(why) => cannot(&why),
    }
}

struct ThisProgram;

impl Host for ThisProgram {
    fn command(&self, job: Job<'_>, options: &[GivenOption]) -> Result<CommandLine, String> {
        let mut command = CommandLine::default();
        if std::env::var_os(SAVE).is_none() {
            // Whoever orders a test keeps its result, whatever the habits here are.
            command.variables.push((SAVE, OsString::from("0")));
        }
        for word in order::arguments(job, options)? {
            // Everybody on this host can read the words of a process.
            let key = word
                .to_str()
                .and_then(|word| word.strip_prefix("--permit-key="));
            match key {
                Some(key) => command.variables.push((KEY, OsString::from(key))),
                None => command.words.push(word),
            }
        }
        Ok(command)
    }

    fn hello(&self) -> Hello {
        let facts = HostFacts::gather();
        Hello {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            v: PROTOCOL_VERSION,
            system: facts.system,
            addresses: host_addresses().iter().map(ToString::to_string).collect(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            time: unix_time(),
        }
    }
}

/// What must hold for any lines of orders: each is answered by replies, and what would be carried out writes no
/// file and reads none.
#[cfg(any(test, fuzzing))]
pub(crate) fn contract(lines: &[u8]) {
    use tapeline_remote::Reply;

    let mut replies = Vec::new();
    let nothing = std::path::Path::new("/nonexistent/tapeline");
    let end = execute(lines, &mut replies, nothing, &NoProcesses);
    assert_ne!(end, SessionEnd::OutputGone);
    for reply in replies.split(|byte| *byte == b'\n') {
        let read = serde_json::from_slice::<Reply>(reply);
        assert!(reply.is_empty() || read.is_ok(), "{reply:?}");
    }
}

/// This program without its processes: it looks at the command line of each, and starts none.
#[cfg(any(test, fuzzing))]
struct NoProcesses;

#[cfg(any(test, fuzzing))]
impl Host for NoProcesses {
    fn command(&self, job: Job<'_>, options: &[GivenOption]) -> Result<CommandLine, String> {
        let command = ThisProgram.command(job, options)?;
        harmless(command);
        Err("no process starts here".to_owned())
    }

    fn hello(&self) -> Hello {
        Hello {
            version: String::new(),
            v: PROTOCOL_VERSION,
            system: String::new(),
            addresses: Vec::new(),
            cpus: 1,
            time: 0.0,
        }
    }
}

/// What must hold for any lines of orders to an agent: those that start a test start one that writes no file and
/// reads none, with a host that the agent's owner allows.
#[cfg(all(feature = "fleet", any(test, fuzzing)))]
pub(crate) fn agent_contract(lines: &[u8]) {
    use tapeline_fleet::fuzz::{is_allowed, orders};
    use tapeline_remote::Order;

    orders(lines, &mut |order| {
        let (job, options) = match order {
            Order::Serve { options, allow, .. } => (Job::Server { allow }, options),
            Order::Run { options, .. } => (Job::Client, options),
            _ => return,
        };
        let Ok(command) = ThisProgram.command(job, options) else {
            return;
        };
        for host in harmless(command) {
            assert!(is_allowed(&host), "a test with {host}");
        }
    });
}

/// The hosts that a process tests with, if it would begin to.
///
/// # Panics
/// The process would write a file, or read one, or outlive whoever started it.
#[cfg(any(test, fuzzing))]
fn harmless(command: CommandLine) -> Vec<String> {
    use tapeline_dialect::Payload;

    use crate::cli::invocation::understand;
    use crate::plan::{Invocation, Life, Plan};

    let words = command.words;
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    assert!(words.iter().all(is_option), "{words:?}");
    let mut variables = command.variables.iter();
    assert!(variables.all(|(name, _)| *name == KEY || *name == SAVE));
    let invocation = Invocation {
        program: "tapeline".into(),
        arguments: words,
        variable: &|_| None,
        resolver: |_| Vec::new(),
    };
    let (clients, presentation) = match understand(&invocation).1.outcome {
        Ok(Plan::Client(plan, presentation, _)) => (vec![*plan], presentation),
        Ok(Plan::Flows(plan, presentation)) => {
            let flows = plan.flows.into_iter();
            (flows.map(|flow| flow.plan).collect(), presentation)
        }
        Ok(Plan::Server(_, presentation, life, _)) => {
            assert_eq!(life, Life::Foreground);
            (Vec::new(), presentation)
        }
        _ => return Vec::new(),
    };
    let reads = |payload: &Payload| matches!(payload, Payload::File(_) | Payload::StandardInput);
    assert!(clients.iter().all(|client| !reads(&client.payload)));
    assert_eq!(presentation.output_file, None);
    assert!(presentation.files.is_empty() && presentation.save.is_none());
    clients.into_iter().map(|client| client.host).collect()
}
