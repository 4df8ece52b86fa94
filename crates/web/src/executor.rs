//! The process that starts tests (`tapeline remote`): orders go in, replies come out.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
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
    /// It ends, and its tests, when this does. A thread writes them: whoever orders must not wait for a
    /// process that waits for its replies to be read.
    orders: Option<Sender<Vec<u8>>>,
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
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (orders, given) = channel::<Vec<u8>>();
        // From here on it is waited for, whatever fails.
        let executor = Self {
            child,
            orders: Some(orders),
            next: FIRST_OTHER,
        };
        let lost = || io::Error::other("a process without standard streams");
        let (mut input, output) = (input.ok_or_else(lost)?, output.ok_or_else(lost)?);
        let thread = |name: &str| std::thread::Builder::new().name(name.into());
        thread("orders").spawn(move || {
            // Once it has gone, its replies end, too, and that is told.
            while let Ok(line) = given.recv()
                && input.write_all(&line).is_ok()
            {}
        })?;
        thread("replies").spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { break };
                if let Ok(Reply { id: Some(id), body }) = serde_json::from_str(&line)
                    && id < FIRST_OTHER
                {
                    each(Some((id, body)));
                }
            }
            each(None);
        })?;
        Ok(executor)
    }

    /// Sends the order of a test.
    ///
    /// # Errors
    /// The process has gone.
    pub(crate) fn order(&mut self, test: u64, order: Order) -> io::Result<()> {
        let mut line = serde_json::to_vec(&OrderLine { id: test, order })?;
        line.push(b'\n');
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let orders = self.orders.as_ref().ok_or_else(gone)?;
        orders.send(line).map_err(|_| gone())
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    /// A process that replies much before it reads its orders, while nobody reads its replies.
    #[cfg(unix)]
    #[test]
    fn an_order_does_not_wait_for_the_process() {
        let mut command = Command::new("sh");
        command.args(["-c", "head -c 1000000 /dev/zero; cat"]);
        let (told, reading) = sync_channel(0);
        let executor = Executor::start(command, move |reply| {
            // Ends when the test does.
            let _ = told.send(reply);
        });
        let mut executor = executor.expect("a process");
        let options = vec![tapeline_remote::GivenOption {
            name: "title".to_owned(),
            value: Some("x".repeat(1 << 20)),
        }];
        let order = Order::Run {
            options,
            live: true,
            class: tapeline_remote::Class::Background,
        };
        executor.order(1, order).expect("room");
        executor.stop(1).expect("room");
        drop(executor);
        assert!(matches!(reading.recv(), Ok(None)));
    }
}
