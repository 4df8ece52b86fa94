//! Both directions.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};

use crate::priority::Awake;
use crate::thread::Carrier;
use crate::{Passage, Path, TunDevice};

/// Two interfaces joined by two paths; ends when dropped.
#[derive(Debug)]
pub struct Relay {
    stop: Arc<OwnedFd>,
    /// There and back.
    threads: Vec<JoinHandle<io::Result<Vec<Passage>>>>,
    _awake: Awake,
}

/// What passed, in the order in which it came in.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// From the first interface to the second.
    pub there: Vec<Passage>,
    /// From the second to the first.
    pub back: Vec<Passage>,
}

impl Relay {
    /// Joins two interfaces: `there` leads from the first to the second, `back` the other way.
    ///
    /// # Errors
    /// No thread or descriptor is left.
    pub fn start(first: TunDevice, second: TunDevice, there: Path, back: Path) -> io::Result<Self> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let devices = Arc::new((first, second));
        let mut relay = Self {
            stop,
            threads: Vec::new(),
            _awake: Awake::start(),
        };
        for (name, path) in [("relay there", there), ("relay back", back)] {
            let (stop, devices) = (Arc::clone(&relay.stop), Arc::clone(&devices));
            let is_back = name == "relay back";
            let thread = std::thread::Builder::new().name(name.to_owned());
            relay.threads.push(thread.spawn(move || {
                let (first, second) = &*devices;
                let (from, to) = if is_back {
                    (second, first)
                } else {
                    (first, second)
                };
                Carrier::new(from, to, path).run(stop.as_fd())
            })?);
        }
        Ok(relay)
    }

    /// Ends the relay; packets that are on their way are lost.
    ///
    /// # Errors
    /// A direction had failed.
    pub fn finish(mut self) -> io::Result<Record> {
        self.stop();
        let mut passages = self.threads.drain(..).map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err(io::Error::other("the relay panicked")))
        });
        let mut next = || passages.next().unwrap_or_else(|| Ok(Vec::new()));
        Ok(Record {
            there: next()?,
            back: next()?,
        })
    }

    fn stop(&self) {
        // The counter of a descriptor that is written once cannot overflow.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
