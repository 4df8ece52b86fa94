//! Payload from a file or a pipe, read ahead by a thread of its own.
//!
//! A sender must never wait for a disk or for somebody who types: the reader is a few blocks
//! ahead, and never more, so memory is bounded however long the input is. The blocks go
//! round and nothing is allocated while they do.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};

/// Blocks that are read ahead.
const AHEAD: usize = 8;

/// What became of a request for payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// So many bytes were written, at least one; fewer than asked for only when the next are
    /// not there yet, or the input has ended.
    Bytes(usize),
    /// Nothing is there yet.
    Pending,
    /// The input has ended.
    End,
}

/// Payload that is read from somewhere.
#[derive(Debug)]
pub struct PayloadSource {
    full: Receiver<io::Result<Vec<u8>>>,
    empty: SyncSender<Vec<u8>>,
    current: Vec<u8>,
    at: usize,
    ended: bool,
    failure: Option<io::Error>,
}

impl PayloadSource {
    /// Begins to read from `input`, `block` bytes at a time (at least 1).
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn start(input: impl Read + Send + 'static, block: usize) -> io::Result<Self> {
        let (give, full) = mpsc::sync_channel(AHEAD);
        let (empty, take) = mpsc::sync_channel(AHEAD + 1);
        for _ in 0..AHEAD {
            // There is room for all of them.
            let _ = empty.try_send(Vec::with_capacity(block.max(1)));
        }
        std::thread::Builder::new()
            .name("payload".into())
            .spawn(move || read_ahead(input, &take, &give))?;
        Ok(Self {
            full,
            empty,
            current: Vec::new(),
            at: 0,
            ended: false,
            failure: None,
        })
    }

    /// Fills `buffer` as far as the input has come; never waits.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Filled {
        let mut filled = 0;
        while filled < buffer.len() {
            if self.at == self.current.len() && !self.advance() {
                break;
            }
            let rest = &self.current[self.at..];
            let take = rest.len().min(buffer.len() - filled);
            buffer[filled..filled + take].copy_from_slice(&rest[..take]);
            self.at += take;
            filled += take;
        }
        match filled {
            0 if self.ended => Filled::End,
            0 => Filled::Pending,
            bytes => Filled::Bytes(bytes),
        }
    }

    /// Takes the next block, if it is there.
    fn advance(&mut self) -> bool {
        match self.full.try_recv() {
            Ok(Ok(block)) => {
                let used = std::mem::replace(&mut self.current, block);
                self.at = 0;
                if used.capacity() > 0 {
                    let _ = self.empty.try_send(used);
                }
                true
            }
            Ok(Err(error)) => {
                self.failure = Some(error);
                self.ended = true;
                false
            }
            Err(TryRecvError::Empty) => false,
            Err(TryRecvError::Disconnected) => {
                self.ended = true;
                false
            }
        }
    }

    /// Why the input ended before its end, if it did.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }
}

/// Passes whole blocks on until the input ends; only the last one may be shorter.
fn read_ahead(
    mut input: impl Read,
    empty: &Receiver<Vec<u8>>,
    full: &SyncSender<io::Result<Vec<u8>>>,
) {
    while let Ok(mut block) = empty.recv() {
        let length = block.capacity();
        block.clear();
        let read = input.by_ref().take(length as u64).read_to_end(&mut block);
        let last = block.len() < length;
        if !block.is_empty() && full.send(Ok(block)).is_err() {
            return;
        }
        if let Err(error) = read {
            let _ = full.send(Err(error));
            return;
        }
        if last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(source: &mut PayloadSource, step: usize) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buffer = vec![0; step];
        loop {
            match source.fill(&mut buffer) {
                Filled::Bytes(count) => all.extend_from_slice(&buffer[..count]),
                Filled::Pending => std::thread::yield_now(),
                Filled::End => return all,
            }
        }
    }

    #[test]
    fn every_byte_arrives_once_and_in_order() {
        let content: Vec<u8> = (0..100_003_u32).map(|n| (n % 251) as u8).collect();
        for (block, step) in [(1000, 1000), (4096, 1500), (100, 70_000), (200_000, 7)] {
            let input = io::Cursor::new(content.clone());
            let mut source = PayloadSource::start(input, block).expect("a thread");
            assert!(drain(&mut source, step) == content, "{block} {step}");
            assert!(source.take_failure().is_none());
        }
    }

    #[test]
    fn an_empty_input_ends_at_once() {
        let mut source = PayloadSource::start(io::empty(), 10).expect("a thread");
        assert!(drain(&mut source, 10).is_empty());
    }

    #[test]
    fn a_failure_keeps_what_came_before() {
        struct Broken(usize);
        impl Read for Broken {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if self.0 == 0 {
                    return Err(io::ErrorKind::PermissionDenied.into());
                }
                let count = self.0.min(buffer.len());
                self.0 -= count;
                Ok(count)
            }
        }
        let mut source = PayloadSource::start(Broken(25), 10).expect("a thread");
        assert_eq!(drain(&mut source, 10).len(), 25);
        let failure = source.take_failure().expect("a failure");
        assert_eq!(failure.kind(), io::ErrorKind::PermissionDenied);
    }
}
