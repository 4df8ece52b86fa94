//! A session with each host, and what they say, in one queue.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tapeline_mesh::HostId;
use tapeline_remote::{
    BEGINNING, Hello, Orders, Reply, Session, SessionError, Transport, copy_program,
};

/// Sessions that are set up at a time.
const AT_ONCE: usize = 32;
/// Between two looks whether the sessions are to end.
const LOOK: Duration = Duration::from_millis(100);
/// Time for all sessions to end.
const CLOSING: Duration = Duration::from_millis(2500);

/// What happens at the hosts.
#[derive(Debug)]
pub(crate) enum Happening {
    /// A host was reached, or not, and why.
    Begun(HostId, Result<Member, String>),
    /// A host replied to an order.
    Replied(HostId, Reply),
    /// The session with a host is over, and why.
    Lost(HostId, String),
    /// The session with a host was closed from here.
    Closed,
    /// The user wants the end.
    Interrupted,
}

/// A host that was reached.
#[derive(Debug)]
pub(crate) struct Member {
    /// What gives it orders.
    pub(crate) orders: Orders,
    /// What it said of itself.
    pub(crate) hello: Hello,
}

/// The sessions of a mesh.
#[derive(Debug)]
pub(crate) struct Sessions {
    happenings: Receiver<Happening>,
    is_closing: Arc<AtomicBool>,
    /// Sessions that have begun and not ended.
    open: usize,
}

impl Sessions {
    /// Sets up a session with each host, with a copy of a program on those of ssh that have none; [`Happening::Begun`] says what came of each. Interrupts go to the
    /// sender that is returned.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn open(
        transports: Vec<Transport>,
        copy: Option<PathBuf>,
    ) -> std::io::Result<(Self, Sender<Happening>)> {
        let (sender, happenings) = channel();
        let is_closing = Arc::<AtomicBool>::default();
        let workers = transports.len().min(AT_ONCE);
        let shared = Arc::new((transports, copy, AtomicUsize::new(0)));
        for _ in 0..workers {
            let (shared, sender) = (Arc::clone(&shared), sender.clone());
            let is_closing = Arc::clone(&is_closing);
            spawn("opening", move || {
                let (transports, copy, next) = &*shared;
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(transport) = transports.get(number) else {
                        return;
                    };
                    if is_closing.load(Ordering::Relaxed) {
                        return;
                    }
                    let begun = begin(transport, copy.as_deref());
                    let begun = begun.map_err(|error| error.to_string());
                    attend(HostId(number), begun, &sender, &is_closing);
                }
            })?;
        }
        let sessions = Self {
            happenings,
            is_closing,
            open: 0,
        };
        Ok((sessions, sender))
    }

    /// What happens next; nothing within this time.
    pub(crate) fn next(&mut self, time: Duration) -> Option<Happening> {
        let happening = self.happenings.recv_timeout(time).ok()?;
        match &happening {
            Happening::Begun(_, Ok(_)) => self.open += 1,
            Happening::Lost(..) | Happening::Closed => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        Some(happening)
    }

    /// Ends all sessions, and with them what runs at the hosts.
    pub(crate) fn close(mut self) {
        self.is_closing.store(true, Ordering::Relaxed);
        let until = Instant::now() + CLOSING;
        while self.open > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.next(left).is_none() {
                return;
            }
        }
    }
}

/// Begins a session; a host of ssh that has no tapeline gets a copy.
fn begin(transport: &Transport, copy: Option<&Path>) -> Result<Session, SessionError> {
    match (Session::open(transport, BEGINNING), transport, copy) {
        (Err(error), Transport::Ssh { destination, .. }, Some(program))
            if error.fault.is_not_found() =>
        {
            Session::open(&copy_program(destination, program)?, BEGINNING)
        }
        (begun, ..) => begun,
    }
}

/// Says what came of a session's beginning, and passes on its replies from then on.
fn attend(
    host: HostId,
    begun: Result<Session, String>,
    sender: &Sender<Happening>,
    is_closing: &Arc<AtomicBool>,
) {
    // Without a reader the program ends.
    let say = |happening| drop(sender.send(happening));
    let session = match begun {
        Ok(session) => session,
        Err(why) => return say(Happening::Begun(host, Err(why))),
    };
    let member = Member {
        orders: session.orders().clone(),
        hello: session.hello().clone(),
    };
    say(Happening::Begun(host, Ok(member)));
    let (replied, is_closing) = (sender.clone(), Arc::clone(is_closing));
    let passing = spawn("session", move || {
        pass_on(host, session, &replied, &is_closing)
    });
    if let Err(error) = passing {
        say(Happening::Lost(
            host,
            format!("no thread for a session: {error}"),
        ));
    }
}

/// Passes on replies until the session is over or to be closed.
fn pass_on(host: HostId, session: Session, sender: &Sender<Happening>, is_closing: &AtomicBool) {
    while !is_closing.load(Ordering::Relaxed) {
        let happening = match session.replies().recv_timeout(LOOK) {
            Ok(reply) => Happening::Replied(host, reply),
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => {
                let _ = sender.send(Happening::Lost(host, session.lost().to_string()));
                return;
            }
        };
        if sender.send(happening).is_err() {
            break;
        }
    }
    session.close();
    let _ = sender.send(Happening::Closed);
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    thread::Builder::new()
        .name(name.into())
        .spawn(work)
        .map(drop)
}
