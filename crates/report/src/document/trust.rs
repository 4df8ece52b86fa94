//! How far the numbers of a test are to be trusted: from what its document knows to the facts of
//! the judgement.

use tapeline_base::Role;
use tapeline_stats::{Certainty, Finding, LimitedBy};

use super::record::DocumentRecord;
use super::run_info::{PlannedLimit, RunInfo};
use super::schema::{Peer, Protocol, Test, TestTrust, Workload};
use super::stream::Stream;
use crate::model::{CountedBy, LimitVerdict, PeerKind, Trust, TrustFacts};

/// What the document of a test knows, from which the facts are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TestView<'a> {
    pub(crate) record: &'a DocumentRecord,
    pub(crate) run_info: &'a RunInfo,
    pub(crate) streams: &'a [Stream],
    pub(crate) peer: &'a Peer,
    pub(crate) test: &'a Test,
}

impl TestView<'_> {
    /// How far the test is to be trusted; `None` where it carried no traffic.
    pub(crate) fn trust(&self) -> Option<TestTrust> {
        self.facts().map(|facts| {
            let Trust { level, reasons } = Trust::new(&facts);
            let reasons = reasons.into_iter().map(|reason| reason.text);
            TestTrust {
                level,
                reasons: reasons.collect(),
            }
        })
    }

    fn facts(&self) -> Option<TrustFacts> {
        let record = self.record;
        let longest = record.flows.iter().filter_map(|flow| flow.total.as_ref());
        let duration = longest.map(|row| row.span.length()).max()?;
        let moved = self.streams.iter().any(|stream| {
            let ends = [stream.sender.end.bytes, stream.receiver.end.bytes];
            ends.into_iter().flatten().any(|bytes| bytes > 0)
        });
        if !moved || self.test.workload == Some(Workload::ConnectOnly) {
            return None;
        }
        let planned = self.run_info.planned.as_ref().map(|planned| planned.limit);
        Some(TrustFacts {
            duration,
            too_few: self.too_few(),
            counted_by: self.counted_by(),
            is_server: self.run_info.role == Role::Server,
            peer: self.peer_kind(),
            peer_streams: self.peer_streams(),
            peer_visible: record.peer_visible,
            same_machine: self.same_machine(),
            clock_jump: record.clock_jump,
            rows_dropped: record.missing,
            interrupted: record.interrupted,
            requested: match planned {
                Some(PlannedLimit::Time(time)) => Some(time),
                _ => None,
            },
            failed_streams: record.failed.len(),
            streams: self.streams.len(),
            limits: self.limits(),
            datagrams: self.streams.iter().any(|one| one.receiver.udp.is_some()),
            lost_in_hosts: self.lost_in_hosts(),
        })
    }

    /// Streams of which both ends' counts are known.
    fn peer_streams(&self) -> usize {
        let both = self.streams.iter().filter(|stream| {
            stream.sender.end.bytes.is_some() && stream.receiver.end.bytes.is_some()
        });
        both.count()
    }

    fn too_few(&self) -> Option<u64> {
        let verdicts = self.record.limit_verdicts.iter();
        let findings = verdicts.flat_map(|one| &one.verdict.findings);
        findings
            .filter_map(|finding| match finding {
                Finding::TooFew(writes) => Some(*writes),
                _ => None,
            })
            .min()
    }

    fn counted_by(&self) -> CountedBy {
        if self.test.workload == Some(Workload::RequestResponse) {
            return CountedBy::OneClock;
        }
        let worst = self.streams.iter().map(|stream| {
            let sent = stream.sender.end.bytes.is_some();
            let received = stream.receiver.end.bytes.is_some();
            match (sent, received, stream.receiver.udp.is_some()) {
                (true, true, _) => CountedBy::BothEnds,
                (false, true, _) => CountedBy::Receiver,
                (_, false, false) => CountedBy::Sender,
                (_, false, true) => CountedBy::Nobody,
            }
        });
        let rank = |counted: &CountedBy| match counted {
            CountedBy::BothEnds | CountedBy::OneClock => 0,
            CountedBy::Receiver => 1,
            CountedBy::Sender => 2,
            CountedBy::Nobody => 3,
        };
        worst.max_by_key(rank).unwrap_or_default()
    }

    fn peer_kind(&self) -> PeerKind {
        match (self.peer.program.as_deref(), self.test.protocol) {
            (Some("tapeline"), _) => PeerKind::Tapeline,
            (_, Some(Protocol::Iperf3)) => PeerKind::Iperf3,
            _ => PeerKind::Iperf2,
        }
    }

    fn same_machine(&self) -> bool {
        let lines = self.record.lines.iter();
        let lines = lines.map(|line| (line.local.ip(), line.peer.ip()));
        let totals = self
            .record
            .flows
            .iter()
            .filter_map(|flow| flow.total.as_ref());
        let ends = totals.filter_map(|row| row.endpoints);
        let ends = ends.map(|ends| (ends.local.ip(), ends.peer.ip()));
        lines
            .chain(ends)
            .any(|(local, peer)| local == peer || peer.to_canonical().is_loopback())
    }

    /// What limited each direction, the one that is limited most first.
    fn limits(&self) -> Vec<(Option<LimitedBy>, Certainty)> {
        let verdicts = &self.record.limit_verdicts;
        let judged = |one: &LimitVerdict| (one.verdict.limited_by, one.verdict.certainty);
        let Some(most) = LimitVerdict::most_limited(verdicts) else {
            return Vec::new();
        };
        let others = verdicts
            .iter()
            .filter(|one| one.local_sends != most.local_sends);
        [most].into_iter().chain(others).map(judged).collect()
    }

    fn lost_in_hosts(&self) -> Option<u64> {
        let udp = self.streams.iter().filter_map(|one| one.receiver.udp);
        let parts = udp.map(|udp| Some(udp.lost_receiver_host? + udp.lost_sender_host?));
        let parts: Option<Vec<u64>> = parts.collect();
        parts
            .filter(|parts| !parts.is_empty())
            .map(|parts| parts.into_iter().sum())
    }
}
