//! Rules between options: each looks at the settings and says one thing about them.
//!
//! Under iperf the rules run in the order of the reference's messages: all conflicts are
//! reported, then the first error about addresses. Under tapeline the first error ends it.

use tapeline_dialect::Personality;

use super::diagnostics::{Diagnostics, Exit};
use super::options::{
    access, addressing, amount, bounceback, direction, history, latency, lengths, method, mode,
    output, rate, repeat, schedule, shape, socket, working_load,
};
use super::settings::{Mode, Settings};

/// Jobs that a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Any,
    Client,
    /// Clients and methods.
    Connecting,
    Method,
    /// Servers, and under iperf a line that chose neither.
    Server,
}

/// A named rule.
pub(crate) struct Rule {
    /// Names the rule in its test.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "every rule's test is found by name")
    )]
    pub(crate) name: &'static str,
    pub(crate) job: Job,
    pub(crate) check: fn(&mut Settings, &mut Diagnostics),
}

const fn rule(name: &'static str, job: Job, check: fn(&mut Settings, &mut Diagnostics)) -> Rule {
    Rule { name, job, check }
}

/// Rules about options against options.
#[rustfmt::skip]
pub(crate) static CONFLICTS: &[Rule] = &[
    rule("endless_time_is_announced", Job::Client, amount::endless_time_is_announced),
    rule("compatibility_excludes_extensions", Job::Any, direction::compatibility_excludes_extensions),
    rule("key_needs_tcp", Job::Any, access::key_needs_tcp),
    rule("key_has_a_length", Job::Any, access::key_has_a_length),
    rule("one_family", Job::Any, addressing::one_family),
    rule("source_steps_need_a_source", Job::Client, addressing::source_steps_need_a_source),
    rule("destination_sums_are_for_servers", Job::Client, addressing::destination_sums_are_for_servers),
    rule("tos_override_is_for_servers", Job::Client, socket::tos_override_is_for_servers),
    rule("window_clamp_is_for_receivers", Job::Client, socket::window_clamp_is_for_receivers),
    rule("jitter_is_for_servers", Job::Client, latency::jitter_is_for_servers),
    rule("ttl_fits_a_byte", Job::Client, socket::ttl_fits_a_byte),
    rule("client_has_a_key", Job::Connecting, access::client_has_a_key),
    rule("one_start", Job::Client, schedule::one_start),
    rule("stamps_fit_a_write", Job::Client, latency::stamps_fit_a_write),
    rule("messages_fit_the_length", Job::Client, bounceback::messages_fit_the_length),
    rule("quickack_is_one_way", Job::Client, bounceback::quickack_is_one_way),
    rule("one_shape", Job::Client, shape::one_shape),
    rule("burst_holds_a_write", Job::Client, shape::burst_holds_a_write),
    rule("retry_options_come_in_pairs", Job::Client, amount::retry_options_come_in_pairs),
    rule("peer_detect_needs_tcp", Job::Client, direction::peer_detect_needs_tcp),
    rule("connect_only_needs_tcp", Job::Client, schedule::connect_only_needs_tcp),
    rule("bounceback_needs_tcp", Job::Client, bounceback::bounceback_needs_tcp),
    rule("near_congestion_needs_tcp", Job::Client, shape::near_congestion_needs_tcp),
    rule("gap_is_the_rate", Job::Client, shape::gap_is_the_rate),
    rule("retries_need_tcp", Job::Client, amount::retries_need_tcp),
    rule("datagram_fits_udp", Job::Client, lengths::datagram_fits_udp),
    rule("udp_rate_is_a_rate", Job::Client, rate::udp_rate_is_a_rate),
    rule("udp_gap_is_bounded", Job::Client, rate::udp_gap_is_bounded),
    rule("tcp_details_need_tcp", Job::Client, socket::tcp_details_need_tcp),
    rule("stamps_fit_a_datagram", Job::Client, latency::stamps_fit_a_datagram),
    rule("near_congestion_makes_the_rate", Job::Client, shape::near_congestion_makes_the_rate),
    rule("tcp_rate_covers_a_write", Job::Client, rate::tcp_rate_covers_a_write),
    rule("gap_needs_udp", Job::Client, shape::gap_needs_udp),
    rule("udp_fin_needs_udp", Job::Client, amount::udp_fin_needs_udp),
    rule("connects_start_at_once", Job::Client, schedule::connects_start_at_once),
    rule("packet_rate_needs_udp", Job::Client, rate::packet_rate_needs_udp),
    rule("one_arrangement", Job::Connecting, direction::one_arrangement),
    rule("frames_make_the_rate", Job::Client, shape::frames_make_the_rate),
    rule("port_range_ascends", Job::Server, addressing::port_range_ascends),
    rule("server_rate_is_a_rate", Job::Server, rate::server_rate_is_a_rate),
    rule("load_is_the_clients", Job::Server, working_load::load_is_the_clients),
    rule("servers_answer_unasked", Job::Server, bounceback::servers_answer_unasked),
    rule("stamps_are_for_clients", Job::Server, latency::stamps_are_for_clients),
    rule("client_options_have_no_effect", Job::Server, client_options_have_no_effect),
    rule("server_details_need_tcp", Job::Server, socket::server_details_need_tcp),
    rule("neither_client_nor_server", Job::Any, mode::neither_client_nor_server),
    rule("measurements_bring_their_kind", Job::Client, latency::measurements_bring_their_kind),
];

/// Rules that the reference lacks: they are looked at when it would have begun.
#[rustfmt::skip]
pub(crate) static POSSIBILITIES: &[Rule] = &[
    rule("packet_frames_need_udp", Job::Client, shape::packet_frames_need_udp),
    rule("burst_is_raised_to_a_write", Job::Any, shape::burst_is_raised_to_a_write),
    rule("exchange_sizes_are_possible", Job::Client, bounceback::exchange_sizes_are_possible),
    rule("companions_need_bounceback", Job::Client, bounceback::companions_need_bounceback),
    rule("one_workload", Job::Client, schedule::one_workload),
    rule("other_shapes_exclude_each_other", Job::Client, shape::other_shapes_exclude_each_other),
    rule("content_needs_a_sender", Job::Client, shape::content_needs_a_sender),
    rule("l4s_needs_udp", Job::Client, shape::l4s_needs_udp),
    rule("l4s_shapes_itself", Job::Client, shape::l4s_shapes_itself),
    rule("link_checks_need_udp", Job::Client, addressing::link_checks_need_udp),
    rule("runs_can_be_repeated", Job::Connecting, repeat::runs_can_be_repeated),
    rule("view_has_the_terminal", Job::Any, output::view_has_the_terminal),
    rule("results_can_be_kept", Job::Any, history::results_can_be_kept),
    rule("lifetime_needs_a_key", Job::Server, access::lifetime_needs_a_key),
    rule("tap_is_for_servers", Job::Client, addressing::tap_is_for_servers),
    rule("tap_needs_udp", Job::Server, addressing::tap_needs_udp),
    rule("group_source_needs_a_group", Job::Server, addressing::group_source_needs_a_group),
];

/// Rules of methods, under the name tapeline.
#[rustfmt::skip]
pub(crate) static METHODS: &[Rule] = &[
    rule("plan_is_text", Job::Method, method::common::plan_is_text),
    rule("one_direction", Job::Method, method::common::one_direction),
    rule("forms_are_own", Job::Method, method::common::forms_are_own),
];

/// Rules about addresses and what belongs to them.
#[rustfmt::skip]
pub(crate) static ADDRESSES: &[Rule] = &[
    rule("source_has_no_device", Job::Connecting, addressing::source_has_no_device),
    rule("source_fits_family", Job::Any, addressing::source_fits_family),
    rule("source_is_unicast", Job::Connecting, addressing::source_is_unicast),
    rule("listener_has_no_bind_port", Job::Server, addressing::listener_has_no_bind_port),
    rule("group_source_is_unicast", Job::Server, addressing::group_source_is_unicast),
    rule("host_has_a_name", Job::Connecting, addressing::host_has_a_name),
    rule("host_fits_family", Job::Connecting, addressing::host_fits_family),
    rule("multicast_is_one_way", Job::Client, addressing::multicast_is_one_way),
    rule("multicast_keeps_its_identities", Job::Client, addressing::multicast_keeps_its_identities),
    rule("source_port_steps_need_a_port", Job::Client, addressing::source_port_steps_need_a_port),
    rule("ports_and_flows_agree", Job::Client, addressing::ports_and_flows_agree),
    rule("client_port_is_a_port", Job::Client, addressing::client_port_is_a_port),
    rule("daemon_is_a_server", Job::Any, mode::daemon_is_a_server),
    rule("peer_detect_yields_to_compatibility", Job::Client, direction::peer_detect_yields_to_compatibility),
    rule("multicast_needs_udp", Job::Any, addressing::multicast_needs_udp),
];

/// Looks at all conflicts.
///
/// # Errors
/// [`Exit`] when the run cannot start.
pub(crate) fn check_conflicts(settings: &mut Settings, log: &mut Diagnostics) -> Result<(), Exit> {
    let all_at_once = log.personality() == Personality::Iperf2;
    check(CONFLICTS, all_at_once, settings, log)
}

/// Looks at what is possible, then at the addresses.
///
/// # Errors
/// [`Exit`] when the run cannot start.
pub(crate) fn check_addresses(settings: &mut Settings, log: &mut Diagnostics) -> Result<(), Exit> {
    check(POSSIBILITIES, false, settings, log)?;
    check(METHODS, false, settings, log)?;
    check(ADDRESSES, false, settings, log)
}

fn check(
    rules: &[Rule],
    all_at_once: bool,
    settings: &mut Settings,
    log: &mut Diagnostics,
) -> Result<(), Exit> {
    for rule in rules {
        if applies(rule.job, settings) {
            (rule.check)(settings, log);
        }
        if log.has_failed() && !all_at_once {
            break;
        }
    }
    if log.has_failed() {
        Err(Exit::Code(log.refusal()))
    } else {
        Ok(())
    }
}

fn applies(job: Job, settings: &Settings) -> bool {
    match job {
        Job::Any => true,
        Job::Client => settings.mode == Mode::Client,
        Job::Connecting => matches!(settings.mode, Mode::Client | Mode::Method(_)),
        Job::Method => matches!(settings.mode, Mode::Method(_)),
        Job::Server => settings.mode == Mode::Server || settings.mode == Mode::Undecided,
    }
}

/// iperf names the client's options that a server leaves aside; tapeline refused them
/// where they stood.
pub(crate) fn client_options_have_no_effect(settings: &mut Settings, log: &mut Diagnostics) {
    if !settings.iperf() {
        return;
    }
    let shape = &settings.shape;
    let steps = settings.route.steps;
    #[rustfmt::skip]
    let options = [
        (shape.l4s, "option of --udp-l4s is not supported on the server"),
        (settings.tcp.write_prefetch.is_some(), "setting of option --tcp-write-prefetch is not supported on the server"),
        (steps.source_address, "setting of option --incr-srcip is not supported on the server"),
        (rate::rate_varies(settings), "option of variance per -b is not supported on the server"),
        (schedule::starts_by_the_clock(settings), "option of --txstart-time is not supported on the server"),
        (schedule::starts_late(settings), "option of --txdelay-time is not supported on the server"),
        (shape.gap.is_some(), "option of --ipg is not supported on the server"),
        (shape.isochronous.is_some(), "option of --isochronous is not supported on the server"),
        (settings.full_duplex, "option of --full-duplex is not supported on the server"),
        (settings.reverse, "option of --reverse is not supported on the server"),
        (steps.destination_address, "option of --incr-dstip is not supported on the server"),
        (settings.ignore_shutdown, "option of --ignore-shutdown is not supported on the server"),
        (settings.tcp.rate.is_some(), "option of --fq-rate is not supported on the server"),
        (settings.no_udp_fin, "option of --no-udp-fin is not supported on the server"),
        (settings.peer_detect, "option of -X or --peer-detect not supported on the server"),
        (settings.retry_every.is_some(), "option --connect-retries not supported on the server"),
        (shape.near_congestion.is_some(), "option of --near-congestion not supported on the server"),
        (settings.access.sync_transfer_id, "option of --sync-transfer-id is not supported on the server"),
        (shape.burst_period.is_some(), "option of --burst-period can only be set on the client"),
        (shape.burst_size.is_some(), "option of --burst-size not supported on the server"),
    ];
    for (given, text) in options {
        if given {
            log.warn(format!("WARN: {text}"), "");
        }
    }
}
