//! Admission to a UDP server: may a datagram of an unknown source begin a flow, and which one.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime};
use tapeline_report::Notice;
use tapeline_sys::UdpSocket;
use tapeline_wire::iperf2::{TestMode, UdpClientHeader};
use tapeline_wire::native::RefusalReason;

use super::admission::Admission;
use super::flow_table::{Flow, FlowKey, FlowTable};
use super::groups::{GroupBy, TestSums};
use super::recognition::Recognition;
use super::start::{Start, held_back, ordered_start};
use super::udp_flow::{Announced, FlowReader};
use super::udp_server::{Arrived, UdpService};
use super::udp_session::Opening;
use super::udp_start::{ClockCheck, agreed_start};
use crate::native::{self, Joined, OwnFlow};

/// Most flows at a time; further sources wait until one ends.
const MOST_FLOWS: usize = 4096;
/// Why a flow of a foreign source does not begin.
const NO_ROOM: &str = "as many UDP flows of sources that nobody vouches for are busy as may be";
/// Why an order to send is not obeyed.
const NOT_VOUCHED_FOR: &str = "nobody vouches for the address that its order names as the target of \
                               this server's datagrams (--trust NETWORK does)";
/// Most flows that are waited for until a time of day.
const MOST_HELD_BACK: usize = 64;

impl UdpService {
    fn admits(&self, flows: &FlowTable, source: SocketAddr) -> bool {
        let address = self.admission.admits(source.ip(), &self.policy);
        let one = self.plan.single_client || self.plan.single_udp;
        let room = self.has_room(flows, self.context.now());
        address && room && (!one || flows.active() == 0) && flows.len() < MOST_FLOWS
    }

    /// A datagram of an unknown source.
    pub(super) fn open(&self, flows: &mut FlowTable, datagram: &Arrived<'_>) {
        let (key, now) = (datagram.key, datagram.content.now);
        if !self.admits(flows, key.source) {
            return;
        }
        let Some((mut reader, mut announced)) = FlowReader::open(datagram.content.payload) else {
            return;
        };
        if reader.read(datagram.content.payload).is_none() {
            return;
        }
        let mode = announced
            .header()
            .map_or(TestMode::Normal, |header| header.mode);
        let connect_back = matches!(self.admission, Admission::ConnectBack { .. });
        // Groups are not answered: nobody could be meant by it.
        if connect_back || (self.is_group(key) && mode != TestMode::Normal) {
            announced = Announced::Nothing;
        }
        let header = announced.header();
        let mode = header.map_or(TestMode::Normal, |header| header.mode);
        if mode != TestMode::Normal && !self.policy.trusts(key.source.ip()) {
            self.refuse(flows, datagram, header, RefusalReason::Unverified);
            return flows.refusals.refused(key.source, NOT_VOUCHED_FOR);
        }
        let foreign = !self.policy.trusts(key.source.ip());
        if foreign && !self.make_room(flows, now) {
            self.refuse(flows, datagram, header, RefusalReason::Busy);
            return flows.refusals.refused(key.source, NO_ROOM);
        }
        let local = self.local_for(key);
        let (trip_times, start) = self.beginning(announced, datagram);
        let ordered = header.map_or(Start::at_once(self.context.both()), |header| {
            ordered_start(header.epoch_start, header.start_time, self.context.both())
        });
        let waits = header.is_some_and(|header| header.epoch_start);
        let start = if waits { ordered.at } else { start };
        let transfer_id = header.and_then(|header| header.transfer_id);
        let asked = header.is_some_and(|header| header.l2_length_check);
        let link_checked = self.plan.tap_device.is_some() || (asked && self.watch(flows, key));
        let tag = FlowTag {
            id: self.context.flow_id(transfer_id),
            reversed: false,
        };
        let joined = header
            .as_ref()
            .filter(|_| !self.is_group(key))
            .and_then(|header| self.join(header, key, local, tag));
        if let Admission::ConnectBack { test, .. } = &self.admission
            && let Some(test) = test.get()
        {
            test.receives(tag, local, key.source);
        }
        let mut recognition = Recognition::new(joined.as_ref().map(|joined| joined.answer));
        let answer = recognition.next(datagram.content.payload);
        let opening = Opening {
            service: self,
            key,
            local,
            answers: !self.is_group(key),
            announced,
            tag,
            recognition,
            stop: joined
                .as_ref()
                .map_or_else(|| self.context.stop().clone(), |joined| joined.stop.clone()),
            membership: joined.map(|joined| joined.membership),
            now: if waits { now.max(ordered.at) } else { now },
            start,
            waits_for: ordered.announced,
            link_checked,
            held_back: self.held_back(flows, header.as_ref()),
            trip_times,
            sums: self.sums(key.source, local, header.as_ref(), now),
        };
        let allowance = self.policy.allowance(key.source.ip());
        if let Some(answer) = answer {
            self.answer_beside(allowance, &answer, key);
        }
        let flow = match mode {
            TestMode::Reverse => opening.reverse(),
            _ => {
                let mut receiving = opening.receive(reader, mode);
                if flows.active() == 0 && receiving.dropped_before.is_some() {
                    // Datagrams behind the first one may be lost already.
                    receiving.dropped_before = flows.dropped_idle;
                }
                let wall = || self.context.wall();
                if let Some(ack) = receiving.incoming.acknowledge(&datagram.content, wall) {
                    self.answer_beside(allowance, &ack, key);
                }
                let _ = receiving.incoming.take(&datagram.content);
                receiving.incoming.publish();
                Flow::Receiving(Box::new(receiving))
            }
        };
        flows.begin(key, flow);
        if foreign {
            flows.note_newcomer(key);
        }
    }

    /// Tells a client that is tapeline why its flow does not begin.
    fn refuse(
        &self,
        flows: &mut FlowTable,
        datagram: &Arrived<'_>,
        header: Option<UdpClientHeader>,
        reason: RefusalReason,
    ) {
        let key = datagram.key;
        let mark = header.and_then(|header| header.mark);
        if let Some(mark) = mark.filter(|_| self.control.is_some() && !self.is_group(key))
            && flows.told.tell(key, datagram.content.payload.len())
        {
            let told = native::refusal(mark, reason).encode();
            self.answer_beside(self.policy.allowance(key.source.ip()), &told, key);
        }
    }

    /// Makes the flow one of its test, if the client is tapeline.
    fn join(
        &self,
        header: &UdpClientHeader,
        key: FlowKey,
        local: SocketAddr,
        tag: FlowTag,
    ) -> Option<Joined> {
        let service = self.control.as_ref()?;
        let reversed = FlowTag {
            reversed: true,
            ..tag
        };
        let (receives, sends) = match header.mode {
            TestMode::FullDuplex => (Some(tag), Some(reversed)),
            TestMode::Reverse => (None, Some(tag)),
            TestMode::Normal | TestMode::Dual | TestMode::Tradeoff => (Some(tag), None),
        };
        let flow = OwnFlow {
            token: None,
            sends,
            receives,
            local,
            peer: key.source,
            congestion: None,
        };
        service.join(header.mark?, flow)
    }

    /// Whether the clocks agree, and when the flow began: by the client's clock, if so.
    fn beginning(&self, announced: Announced, datagram: &Arrived<'_>) -> (bool, MonoTime) {
        let (now, wall) = (datagram.content.now, self.context.wall());
        match agreed_start(announced, datagram.content.payload, wall) {
            ClockCheck::NotAsked => (false, now),
            ClockCheck::Agrees(age) => (true, now - age),
            ClockCheck::Disagrees(gap) => {
                let text = format!(
                    "trip-times of {} are not used: its clock differs by {} s",
                    datagram.key.source,
                    gap.as_secs()
                );
                self.context.notice(Notice::Text(text));
                (false, now)
            }
        }
    }

    /// Extra patience with a flow whose client waits for a time of day. For a few flows only:
    /// anybody can claim to wait.
    fn held_back(&self, flows: &FlowTable, header: Option<&UdpClientHeader>) -> Duration {
        let start_time = header.and_then(|header| header.start_time);
        let held = held_back(start_time, self.context.wall());
        if held.is_zero() || flows.held_back() >= MOST_HELD_BACK {
            return Duration::ZERO;
        }
        held
    }

    /// The datagram went to a multicast group.
    fn is_group(&self, key: FlowKey) -> bool {
        let own = self.socket.local_addr().map(|own| own.ip());
        key.at
            .or(own.ok())
            .is_some_and(|address| address.is_multicast())
    }

    fn sums(
        &self,
        source: SocketAddr,
        local: SocketAddr,
        header: Option<&UdpClientHeader>,
        now: MonoTime,
    ) -> TestSums {
        match &self.admission {
            Admission::ConnectBack { group, .. } => TestSums {
                opened: *group,
                back: *group,
                test: None,
            },
            Admission::Server { .. } => {
                let (mode, threads) = header.map_or((TestMode::Normal, 1), |header| {
                    (header.mode, header.threads)
                });
                let reporter = &self.context.reporter;
                let by = if self.plan.sum_by_destination {
                    GroupBy::Destination(local.ip())
                } else {
                    GroupBy::Client(source.ip())
                };
                let sums = self.groups.join(reporter, by, mode, threads, now);
                TestSums {
                    // Without a header nobody knows how many flows there are.
                    test: sums.test.filter(|_| header.is_some()),
                    ..sums
                }
            }
        }
    }

    /// Own address as the flow's lines show it: a wildcard socket does not say.
    pub(super) fn local_for(&self, key: FlowKey) -> SocketAddr {
        let own = self.socket.local_addr().unwrap_or(key.source);
        match key.at {
            Some(at) => SocketAddr::new(at, own.port()),
            None if own.ip().is_unspecified() => self.routed(key.source),
            None => own,
        }
    }

    /// The address from which a packet to `source` would leave.
    pub(super) fn routed(&self, source: SocketAddr) -> SocketAddr {
        let own = self.socket.local_addr().unwrap_or(source);
        let any = if source.is_ipv4() {
            "0.0.0.0:0"
        } else {
            "[::]:0"
        };
        let route = any
            .parse()
            .ok()
            .and_then(|any| UdpSocket::connected(source, Some(any), &Default::default()).ok())
            .and_then(|opened| opened.socket.local_addr().ok());
        let mut local = route.unwrap_or(own);
        local.set_port(own.port());
        local
    }
}
