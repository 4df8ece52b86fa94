//! Gathers what banners and connection lines show.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tapeline_base::{FlowTag, Pace, Tos, Transport};
use tapeline_report::{
    BufferSize, ClientBanner, CongestionControl, Connected, ConnectionFlavour, FairQueue,
    InitialTcp, Notice, PermitKeyLife, RequestPlan, SegmentSize, ServerBanner, TargetGap, TosNote,
    TrafficShape,
};
use tapeline_stats::HistogramShape;
use tapeline_sys::{
    OptionFailure, PathMtuMode, SocketOption, SocketOptions, TcpConn, outgoing_device,
};
use tapeline_wire::iperf2::PermitKey;

use crate::plan::{
    Arrangement, ClientPlan, ClientWorkload, FrameMean, Personality, ServerPlan, Shape, SocketPlan,
};
use crate::run::context::Context;

/// Socket options of a client's flow. Its window is the send buffer; what receives over it has a
/// receive buffer of that size too, which bounds the window that the connection begins with.
pub(crate) fn client_options(plan: &ClientPlan) -> SocketOptions {
    let receives = matches!(
        plan.workload,
        ClientWorkload::Stream(Arrangement::Reverse | Arrangement::FullDuplex)
    );
    SocketOptions {
        send_buffer: plan.socket.window,
        receive_buffer: plan.socket.window.filter(|_| receives),
        device: plan.device.clone(),
        nodelay: sends_at_once(plan),
        ..socket_options(&plan.socket)
    }
}

/// A request that waited for the acknowledgement of the one before would measure that.
fn sends_at_once(plan: &ClientPlan) -> bool {
    plan.socket.nodelay || matches!(plan.workload, ClientWorkload::RequestResponse(_))
}

/// Socket options of a listener. Its window is the receive buffer.
pub(crate) fn server_options(plan: &ServerPlan, ipv6: bool) -> SocketOptions {
    SocketOptions {
        receive_buffer: plan.socket.window,
        device: plan.bind.as_ref().and_then(|bind| bind.device.clone()),
        only_v6: ipv6.then_some(false),
        ..socket_options(&plan.socket)
    }
}

fn socket_options(plan: &SocketPlan) -> SocketOptions {
    SocketOptions {
        congestion: plan.congestion.clone(),
        protocol: plan.protocol,
        reuse_address: true,
        ttl: plan.ttl,
        tos: plan.tos,
        mss: plan.segment_size,
        nodelay: plan.nodelay,
        notsent_lowat: plan.write_prefetch,
        window_clamp: plan.window_clamp,
        tx_delay_us: plan.transmit_delay.map(micros),
        pacing_rate: plan.fair_queue.map(|fair| fair.rate.0 / 8),
        dont_route: plan.local_only,
        path_mtu_mode: plan.unfragmented.then_some(PathMtuMode::Probe),
        ..SocketOptions::default()
    }
}

/// Reports options that the system refused.
///
/// # Errors
/// The condition of the first one without which the flow is not what was asked for.
pub(crate) fn log_refusals(
    refused: &[OptionFailure],
    options: &SocketOptions,
    personality: Personality,
    context: &Context,
) -> Result<(), Notice> {
    for failure in refused {
        let notice = refusal(failure, options);
        if is_fatal(failure.option, personality) {
            return Err(notice);
        }
        context.notice(notice);
    }
    Ok(())
}

fn refusal(failure: &OptionFailure, options: &SocketOptions) -> Notice {
    match failure.option {
        SocketOption::Congestion => Notice::CongestionFailed {
            name: options.congestion.clone().unwrap_or_default(),
            reason: failure.reason(),
        },
        SocketOption::Mss => Notice::SegmentSizeFailed {
            wanted: options.mss.unwrap_or_default(),
        },
        SocketOption::Device => Notice::DeviceFailed {
            device: options.device.clone().unwrap_or_default(),
            reason: failure.reason(),
        },
        SocketOption::Tos => Notice::TosFailed {
            wanted: options.tos.unwrap_or_default(),
            actual: Tos::default(),
        },
        _ => Notice::Text(failure.to_string()),
    }
}

/// Whether a flow cannot be what was asked for without the option. iperf 2 measures on some
/// other path when it cannot have the device.
fn is_fatal(option: SocketOption, personality: Personality) -> bool {
    match option {
        SocketOption::Congestion => true,
        SocketOption::Device => personality == Personality::Native,
        _ => false,
    }
}

/// Says that the system gave less buffer than `-w` asked for. (iperf 2 says so in its banner.)
pub(crate) fn log_clamped(
    wanted: Option<u64>,
    actual: u64,
    personality: Personality,
    context: &Context,
) {
    if let Some(wanted) = wanted
        && personality == Personality::Native
        && actual < wanted
    {
        context.notice(Notice::BufferClamped { wanted, actual });
    }
}

fn segment_size(plan: &SocketPlan, measured: Option<u32>) -> Option<SegmentSize> {
    match plan.segment_size {
        Some(wanted) => Some(SegmentSize::Requested(wanted)),
        None => measured
            .filter(|_| plan.show_segment_size)
            .map(SegmentSize::Measured),
    }
}

fn congestion(plan: &SocketPlan, in_force: Option<String>) -> Option<CongestionControl> {
    in_force.map(|name| CongestionControl {
        name,
        requested: plan.congestion.clone(),
    })
}

/// What a socket showed before its first packet.
pub(crate) struct SocketFacts {
    pub(crate) buffer: u64,
    pub(crate) mss: Option<u32>,
    pub(crate) congestion: Option<String>,
}

/// The banner of a client.
pub(crate) fn client_banner(
    plan: &ClientPlan,
    bound: Option<IpAddr>,
    ipv6: bool,
    facts: SocketFacts,
) -> ClientBanner {
    let udp = plan.transport == Transport::Udp;
    let length = if udp {
        plan.udp_length(ipv6)
    } else if plan.enhanced {
        plan.length.unwrap_or_else(|| plan.tcp_write_length())
    } else {
        plan.tcp_write_length()
    };
    let pace = match plan.shape {
        // Frames, bursts and congestion control have rates of their own.
        Shape::Isochronous(_) | Shape::Burst { .. } => None,
        _ if plan.l4s => None,
        _ if udp => Some(plan.udp_pace()),
        _ => plan.pace,
    };
    let rate = pace.map(|pace| pace.bits(u64::from(length)).0);
    let gap = pace
        .filter(|_| udp)
        .and_then(|pace| pace.gap(u64::from(length)))
        .map_or(TargetGap::None, TargetGap::Every);
    let request_response = match plan.workload {
        ClientWorkload::RequestResponse(exchange) => Some(RequestPlan {
            request: exchange.request,
            response: exchange.response,
            hold_micros: micros(exchange.hold),
            quickack: exchange.quickack,
            burst: exchange.burst,
        }),
        ClientWorkload::Stream(_) | ClientWorkload::ConnectOnly { .. } => None,
    };
    ClientBanner {
        pid: std::process::id(),
        device: plan.device.clone(),
        flows: plan.parallel,
        bound,
        write_length: u64::from(length),
        rate: rate.filter(|rate| *rate > 0),
        gap,
        congestion: congestion(&plan.socket, facts.congestion),
        segment_size: segment_size(&plan.socket, facts.mss),
        tos: plan.socket.tos.unwrap_or_default(),
        tos_by_user: plan.socket.tos_by_user,
        nodelay: sends_at_once(plan),
        buffer: BufferSize {
            actual: facts.buffer,
            requested: plan.socket.window,
        },
        request_response,
        load_flows: plan.working_load.as_ref().map_or(0, |load| load.flows),
        load_congestion: plan
            .working_load
            .as_ref()
            .and_then(|load| load.congestion.clone()),
        shape: traffic_shape(plan, length),
        fair_queue: plan.socket.fair_queue.map(|pacing| FairQueue {
            rate: pacing.rate,
            step: pacing.step.map(|(rate, _)| rate),
        }),
        write_times: plan.latency.write_times,
        trip_times: plan.latency.trip_times,
        write_prefetch: plan.socket.write_prefetch,
        transmit_delay: plan.socket.transmit_delay,
        histograms: plan.latency.histograms.map(HistogramShape::from),
        connect_only: matches!(plan.workload, ClientWorkload::ConnectOnly { .. }),
        single_udp: plan.single_udp,
        ..ClientBanner::new(&plan.host, plan.ports.0, plan.transport)
    }
}

fn traffic_shape(plan: &ClientPlan, length: u32) -> TrafficShape {
    match &plan.shape {
        Shape::Steady | Shape::Variable { .. } => TrafficShape::Steady,
        Shape::Isochronous(frames) => TrafficShape::Isochronous {
            frames_per_second: frames.frames_per_second,
            mean: match frames.mean {
                FrameMean::Bits(bits) => bits,
                FrameMean::Packets(packets) => {
                    packets * frames.frames_per_second * f64::from(length) * 8.0
                }
            },
            deviation: frames.deviation,
            gap: match plan.pace {
                Some(Pace::Gap(gap)) => gap,
                _ => Duration::ZERO,
            },
        },
        Shape::Burst { period, size } => TrafficShape::Bursts {
            size: size.0,
            period: *period,
        },
        Shape::Markov(chain) => TrafficShape::Markov(chain.text.clone()),
        Shape::NearCongestion { factor } => TrafficShape::NearCongestion(*factor),
    }
}

/// The banner of a server that connects back on a client's order.
pub(crate) fn connect_back_banner(
    peer: SocketAddr,
    transport: Transport,
    length: u64,
    gap: TargetGap,
    facts: SocketFacts,
) -> ClientBanner {
    ClientBanner {
        pid: std::process::id(),
        write_length: length,
        gap,
        congestion: facts.congestion.map(|name| CongestionControl {
            name,
            requested: None,
        }),
        buffer: BufferSize {
            actual: facts.buffer,
            requested: None,
        },
        connect_back: true,
        ..ClientBanner::new(&peer.ip().to_string(), peer.port(), transport)
    }
}

/// The banner of a listener.
pub(crate) fn server_banner(
    plan: &ServerPlan,
    transport: Transport,
    local: SocketAddr,
    ports: (u16, u16),
    facts: SocketFacts,
    of_client: bool,
) -> ServerBanner {
    let bound = plan.bind.is_some().then(|| local.ip());
    let default_length = match transport {
        Transport::Tcp => 131_072,
        Transport::Udp => 1470,
    };
    let udp = transport == Transport::Udp;
    ServerBanner {
        ipv6: local.is_ipv6(),
        ports,
        pid: std::process::id(),
        bound: bound.filter(|address| !address.is_multicast()),
        device: plan.bind.as_ref().and_then(|bind| bind.device.clone()),
        group: bound.filter(IpAddr::is_multicast),
        read_length: plan.length.map_or(default_length, u64::from),
        congestion: congestion(&plan.socket, facts.congestion),
        segment_size: segment_size(&plan.socket, facts.mss),
        tos: plan.socket.tos.filter(|tos| tos.0 != 0),
        reflected_tos: plan.reflected_tos,
        single_client: plan.single_client,
        single_udp: plan.single_udp,
        buffer: BufferSize {
            actual: facts.buffer,
            requested: plan.socket.window,
        },
        of_client,
        working_load: (plan.working_load && udp).then_some(ports.0),
        group_source: plan.bind.as_ref().and_then(|bind| bind.group_source),
        tap_device: plan.tap_device.clone().filter(|_| udp),
        skip_receive_copy: plan.socket.skip_receive_copy && !udp,
        transmit_delay: plan.socket.transmit_delay.filter(|_| !udp),
        histograms: plan.latency.histograms.map(HistogramShape::from),
        jitter_histograms: plan.latency.jitter_histograms.filter(|_| udp),
        by_frame: plan.latency.by_frame,
        permit_key: plan.permit_key.as_ref().map(|permit| PermitKeyLife {
            key: shown_key(&permit.key),
            generated: permit.generated,
            lifetime: permit.lifetime,
        }),
        ..ServerBanner::new(transport, ports.0)
    }
}

/// A connection line with what every flow has; the caller fills in the rest.
pub(crate) fn connected(
    tag: FlowTag,
    transport: Transport,
    local: SocketAddr,
    peer: SocketAddr,
) -> Connected {
    Connected {
        device: outgoing_device(&local),
        ..Connected::new(tag, transport, local, peer)
    }
}

/// A permit key as lines show it: it is no secret from whoever holds it.
pub(crate) fn shown_key(key: &PermitKey) -> String {
    String::from_utf8_lossy(key.as_bytes()).into_owned()
}

/// TCP state right after the handshake.
pub(crate) fn initial_tcp(conn: &TcpConn) -> Option<InitialTcp> {
    let info = conn.tcp_info()?;
    let mss = info.snd_mss?;
    Some(InitialTcp {
        cwnd_kib: info.snd_cwnd?.saturating_mul(mss) / 1024,
        mss,
        rtt_micros: info.rtt_us?,
    })
}

/// The TOS suffix for a flow of this kind; none for zero.
pub(crate) fn tos_note(
    flavour: ConnectionFlavour,
    client: bool,
    tos: Tos,
    reflected: Option<Tos>,
) -> Option<TosNote> {
    let answer = reflected.unwrap_or(tos);
    if tos.0 == 0 && answer.0 == 0 {
        return None;
    }
    Some(match flavour {
        ConnectionFlavour::Plain | ConnectionFlavour::ConnectOnly => TosNote::Transmit(tos),
        ConnectionFlavour::Reverse if client => TosNote::Receive(tos),
        ConnectionFlavour::Reverse => return None,
        ConnectionFlavour::FullDuplex | ConnectionFlavour::RequestResponse { .. } => {
            TosNote::Both {
                receive: tos,
                transmit: answer,
            }
        }
    })
}

/// A time in whole microseconds, as far as the field reaches.
pub(crate) fn micros(time: std::time::Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use tapeline_base::BitRate;

    use super::*;
    use crate::plan::FairQueuePlan;
    use crate::plan::client::tests::client_plan;

    #[test]
    fn every_socket_option_of_the_plan_reaches_the_socket() {
        let plan = ClientPlan {
            device: Some("eth7".into()),
            socket: SocketPlan {
                window: Some(70_000),
                segment_size: Some(1000),
                nodelay: true,
                tos: Some(Tos(0xb8)),
                congestion: Some("reno".into()),
                ttl: Some(7),
                window_clamp: Some(4096),
                transmit_delay: Some(Duration::from_micros(1500)),
                write_prefetch: Some(16_384),
                local_only: true,
                unfragmented: true,
                fair_queue: Some(FairQueuePlan {
                    rate: BitRate(8_000_000),
                    step: None,
                }),
                ..SocketPlan::default()
            },
            ..client_plan()
        };
        let expected = SocketOptions {
            send_buffer: Some(70_000),
            congestion: Some("reno".into()),
            reuse_address: true,
            ttl: Some(7),
            tos: Some(Tos(0xb8)),
            mss: Some(1000),
            nodelay: true,
            notsent_lowat: Some(16_384),
            window_clamp: Some(4096),
            tx_delay_us: Some(1500),
            pacing_rate: Some(1_000_000),
            dont_route: true,
            path_mtu_mode: Some(PathMtuMode::Probe),
            device: Some("eth7".into()),
            ..SocketOptions::default()
        };
        assert_eq!(client_options(&plan), expected);
        for arrangement in [Arrangement::Reverse, Arrangement::FullDuplex] {
            let receiver = ClientPlan {
                workload: ClientWorkload::Stream(arrangement),
                ..plan.clone()
            };
            let both = SocketOptions {
                receive_buffer: Some(70_000),
                ..expected.clone()
            };
            assert_eq!(client_options(&receiver), both, "{arrangement:?}");
        }
        let served = ServerPlan {
            socket: plan.socket,
            ..ServerPlan::new(
                Personality::Iperf2,
                5001,
                crate::plan::ServedTransports::Tcp,
            )
        };
        let listening = SocketOptions {
            send_buffer: None,
            receive_buffer: Some(70_000),
            device: None,
            ..expected
        };
        assert_eq!(server_options(&served, false), listening);
    }
}
