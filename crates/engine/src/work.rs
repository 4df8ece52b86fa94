//! What a flow's worker does between two looks at the stop flag, and how it ends.

use std::io;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, Placement};
use tapeline_sys::{
    Interest, SystemClock, TcpConn, ThreadTime, Wait, WaitMode, current_placement,
    set_timer_slack_minimal,
};

use crate::pacing::{Pacer, Precision};
use crate::stop::{Place, Stop};

/// Longest time that a blocking send waits before it returns with what it has.
/// Partial progress becomes visible, and the end of a test stays immediate.
pub const SEND_LIMIT: Duration = Duration::from_millis(10);
/// Longest time that a blocking receive waits for the first byte.
pub const RECEIVE_LIMIT: Duration = Duration::from_millis(50);

/// Silence at the end of a test's time from which on the peer counts as gone.
pub(crate) const SILENT: Duration = Duration::from_secs(1);

/// How a step may call the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// May wait in the kernel, up to [`SEND_LIMIT`] or [`RECEIVE_LIMIT`].
    Blocking,
    /// Must return at once.
    NonBlocking,
}

/// What a step did.
#[derive(Debug)]
pub enum Step {
    /// Moved data; there may be more to do at once.
    Progress,
    /// Moved less than it wanted: the socket has no more, or takes no more, for now.
    Partial,
    /// The socket was not ready.
    NotReady,
    /// Nothing is due before this time.
    NotBefore(MonoTime),
    /// The flow's part is over.
    Finished(Ending),
}

/// Which operation ended a flow early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedOperation {
    /// Sending payload.
    Send,
    /// Receiving payload.
    Receive,
    /// Closing the sending direction.
    Shutdown,
    /// Reading what is to be sent.
    Content,
}

/// Why a flow ended.
#[derive(Debug)]
pub enum Cause {
    /// Its limit was reached, or the peer closed in order.
    Complete,
    /// The stop flag was raised.
    Stopped,
    /// A call failed.
    Failed(FailedOperation, io::Error),
    /// Nothing moved for this long.
    Vanished(Duration),
    /// No worker could be had for it, or the worker broke down.
    Worker(io::Error),
}

/// The end of a flow's part.
#[derive(Debug)]
pub struct Ending {
    /// Why.
    pub cause: Cause,
    /// When the last thing happened that counts for the test.
    pub at: MonoTime,
    /// How the thread that moved the data got on with the processors meanwhile.
    pub thread: Option<ThreadUse>,
}

/// The times of a flow's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadUse {
    /// From the flow's beginning to its end.
    pub time: ThreadTime,
    /// The thread served other flows too.
    pub shared: bool,
    /// CPU that it ran on last, its memory node, and where the connection's packets came in.
    pub placement: Placement,
}

impl ThreadUse {
    /// What the calling thread, which serves one flow, did since `before`.
    #[must_use]
    pub fn alone_since(before: &ThreadTime) -> Self {
        Self {
            time: ThreadTime::now().since(before),
            shared: false,
            placement: current_placement(),
        }
    }

    /// The same of a thread that serves several flows.
    #[must_use]
    pub fn shared_since(before: &ThreadTime) -> Self {
        Self {
            shared: true,
            ..Self::alone_since(before)
        }
    }

    /// The same, for a flow on this connection.
    #[must_use]
    pub(crate) fn on(self, conn: &TcpConn) -> Self {
        Self {
            placement: self.placement.or(conn.arrivals()),
            ..self
        }
    }
}

impl Ending {
    /// An end without times of a thread.
    #[must_use]
    pub fn new(cause: Cause, at: MonoTime) -> Self {
        Self {
            cause,
            at,
            thread: None,
        }
    }
}

/// A workload on a TCP connection, as a state machine of single calls: the same steps
/// run on a thread of their own with blocking calls, or in turns on a shared worker.
pub trait TcpWork: Send {
    /// One call to the socket at the most.
    /// `scratch` holds at least [`scratch_length`](Self::scratch_length) bytes.
    fn step(&mut self, now: MonoTime, call: Call, scratch: &mut [u8]) -> Step;
    /// Bytes that the steps need for reading; shared with other flows between steps.
    fn scratch_length(&self) -> usize;
    /// The connection.
    fn conn(&self) -> &TcpConn;
    /// What readiness lets the next step make progress.
    fn interest(&self) -> Interest;
    /// When a step has something to do although the socket is not ready: at a deadline, or
    /// when the peer's silence has lasted too long. It may move on with the data.
    fn next_look(&self) -> MonoTime;
}

/// How often a flow that has nothing to do looks whether its peer is still there.
pub(crate) const REST: Duration = Duration::from_secs(1);

/// Runs a workload on the calling thread until it ends.
pub fn run_blocking(work: &mut dyn TcpWork, stop: &Stop) -> Ending {
    run_waiting(work, stop, WaitMode::Auto)
}

/// The same, waiting so for what arrives. Until a send can go on, and when nothing has arrived for
/// a second, the thread sleeps all the same.
pub fn run_waiting(work: &mut dyn TcpWork, stop: &Stop, mode: WaitMode) -> Ending {
    let _ = work.conn().set_send_timeout(Some(SEND_LIMIT));
    let _ = work.conn().set_receive_timeout(Some(RECEIVE_LIMIT));
    set_timer_slack_minimal();
    let clock = SystemClock;
    let mut pacer = Pacer::new(Precision::Economical);
    let mut scratch = vec![0; work.scratch_length()];
    let before = ThreadTime::now();
    let mut moved = clock.now();
    let mut place = Place::default();
    let mut ending = loop {
        place.follow(stop);
        let now = clock.now();
        let looks =
            mode.stays_awake() && now.since(moved) < SILENT && work.interest() == Interest::READ;
        let call = if looks {
            Call::NonBlocking
        } else {
            Call::Blocking
        };
        match work.step(now, call, &mut scratch) {
            Step::Progress | Step::Partial => moved = now,
            Step::NotReady if looks => mode.pause(),
            Step::NotReady => {}
            Step::NotBefore(due) => {
                let look = clock.now() + REST;
                // A raised flag is seen by the next step.
                let _ = pacer.wait(due.min(look), stop);
                if due > look && is_broken(work.conn()) {
                    let error = io::ErrorKind::ConnectionReset.into();
                    break Ending::new(Cause::Failed(FailedOperation::Receive, error), clock.now());
                }
            }
            Step::Finished(ending) => break ending,
        }
    };
    ending.thread = Some(ThreadUse::alone_since(&before).on(work.conn()));
    ending
}

/// Whether the peer sends no more. Where the system does not report it, the next send finds out.
pub(crate) fn has_closed(conn: &TcpConn) -> bool {
    /// `TCP_ESTABLISHED` of the kernel's tcp_states.h.
    const ESTABLISHED: u8 = 1;
    let state = conn.tcp_info().and_then(|info| info.state);
    state.is_some_and(|state| state != ESTABLISHED)
}

/// Whether a connection is beyond use: reset, or closed in both directions.
fn is_broken(conn: &TcpConn) -> bool {
    conn.wait_ready(Interest::NONE, Wait::Never).unwrap_or(true)
}

/// Whether an error only says "not now".
#[must_use]
pub(crate) fn is_not_ready(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
