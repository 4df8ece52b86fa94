//! What a server and the process that started it have to do with each other: sockets that are handed
//! over, word that it is ready, that its limits are to be read anew, that it ends.

use tapeline_base::Clock;
use tapeline_dialect::{Limits, Personality, ReporterHandle, ServerLimits};
use tapeline_report::{Event, Notice};
use tapeline_sys::{
    InheritedSockets, SystemClock, notify_descriptor, notify_service_manager, reason,
};

use crate::plan::Supervision;

/// Reads the limits anew.
type Reread = fn() -> Result<Limits, String>;

/// A server's side of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Supervisor {
    supervision: Supervision,
    reread: Option<Reread>,
}

impl Supervisor {
    /// For a server whose limits `reread` finds anew, where it has a file of them.
    pub(crate) fn new(supervision: Supervision, reread: Reread) -> Self {
        Self {
            supervision,
            reread: supervision.reloads.then_some(reread),
        }
    }

    /// For a server that nobody looks after.
    pub(crate) fn none() -> Self {
        Self {
            supervision: Supervision::default(),
            reread: None,
        }
    }

    /// The sockets that were handed over. Those programs whose names it may bear take none.
    ///
    /// # Errors
    /// A sentence about what cannot be served.
    pub(crate) fn sockets(personality: Personality) -> Result<InheritedSockets, String> {
        match personality {
            Personality::Native => InheritedSockets::take()
                .map_err(|error| format!("sockets that were handed over: {}", reason(&error))),
            Personality::Iperf2 => Ok(InheritedSockets::default()),
        }
    }

    /// Whether `SIGHUP` is a wish.
    pub(crate) fn reloads(&self) -> bool {
        self.reread.is_some()
    }

    /// Reports that the server listens.
    ///
    /// # Errors
    /// A sentence about the descriptor that cannot be written. A service manager that cannot be
    /// reached gives up on the server by itself.
    pub(crate) fn ready(&self) -> Result<(), String> {
        let _ = notify_service_manager("READY=1");
        match self.supervision.ready {
            Some(number) => notify_descriptor(number)
                .map_err(|error| format!("--ready-fd {number}: {}", reason(&error))),
            None => Ok(()),
        }
    }

    /// Reports that the server ends.
    pub(crate) fn stopping() {
        let _ = notify_service_manager("STOPPING=1");
    }

    /// Reads the limits anew; those so far stay where there is a fault.
    pub(crate) fn reload(&self, limits: Option<&ServerLimits>, reporter: &ReporterHandle) {
        let (Some(reread), Some(limits)) = (self.reread, limits) else {
            return;
        };
        let now = SystemClock.now().as_nanos() / 1000;
        let _ = notify_service_manager(&format!("RELOADING=1\nMONOTONIC_USEC={now}"));
        let notice = match reread() {
            Ok(fresh) => {
                limits.replace(fresh);
                Notice::LimitsReread
            }
            Err(fault) => Notice::LimitsKept { fault },
        };
        reporter.event(Event::Notice(notice));
        let _ = notify_service_manager("READY=1");
    }
}
