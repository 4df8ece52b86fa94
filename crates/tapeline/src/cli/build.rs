//! The last step: settings that passed every rule become a plan.

use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{Bytes, Family, Transport};
use tapeline_dialect::{
    Arrangement, BindPlan, ClientPlan, ClientWorkload, Limit, Payload, RetryPlan, ServedTransports,
    ServerPlan, Shape, SocketPlan, Techniques,
};
use tapeline_sys::StreamProtocol;

use super::diagnostics::{Diagnostics, Exit};
use super::options::{
    access, addressing, bounceback, latency, lengths, method, output, peer, rate, repeat, schedule,
    shape, socket, working_load,
};
use super::settings::{
    AskedConnects, AskedLimit, AskedPorts, Protocol, SecondConnection, Settings,
};
use crate::plan::{ExporterPlan, MethodJob, Resolver, TryPlan};

/// iperf 2's port.
const DEFAULT_PORT: u16 = 5001;
/// Where an exporter answers.
const EXPORTER_ADDRESS: &str = "localhost:9579";
/// A client's time without `-t` and `-n`.
const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// Times beyond this (300 years) are no limit: clocks could not express their end.
const LONGEST_SECONDS: f64 = 1e10;

/// A client's plan.
///
/// # Errors
/// [`Exit`] when `-c HOST:PORT` carries no usable port.
pub(crate) fn client(settings: &Settings, log: &mut Diagnostics) -> Result<ClientPlan, Exit> {
    let target = addressing::target(settings);
    let ports = match target.port {
        None => client_ports(settings),
        Some(text) => match (text.parse::<u16>(), settings.ports) {
            (Ok(port @ 1..), None) => (port, port),
            (Ok(1..), Some(_)) => {
                return Err(log.fatal("", "the port is given twice: behind the host and with -p"));
            }
            _ => return Err(log.fatal("", format!("-c needs a port (1..65535), not \"{text}\""))),
        },
    };
    let base = ClientPlan::new(
        settings.personality,
        &target.host,
        ports.0,
        transport(settings),
    );
    let workload = workload(settings, ports.0);
    let affinity = socket::client_affinity(settings, &workload, log)?;
    Ok(ClientPlan {
        device: target.device,
        family: addressing::family(settings),
        ports,
        bind: bind(settings, log)?,
        workload,
        limit: client_limit(settings),
        length: write_length(settings),
        pace: shape::client_pace(settings),
        parallel: settings.parallel.unwrap_or(1),
        interval: output::reported_interval(settings),
        socket: socket(settings),
        connect_sync: !settings.no_connect_sync,
        connect_timeout: settings.connect_timeout.unwrap_or(base.connect_timeout),
        retry: settings
            .retry_total
            .zip(settings.retry_every)
            .map(|(total, every)| RetryPlan { total, every }),
        ignore_shutdown: settings.ignore_shutdown,
        udp_fin: !settings.no_udp_fin && !settings.full_duplex,
        peer_detect: settings.peer_detect,
        compatibility: settings.compatibility,
        enhanced: settings.presentation.enhanced,
        shape: shape::traffic_shape(settings),
        seed: settings.shape.seed,
        precision: settings.shape.precision,
        payload: settings.shape.payload.clone(),
        start: schedule::start_time(settings),
        latency: latency::latency_plan(settings),
        steps: addressing::steps(settings),
        working_load: working_load::working_load(settings),
        permit_key: access::client_key(settings),
        sync_transfer_id: settings.access.sync_transfer_id,
        l2_checks: settings.route.l2_checks && settings.udp,
        l4s: settings.shape.l4s,
        realtime: settings.tcp.realtime,
        techniques: Techniques::default().waiting(settings.tcp.wait),
        affinity,
        single_udp: settings.single_udp,
        control: peer::control(settings),
        probe: peer::probe(settings),
        ..base
    })
}

/// A server's plan.
///
/// # Errors
/// [`Exit`] when the host of `-s -c HOST` has no address.
pub(crate) fn server(
    settings: &Settings,
    resolver: Resolver,
    log: &mut Diagnostics,
) -> Result<ServerPlan, Exit> {
    let AskedPorts { first, last } = settings.ports.unwrap_or(AskedPorts {
        first: DEFAULT_PORT,
        last: None,
    });
    let transports = match (settings.udp, settings.iperf()) {
        (true, _) => ServedTransports::Udp,
        (false, true) => ServedTransports::Tcp,
        (false, false) => ServedTransports::Both,
    };
    Ok(ServerPlan {
        protocols: peer::service(settings),
        extra_port: peer::extra_port(settings),
        ports: (first, last.unwrap_or(first)),
        family: server_family(settings),
        bind: bind(settings, log)?,
        only_from: only_from(settings, resolver, log)?,
        length: settings.length,
        interval: output::reported_interval(settings),
        time: server_time(settings),
        connections: settings.parallel,
        single_client: settings.single_client,
        single_udp: settings.single_udp,
        pace: rate::pace(settings),
        socket: socket(settings),
        reflected_tos: settings.reflected_tos,
        enhanced: settings.presentation.enhanced,
        latency: latency::latency_plan(settings),
        permit_key: access::server_key(settings),
        exchange_timeout: settings.access.exchange_timeout,
        limits: settings.access.limits.clone(),
        account: settings.access.account.clone(),
        sum_by_destination: settings.route.sum_by_destination,
        working_load: working_load::is_loaded(settings),
        tap_device: settings.route.tap_device.clone(),
        l2_checks: settings.route.l2_checks,
        realtime: settings.tcp.realtime,
        techniques: Techniques::default().waiting(settings.tcp.wait),
        affinity: socket::server_affinity(settings, log)?,
        control: peer::control(settings),
        ..ServerPlan::new(settings.personality, first, transports)
    })
}

/// The plan of `try` without a host.
///
/// # Errors
/// [`Exit`] for a port, and for a time without an end.
pub(crate) fn trial(settings: &Settings, log: &mut Diagnostics) -> Result<TryPlan, Exit> {
    if settings.ports.is_some() {
        return Err(log.fatal("", "option -p: try without a host chooses its own port"));
    }
    let time = match settings.limit {
        Some(AskedLimit::Seconds(seconds)) => match bounded(seconds) {
            Some(time) => Some(time),
            None => return Err(log.fatal("", "option -t: 0 is no length, and try needs an end")),
        },
        _ => None,
    };
    Ok(TryPlan {
        family: addressing::family(settings),
        time,
        techniques: Techniques::default(),
    })
}

/// The job of the method of that word.
///
/// # Errors
/// [`Exit`] when a value is outside of the method's range.
pub(crate) fn method(
    settings: &Settings,
    word: &'static str,
    log: &mut Diagnostics,
) -> Result<MethodJob, Exit> {
    let Some(entry) = method::registry::find(word) else {
        return Err(log.fatal("", format!("unknown method \"{word}\"")));
    };
    let common = method::common::common(settings, entry, log)?;
    Ok(MethodJob {
        plan: (entry.plan)(settings, common, log)?,
        limits: settings.method.limits.clone(),
        only_plan: settings.method.only_plan,
        repeat: repeat::repeat_plan(settings),
        presentation: settings.presentation.clone(),
    })
}

/// The plan of `exporter`.
///
/// # Errors
/// [`Exit`] in a build without metrics.
pub(crate) fn exporter(settings: Settings, log: &mut Diagnostics) -> Result<ExporterPlan, Exit> {
    if cfg!(not(feature = "prometheus")) {
        return Err(log.fatal("", "exporter needs a build with the feature prometheus"));
    }
    let address = settings.presentation.metrics;
    Ok(ExporterPlan {
        address: address.unwrap_or_else(|| EXPORTER_ADDRESS.to_owned()),
        targets: settings.targets,
        techniques: Techniques::default(),
    })
}

fn transport(settings: &Settings) -> Transport {
    if settings.udp {
        Transport::Udp
    } else {
        Transport::Tcp
    }
}

fn client_ports(settings: &Settings) -> (u16, u16) {
    match settings.ports {
        None => {
            let port = match settings.peer.protocol {
                Protocol::Iperf2 => DEFAULT_PORT,
                Protocol::Iperf3 => peer::PORT,
            };
            (port, port)
        }
        Some(AskedPorts { first, last }) => (first, last.unwrap_or(first)),
    }
}

/// Without `-V` an iperf server listens on IPv4, unless an IPv6 address is bound.
fn server_family(settings: &Settings) -> Family {
    let bound_to_v6 = settings
        .bind
        .as_ref()
        .is_some_and(|bind| bind.host.contains(':'));
    match addressing::family(settings) {
        Family::Any if settings.iperf() && !bound_to_v6 => Family::V4,
        family => family,
    }
}

fn bind(settings: &Settings, log: &mut Diagnostics) -> Result<Option<BindPlan>, Exit> {
    let Some(bind) = &settings.bind else {
        return Ok(None);
    };
    if !settings.iperf()
        && let Some(text) = &bind.port
        && !matches!(text.parse::<u16>(), Ok(1..))
    {
        return Err(log.fatal("", format!("-B needs a port (1..65535), not \"{text}\"")));
    }
    Ok(Some(BindPlan {
        port: addressing::source_port(settings),
        device: bind.device.clone(),
        host: bind.host.clone(),
        group_source: addressing::group_source(settings),
    }))
}

/// `-l`; a small TCP burst without it is one write.
fn write_length(settings: &Settings) -> Option<u32> {
    let burst = match shape::traffic_shape(settings) {
        Shape::Burst { size, .. } if !settings.udp => u32::try_from(size.0).ok(),
        _ => None,
    };
    let default = lengths::effective_length(settings);
    settings.length.or(burst.filter(|size| *size < default))
}

fn workload(settings: &Settings, port: u16) -> ClientWorkload {
    match settings.schedule.connect_only {
        Some(connects) => ClientWorkload::ConnectOnly {
            count: match connects {
                AskedConnects::Count(count @ 1..) => Some(count),
                AskedConnects::Count(0) | AskedConnects::WhileTimeLasts => None,
            },
            report_each: !settings.presentation.exclude.connections,
        },
        None if settings.bounceback.asked => {
            ClientWorkload::RequestResponse(bounceback::exchange(settings))
        }
        None => ClientWorkload::Stream(arrangement(settings, port)),
    }
}

fn arrangement(settings: &Settings, port: u16) -> Arrangement {
    let listen_port = settings.listen_port.unwrap_or(port);
    match settings.second_connection {
        Some(SecondConnection::Dual) => Arrangement::Dual { listen_port },
        Some(SecondConnection::Tradeoff) => Arrangement::Tradeoff { listen_port },
        None if settings.reverse => Arrangement::Reverse,
        None if settings.full_duplex => Arrangement::FullDuplex,
        None => Arrangement::Forward,
    }
}

/// A file, and a number of connects, are limits of their own.
fn client_limit(settings: &Settings) -> Limit {
    let counted = matches!(
        settings.schedule.connect_only,
        Some(AskedConnects::Count(_))
    );
    match settings.limit {
        None if counted || settings.shape.payload != Payload::Digits => Limit::Never,
        None => Limit::Time(DEFAULT_TIME),
        Some(AskedLimit::Bytes(bytes)) => Limit::Bytes(Bytes(bytes)),
        Some(AskedLimit::Seconds(seconds)) => bounded(seconds).map_or(Limit::Never, Limit::Time),
    }
}

/// `-t` of a server; 0 is no limit.
fn server_time(settings: &Settings) -> Option<Duration> {
    match settings.limit {
        Some(AskedLimit::Seconds(seconds)) => bounded(seconds),
        _ => None,
    }
}

/// A time that ends: positive, to the microsecond and at least one.
fn bounded(seconds: f64) -> Option<Duration> {
    (seconds > 0.0 && seconds < LONGEST_SECONDS)
        .then(|| Duration::from_micros(((seconds * 1e6).round() as u64).max(1)))
}

fn socket(settings: &Settings) -> SocketPlan {
    SocketPlan {
        protocol: StreamProtocol::Tcp,
        window: settings.window,
        segment_size: settings.segment_size,
        show_segment_size: settings.show_segment_size,
        nodelay: settings.nodelay,
        tos: settings.tos,
        tos_by_user: settings.tos_by_user,
        congestion: settings.congestion.clone(),
        ttl: settings
            .ttl
            .and_then(|ttl| u8::try_from(ttl).ok())
            .filter(|ttl| *ttl > 0),
        quickack: settings.tcp.quickack,
        skip_receive_copy: settings.tcp.skip_receive_copy,
        zero_copy: settings.tcp.zero_copy,
        window_clamp: settings.tcp.window_clamp,
        held_window: None,
        transmit_delay: settings.tcp.transmit_delay,
        write_prefetch: settings.tcp.write_prefetch.filter(|bytes| *bytes > 0),
        local_only: settings.tcp.local_only,
        fair_queue: socket::fair_queue(settings),
        unfragmented: false,
    }
}

/// iperf 1.7's `-s -c HOST`, under the name tapeline; iperf 2 ignores the host. A name
/// stands for its first address of the server's family.
fn only_from(
    settings: &Settings,
    resolver: Resolver,
    log: &mut Diagnostics,
) -> Result<Option<IpAddr>, Exit> {
    let Some(host) = settings.host.as_deref().filter(|_| !settings.iperf()) else {
        return Ok(None);
    };
    let addresses = match host.parse() {
        Ok(address) => vec![address],
        Err(_) => resolver(host),
    };
    let family = addressing::family(settings);
    let found = addresses.into_iter().find(|address| match family {
        Family::V4 => address.is_ipv4(),
        Family::Any | Family::V6 => true,
    });
    match found {
        Some(address) => Ok(Some(address)),
        None => Err(log.fatal("", format!("option -c: '{host}' has no address to admit"))),
    }
}
