//! Readiness by one `poll` call over all sources: linear in their number, but everywhere.

use std::io;

use super::readiness::{self, Entry, RawHandle};
use crate::poller::{Event, Handle, Interest, Wait};

pub(crate) struct SystemPoller {
    entries: Vec<Entry<'static>>,
    sources: Vec<(RawHandle, u64)>,
    /// Where the next report begins, so that a short event list serves every source in turn.
    next: usize,
}

impl std::fmt::Debug for SystemPoller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SystemPoller")
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}

impl SystemPoller {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            entries: Vec::new(),
            sources: Vec::new(),
            next: 0,
        })
    }

    fn position(&self, raw: RawHandle) -> Option<usize> {
        self.sources.iter().position(|(known, _)| *known == raw)
    }

    pub(crate) fn register(
        &mut self,
        raw: RawHandle,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        if self.position(raw).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.entries
            .push(readiness::entry(Handle::from_raw(raw), interest));
        self.sources.push((raw, token));
        Ok(())
    }

    pub(crate) fn modify(
        &mut self,
        raw: RawHandle,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let index = self.position(raw).ok_or(io::ErrorKind::NotFound)?;
        self.entries[index] = readiness::entry(Handle::from_raw(raw), interest);
        self.sources[index].1 = token;
        Ok(())
    }

    pub(crate) fn deregister(&mut self, raw: RawHandle) -> io::Result<()> {
        let index = self.position(raw).ok_or(io::ErrorKind::NotFound)?;
        self.entries.swap_remove(index);
        self.sources.swap_remove(index);
        Ok(())
    }

    pub(crate) fn wait(
        &mut self,
        ready: &mut Vec<Event>,
        capacity: usize,
        wait: Wait,
    ) -> io::Result<()> {
        readiness::wait(&mut self.entries, wait)?;
        let count = self.entries.len();
        for index in (self.next..count).chain(0..self.next.min(count)) {
            let Some(mut event) = readiness::outcome(&self.entries[index]) else {
                continue;
            };
            if ready.len() == capacity {
                self.next = index;
                break;
            }
            event.token = self.sources[index].1;
            ready.push(event);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poller::Pollable;
    use crate::waker::Waker;

    #[test]
    fn the_twin_serves_every_ready_source_in_turn() {
        let wakers: Vec<Waker> = (0..3).map(|_| Waker::new().unwrap()).collect();
        let mut poller = SystemPoller::new().unwrap();
        for (token, waker) in (10..).zip(&wakers) {
            poller
                .register(waker.handle().raw(), token, Interest::READ)
                .unwrap();
        }
        let again = poller
            .register(wakers[0].handle().raw(), 1, Interest::READ)
            .unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);

        let mut ready = Vec::new();
        poller.wait(&mut ready, 4, Wait::Never).unwrap();
        assert!(ready.is_empty());

        wakers.iter().for_each(Waker::wake);
        let mut seen = Vec::new();
        for _ in 0..3 {
            ready.clear();
            poller.wait(&mut ready, 1, Wait::Forever).unwrap();
            assert!(ready[0].readable);
            seen.push(ready[0].token);
        }
        seen.sort_unstable();
        assert_eq!(seen, [10, 11, 12]);

        poller.deregister(wakers[1].handle().raw()).unwrap();
        wakers[2].drain();
        poller
            .modify(wakers[0].handle().raw(), 99, Interest::READ)
            .unwrap();
        ready.clear();
        poller.wait(&mut ready, 4, Wait::Forever).unwrap();
        assert_eq!(
            ready.iter().map(|event| event.token).collect::<Vec<_>>(),
            [99]
        );
    }
}
