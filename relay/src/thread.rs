//! One direction: take packets, keep them for their time, let them go.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use crate::fate::{Arrival, Fate, Fates};
use crate::{Head, Passage, Path, TunDevice, priority};

/// Longest IP packet.
const LONGEST: usize = 65_536;
/// Packets that are taken in a row before those that are due get their turn.
const BATCH: usize = 32;

/// A packet on its way: due time, order of arrival, and place in the record.
type Waiting = Reverse<(u64, u64, usize)>;

/// One direction at work.
pub(crate) struct Carrier<'a> {
    from: &'a TunDevice,
    to: &'a TunDevice,
    fates: Fates,
    waiting: BinaryHeap<Waiting>,
    /// The packets on their way, by their place in the record.
    contents: Vec<Vec<u8>>,
    record: Vec<Passage>,
    arrivals: u64,
    /// Due time of the last packet that was not held back.
    latest: u64,
}

impl<'a> Carrier<'a> {
    pub(crate) fn new(from: &'a TunDevice, to: &'a TunDevice, path: Path) -> Self {
        Self {
            from,
            to,
            fates: Fates::new(path),
            waiting: BinaryHeap::new(),
            contents: Vec::new(),
            record: Vec::new(),
            arrivals: 0,
            latest: 0,
        }
    }

    /// Carries packets until `stop` becomes readable; returns what happened to each.
    pub(crate) fn run(mut self, stop: BorrowedFd<'_>) -> io::Result<Vec<Passage>> {
        priority::precede_ordinary_threads();
        let mut buffer = vec![0; LONGEST];
        loop {
            let timeout = self.waiting.peek().map(|Reverse((due, ..))| {
                let left = due.saturating_sub(nanoseconds(ClockId::Monotonic));
                Duration::from_nanos(left)
            });
            let mut events = [
                PollFd::from_borrowed_fd(stop, PollFlags::IN),
                PollFd::new(self.from, PollFlags::IN),
            ];
            wait(&mut events, timeout)?;
            if !events[0].revents().is_empty() {
                return Ok(self.record);
            }
            for _ in 0..BATCH {
                let Some(length) = self.from.take(&mut buffer)? else {
                    break;
                };
                self.enter(&buffer[..length]);
                self.release()?;
            }
            self.release()?;
        }
    }

    /// Takes a packet in.
    fn enter(&mut self, packet: &[u8]) {
        let now = nanoseconds(ClockId::Monotonic);
        let head = Head::read(packet);
        let fate = self.fates.next(&Arrival {
            numbered: head.number().is_some(),
            length: packet.len(),
            now,
        });
        self.record.push(Passage {
            head,
            length: packet.len(),
            entered: nanoseconds(ClockId::Realtime),
            left: Vec::new(),
        });
        let place = self.record.len() - 1;
        let Fate::Passed {
            delay,
            held,
            copies,
        } = fate
        else {
            self.contents.push(Vec::new());
            return;
        };
        self.contents.push(packet.to_vec());
        let mut due = now + u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX / 2);
        if !held {
            due = due.max(self.latest);
            self.latest = due;
        }
        for _ in 0..copies {
            self.waiting.push(Reverse((due, self.arrivals, place)));
            self.arrivals += 1;
        }
    }

    /// Lets everything go that is due.
    fn release(&mut self) -> io::Result<()> {
        while let Some(Reverse((due, _, place))) = self.waiting.peek().copied() {
            if due > nanoseconds(ClockId::Monotonic) {
                break;
            }
            self.waiting.pop();
            let left = nanoseconds(ClockId::Realtime);
            self.to.put(&self.contents[place])?;
            self.record[place].left.push(left);
            let more = matches!(self.waiting.peek(), Some(Reverse((.., next))) if *next == place);
            if !more {
                self.contents[place] = Vec::new();
            }
        }
        Ok(())
    }
}

fn wait(events: &mut [PollFd<'_>], timeout: Option<Duration>) -> io::Result<()> {
    let timeout = timeout.map(|timeout| Timespec {
        tv_sec: timeout.as_secs() as _,
        tv_nsec: timeout.subsec_nanos().into(),
    });
    match poll(events, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
