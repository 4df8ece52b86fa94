//! Received data that goes into a file.

use std::fs::File;
use std::io::Write;

use tapeline_base::MonoTime;
use tapeline_engine::{ByteIntake, Intake, NextRead};

/// Counts bytes and writes them down. A disk that takes no more ends the writing, not the test.
#[derive(Debug)]
pub(super) struct FileIntake {
    counts: ByteIntake,
    file: Option<File>,
}

impl FileIntake {
    pub(super) fn new(counts: ByteIntake, file: File) -> Self {
        Self {
            counts,
            file: Some(file),
        }
    }
}

impl Intake for FileIntake {
    fn bytes(&self) -> u64 {
        self.counts.bytes()
    }

    fn last(&self) -> MonoTime {
        self.counts.last()
    }

    fn next_read(&self, length: usize) -> NextRead {
        NextRead {
            length,
            content: self.file.is_some(),
        }
    }

    fn take(&mut self, count: usize, data: &[u8], now: MonoTime) {
        if let Some(file) = &mut self.file
            && file.write_all(data).is_err()
        {
            self.file = None;
        }
        self.counts.take(count, data, now);
    }

    fn publish(&self) {
        self.counts.publish();
    }

    fn next_boundary(&self) -> MonoTime {
        self.counts.next_boundary()
    }
}
