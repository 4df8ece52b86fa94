//! What a client orders and what a server makes of it: pure translations between plans
//! and headers.

use std::time::Duration;

use tapeline_base::{BitRate, Bytes, FlowTag, Pace, Tos, WallTime};
use tapeline_wire::iperf2::{
    Amount, ByteRate, CongestionControl, PeerVersion, Rate, ShortTripTimes, TcpClientHeader,
    TestMode, Ticks, Timestamp, TransferId, UdpClientHeader, Workload, limits,
};

use super::stamps::Settings;
use super::tcp_traffic::tcp_workload;
use super::udp_traffic::{FramePlan, Traffic, ordered_frames};
use crate::plan::client::BULK_WRITE;
use crate::plan::{Arrangement, ClientPlan, Limit, Personality, ServerPlan, Shape, StartTime};
use crate::policy::Grant;

/// Time by which the end that receives outlasts the one that sends.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// Smallest time after which a silent peer counts as gone.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for a peer's first message or acknowledgement.
pub(crate) const FIRST_MESSAGE: Duration = Duration::from_secs(10);
/// Time that a server gives a client for its first message, as 2.2.1. Waiting costs a slot of
/// many and holds nobody else up.
pub(crate) const EXCHANGE_LIMIT: Duration = Duration::from_secs(60);

/// The arrangement as the header says it.
pub(crate) fn test_mode(plan: &ClientPlan) -> TestMode {
    match plan.arrangement() {
        Arrangement::Forward => TestMode::Normal,
        Arrangement::Reverse => TestMode::Reverse,
        Arrangement::FullDuplex => TestMode::FullDuplex,
        Arrangement::Dual { .. } => TestMode::Dual,
        Arrangement::Tradeoff { .. } => TestMode::Tradeoff,
    }
}

/// Port that the server is to use for a connect-back; else its own.
fn header_port(plan: &ClientPlan) -> u16 {
    match plan.arrangement() {
        Arrangement::Dual { listen_port } | Arrangement::Tradeoff { listen_port } => listen_port,
        Arrangement::Forward | Arrangement::Reverse | Arrangement::FullDuplex => plan.ports.0,
    }
}

/// The amount as the 32-bit field can say it. More bytes than fit become a long time:
/// the client itself stops then.
fn amount(plan: &ClientPlan) -> Amount {
    match plan.limit {
        Limit::Time(time) => match Ticks::from_duration(time) {
            Ticks(0) => Amount::Time(Ticks(1)),
            ticks => Amount::Time(ticks),
        },
        Limit::Bytes(Bytes(bytes)) => match u32::try_from(bytes) {
            Ok(0) => Amount::Bytes(1),
            Ok(bytes) if bytes <= limits::MAX_AMOUNT_BYTES => Amount::Bytes(bytes),
            _ => Amount::Time(Ticks(limits::MAX_TICKS - 1)),
        },
        Limit::Never => Amount::Time(Ticks(limits::MAX_TICKS - 1)),
    }
}

/// A peer that sends may die of a block larger than its own buffer, so such a wish
/// stays unsaid.
fn ordered_length(plan: &ClientPlan, safe: u32) -> Option<u32> {
    let peer_sends = !matches!(test_mode(plan), TestMode::Normal);
    plan.length.filter(|length| !peer_sends || *length <= safe)
}

/// The TCP header of this test.
pub(crate) fn tcp_header(plan: &ClientPlan) -> TcpClientHeader {
    let rate = match plan.pace {
        Some(Pace::Bits(BitRate(0))) | None => None,
        Some(pace) => Some(pace.bits(u64::from(plan.tcp_write_length()))),
    };
    let mode = test_mode(plan);
    let peer_sends = matches!(mode, TestMode::Reverse | TestMode::FullDuplex);
    TcpClientHeader {
        threads: u32::try_from(plan.parallel).unwrap_or(u32::MAX),
        port: header_port(plan),
        buffer_length: ordered_length(plan, limits::SAFE_TCP_SENDER_LENGTH),
        amount: amount(plan),
        mode,
        peer_detect: plan.peer_detect,
        version: Some(PeerVersion::IPERF_2_2_1),
        tos: plan.socket.tos.unwrap_or_default(),
        rate,
        permit_key: plan.permit_key.clone(),
        trip_times: plan.latency.trip_times,
        workload: tcp_workload(plan, peer_sends),
        fq_rate: plan
            .socket
            .fair_queue
            .map(|pacing| ByteRate(pacing.rate.0 / 8)),
        write_prefetch: plan.socket.write_prefetch.filter(|_| peer_sends),
        quickack: plan.socket.quickack,
        congestion_control: plan
            .socket
            .congestion
            .as_ref()
            .and_then(|name| CongestionControl::new(name.as_bytes()).ok()),
        ..TcpClientHeader::default()
    }
}

/// What the datagrams of a flow carry that begins at `start`.
pub(crate) fn udp_settings(plan: &ClientPlan, ipv6: bool, start: Timestamp) -> Settings {
    let length = plan.udp_length(ipv6);
    let alone = test_mode(plan) == TestMode::Normal;
    if plan.compatibility {
        Settings::None
    } else if plan.latency.trip_times && alone && length < limits::MIN_UDP_TRIP_TIMES {
        Settings::Short(ShortTripTimes {
            start_seconds: match plan.start {
                StartTime::At(_) => start.seconds,
                StartTime::Now | StartTime::After(_) | StartTime::Moment(_) => 0,
            },
        })
    } else {
        Settings::Header(udp_header(plan, ipv6, start))
    }
}

/// The UDP header of this test, for a flow that begins at `start`.
pub(crate) fn udp_header(plan: &ClientPlan, ipv6: bool, start: Timestamp) -> UdpClientHeader {
    let length = plan.udp_length(ipv6);
    let rate = match &plan.shape {
        Shape::Isochronous(_) => BitRate(limits::DEFAULT_UDP_RATE),
        _ => plan.udp_pace().bits(u64::from(length)),
    };
    let mode = test_mode(plan);
    let answered = matches!(mode, TestMode::Reverse | TestMode::FullDuplex);
    let epoch = matches!(plan.start, StartTime::At(_));
    UdpClientHeader {
        threads: u32::try_from(plan.parallel).unwrap_or(u32::MAX),
        port: header_port(plan),
        buffer_length: ordered_length(plan, limits::SAFE_UDP_SENDER_LENGTH),
        amount: amount(plan),
        mode: test_mode(plan),
        rate: Rate::Bits(rate),
        tos: plan.socket.tos.unwrap_or_default(),
        no_fin: !plan.udp_fin || plan.arrangement() == Arrangement::FullDuplex,
        start_time: (plan.latency.trip_times || epoch).then_some(start),
        epoch_start: epoch && (plan.latency.trip_times || answered),
        trip_times: plan.latency.trip_times,
        fq_rate: plan
            .socket
            .fair_queue
            .map(|pacing| ByteRate(pacing.rate.0 / 8)),
        workload: match &plan.shape {
            Shape::Isochronous(_) => {
                Workload::Isochronous(ordered_frames(plan, length).filter(|_| answered))
            }
            _ => Workload::Stream,
        },
        l2_length_check: plan.l2_checks,
        l2_ipv6: plan.l2_checks && ipv6,
        l4s: plan.l4s,
        ..UdpClientHeader::default()
    }
}

/// The start time of the header, and whether a sending server is to wait for it. 2.2.1
/// says so in the modes in which the server's clock matters.
pub(crate) fn header_start(plan: &ClientPlan, now: WallTime) -> (Option<Timestamp>, bool) {
    let server_acts = plan.latency.trip_times
        || matches!(test_mode(plan), TestMode::Reverse | TestMode::FullDuplex);
    match plan.start {
        StartTime::At(time) => (Some(timestamp(time)), server_acts),
        StartTime::Now | StartTime::After(_) | StartTime::Moment(_) if plan.latency.trip_times => {
            (Some(timestamp(now)), false)
        }
        StartTime::Now | StartTime::After(_) | StartTime::Moment(_) => (None, false),
    }
}

/// The number that a server is to show a flow under (`--sync-transfer-id`).
pub(crate) fn transfer_id(plan: &ClientPlan, tag: FlowTag) -> Option<TransferId> {
    let number = u16::try_from(tag.id.0).ok()?;
    (plan.sync_transfer_id && number <= limits::MAX_TRANSFER_ID).then(|| TransferId::new(number))
}

/// A time of day as headers carry it.
pub(crate) fn timestamp(time: WallTime) -> Timestamp {
    let (seconds, micros) = time.to_wire();
    Timestamp { seconds, micros }
}

/// After how much silence a peer is gone: ten seconds, three intervals, or three sends of
/// a slow sender.
pub(crate) fn idle_timeout(interval: Option<Duration>, gap: Option<Duration>) -> Duration {
    IDLE_TIMEOUT
        .max(interval.unwrap_or_default().saturating_mul(3))
        .max(gap.unwrap_or_default().saturating_mul(3))
}

/// Length of the writes that a client's header orders, bytes: what it says, else by the rule
/// of a client's own.
pub(crate) fn ordered_write_length(plan: &ServerPlan, header: &TcpClientHeader) -> u32 {
    let paced = header.rate.is_some_and(|rate| rate.0 > 0);
    let shaped = header.workload != Workload::Stream;
    let measured = header.trip_times || plan.latency.write_times;
    let counted = plan.enhanced && plan.personality == Personality::Iperf2;
    let plain = !(paced || shaped || measured || counted);
    let default = if plain {
        BULK_WRITE
    } else {
        limits::DEFAULT_TCP_LENGTH
    };
    let length = header.buffer_length.unwrap_or(default);
    length.clamp(1, limits::MAX_TCP_LENGTH)
}

/// What a server's sender does on a client's order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SendRequest {
    /// Send for this long; a client that says nothing gets ten seconds.
    pub(crate) time: Option<Duration>,
    /// Or so many bytes.
    pub(crate) bytes: Option<u64>,
    /// Block or datagram length, bytes.
    pub(crate) length: u32,
    /// Target rate; `None` is unlimited.
    pub(crate) rate: Option<BitRate>,
    /// Frames to be produced at their own rate (UDP).
    pub(crate) frames: Option<FramePlan>,
    /// Type of service of the data.
    pub(crate) tos: Tos,
    /// Time that the client may take to close behind the data.
    pub(crate) drain: Duration,
}
const DEFAULT_TIME: Duration = Duration::from_secs(10);

fn amount_limits(amount: Amount) -> (Option<Duration>, Option<u64>) {
    match amount {
        Amount::Time(ticks) => (Some(ticks.duration()), None),
        Amount::Bytes(bytes) => (None, Some(u64::from(bytes))),
        Amount::Unspecified => (Some(DEFAULT_TIME), None),
    }
}

impl SendRequest {
    /// The longest pause between datagrams that belongs to the order.
    pub(crate) fn longest_gap(&self) -> Option<Duration> {
        self.traffic().longest_gap(self.length)
    }

    /// What a sender of datagrams makes of it.
    pub(crate) fn traffic(&self) -> Traffic {
        match self.frames {
            Some(frames) => Traffic::Frames(frames),
            None => Traffic::Steady(Pace::Bits(self.rate.unwrap_or_default())),
        }
    }

    /// The same, and no more than a flow may have.
    pub(crate) fn within(self, share: Grant) -> Self {
        Self {
            time: self.time.into_iter().chain(share.time).min(),
            bytes: self.bytes.into_iter().chain(share.bytes).min(),
            rate: self.rate.into_iter().chain(share.rate).min(),
            length: share.block(self.length),
            drain: share
                .time
                .map_or(self.drain, |time| self.drain.min(time).max(GRACE)),
            ..self
        }
    }

    /// From a TCP header.
    pub(crate) fn from_tcp(header: &TcpClientHeader, reflected: Option<Tos>) -> Self {
        let (time, bytes) = amount_limits(header.amount);
        Self {
            time,
            bytes,
            length: header
                .buffer_length
                .unwrap_or(limits::DEFAULT_TCP_LENGTH)
                .max(1),
            rate: header.rate.filter(|rate| rate.0 > 0),
            frames: None,
            tos: reflected.unwrap_or(header.tos),
            drain: time.unwrap_or_default().max(GRACE),
        }
    }

    /// From a UDP header.
    pub(crate) fn from_udp(header: &UdpClientHeader, reflected: Option<Tos>) -> Self {
        let (time, bytes) = amount_limits(header.amount);
        let length = header
            .buffer_length
            .unwrap_or(limits::DEFAULT_UDP_LENGTH)
            .max(limits::MIN_UDP_LENGTH as u32);
        // Our socket serves others too, so the kernel cannot pace it for one of them.
        let paced = header.fq_rate.map(|rate| BitRate(rate.0.saturating_mul(8)));
        let rates = [Some(header.rate.bits(length)), paced];
        Self {
            time,
            bytes,
            length,
            rate: rates.into_iter().flatten().filter(|rate| rate.0 > 0).min(),
            frames: match header.workload {
                Workload::Isochronous(Some(settings)) if settings.is_usable() => {
                    Some(FramePlan::ordered(&settings, length))
                }
                _ => None,
            },
            tos: reflected.unwrap_or(header.tos),
            drain: GRACE,
        }
    }
}

#[cfg(test)]
mod tests {
    use tapeline_base::MonoTime;

    use super::*;
    use crate::plan::ClientWorkload;
    use crate::plan::client::BULK_WRITE;
    use crate::plan::client::tests::client_plan;

    #[test]
    fn a_fair_queue_rate_bounds_reverse_datagrams() {
        let rate = |asked: u64, paced: Option<u64>| {
            let header = UdpClientHeader {
                rate: Rate::Bits(BitRate(asked)),
                fq_rate: paced.map(ByteRate),
                ..UdpClientHeader::default()
            };
            SendRequest::from_udp(&header, None).rate.map(|rate| rate.0)
        };
        assert_eq!(rate(8_000, None), Some(8_000));
        assert_eq!(rate(8_000_000, Some(1_000)), Some(8_000));
        assert_eq!(rate(8_000, Some(1_000_000)), Some(8_000));
        assert_eq!(rate(0, Some(1_000)), Some(8_000));
        assert_eq!(rate(0, None), None);
    }

    #[test]
    fn an_order_is_carried_out_as_far_as_it_is_granted() {
        let order = SendRequest::from_tcp(&TcpClientHeader::default(), None);
        assert_eq!(order.within(Grant::default()), order);
        let share = Grant {
            time: Some(Duration::from_secs(5)),
            bytes: Some(1000),
            rate: Some(BitRate(1_000_000)),
        };
        let within = order.within(share);
        assert_eq!(
            (within.time, within.bytes, within.rate),
            (share.time, share.bytes, share.rate)
        );
        assert_eq!(within.length, 12_500);
        let modest = SendRequest {
            time: Some(Duration::from_secs(1)),
            bytes: Some(10),
            rate: Some(BitRate(1)),
            ..order
        };
        let time = modest.within(share).time;
        assert_eq!((time, modest.within(share).bytes), (modest.time, Some(10)));
        assert_eq!(modest.within(share).rate, modest.rate);
    }

    #[test]
    fn payload_starts_when_it_is_due_and_never_in_the_past() {
        let second = |n: u64| MonoTime::from_nanos(n * 1_000_000_000);
        let wall = |n: i64| WallTime::from_nanos(n * 1_000_000_000);
        let mut plan = client_plan();
        let mut first_send = |start| {
            plan.start = start;
            plan.first_send(second(100), wall(5000))
        };
        assert_eq!(first_send(StartTime::Now), second(100));
        assert_eq!(
            first_send(StartTime::After(Duration::from_secs(3))),
            second(103)
        );
        assert_eq!(first_send(StartTime::At(wall(5007))), second(107));
        assert_eq!(first_send(StartTime::At(wall(4000))), second(100));
    }

    #[test]
    fn long_reverse_blocks_are_not_ordered_from_old_peers() {
        let mut plan = client_plan();
        plan.length = Some(1 << 20);
        assert_eq!(tcp_header(&plan).buffer_length, Some(1 << 20));
        plan.workload = ClientWorkload::Stream(Arrangement::Reverse);
        assert_eq!(tcp_header(&plan).buffer_length, None);
        plan.length = Some(1000);
        assert_eq!(tcp_header(&plan).buffer_length, Some(1000));
    }

    #[test]
    fn amounts_beyond_the_field_become_time() {
        let mut plan = client_plan();
        plan.limit = Limit::Bytes(Bytes(4 << 30));
        assert!(matches!(tcp_header(&plan).amount, Amount::Time(_)));
        plan.limit = Limit::Bytes(Bytes(20 << 10));
        assert_eq!(tcp_header(&plan).amount, Amount::Bytes(20 << 10));
        plan.limit = Limit::Time(Duration::from_secs(1));
        assert_eq!(tcp_header(&plan).amount, Amount::Time(Ticks(100)));
    }

    #[test]
    fn a_silent_amount_means_ten_seconds_not_none() {
        let order = SendRequest::from_tcp(&TcpClientHeader::default(), None);
        assert_eq!(order.time, Some(Duration::from_secs(10)));
        assert_eq!(order.length, 131_072);
    }

    #[test]
    fn a_server_writes_long_blocks_where_nobody_counts_them() {
        let transports = crate::plan::ServedTransports::Both;
        let mut plan = ServerPlan::new(Personality::Iperf2, 5001, transports);
        let plain = TcpClientHeader::default();
        assert_eq!(ordered_write_length(&plan, &plain), BULK_WRITE);
        let ordered = TcpClientHeader {
            buffer_length: Some(131_072),
            ..plain.clone()
        };
        let paced = TcpClientHeader {
            rate: Some(BitRate(1_000_000)),
            ..plain.clone()
        };
        let measured = TcpClientHeader {
            trip_times: true,
            ..plain.clone()
        };
        for header in [ordered, paced, measured] {
            assert_eq!(ordered_write_length(&plan, &header), 131_072, "{header:?}");
        }
        plan.enhanced = true;
        assert_eq!(ordered_write_length(&plan, &plain), 131_072);
    }

    #[test]
    fn full_duplex_udp_never_asks_for_a_report() {
        let mut plan = client_plan();
        plan.workload = ClientWorkload::Stream(Arrangement::FullDuplex);
        assert!(udp_header(&plan, false, Timestamp::ZERO).no_fin);
    }
}
