//! What an end of a test runs on.

use std::io;

use interop::{Invocation, ProcessorQuota, Running};

use crate::situation::Host;

/// The processor that situations take for themselves: the last one that this process may use.
fn processor() -> String {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    (count - 1).to_string()
}

/// What keeps a process from its processor; ends when dropped, after the process.
pub(crate) struct Hold {
    host: Host,
    quota: Option<ProcessorQuota>,
    _busy: Option<Running>,
}

impl Hold {
    /// Makes what is needed.
    pub(crate) fn new(host: Host) -> io::Result<Self> {
        let quota = match host {
            Host::Quota(percent) => Some(ProcessorQuota::new(percent)?),
            Host::Free | Host::Leftovers | Host::Neighbour => None,
        };
        let busy = match host {
            Host::Leftovers | Host::Neighbour => Some(
                Invocation::for_executable("busy", "taskset")
                    .args(["-c", &processor(), "sh", "-c", "while :; do :; done"])
                    .spawn()?,
            ),
            Host::Free | Host::Quota(_) => None,
        };
        Ok(Self {
            host,
            quota,
            _busy: busy,
        })
    }

    /// Puts a process with all its threads there.
    pub(crate) fn confine(&self, process: u32) -> io::Result<()> {
        if let Some(quota) = &self.quota {
            quota.confine(process)?;
        }
        let process = process.to_string();
        if matches!(self.host, Host::Leftovers | Host::Neighbour) {
            tool("taskset", &["-a", "-p", "-c", &processor(), &process])?;
        }
        if self.host == Host::Leftovers {
            tool("chrt", &["-a", "-i", "-p", "0", &process])?;
        }
        Ok(())
    }
}

fn tool(name: &str, arguments: &[&str]) -> io::Result<()> {
    let words = arguments.iter().copied();
    let finished = Invocation::for_executable(name, name).args(words).run()?;
    match finished.code() {
        Some(0) => Ok(()),
        _ => Err(io::Error::other(finished.to_string())),
    }
}
