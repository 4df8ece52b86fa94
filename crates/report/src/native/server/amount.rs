//! What rows of one direction come to.

use std::time::Duration;

use tapeline_base::BitRate;

use crate::model::{Measure, Row};

/// All that went one way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Amount {
    pub(crate) bytes: u64,
    pub(crate) longest: Duration,
    pub(crate) retransmits: Option<u64>,
    /// Lost, of all.
    pub(crate) loss: Option<(u64, u64)>,
}

impl Amount {
    /// Adds a row.
    pub(crate) fn add(&mut self, row: &Row) {
        self.bytes = self.bytes.saturating_add(row.bytes);
        self.longest = self.longest.max(row.span.length());
        match &row.measure {
            Measure::TcpSend(send) => {
                self.retransmits = add(self.retransmits, send.retransmits);
            }
            Measure::UdpReceive(receive) => {
                let (lost, total) = self.loss.unwrap_or_default();
                self.loss = Some((lost + receive.lost, total + receive.total));
            }
            _ => {}
        }
    }

    /// Bits per second.
    pub(crate) fn rate(&self) -> f64 {
        BitRate::over(self.bytes, self.longest)
    }
}

fn add(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}
