//! Rules about addresses, families and ports.

use std::net::IpAddr;

use crate::values::{Endpoint, atoi};

use super::log::Log;
use super::quantity::MAX_PARALLEL;
use super::settings::{AskedPorts, Mode, Settings};

/// `-4` and `-6` cancel each other under iperf and are an error under tapeline.
pub(super) fn one_family(settings: &mut Settings, log: &mut Log) {
    if !(settings.v4 && settings.v6) {
        return;
    }
    if settings.iperf() {
        log.warn("WARN: both ipv4 and ipv6 set", "");
        settings.v4 = false;
        settings.v6 = false;
    } else {
        log.error("", "-4 and -6 exclude each other");
    }
}

/// No resolver is needed to find nothing under an empty name.
pub(super) fn host_has_a_name(settings: &mut Settings, log: &mut Log) {
    if settings.target().host.is_empty() {
        log.error(
            ": Unknown server error",
            "option -c needs the name or address of a server",
        );
    }
}

/// Nobody sends from a group's address.
pub(super) fn source_is_unicast(settings: &mut Settings, log: &mut Log) {
    if bound_address(settings).is_some_and(|address| address.is_multicast()) {
        log.error(
            "WARNING: Client src addr (per -B) must be ip unicast",
            "option -B: a client cannot send from a multicast address",
        );
    }
}

/// A client names its device with the host.
pub(super) fn source_has_no_device(settings: &mut Settings, log: &mut Log) {
    if let Some(device) = settings.bind.as_mut().and_then(|bind| bind.device.take()) {
        log.warn(
            format!("WARNING: Client cannot set bind device {device} via -B consider using -c"),
            format!("option -B: device {device} is left out; write it as -c HOST%{device}"),
        );
    }
}

/// A server's port is that of `-p`.
pub(super) fn listener_has_no_bind_port(settings: &mut Settings, log: &mut Log) {
    if let Some(port) = settings.bind.as_mut().and_then(|bind| bind.port.take()) {
        log.warn(
            format!("WARNING: port {port} ignored - set receive port on server via -p or -L"),
            format!("option -B: port {port} is left out; a server's port is set with -p"),
        );
    }
}

/// A group cannot answer as one.
pub(super) fn multicast_is_one_way(settings: &mut Settings, log: &mut Log) {
    if destination(settings).is_some_and(|address| address.is_multicast())
        && settings.arrangements() > 0
    {
        log.error(
            "ERROR: options of --full-duplex, --reverse, -d and -r not supported with multicast \
             addresses",
            "-R, --full-duplex, -d and -r are impossible with a multicast address",
        );
    }
}

/// TCP has two ends.
pub(super) fn multicast_needs_udp(settings: &mut Settings, log: &mut Log) {
    let address = match settings.mode {
        Mode::Client => destination(settings),
        Mode::Server => bound_address(settings),
        Mode::Undecided | Mode::Trial | Mode::Exporter => None,
    };
    if address.is_some_and(|address| address.is_multicast()) && !settings.serves_udp() {
        log.error(
            "Multicast requires -u option  failed",
            "a multicast address needs -u",
        );
    }
}

/// The own address is of the family that was asked for.
pub(super) fn source_fits_family(settings: &mut Settings, log: &mut Log) {
    let Some(bind) = &settings.bind else { return };
    let text = match &bind.port {
        Some(port) => format!("{}:{port}", bind.host),
        None => bind.host.clone(),
    };
    literal_fits_family(&text, literal(&bind.host), settings, log);
}

/// The server's address is of the family that was asked for.
pub(super) fn host_fits_family(settings: &mut Settings, log: &mut Log) {
    let host = settings.host.as_deref().unwrap_or_default();
    literal_fits_family(host, destination(settings), settings, log);
}

/// An IPv4 address cannot be used with `-6`, nor an IPv6 address with `-4`.
fn literal_fits_family(text: &str, address: Option<IpAddr>, settings: &Settings, log: &mut Log) {
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
pub(super) fn ports_and_flows_agree(settings: &mut Settings, log: &mut Log) {
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
                format!("{size} ports need {size} flows, not {parallel}: -P {size} is used"),
            );
        } else if parallel > size {
            let last = usize::from(first) + flows - 1;
            log.warn(
                format!(
                    "WARNING: port-range and -P mismatch (adjusting port-range to {first}-{last})"
                ),
                format!("{flows} flows need {flows} ports: {first}-{last} is used"),
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
pub(super) fn client_port_is_a_port(settings: &mut Settings, log: &mut Log) {
    if !settings.iperf() && settings.ports.is_some_and(|ports| ports.first == 0) {
        log.error("", "option -p: a client cannot connect to port 0");
    }
}

impl Settings {
    /// Whether a client's destination is a multicast group.
    pub(super) fn sends_to_a_group(&self) -> bool {
        destination(self).is_some_and(|address| address.is_multicast())
    }

    /// Whether datagrams are part of the job: a tapeline server takes both transports.
    pub(super) fn serves_udp(&self) -> bool {
        self.udp || (self.mode == Mode::Server && !self.iperf())
    }

    /// The server that a client tests: host, port written with it (tapeline only), device.
    /// Under iperf only the device is split off, so a host may look like anything.
    pub(super) fn target(&self) -> Endpoint {
        let text = self.host.as_deref().unwrap_or_default();
        let endpoint = Endpoint::parse(text);
        if endpoint.port.is_none() || !self.iperf() {
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

    /// Source port of `-B host:port`, as iperf reads integers; 0 is none.
    pub(super) fn source_port(&self) -> Option<u16> {
        let text = self.bind.as_ref()?.port.as_ref()?;
        Some(atoi(text) as u16).filter(|port| *port != 0)
    }
}

/// The destination, if it was written as an address.
fn destination(settings: &Settings) -> Option<IpAddr> {
    literal(&settings.target().host)
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
