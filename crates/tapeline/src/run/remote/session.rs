//! Orders from standard input.

use std::ffi::OsString;
use std::io;
use std::time::SystemTime;

use tapeline_base::ExitCode;
use tapeline_remote::{
    CommandLine, GivenOption, Hello, Host, Job, PROTOCOL_VERSION, SessionEnd, execute,
};
use tapeline_sys::{HostFacts, host_addresses, reason};

use crate::cli::environment::{KEY, SAVE};
use crate::cli::order;
use crate::message::cannot;

/// Carries out orders from standard input until it ends.
pub(crate) fn remote() -> ExitCode {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return cannot(&format!("this program is not found: {}", reason(&error))),
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
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Hello {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            v: PROTOCOL_VERSION,
            system: facts.system,
            addresses: host_addresses().iter().map(ToString::to_string).collect(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            time: since.map_or(0.0, |since| since.as_secs_f64()),
        }
    }
}
