//! What all parts of a run share: clocks, flow numbers, workers, the reporter, the way to stop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tapeline_base::{Clock, FlowId, FlowTag, MonoTime, Role, WallTime};
use tapeline_engine::{Pool, Stop, Technique, Techniques};
use tapeline_report::{Event, Notice, StartDelay};
use tapeline_sys::{Realtime, SystemClock, UdpSocket, Wait, Waker, reason};
use tapeline_wire::iperf2::TransferId;

use crate::sampler::ReporterHandle;

/// Ends a run from outside: raises the flag and wakes whoever waits in a socket call.
#[derive(Clone, Debug)]
pub struct Interruption {
    stop: Stop,
    /// The end is no accident.
    concluded: Arc<AtomicBool>,
    waker: Arc<Waker>,
}

impl Interruption {
    /// A run that has not been interrupted.
    ///
    /// # Errors
    /// When the process is out of descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            stop: Stop::new(),
            concluded: Arc::default(),
            waker: Arc::new(Waker::new()?),
        })
    }

    /// Ends traffic; totals follow.
    pub fn interrupt(&self) {
        self.stop.raise();
        self.waker.wake();
    }

    /// The same when the run has shown what it was for: peers have nothing to warn of.
    pub fn conclude(&self) {
        self.concluded.store(true, Ordering::Release);
        self.interrupt();
    }

    /// Whether [`conclude`](Self::conclude) was called.
    pub(crate) fn is_concluded(&self) -> bool {
        self.concluded.load(Ordering::Acquire)
    }

    /// Whether the run was ended from outside.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.stop.is_raised()
    }

    /// Waits for it, at most so long; whether it came.
    #[must_use]
    pub fn is_raised_within(&self, span: Duration) -> bool {
        // A wait that fails is no reason to hurry.
        let _ = self.waker.wait(Wait::AtMost(span));
        self.is_raised()
    }

    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }
}

/// Services of one run: clocks, flow numbers, workers, the reporter, the way to stop.
pub(crate) struct Context {
    pub(crate) clock: SystemClock,
    pub(crate) reporter: ReporterHandle,
    pub(crate) pool: Pool,
    pub(crate) interruption: Interruption,
    pub(crate) techniques: Techniques,
    ids: AtomicU32,
}

impl Context {
    pub(crate) fn new(
        reporter: ReporterHandle,
        interruption: Interruption,
        techniques: Techniques,
    ) -> Arc<Self> {
        let pool = if techniques.uses(Technique::PolledWorkers) {
            Pool::default()
        } else {
            Pool::of_threads()
        };
        Arc::new(Self {
            clock: SystemClock,
            reporter,
            pool: pool.waiting(techniques.wait()),
            interruption,
            techniques,
            ids: AtomicU32::new(0),
        })
    }

    /// A number that no running flow has.
    pub(crate) fn next_id(&self) -> FlowId {
        loop {
            let id = FlowId(self.ids.fetch_add(1, Ordering::Relaxed).wrapping_add(1));
            if !self.reporter.is_running(id) {
                return id;
            }
        }
    }

    /// The number that a client wants its flow to have (`--sync-transfer-id`), unless a
    /// running flow has it; else the next one.
    pub(crate) fn flow_id(&self, wanted: Option<TransferId>) -> FlowId {
        wanted
            .map(|id| FlowId(id.get().into()))
            .filter(|id| id.0 > 0 && !self.reporter.is_running(*id))
            .unwrap_or_else(|| self.next_id())
    }

    /// What [`next_id`](Self::next_id) would give.
    pub(crate) fn upcoming_id(&self) -> FlowId {
        FlowId(self.ids.load(Ordering::Relaxed).wrapping_add(1))
    }

    /// Enlarges a UDP socket's receive buffer as far as the system allows, unless the user
    /// chose one (`-w`): the default lasts for milliseconds at speed, and what it drops is not
    /// the network's.
    pub(crate) fn enlarge_buffer(&self, socket: &UdpSocket, chosen: Option<u64>) {
        if chosen.is_none() && self.techniques.uses(Technique::ReceiveBuffer) {
            let _ = socket.maximise_receive_buffer();
        }
    }

    pub(crate) fn now(&self) -> MonoTime {
        self.clock.now()
    }

    pub(crate) fn wall(&self) -> WallTime {
        self.clock.wall()
    }

    pub(crate) fn stop(&self) -> &Stop {
        self.interruption.stop()
    }

    /// Both clocks, read together.
    pub(crate) fn both(&self) -> Now {
        Now {
            mono: self.now(),
            wall: self.wall(),
        }
    }

    /// Reports that a flow starts at another time than now.
    pub(crate) fn report_start(&self, tag: FlowTag, role: Role, start: Option<WallTime>) {
        if let Some(start) = start {
            let now = self.wall();
            self.reporter.event(Event::StartDelay(StartDelay {
                tag,
                role,
                start,
                now,
            }));
        }
    }

    /// Makes this thread, and those that it starts, run before all others (`-z`).
    pub(crate) fn run_first(&self) {
        let granted = Realtime::enter();
        let parts = [
            ("realtime scheduling", granted.scheduling),
            ("memory locking", granted.memory),
        ];
        for (what, result) in parts {
            if let Err(error) = result {
                self.notice(Notice::Text(format!(
                    "no {what} (-z): {}; the run goes on without",
                    reason(&error)
                )));
            }
        }
    }

    pub(crate) fn notice(&self, notice: Notice) {
        self.reporter.event(Event::Notice(notice));
    }
}

/// A reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Now {
    pub(crate) mono: MonoTime,
    pub(crate) wall: WallTime,
}

impl Now {
    /// The time of day that `at` will be.
    pub(crate) fn wall_at(self, at: MonoTime) -> WallTime {
        self.wall + at.since(self.mono)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tapeline_sys::SocketOptions;

    use super::*;
    use crate::sampler::{Reporter, ReporterSettings};

    #[test]
    fn a_receive_buffer_grows_unless_somebody_objects() {
        let sizes = |techniques: Techniques, chosen: Option<u64>| {
            let reporter = Reporter::start(ReporterSettings::default(), |_| {}).expect("reporter");
            let interruption = Interruption::new().expect("interruption");
            let context = Context::new(reporter.handle(), interruption, techniques);
            let any = SocketAddr::from(([127, 0, 0, 1], 0));
            let socket = UdpSocket::bind(any, &SocketOptions::default()).expect("socket");
            let before = socket.socket.receive_buffer().expect("its size");
            context.enlarge_buffer(&socket.socket, chosen);
            (before, socket.socket.receive_buffer().expect("its size"))
        };
        let all = Techniques::default();
        let (before, after) = sizes(all, None);
        assert!(after > before, "{before} {after}");
        for (techniques, chosen) in [
            (all.without(Technique::ReceiveBuffer), None),
            (all, Some(1)),
        ] {
            let (before, after) = sizes(techniques, chosen);
            assert_eq!(before, after);
        }
    }
}
