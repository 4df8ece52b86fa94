//! A process that carries out orders (`tapeline remote`): orders go in, replies come out.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::order::{Order, OrderLine};
use crate::reply::Reply;
use crate::reply_reader::{RepliesEnd, ReplyReader, printable};
use crate::running::set_apart;

/// Longest line of standard error that is kept, bytes.
const SAID: usize = 512;
/// Between two looks whether the process has gone.
const LOOK: Duration = Duration::from_millis(10);
/// Time for what a process said last to be read once it has gone.
const READING: Duration = Duration::from_millis(500);

/// The running process, which ends when this is dropped.
#[derive(Debug)]
pub struct ExecutorProcess {
    child: Child,
    orders: Orders,
    said: Arc<Mutex<String>>,
    /// Closed when all of standard error has been read.
    errors: Receiver<()>,
}

/// Gives orders to a process; its copies may be anywhere.
#[derive(Clone, Debug)]
pub struct Orders {
    /// `None` closes the input. A thread writes: whoever orders must not wait for a process that waits
    /// for its replies to be read.
    lines: Sender<Option<Vec<u8>>>,
    last: Arc<AtomicU64>,
}

/// The process has gone, and with it all that it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the process for tests has gone")
    }
}

impl std::error::Error for Gone {}

impl Orders {
    /// Gives an order, and returns its number, which is greater than that of any order before.
    ///
    /// # Errors
    /// The process has gone.
    pub fn order(&self, order: Order) -> Result<u64, Gone> {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.send(&OrderLine { id, order })?;
        Ok(id)
    }

    /// Gives an order with a number of the caller's own.
    ///
    /// # Errors
    /// The process has gone.
    pub fn send(&self, line: &OrderLine) -> Result<(), Gone> {
        self.last.fetch_max(line.id, Ordering::Relaxed);
        let mut line = serde_json::to_vec(line).map_err(|_| Gone)?;
        line.push(b'\n');
        self.lines.send(Some(line)).map_err(|_| Gone)
    }
}

impl ExecutorProcess {
    /// Starts it. `each` gets what is replied, and at last why no more comes, on a thread of its own.
    /// Standard error goes where the command says; if that is a pipe, its last line is kept.
    ///
    /// # Errors
    /// The system starts no process or thread.
    pub fn start(
        mut command: Command,
        mut each: impl FnMut(Result<Reply, RepliesEnd>) + Send + 'static,
    ) -> io::Result<Self> {
        set_apart(&mut command);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (lines, given) = channel();
        let (is_read, errors) = channel();
        // From here on it is waited for, whatever fails.
        let process = Self {
            child,
            orders: Orders {
                lines,
                last: Arc::default(),
            },
            said: Arc::default(),
            errors,
        };
        let (Some(mut input), Some(output), said) = streams else {
            return Err(io::Error::other("a process without standard streams"));
        };
        let thread = |name: &str| thread::Builder::new().name(name.into());
        thread("orders").spawn(move || {
            // Once it has gone, its replies end, too, and that is said.
            while let Ok(Some(line)) = given.recv()
                && input.write_all(&line).is_ok()
            {}
        })?;
        if let Some(errors) = said {
            let said = Arc::clone(&process.said);
            thread("errors").spawn(move || keep_last_line(errors, &said, is_read))?;
        }
        thread("replies").spawn(move || {
            let mut replies = ReplyReader::new(BufReader::new(output));
            loop {
                let reply = replies.next();
                let is_last = reply.is_err();
                each(reply);
                if is_last {
                    break;
                }
            }
        })?;
        Ok(process)
    }

    /// What gives orders.
    #[must_use]
    pub fn orders(&self) -> &Orders {
        &self.orders
    }

    /// Ends it: closes its input, so that its tests end in order, and kills it if it takes longer than
    /// `time`. Says how it ended and the last line of its standard error.
    pub fn end(mut self, time: Duration) -> (Option<ExitStatus>, String) {
        // A thread that has gone has closed the input.
        let _ = self.orders.lines.send(None);
        let until = Instant::now() + time;
        let status = loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => thread::sleep(LOOK),
                Ok(status) => break status,
                Err(_) => break None,
            }
        };
        if status.is_none() {
            self.kill();
        }
        // Ends with an error once all is read.
        let _ = self.errors.recv_timeout(READING);
        let said = std::mem::take(&mut *lock(&self.said));
        (status, said)
    }

    fn kill(&mut self) {
        // It is gone, or goes now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process that is not waited for would stay.
impl Drop for ExecutorProcess {
    fn drop(&mut self) {
        let _ = self.orders.lines.send(None);
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.kill();
        }
    }
}

/// Reads standard error to its end and keeps its last line that says something.
fn keep_last_line(errors: ChildStderr, said: &Mutex<String>, is_read: Sender<()>) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut errors).take(SAID as u64).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let text = printable(&line, SAID);
        if !text.is_empty() {
            *lock(said) = text;
        }
    }
    drop(is_read);
}

fn lock(said: &Mutex<String>) -> MutexGuard<'_, String> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::order::{Class, GivenOption};

    /// A process that replies much before it reads its orders, while nobody reads its replies.
    #[test]
    fn an_order_does_not_wait_for_the_process() {
        let mut command = Command::new("sh");
        command.args(["-c", "head -c 1000000 /dev/zero; cat"]);
        let (told, reading) = sync_channel(0);
        let process = ExecutorProcess::start(command, move |reply| {
            // Ends when the test does.
            let _ = told.send(reply);
        });
        let process = process.expect("a process");
        let orders = process.orders();
        let order = Order::Run {
            options: vec![GivenOption::new("title", &"x".repeat(1 << 20))],
            live: true,
            class: Class::Background,
        };
        let which = orders.order(order).expect("room");
        orders.order(Order::Stop { which }).expect("room");
        drop(process);
        assert!(matches!(reading.recv(), Ok(Err(_))));
    }

    #[test]
    fn it_ends_with_its_input_or_is_killed() {
        let ends = |script: &str, time| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stderr(Stdio::piped());
            let process = ExecutorProcess::start(command, |_| {}).expect("a process");
            process.end(time)
        };
        let long = Duration::from_secs(60);
        let (status, said) = ends("cat; echo one >&2; echo two >&2; exit 7", long);
        assert_eq!(status.and_then(|status| status.code()), Some(7));
        assert_eq!(said, "two");
        let (status, _) = ends("exec sleep 1000", Duration::from_millis(50));
        assert_eq!(status, None);
    }
}
