//! What one end counted: bytes over a time, and losses.

use std::time::Duration;

use tapeline_base::BitRate;

use crate::model::{Row, UdpReceive};

/// Bytes over a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Amount {
    /// Seconds.
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
}

impl Amount {
    pub(crate) fn from_row(row: &Row) -> Self {
        Self {
            seconds: row.span.length().as_secs_f64(),
            bytes: row.bytes,
        }
    }

    /// Bits per second, 0 over no time.
    pub(crate) fn rate(self) -> f64 {
        let span = Duration::try_from_secs_f64(self.seconds).unwrap_or_default();
        BitRate::over(self.bytes, span)
    }

    /// Bytes of both over the longer time.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            seconds: self.seconds.max(other.seconds),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// What a receiver says of datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loss {
    /// Seconds.
    pub(crate) jitter: f64,
    pub(crate) lost: u64,
    /// Sent, as far as the receiver knows.
    pub(crate) packets: u64,
    pub(crate) out_of_order: u64,
}

impl Loss {
    pub(crate) fn from_receive(receive: &UdpReceive) -> Self {
        Self {
            jitter: receive.jitter.unwrap_or(0.0),
            lost: receive.lost,
            packets: receive.total,
            out_of_order: receive.out_of_order,
        }
    }

    pub(crate) fn percent(self) -> f64 {
        percent(self.lost, self.packets)
    }

    /// Counts of all, and the mean of their jitter.
    pub(crate) fn sum(all: impl Iterator<Item = Self>) -> Self {
        let mut sum = Self::default();
        let mut count = 0u32;
        for one in all {
            sum.jitter += one.jitter;
            sum.lost += one.lost;
            sum.packets += one.packets;
            sum.out_of_order += one.out_of_order;
            count += 1;
        }
        if count > 0 {
            sum.jitter /= f64::from(count);
        }
        sum
    }
}

/// Share in percent, 0 of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        100.0 * part as f64 / whole as f64
    }
}
