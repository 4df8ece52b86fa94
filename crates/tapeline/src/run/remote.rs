//! `tapeline remote`: tests that are ordered from elsewhere.

use std::ffi::OsString;
use std::io;
use std::time::{Duration, SystemTime};

use tapeline_base::ExitCode;
use tapeline_remote::{
    END_WITH_INPUT, GivenOption, Hello, Host, Job, PROTOCOL_VERSION, SessionEnd, execute,
};
use tapeline_sys::{HostFacts, Interrupts, host_addresses, reason};

use crate::cli::order;
use crate::message::cannot;

/// Time for a test to end in order once its input has ended.
const ENDING: Duration = Duration::from_secs(5);

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
    fn arguments(&self, job: Job<'_>, options: &[GivenOption]) -> Result<Vec<OsString>, String> {
        order::arguments(job, options)
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

/// Takes the end of standard input for an interrupt, and again five seconds later, where whoever
/// started this process wants that: nothing outlives who ordered it.
pub(crate) fn end_with_input() {
    if std::env::var_os(END_WITH_INPUT).is_none() {
        return;
    }
    // Without a thread nobody could end the test in order: its process would be killed.
    let _ = std::thread::Builder::new().name("input".into()).spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        if let Ok(interrupts) = Interrupts::install() {
            interrupts.raise();
            std::thread::sleep(ENDING);
            interrupts.raise();
        }
    });
}
