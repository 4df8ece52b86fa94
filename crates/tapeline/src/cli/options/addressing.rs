//! Where packets come from and go to: families, ports, own addresses, groups, devices.

use std::net::IpAddr;

use tapeline_base::{Endpoint, Family};
use tapeline_dialect::AddressSteps;

use super::amount::MAX_PARALLEL;
use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{AskedPorts, Mode, Settings};
use crate::cli::spec::Section::{Both, Client, Server};
use crate::cli::spec::{Given, Group, OptionId as Id, OptionSpec, Remote, Sides, ValueKind};
use crate::cli::values::{atoi, refuse, unrecognized};

/// The TAP device without a name.
const DEFAULT_TAP: &str = "tap0";

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::V4, Some('4'), "", Remote::Yes(ValueKind::Switch))
        .every_method()
        .sets(|settings| settings.v4 = true)
        .manual_names(&["v4"])
        .sides(Sides::ANY)
        .help(Group::Addressing, "IPv4 only"),
    OptionSpec::new(Id::V6, Some('6'), "", Remote::Yes(ValueKind::Switch))
        .every_method()
        .sets(|settings| settings.v6 = true)
        .manual_names(&["v6"])
        .sides(Sides::ANY)
        .help(Group::Addressing, "IPv6 only; a server still takes IPv4"),
    OptionSpec::new(Id::Ipv6Domain, Some('V'), "ipv6_domain", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.v6 = true)
        .sides(Sides::ANY)
        .variable(1, "IPERF_IPV6_DOMAIN")
        .help(Group::Addressing, "the same as -6")
        .listed(&[
            (Server, "", "listen on IPv6 and, through it, on IPv4"),
            (Client, "", "send over IPv6"),
        ]),
    OptionSpec::new(Id::Port, Some('p'), "port", Remote::Yes(ValueKind::Port))
        .every_method()
        .value("PORT[-PORT]")
        .apply(ports)
        .sides(Sides::ANY)
        .variable(12, "IPERF_PORT")
        .help(Group::Addressing, "port of the server (default 5001)")
        .details(
            "A range opens one listener per port at a server; a client sends one stream to each \
             port.",
        )
        .listed(&[
            (
                Both,
                "#",
                "port to listen on or to connect to (default 5001)",
            ),
            (Server, "#[-#]", "port or ports to listen on"),
        ]),
    OptionSpec::new(Id::Bind, Some('B'), "bind", Remote::Yes(ValueKind::Host))
        .every_method()
        .value("HOST[:PORT][%DEV]")
        .apply(bind)
        .variable(20, "IPERF_BIND")
        .help(Group::Addressing, "own address")
        .details(
            "At a client PORT is the source port of the first stream, and later streams count up; \
             at a server %DEV is the device to listen on. A UDP server joins a multicast group given \
             here.",
        )
        .listed(&[
            (
                Both,
                "<host>[:<port>][%<dev>]",
                "own address, perhaps multicast, port and device",
            ),
            (
                Server,
                "<ip>[%<dev>]",
                "address or multicast group to receive on, and device",
            ),
            (
                Client,
                "[<ip> | <ip:port>]",
                "address, and port, to send from",
            ),
        ]),
    OptionSpec::new(Id::SsmHost, Some('H'), "ssm-host", Remote::Yes(ValueKind::Host))
        .value("ADDRESS")
        .apply(|settings, given, _| {
            settings.route.ssm_host = Some(given.text());
            Ok(())
        })
        .sides(Sides::SERVER)
        .help(
            Group::Addressing,
            "take the multicast group of -B from this sender only",
        )
        .listed(&[(
            Client,
            "<ip>",
            "only sender of the multicast group of -B (S,G)",
        )]),
    OptionSpec::new(Id::ListenPort, Some('L'), "listenport", Remote::Yes(ValueKind::Port))
        .value("PORT")
        .apply(listen_port)
        .sides(Sides::CLIENT)
        .variable(27, "IPERF_LISTENPORT")
        .help(
            Group::Addressing,
            "port for the connection back of -d and -r (default: that of -p)",
        )
        .listed(&[(Client, "#", "port for the connection back of -d and -r")]),
    OptionSpec::new(Id::IncrDstIp, None, "incr-dstip", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.route.steps.destination_address = true)
        .sides(Sides::CLIENT)
        .help(
            Group::Addressing,
            "with -P each stream goes to the next address",
        )
        .listed(&[(Client, "", "with -P: count up the server's address")]),
    OptionSpec::new(Id::IncrDstPort, None, "incr-dstport", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.route.steps.destination_port = true)
        .sides(Sides::CLIENT)
        .help(Group::Addressing, "with -P each stream goes to the next port")
        .listed(&[(Client, "", "with -P: count up the server's port")]),
    OptionSpec::new(Id::IncrSrcIp, None, "incr-srcip", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.route.steps.source_address = true)
        .sides(Sides::CLIENT)
        .help(
            Group::Addressing,
            "with -P each stream comes from the next address (needs -B)",
        )
        .listed(&[(Client, "", "with -P: count up the own address")]),
    OptionSpec::new(Id::IncrSrcPort, None, "incr-srcport", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.route.steps.source_port = true)
        .sides(Sides::CLIENT)
        .help(
            Group::Addressing,
            "with -P each stream comes from the next port (needs -B with port)",
        )
        .listed(&[(Client, "", "with -P: count up the own port")]),
    OptionSpec::new(Id::TapDevice, None, "tap-dev", Remote::No("it names a device"))
        .optional_value("DEVICE")
        .apply(tap_device)
        .sides(Sides::SERVER)
        .help(
            Group::Socket,
            "receive UDP on this TAP device (default tap0)",
        )
        .listed(&[(Server, "#[<dev>]", "receive on a TAP device")]),
    OptionSpec::new(Id::TunDevice, None, "tun-dev", Remote::No("it names a device"))
        .optional_value("DEVICE")
        .apply(|_, _, log| {
            Err(log.fatal(
                "ERROR: tun devices not yet supported",
                "option --tun-dev: TUN devices carry no frames to receive; use --tap-dev",
            ))
        })
        .refused(),
    OptionSpec::new(Id::L2Checks, None, "l2checks", Remote::No("it needs a device"))
        .sets(|settings| settings.route.l2_checks = true)
        .help(
            Group::Latency,
            "check datagrams below IP: lengths and checksums (UDP, given at both ends)",
        )
        .details("The server needs the right to open packet sockets (Linux)."),
    OptionSpec::new(Id::SumDstIp, None, "sum-dstip", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.route.sum_by_destination = true)
        .sides(Sides::SERVER)
        .help(
            Group::Output,
            "sum over streams to one address instead of one sender",
        )
        .listed(&[(Server, "", "sum flows by their destination address")]),
];

/// `--tap-dev`; without a name the usual one.
fn tap_device(settings: &mut Settings, given: &Given, _: &mut Diagnostics) -> Result<(), Exit> {
    let name = given.text();
    settings.route.tap_device = Some(if name.is_empty() {
        DEFAULT_TAP.into()
    } else {
        name
    });
    settings.presentation.enhanced = true;
    Ok(())
}

/// `-p`: `m` or `m-n`. iperf reads integers as C does and cuts them to 16 bits.
fn ports(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    if settings.iperf() {
        let (first, last) = match text.split_once('-') {
            None => (text.as_str(), None),
            Some((first, last)) => (first, Some(last)),
        };
        if first.is_empty() && last.unwrap_or_default().is_empty() {
            return Ok(());
        }
        if first.is_empty() || last == Some("") {
            return Err(unrecognized(given, log));
        }
        settings.ports = Some(AskedPorts {
            first: atoi(first) as u16,
            last: last.map(|last| atoi(last) as u16),
        });
        return Ok(());
    }
    let (first, last) = match text.split_once('-') {
        None => (port(given, &text, log)?, None),
        Some((first, last)) => (port(given, first, log)?, Some(port(given, last, log)?)),
    };
    if let Some(last) = last
        && last < first
    {
        return Err(refuse(given, "the range goes down", log));
    }
    settings.ports = Some(AskedPorts { first, last });
    Ok(())
}

/// `-L`; 0 is the port of `-p`.
fn listen_port(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    let number = if settings.iperf() {
        atoi(&text) as u16
    } else {
        port(given, &text, log)?
    };
    settings.listen_port = Some(number).filter(|number| *number != 0);
    Ok(())
}

fn port(given: &Given, text: &str, log: &mut Diagnostics) -> Result<u16, Exit> {
    text.parse().map_err(|_| {
        let option = given.named();
        log.fatal(
            format!("ERROR: {option}: '{text}' is no port (0..65535)"),
            format!("{option} needs a port (0..65535), not \"{text}\""),
        )
    })
}

/// Under iperf the first `-B` counts, and the environment comes first.
fn bind(settings: &mut Settings, given: &Given, _: &mut Diagnostics) -> Result<(), Exit> {
    if settings.bind.is_none() || !settings.iperf() {
        settings.bind = Some(Endpoint::parse(&given.text()));
    }
    Ok(())
}

/// `-4` and `-6` cancel each other under iperf and are an error under tapeline.
pub(crate) fn one_family(settings: &mut Settings, log: &mut Diagnostics) {
    if !(settings.v4 && settings.v6) {
        return;
    }
    if settings.iperf() {
        log.warn("WARN: both ipv4 and ipv6 set", "");
        settings.v4 = false;
        settings.v6 = false;
    } else {
        log.error("", "-4 and -6 cannot be combined");
    }
}

/// No resolver is needed to find nothing under an empty name.
pub(crate) fn host_has_a_name(settings: &mut Settings, log: &mut Diagnostics) {
    if target(settings).host.is_empty() {
        log.error(
            ": Unknown server error",
            "option -c needs the name or address of a server",
        );
    }
}

/// Nobody sends from a group's address.
pub(crate) fn source_is_unicast(settings: &mut Settings, log: &mut Diagnostics) {
    if bound_address(settings).is_some_and(|address| address.is_multicast()) {
        log.error(
            "WARNING: Client src addr (per -B) must be ip unicast",
            "option -B: a client cannot send from a multicast address",
        );
    }
}

/// A client names its device with the host.
pub(crate) fn source_has_no_device(settings: &mut Settings, log: &mut Diagnostics) {
    if let Some(device) = settings.bind.as_mut().and_then(|bind| bind.device.take()) {
        log.warn(
            format!("WARNING: Client cannot set bind device {device} via -B consider using -c"),
            format!("option -B: device {device} is ignored; write it as -c HOST%{device}"),
        );
    }
}

/// A server's port is that of `-p`.
pub(crate) fn listener_has_no_bind_port(settings: &mut Settings, log: &mut Diagnostics) {
    if let Some(port) = settings.bind.as_mut().and_then(|bind| bind.port.take()) {
        log.warn(
            format!("WARNING: port {port} ignored - set receive port on server via -p or -L"),
            format!("option -B: port {port} is ignored; a server's port is set with -p"),
        );
    }
}

/// A group cannot answer as one.
pub(crate) fn multicast_is_one_way(settings: &mut Settings, log: &mut Diagnostics) {
    if destination(settings).is_some_and(|address| address.is_multicast())
        && settings.arrangements() > 0
    {
        log.error(
            "ERROR: options of --full-duplex, --reverse, -d and -r not supported with multicast \
             addresses",
            "-R, --full-duplex, -d and -r cannot be used with a multicast address",
        );
    }
}

/// TCP has two ends.
pub(crate) fn multicast_needs_udp(settings: &mut Settings, log: &mut Diagnostics) {
    let address = match settings.mode {
        Mode::Client | Mode::Method(_) => destination(settings),
        Mode::Server => bound_address(settings),
        Mode::Undecided | Mode::Trial | Mode::Exporter => None,
    };
    if address.is_some_and(|address| address.is_multicast()) && !serves_udp(settings) {
        log.error(
            "Multicast requires -u option  failed",
            "a multicast address needs -u",
        );
    }
}

/// The own address is of the family that was asked for.
pub(crate) fn source_fits_family(settings: &mut Settings, log: &mut Diagnostics) {
    let Some(bind) = &settings.bind else { return };
    let text = match &bind.port {
        Some(port) => format!("{}:{port}", bind.host),
        None => bind.host.clone(),
    };
    literal_fits_family(&text, literal(&bind.host), settings, log);
}

/// The server's address is of the family that was asked for.
pub(crate) fn host_fits_family(settings: &mut Settings, log: &mut Diagnostics) {
    let host = settings.host.as_deref().unwrap_or_default();
    literal_fits_family(host, destination(settings), settings, log);
}

/// An IPv4 address cannot be used with `-6`, nor an IPv6 address with `-4`.
fn literal_fits_family(
    text: &str,
    address: Option<IpAddr>,
    settings: &Settings,
    log: &mut Diagnostics,
) {
    match address {
        Some(IpAddr::V4(_)) if settings.v6 => log.error(
            format!("ERROR: failed to find an ipv6 address for host '{text}'"),
            format!("{text} is an IPv4 address; leave out -6"),
        ),
        Some(IpAddr::V6(_)) if settings.v4 && !settings.iperf() => {
            log.error("", format!("{text} is an IPv6 address; leave out -4"));
        }
        _ => {}
    }
}

/// With a range each flow has its own port.
pub(crate) fn ports_and_flows_agree(settings: &mut Settings, log: &mut Diagnostics) {
    let Some(AskedPorts {
        first,
        last: Some(last),
    }) = settings.ports
    else {
        return;
    };
    let last = last.max(first);
    let size = usize::from(last - first) + 1;
    let flows = settings.parallel.unwrap_or(size).max(size);
    if let Some(parallel) = settings.parallel.filter(|_| size > 1) {
        if parallel < size {
            log.warn(
                format!("WARNING: port-range and -P mismatch (adjusting -P to {size})"),
                format!("{size} ports need {size} streams, not {parallel}: using -P {size}"),
            );
        } else if parallel > size {
            let last = usize::from(first) + flows - 1;
            log.warn(
                format!(
                    "WARNING: port-range and -P mismatch (adjusting port-range to {first}-{last})"
                ),
                format!("{flows} streams need {flows} ports: using {first}-{last}"),
            );
        }
    }
    settings.parallel = Some(flows.min(MAX_PARALLEL));
    match u16::try_from(usize::from(first) + flows - 1) {
        Ok(last) => {
            settings.ports = Some(AskedPorts {
                first,
                last: Some(last),
            })
        }
        Err(_) => {
            let sentence = format!("{flows} ports from {first} go beyond 65535");
            log.error(format!("ERROR: {sentence}"), sentence);
        }
    }
}

/// Nothing listens on port 0. iperf tries and is refused; so does the run.
pub(crate) fn client_port_is_a_port(settings: &mut Settings, log: &mut Diagnostics) {
    if !settings.iperf() && settings.ports.is_some_and(|ports| ports.first == 0) {
        log.error("", "option -p: a client cannot connect to port 0");
    }
}

/// A range of ports goes upwards.
pub(crate) fn port_range_ascends(settings: &mut Settings, log: &mut Diagnostics) {
    if let Some(AskedPorts {
        first,
        last: Some(last),
    }) = settings.ports
        && last < first
    {
        log.error(
            format!("ERROR: invalid port range of {first}-{last}"),
            format!("option -p: the range {first}-{last} goes down"),
        );
    }
}

/// Counting needs a place to begin.
pub(crate) fn source_steps_need_a_source(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.route.steps.source_address && settings.bind.is_none() {
        log.error(
            "ERROR: option of --incr-srcip requires -B bind option to be set",
            "option --incr-srcip needs -B",
        );
    }
}

/// The same for ports; iperf goes on.
pub(crate) fn source_port_steps_need_a_port(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.route.steps.source_port && source_port(settings).is_none() {
        settings.route.steps.source_port = false;
        if settings.iperf() {
            log.warn(
                "WARN: option of --incr-srcport requires -B bind option w/port to be set",
                "",
            );
        } else {
            log.error("", "option --incr-srcport needs -B HOST:PORT");
        }
    }
}

/// Sums are made where flows of many arrive.
pub(crate) fn destination_sums_are_for_servers(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.route.sum_by_destination {
        log.warn(
            "WARN: option of --sum-dstip not supported on the client",
            "--sum-dstip is for servers",
        );
    }
}

/// A sender is one host, and belongs to a group.
pub(crate) fn group_source_is_unicast(settings: &mut Settings, log: &mut Diagnostics) {
    let Some(text) = settings.route.ssm_host.as_deref() else {
        return;
    };
    match text.parse::<IpAddr>() {
        Ok(address) if address.is_multicast() => log.error(
            "WARNING: SSM host src address (-H or --ssm-host) must be ip unicast",
            "option -H: a sender's address is no multicast address",
        ),
        Ok(_) => {}
        Err(_) => {
            let sentence = format!("option -H: '{text}' is no address of a sender");
            log.error(format!("ERROR: {sentence}"), sentence);
        }
    }
}

/// A source without a group restricts nothing.
pub(crate) fn group_source_needs_a_group(settings: &mut Settings, log: &mut Diagnostics) {
    let grouped = settings.bind.as_ref().is_some_and(|bind| {
        let group: Option<IpAddr> = bind.host.parse().ok();
        group.is_some_and(|group| group.is_multicast())
    });
    if settings.route.ssm_host.is_some() && !grouped {
        let sentence = "option -H needs a multicast group (-B GROUP)";
        log.error(format!("ERROR: {sentence}"), sentence);
    }
}

/// A group of receivers has no single view of identities.
pub(crate) fn multicast_keeps_its_identities(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.access.sync_transfer_id && sends_to_a_group(settings) {
        log.error(
            "ERROR: option of --sync-transfer-id incompatibile with multicast",
            "--sync-transfer-id cannot be used with a multicast address",
        );
    }
}

/// Clients send through the system.
pub(crate) fn tap_is_for_servers(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.route.tap_device.is_some() {
        log.warn(
            "WARN: option of --tap-dev not supported on the client",
            "--tap-dev is for servers",
        );
    }
}

/// A TAP device carries datagrams here.
pub(crate) fn tap_needs_udp(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.route.tap_device.is_some() && settings.mode == Mode::Server && !settings.udp {
        let sentence = "option --tap-dev needs -u";
        log.error(format!("ERROR: {sentence}"), sentence);
    }
}

/// Checks of datagrams need datagrams; iperf leaves them aside.
pub(crate) fn link_checks_need_udp(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.route.l2_checks && !settings.udp && !settings.iperf() {
        log.error("", "option --l2checks needs -u");
    }
}

/// Whether a client's destination is a multicast group.
fn sends_to_a_group(settings: &Settings) -> bool {
    destination(settings).is_some_and(|address| address.is_multicast())
}

/// Whether datagrams are part of the job: a tapeline server takes both transports.
fn serves_udp(settings: &Settings) -> bool {
    settings.udp || (settings.mode == Mode::Server && !settings.iperf())
}

/// The server that a client tests: host, port written with it (tapeline only), device.
/// Under iperf only the device is split off, so a host may look like anything.
pub(crate) fn target(settings: &Settings) -> Endpoint {
    let text = settings.host.as_deref().unwrap_or_default();
    let endpoint = Endpoint::parse(text);
    if endpoint.port.is_none() || !settings.iperf() {
        return endpoint;
    }
    let (host, device) = match text.rsplit_once('%') {
        Some((host, device)) => (host, Some(device.to_owned())),
        None => (text, None),
    };
    Endpoint {
        host: host.to_owned(),
        port: None,
        device,
    }
}

/// `-4`, `-6`.
pub(crate) fn family(settings: &Settings) -> Family {
    match (settings.v4, settings.v6) {
        (true, false) => Family::V4,
        (false, true) => Family::V6,
        _ => Family::Any,
    }
}

/// Source port of `-B host:port`, as iperf reads integers; 0 is none.
pub(crate) fn source_port(settings: &Settings) -> Option<u16> {
    let text = settings.bind.as_ref()?.port.as_ref()?;
    Some(atoi(text) as u16).filter(|port| *port != 0)
}

/// The only sender of the bound group.
pub(crate) fn group_source(settings: &Settings) -> Option<IpAddr> {
    settings.route.ssm_host.as_deref()?.parse().ok()
}

/// What counts up with the flows: a port range does so by itself.
pub(crate) fn steps(settings: &Settings) -> AddressSteps {
    let range = settings.ports.is_some_and(|ports| ports.last.is_some());
    AddressSteps {
        destination_port: settings.route.steps.destination_port || range,
        ..settings.route.steps
    }
}

/// The destination, if it was written as an address.
fn destination(settings: &Settings) -> Option<IpAddr> {
    literal(&target(settings).host)
}

fn bound_address(settings: &Settings) -> Option<IpAddr> {
    settings.bind.as_ref().and_then(|bind| literal(&bind.host))
}

/// An address, without its zone.
fn literal(host: &str) -> Option<IpAddr> {
    host.split('%')
        .next()
        .and_then(|address| address.parse().ok())
}
