//! Rules between options: each looks at the settings and says one thing about them.
//!
//! Under iperf the rules run in the order of the reference's messages: all conflicts are
//! reported, then the first error about addresses. Under tapeline the first error ends it.

use tapeline_base::{Pace, Transport};
use tapeline_dialect::Personality;

use super::log::{Log, Stop};
use super::settings::{AskedRate, Mode, Settings};
use super::{rules_addresses as addresses, rules_client as client, rules_server as server};

/// Jobs that a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Any,
    Client,
    /// Servers, and under iperf a line that chose neither.
    Server,
}

/// A named rule.
pub(super) struct Rule {
    /// Names the rule in its test.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "every rule's test is found by name")
    )]
    pub(super) name: &'static str,
    pub(super) job: Job,
    pub(super) check: fn(&mut Settings, &mut Log),
}

const fn rule(name: &'static str, job: Job, check: fn(&mut Settings, &mut Log)) -> Rule {
    Rule { name, job, check }
}

/// Rules about options against options.
#[rustfmt::skip]
pub(super) static CONFLICTS: &[Rule] = &[
    rule("endless_time_is_announced", Job::Client, client::endless_time_is_announced),
    rule("compatibility_excludes_extensions", Job::Any, client::compatibility_excludes_extensions),
    rule("one_family", Job::Any, addresses::one_family),
    rule("tos_override_is_for_servers", Job::Client, client::tos_override_is_for_servers),
    rule("variable_rate_comes_later", Job::Any, client::variable_rate_comes_later),
    rule("ttl_fits_a_byte", Job::Client, client::ttl_fits_a_byte),
    rule("retry_options_come_in_pairs", Job::Client, client::retry_options_come_in_pairs),
    rule("peer_detect_needs_tcp", Job::Client, client::peer_detect_needs_tcp),
    rule("retries_need_tcp", Job::Client, client::retries_need_tcp),
    rule("datagram_fits_udp", Job::Client, client::datagram_fits_udp),
    rule("udp_rate_is_a_rate", Job::Client, client::udp_rate_is_a_rate),
    rule("udp_gap_is_bounded", Job::Client, client::udp_gap_is_bounded),
    rule("tcp_rate_covers_a_write", Job::Client, client::tcp_rate_covers_a_write),
    rule("udp_fin_needs_udp", Job::Client, client::udp_fin_needs_udp),
    rule("packet_rate_needs_udp", Job::Client, client::packet_rate_needs_udp),
    rule("one_arrangement", Job::Client, client::one_arrangement),
    rule("port_range_ascends", Job::Server, server::port_range_ascends),
    rule("server_rate_is_a_rate", Job::Server, server::server_rate_is_a_rate),
    rule("client_options_have_no_effect", Job::Server, server::client_options_have_no_effect),
    rule("neither_client_nor_server", Job::Any, server::neither_client_nor_server),
];

/// Rules about addresses and what belongs to them.
#[rustfmt::skip]
pub(super) static ADDRESSES: &[Rule] = &[
    rule("source_has_no_device", Job::Client, addresses::source_has_no_device),
    rule("source_fits_family", Job::Any, addresses::source_fits_family),
    rule("source_is_unicast", Job::Client, addresses::source_is_unicast),
    rule("listener_has_no_bind_port", Job::Server, addresses::listener_has_no_bind_port),
    rule("host_has_a_name", Job::Client, addresses::host_has_a_name),
    rule("host_fits_family", Job::Client, addresses::host_fits_family),
    rule("multicast_is_one_way", Job::Client, addresses::multicast_is_one_way),
    rule("ports_and_flows_agree", Job::Client, addresses::ports_and_flows_agree),
    rule("client_port_is_a_port", Job::Client, addresses::client_port_is_a_port),
    rule("daemon_is_a_server", Job::Any, server::daemon_is_a_server),
    rule("peer_detect_yields_to_compatibility", Job::Client, client::peer_detect_yields_to_compatibility),
    rule("multicast_needs_udp", Job::Any, addresses::multicast_needs_udp),
];

/// Looks at all conflicts.
///
/// # Errors
/// [`Stop`] when the run cannot start.
pub(super) fn check_conflicts(settings: &mut Settings, log: &mut Log) -> Result<(), Stop> {
    let all_at_once = log.personality() == Personality::Iperf2;
    check(CONFLICTS, all_at_once, settings, log)
}

/// Looks at the addresses.
///
/// # Errors
/// [`Stop`] when the run cannot start.
pub(super) fn check_addresses(settings: &mut Settings, log: &mut Log) -> Result<(), Stop> {
    check(ADDRESSES, false, settings, log)
}

fn check(
    rules: &[Rule],
    all_at_once: bool,
    settings: &mut Settings,
    log: &mut Log,
) -> Result<(), Stop> {
    for rule in rules {
        if applies(rule.job, settings) {
            (rule.check)(settings, log);
        }
        if log.has_failed() && !all_at_once {
            break;
        }
    }
    if log.has_failed() {
        Err(Stop::Exit(log.refusal()))
    } else {
        Ok(())
    }
}

fn applies(job: Job, settings: &Settings) -> bool {
    match job {
        Job::Any => true,
        Job::Client => settings.mode == Mode::Client,
        Job::Server => settings.mode == Mode::Server || settings.mode == Mode::Undecided,
    }
}

impl Settings {
    pub(super) fn transport(&self) -> Transport {
        if self.udp {
            Transport::Udp
        } else {
            Transport::Tcp
        }
    }

    /// The rate that was asked for, if it is one.
    pub(super) fn pace(&self) -> Option<Pace> {
        match self.rate {
            Some(AskedRate::Pace(pace) | AskedRate::Variable(pace)) => Some(pace),
            Some(AskedRate::Unusable(_)) | None => None,
        }
    }
}
