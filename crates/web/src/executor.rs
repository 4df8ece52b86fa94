//! The process that starts tests (`tapeline remote`): orders go in, replies come out.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use tapeline_remote::{Body, Order, OrderLine, Reply};

/// Numbers of orders that are about tests: theirs are the tests' own.
const FIRST_OTHER: u64 = 1 << 32;
/// Time for its tests to end, and to be kept, when it is asked to end.
const ENDING: Duration = Duration::from_secs(8);

/// The running process.
#[derive(Debug)]
pub(crate) struct Executor {
    child: Child,
    /// It ends, and its tests, when this does.
    orders: Option<ChildStdin>,
    next: u64,
}

impl Executor {
    /// Starts it. `each` gets what is replied about a test, and `None` at the end, on a thread of its own.
    ///
    /// # Errors
    /// The system starts no process or thread.
    pub(crate) fn start(
        mut command: Command,
        mut each: impl FnMut(Option<(u64, Body)>) + Send + 'static,
    ) -> io::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let lost = || io::Error::other("a process without standard streams");
        let orders = child.stdin.take().ok_or_else(lost)?;
        let replies = BufReader::new(child.stdout.take().ok_or_else(lost)?);
        std::thread::Builder::new()
            .name("replies".into())
            .spawn(move || {
                for line in replies.lines() {
                    let Ok(line) = line else { break };
                    if let Ok(Reply { id: Some(id), body }) = serde_json::from_str(&line)
                        && id < FIRST_OTHER
                    {
                        each(Some((id, body)));
                    }
                }
                each(None);
            })?;
        Ok(Self {
            child,
            orders: Some(orders),
            next: FIRST_OTHER,
        })
    }

    /// Sends the order of a test.
    ///
    /// # Errors
    /// The process has gone.
    pub(crate) fn order(&mut self, test: u64, order: Order) -> io::Result<()> {
        let mut line = serde_json::to_vec(&OrderLine { id: test, order })?;
        line.push(b'\n');
        let orders = self.orders.as_mut();
        orders.ok_or(io::ErrorKind::BrokenPipe)?.write_all(&line)
    }

    /// Asks for the end of a test.
    ///
    /// # Errors
    /// The process has gone.
    pub(crate) fn stop(&mut self, test: u64) -> io::Result<()> {
        self.next += 1;
        self.order(self.next, Order::Stop { which: test })
    }

    /// Asks for the end of all tests, and waits for it.
    pub(crate) fn end(mut self) {
        drop(self.orders.take());
        let until = Instant::now() + ENDING;
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(20)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

/// A process that is not waited for would stay.
impl Drop for Executor {
    fn drop(&mut self) {
        if self.orders.take().is_some() || !matches!(self.child.try_wait(), Ok(Some(_))) {
            // Its tests end with it. It is gone, or goes now.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
