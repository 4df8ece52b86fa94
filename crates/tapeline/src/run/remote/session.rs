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

/// What must hold for any lines of orders: each is answered by replies, and what is carried out writes no
/// file and reads none.
#[cfg(any(test, fuzzing))]
pub(crate) fn contract(lines: &[u8]) {
    use tapeline_dialect::Payload;
    use tapeline_remote::{Order, OrderLine, Reply};

    use crate::cli::invocation::understand;
    use crate::plan::{Invocation, Plan};

    let mut replies = Vec::new();
    // No process starts: that is said in the place of its results.
    let nothing = std::path::Path::new("/nonexistent/tapeline");
    let end = execute(lines, &mut replies, nothing, &ThisProgram);
    assert_ne!(end, SessionEnd::OutputGone);
    for reply in replies.split(|byte| *byte == b'\n') {
        let read = serde_json::from_slice::<Reply>(reply);
        assert!(reply.is_empty() || read.is_ok(), "{reply:?}");
    }
    for line in lines.split(|byte| *byte == b'\n') {
        let Ok(OrderLine {
            order: Order::Run { options, .. },
            ..
        }) = serde_json::from_slice(line)
        else {
            continue;
        };
        let Ok(words) = order::arguments(Job::Client, &options) else {
            continue;
        };
        assert!(
            words
                .iter()
                .all(|word| word.as_encoded_bytes().starts_with(b"-"))
        );
        let invocation = Invocation {
            program: "tapeline".into(),
            arguments: words,
            variable: &|_| None,
            resolver: |_| Vec::new(),
        };
        if let Ok(Plan::Client(plan, presentation, _)) = understand(&invocation).1.outcome {
            assert!(!matches!(
                plan.payload,
                Payload::File(_) | Payload::StandardInput
            ));
            assert_eq!(presentation.output_file, None);
            assert!(presentation.files.is_empty() && presentation.save.is_none());
        }
    }
}
