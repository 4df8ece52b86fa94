//! A session with the tapeline of a host: who orders.

use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::executor_process::{ExecutorProcess, Gone, Orders};
use crate::order::{Order, PROTOCOL_VERSION};
use crate::reply::{Body, Hello, Reply};
use crate::reply_reader::RepliesEnd;
use crate::session_error::{SessionError, SessionFault, system_text};
use crate::transport::Transport;

/// Time for a session to begin: ssh's own limit for a connection, and the login.
pub const BEGINNING: Duration = Duration::from_secs(20);
/// Time for what reaches a host to end once its input is closed.
const CLOSING: Duration = Duration::from_secs(2);
/// Replies that wait for their reader; behind them the process waits.
const MAX_WAITING: usize = 256;

/// A session with the tapeline of a host. What was ordered ends with it.
#[derive(Debug)]
pub struct Session {
    transport: Transport,
    process: ExecutorProcess,
    replies: Receiver<Reply>,
    end: Arc<Mutex<Option<RepliesEnd>>>,
    hello: Hello,
}

impl Session {
    /// Begins one: says hello, and waits at most `time` for the answer.
    ///
    /// # Errors
    /// The host is not reached, has no tapeline, or one that does not fit.
    pub fn open(transport: &Transport, time: Duration) -> Result<Self, SessionError> {
        let failed = |fault| SessionError::new(transport, fault);
        let no_destination = |why| failed(SessionFault::NoDestination(why));
        let mut command = transport.command().map_err(no_destination)?;
        command.stderr(Stdio::piped());
        let (replied, replies) = sync_channel(MAX_WAITING);
        let end = Arc::<Mutex<Option<RepliesEnd>>>::default();
        let ended = Arc::clone(&end);
        let process = ExecutorProcess::start(command, move |reply| match reply {
            // Without a reader the session ends, and the process with it.
            Ok(reply) => drop(replied.send(reply)),
            Err(why) => *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(why),
        });
        let process = process.map_err(|why| failed(SessionFault::NotStarted(system_text(&why))))?;
        // If it has gone, its replies have ended.
        let _ = process.orders().order(Order::Hello {
            v: PROTOCOL_VERSION,
        });
        let until = Instant::now() + time;
        loop {
            let body = match replies.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(reply) => reply.body,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(failed(SessionFault::Silent(time.as_secs())));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let (status, said) = process.end(CLOSING);
                    return Err(failed(match taken(&end) {
                        RepliesEnd::NoReply(text) => SessionFault::NotTapeline(text),
                        RepliesEnd::Closed => SessionFault::Refused {
                            code: status.and_then(|status| status.code()),
                            said,
                        },
                    }));
                }
            };
            match body {
                Body::Hello { hello } if hello.v == PROTOCOL_VERSION => {
                    return Ok(Self {
                        transport: transport.clone(),
                        process,
                        replies,
                        end,
                        hello,
                    });
                }
                Body::Hello { hello } => {
                    let why = format!("it speaks version {}, not {PROTOCOL_VERSION}", hello.v);
                    return Err(failed(SessionFault::Version(why)));
                }
                Body::Error { error } => {
                    return Err(failed(SessionFault::Version(error.text)));
                }
                _ => {}
            }
        }
    }

    /// Who is there.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// What gives orders, also from other threads.
    #[must_use]
    pub fn orders(&self) -> &Orders {
        self.process.orders()
    }

    /// Gives an order; the replies to it bear the number that is returned.
    ///
    /// # Errors
    /// The session is over: [`lost`](Self::lost) says why.
    pub fn order(&self, order: Order) -> Result<u64, Gone> {
        self.orders().order(order)
    }

    /// The replies, in the order in which they come. The session is over when they end.
    #[must_use]
    pub fn replies(&self) -> &Receiver<Reply> {
        &self.replies
    }

    /// Why the replies have ended. Ends what is left.
    #[must_use]
    pub fn lost(self) -> SessionError {
        // Its reader must not wait for room.
        drop(self.replies);
        let (_, said) = self.process.end(CLOSING);
        SessionError::new(&self.transport, SessionFault::lost(taken(&self.end), said))
    }

    /// Ends it, and within two seconds the process that reaches the host.
    pub fn close(self) {
        drop(self.replies);
        self.process.end(CLOSING);
    }
}

/// Why replies ended.
fn taken(end: &Mutex<Option<RepliesEnd>>) -> RepliesEnd {
    let mut end = end.lock().unwrap_or_else(PoisonError::into_inner);
    end.take().unwrap_or(RepliesEnd::Closed)
}
