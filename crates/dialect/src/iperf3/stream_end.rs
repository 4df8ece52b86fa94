//! How a stream ended, and what the other end is told of it.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use tapeline_engine::{Cause, Ending};
use tapeline_report::{Measure, Row};
use tapeline_sys::Waker;
use tapeline_wire::iperf3::StreamResults;

use super::streams::Stream;

/// A stream has ended.
#[derive(Debug)]
pub(super) struct StreamEnd {
    pub(super) stream: Stream,
    /// What was told of it; without the omitted start.
    pub(super) total: Option<Row>,
    /// With the omitted start: datagrams sent or highest number, and datagrams lost.
    pub(super) packets: u64,
    pub(super) lost: u64,
    /// Nothing came for longer than a receiver waits.
    pub(super) starved: bool,
}

impl StreamEnd {
    /// A stream that never ran.
    pub(super) fn lost(stream: Stream) -> Self {
        Self {
            stream,
            total: None,
            packets: 0,
            lost: 0,
            starved: false,
        }
    }

    /// The stream's entry in the results message.
    pub(super) fn results(&self) -> StreamResults {
        let mut results = StreamResults {
            id: self.stream.id,
            omitted_errors: Some(0),
            omitted_packets: Some(0),
            ..StreamResults::default()
        };
        let Some(row) = &self.total else {
            return results;
        };
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        results.bytes = row.bytes;
        results.end_time = Some(row.span.length().as_secs_f64());
        match &row.measure {
            Measure::TcpSend(send) => results.retransmits = Some(send.retransmits.unwrap_or(0)),
            Measure::UdpSend(send) => {
                results.packets = signed(self.packets);
                results.omitted_packets = Some(signed(self.packets.saturating_sub(send.writes)));
            }
            Measure::UdpReceive(receive) => {
                results.jitter = receive.jitter.unwrap_or(0.0);
                results.packets = signed(self.packets);
                results.errors = signed(self.lost);
                results.omitted_errors = Some(signed(self.lost.saturating_sub(receive.lost)));
                results.omitted_packets = Some(signed(self.packets.saturating_sub(receive.total)));
            }
            Measure::TcpReceive(_) | Measure::Both { .. } | Measure::RequestResponse(_) => {}
        }
        results
    }
}

/// Where ends are told, and who is woken by them.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    pub(super) tell: mpsc::Sender<StreamEnd>,
    pub(super) waker: Arc<Waker>,
}

impl Ends {
    pub(super) fn tell(&self, end: StreamEnd) {
        // Nobody listens when the test has been given up.
        let _ = self.tell.send(end);
        self.waker.wake();
    }
}

/// Whether a receiver gave up.
pub(super) fn is_starved(ending: &Ending, patience: Duration) -> bool {
    matches!(ending.cause, Cause::Vanished(silence) if silence >= patience)
}
