//! Small tests, told as events.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, Placement, Transport, WallTime};
use tapeline_report::{
    BufferSize, ClientBanner, CongestionControl, Connected, Endpoints, Event, InitialTcp, Measure,
    Phase, RequestResponse, Row, ServerBanner, Span, Subject, TargetGap, TcpReceive, TcpSend,
    TcpState, UdpReceive, UdpSend,
};
use tapeline_stats::{Moments, ReadSizes};

/// 2026-11-20 23:05:56 UTC.
const START: WallTime = WallTime::from_nanos(1_795_215_956_108_000_000);

pub(crate) fn tag(id: u32) -> FlowTag {
    FlowTag {
        id: FlowId(id),
        reversed: false,
    }
}

pub(crate) fn client(transport: Transport, flows: usize) -> Event {
    let tcp = transport == Transport::Tcp;
    Event::Connecting(ClientBanner {
        pid: 4711,
        flows,
        write_length: if tcp { 131_072 } else { 1470 },
        rate: (!tcp).then_some(1_048_576),
        gap: if tcp {
            TargetGap::None
        } else {
            TargetGap::Every(Duration::from_nanos(11_215_210))
        },
        congestion: tcp.then(bbr),
        buffer: BufferSize {
            actual: if tcp { 16_384 } else { 212_992 },
            requested: None,
        },
        ..ClientBanner::new("server.example", 5001, transport)
    })
}

pub(crate) fn server(transport: Transport) -> Event {
    Event::Listening(ServerBanner {
        ipv6: true,
        pid: 815,
        read_length: 131_072,
        congestion: (transport == Transport::Tcp).then(bbr),
        buffer: BufferSize {
            actual: 131_072,
            requested: None,
        },
        ..ServerBanner::new(transport, 5001)
    })
}

fn bbr() -> CongestionControl {
    CongestionControl {
        name: "bbr".to_owned(),
        requested: None,
    }
}

fn ends() -> (SocketAddr, SocketAddr) {
    let socket = |text: &str| text.parse().expect("an address");
    (socket("192.168.77.1:46976"), socket("192.168.77.2:5001"))
}

pub(crate) fn connected(id: u32, transport: Transport) -> Event {
    let (local, peer) = ends();
    let tcp = transport == Transport::Tcp;
    Event::Connected(Connected {
        device: Some("eth0".to_owned()),
        congestion: tcp.then(|| "bbr".to_owned()),
        initial: tcp.then_some(InitialTcp {
            cwnd_kib: 14,
            mss: 1448,
            rtt_micros: 68,
        }),
        connect_time: tcp.then_some(Duration::from_micros(110)),
        at: Some(START),
        ..Connected::new(tag(id), transport, local, peer)
    })
}

/// Milliseconds from start to end, and the bytes in between.
pub(crate) fn row(subject: Subject, (start, end): (u64, u64), bytes: u64, measure: Measure) -> Row {
    let (local, peer) = ends();
    let local_sends = matches!(
        measure,
        Measure::TcpSend(_) | Measure::UdpSend(_) | Measure::RequestResponse(_)
    );
    Row {
        subject,
        phase: Phase::Interval,
        span: Span {
            start: Duration::from_millis(start),
            end: Duration::from_millis(end),
        },
        ended: START + Duration::from_millis(end),
        bytes,
        endpoints: Some(Endpoints {
            local,
            peer,
            local_sends,
        }),
        trip_times: false,
        placement: Placement::default(),
        measure,
    }
}

pub(crate) fn total(row: Row) -> Row {
    Row {
        phase: Phase::Total,
        ..row
    }
}

pub(crate) fn tcp_send(writes: u64, retransmits: u64) -> Measure {
    Measure::TcpSend(TcpSend {
        writes,
        errors: 0,
        retransmits: Some(retransmits),
        state: Some(TcpState {
            in_flight_packets: Some(97),
            cwnd_packets: Some(1740),
            mss: Some(1448),
            rtt_micros: Some(422),
            rtt_variance_micros: Some(421),
            ..TcpState::default()
        }),
        ..TcpSend::default()
    })
}

pub(crate) fn tcp_receive(reads: u64) -> Measure {
    let mut sizes = ReadSizes::new(131_072);
    sizes.reads = reads;
    sizes.bins[7] = reads;
    Measure::TcpReceive(TcpReceive {
        reads: sizes,
        ..TcpReceive::default()
    })
}

pub(crate) fn udp_send(writes: u64) -> Measure {
    Measure::UdpSend(UdpSend {
        writes,
        errors: 0,
        timeouts: 0,
        ..UdpSend::default()
    })
}

pub(crate) fn udp_receive(total: u64, lost: u64, reordered: u64, duplicates: u64) -> UdpReceive {
    UdpReceive {
        received: total - lost,
        total,
        lost,
        reordered,
        duplicates,
        out_of_order: reordered + duplicates,
        jitter: Some(4.2e-6),
        jitter_mean: Some(5.1e-6),
        reads: total - lost,
        packets_per_second: 89.3,
        ..UdpReceive::default()
    }
}

pub(crate) fn round_trips() -> Measure {
    Measure::RequestResponse(RequestResponse {
        round_trips: Moments {
            count: 20,
            mean: 55e-6,
            m2: 1e-7,
            min: 14e-6,
            max: 282e-6,
        },
        percentiles: [Some(42e-6), Some(190e-6), None, None, None],
        sent: 2000,
        received: 2000,
        retransmits: Some(0),
        state: None,
        ..RequestResponse::default()
    })
}
