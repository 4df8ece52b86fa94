//! What a TCP client's flows send and receive, by its plan.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime};
use tapeline_engine::SendEnd;

use super::flows::{ReceivePart, SendPart};
use super::order::SLACK;
use super::traffic::{BurstOrder, TcpTraffic, is_stamped, seed};
use crate::plan::ClientPlan;

/// Time, beside a tenth of the test, by which a sending peer's clock may be ahead of ours.
const EARLY: Duration = Duration::from_millis(200);

impl ClientPlan {
    /// What a flow sends; `chunk` is what its blocks repeat.
    pub(super) fn send_part(
        &self,
        chunk: Arc<[u8]>,
        tag: FlowTag,
        deadline: Option<MonoTime>,
        end: SendEnd,
    ) -> SendPart {
        let length = self.tcp_write_length();
        SendPart {
            deadline,
            bytes: self.byte_limit(),
            traffic: TcpTraffic::of_plan(self, length),
            stamped: is_stamped(&self.tcp_header()) && !self.compatibility,
            seed: seed(self.seed, tag.id.0),
            payload: self.payload.clone(),
            zero_copy: self.socket.zero_copy,
            wait_for_room: self.socket.write_prefetch.is_some(),
            pacing: self.socket.fair_queue,
            write_times: self.latency.write_times,
            histogram: self.latency.histograms,
            ..SendPart::plain(chunk, length, end)
        }
    }

    /// Time between two blocks or bursts of whichever end sends.
    pub(super) fn tcp_gap(&self) -> Option<Duration> {
        let length = self.tcp_write_length();
        TcpTraffic::of_plan(self, length).gap(length)
    }

    /// What a flow receives from the server, which is to send until `deadline`.
    pub(super) fn receive_part(&self, deadline: Option<MonoTime>, shutdown: bool) -> ReceivePart {
        let early = self.time_limit().unwrap_or_default() / 10 + EARLY;
        ReceivePart {
            length: self.tcp_read_length(),
            deadline: deadline.map(|deadline| deadline + SLACK),
            expected: deadline.map(|deadline| deadline - early),
            bytes: self.byte_limit(),
            most: None,
            already: 0,
            rate: None,
            shutdown,
            bursts: self.received_bursts(),
            histogram: self.latency.histograms,
            discard: self.socket.skip_receive_copy,
            quickack: self.socket.quickack,
            held_back: Duration::ZERO,
            answers: None,
        }
    }

    /// Bursts in what the server sends.
    fn received_bursts(&self) -> Option<BurstOrder> {
        let header = self.tcp_header();
        let by_frame = self.latency.by_frame;
        let order = BurstOrder::of(&header.workload, header.trip_times, by_frame)?;
        Some(BurstOrder {
            preamble: true,
            ..order
        })
    }
}
