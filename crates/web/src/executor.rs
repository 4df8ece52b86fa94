//! The process that starts the page's tests: orders have the tests' numbers.

use std::io;
use std::process::Command;
use std::time::Duration;

use tapeline_remote::{Body, ExecutorProcess, Gone, Order, OrderLine};

/// Numbers of orders that are about tests: theirs are the tests' own.
const FIRST_OTHER: u64 = 1 << 32;
/// Time for its tests to end, and to be kept, when it is asked to end.
const ENDING: Duration = Duration::from_secs(8);

/// The running process.
#[derive(Debug)]
pub(crate) struct Executor {
    process: ExecutorProcess,
    next: u64,
}

impl Executor {
    /// Starts it. `each` gets what is replied about a test, and `None` at the end, on a thread of its own.
    ///
    /// # Errors
    /// The system starts no process or thread.
    pub(crate) fn start(
        command: Command,
        mut each: impl FnMut(Option<(u64, Body)>) + Send + 'static,
    ) -> io::Result<Self> {
        let process = ExecutorProcess::start(command, move |reply| match reply {
            Ok(reply) => {
                if let Some(id) = reply.id.filter(|id| *id < FIRST_OTHER) {
                    each(Some((id, reply.body)));
                }
            }
            Err(_) => each(None),
        })?;
        Ok(Self {
            process,
            next: FIRST_OTHER,
        })
    }

    /// Sends the order of a test.
    ///
    /// # Errors
    /// The process has gone.
    pub(crate) fn order(&mut self, test: u64, order: Order) -> Result<(), Gone> {
        self.process.orders().send(&OrderLine { id: test, order })
    }

    /// Asks for the end of a test.
    ///
    /// # Errors
    /// The process has gone.
    pub(crate) fn stop(&mut self, test: u64) -> Result<(), Gone> {
        self.next += 1;
        self.order(self.next, Order::Stop { which: test })
    }

    /// Asks for the end of all tests, and waits for it.
    pub(crate) fn end(self) {
        self.process.end(ENDING);
    }
}
