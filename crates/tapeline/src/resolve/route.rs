//! Where packets come from and go to: counting addresses, sources of groups, devices.

use std::net::IpAddr;

use tapeline_dialect::AddressSteps;

use crate::options::OptionId as Id;
use crate::raw::Given;

use super::log::{Log, Stop};
use super::settings::{Mode, Settings};

/// The TAP device without a name.
const DEFAULT_TAP: &str = "tap0";

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteSettings {
    pub(crate) steps: AddressSteps,
    pub(crate) ssm_host: Option<String>,
    pub(crate) tap_device: Option<String>,
    pub(crate) l2_checks: bool,
    pub(crate) sum_by_destination: bool,
}

/// Carries out one option of this kind.
pub(super) fn apply(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    let route = &mut settings.route;
    match given.spec.id {
        Id::IncrDstIp => route.steps.destination_address = true,
        Id::IncrDstPort => route.steps.destination_port = true,
        Id::IncrSrcIp => route.steps.source_address = true,
        Id::IncrSrcPort => route.steps.source_port = true,
        Id::SsmHost => route.ssm_host = Some(given.text()),
        Id::L2Checks => route.l2_checks = true,
        Id::SumDstIp => route.sum_by_destination = true,
        Id::TapDevice => {
            let name = given.text();
            route.tap_device = Some(if name.is_empty() {
                DEFAULT_TAP.into()
            } else {
                name
            });
            settings.presentation.enhanced = true;
        }
        _ => {
            return Err(log.fatal(
                "ERROR: tun devices not yet supported",
                "option --tun-dev: TUN devices carry no frames to receive; use --tap-dev",
            ));
        }
    }
    Ok(())
}

/// Counting needs a place to begin.
pub(super) fn source_steps_need_a_source(settings: &mut Settings, log: &mut Log) {
    if settings.route.steps.source_address && settings.bind.is_none() {
        log.error(
            "ERROR: option of --incr-srcip requires -B bind option to be set",
            "option --incr-srcip needs -B",
        );
    }
}

/// The same for ports; iperf goes on.
pub(super) fn source_port_steps_need_a_port(settings: &mut Settings, log: &mut Log) {
    if settings.route.steps.source_port && settings.source_port().is_none() {
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
pub(super) fn destination_sums_are_for_servers(settings: &mut Settings, log: &mut Log) {
    if settings.route.sum_by_destination {
        log.warn(
            "WARN: option of --sum-dstip not supported on the client",
            "--sum-dstip is for servers",
        );
    }
}

/// A sender is one host, and belongs to a group.
pub(super) fn group_source_is_unicast(settings: &mut Settings, log: &mut Log) {
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
pub(super) fn group_source_needs_a_group(settings: &mut Settings, log: &mut Log) {
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
pub(super) fn multicast_keeps_its_identities(settings: &mut Settings, log: &mut Log) {
    if settings.access.sync_transfer_id && settings.sends_to_a_group() {
        log.error(
            "ERROR: option of --sync-transfer-id incompatibile with multicast",
            "--sync-transfer-id is impossible with a multicast address",
        );
    }
}

/// Clients send through the system.
pub(super) fn tap_is_for_servers(settings: &mut Settings, log: &mut Log) {
    if settings.route.tap_device.is_some() {
        log.warn(
            "WARN: option of --tap-dev not supported on the client",
            "--tap-dev is for servers",
        );
    }
}

/// A TAP device carries datagrams here.
pub(super) fn tap_needs_udp(settings: &mut Settings, log: &mut Log) {
    if settings.route.tap_device.is_some() && settings.mode == Mode::Server && !settings.udp {
        let sentence = "option --tap-dev needs -u";
        log.error(format!("ERROR: {sentence}"), sentence);
    }
}

/// Checks of datagrams need datagrams; iperf leaves them aside.
pub(super) fn link_checks_need_udp(settings: &mut Settings, log: &mut Log) {
    if settings.route.l2_checks && !settings.udp && !settings.iperf() {
        log.error("", "option --l2checks needs -u");
    }
}

impl Settings {
    /// The only sender of the bound group.
    pub(super) fn group_source(&self) -> Option<IpAddr> {
        self.route.ssm_host.as_deref()?.parse().ok()
    }

    /// What counts up with the flows: a port range does so by itself.
    pub(super) fn steps(&self) -> AddressSteps {
        let range = self.ports.is_some_and(|ports| ports.last.is_some());
        AddressSteps {
            destination_port: self.route.steps.destination_port || range,
            ..self.route.steps
        }
    }
}
