//! What every rule says.

use std::collections::HashSet;

use super::*;
use crate::cli::rules::{ADDRESSES, CONFLICTS, POSSIBILITIES};

/// Rule, line under both names, iperf's words, a piece of tapeline's words. Empty words:
/// the rule has nothing to say under that name.
type RuleCase = (&'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const RULE_CASES: &[RuleCase] = &[
    ("daemon_is_a_server", "-c h -D", "Iperf client cannot be run as a daemon", "-D does not apply"),
    ("endless_time_is_announced", "-c h -t 0", "WARNING: client will send traffic forever or until an external signal (e.g. SIGINT or SIGTERM) occurs to stop it", "until it is interrupted"),
    ("one_family", "-c h -4 -6", "WARN: both ipv4 and ipv6 set", "-4 and -6 cannot be combined"),
    ("compatibility_excludes_extensions", "-c h -C -R", "ERROR: compatibility mode not supported with the requested with options", "-C sends no test header"),
    ("tos_override_is_for_servers", "-c h --tos-override 4", "WARN: option of --tos-override not supported on the client", "does not apply to a client"),
    ("key_needs_tcp", "-c h -u --permit-key=abcd", "ERROR: Option of --permit-key not supported with UDP", "needs TCP"),
    ("key_has_a_length", "-c h --permit-key=abc", "ERROR: value for --permit-key must have at least 4 characters", "at least 4"),
    ("key_has_a_length", "-s --permit-key=abc", "ERROR: value for --permit-key must have at least 4 characters", "at least 4"),
    ("runs_can_be_repeated", "-c h --repeat-pause 1", "iperf: unrecognized option", "needs --repeat"),
    ("results_can_be_kept", "-c h --tag a=b", "iperf: unrecognized option", "needs --save"),
    ("view_has_the_terminal", "-c h --tui --json", "iperf: unrecognized option", "give the other form a file"),
    ("lifetime_needs_a_key", "-s --permit-key-timeout 3", "", "needs --permit-key"),
    ("client_has_a_key", "-c h --permit-key", "ERROR: option of --permit-key requires a value on the client", "needs the server's key"),
    ("source_steps_need_a_source", "-c h --incr-srcip", "ERROR: option of --incr-srcip requires -B bind option to be set", "needs -B"),
    ("source_port_steps_need_a_port", "-c h --incr-srcport -B 10.0.0.1", "WARN: option of --incr-srcport requires -B bind option w/port to be set", "needs -B HOST:PORT"),
    ("destination_sums_are_for_servers", "-c h --sum-dstip", "WARN: option of --sum-dstip not supported on the client", "does not apply to a client"),
    ("window_clamp_is_for_receivers", "-c h --tcp-rx-window-clamp 4K", "WARN: option of --tcp-rx-window-clamp not supported on the client", "needs -R or --full-duplex"),
    ("jitter_is_for_servers", "-c h --jitter-histograms", "WARN: option of --jitter-histogram not supported on the client", "does not apply to a client"),
    ("one_start", "-c h --txstart-time 1 --txdelay-time 1", "ERROR: options of --txstart-time and --txdelay-time are mutually exclusive", "cannot be combined"),
    ("one_start", "-c h --txstart-time -5", "ERROR: --txstart-time must be a positive value", "the time is negative"),
    ("one_start", "-c h --txdelay-time 9999", "ERROR: --txdelay-time of 9999 seconds is more than the supported delay of 3600 seconds", "3600 s is the most"),
    ("one_start", "-c h --txstart-time 9999999999", "ERROR: --txstart-time 9999999999.000000 20", "3600 s is the most"),
    ("stamps_fit_a_write", "-c h --trip-times -l 20", "ERROR: payload (-l) size of 20 too small for --trip-times, must be 92 or greater", "no room for --trip-times"),
    ("stamps_fit_a_datagram", "-c h -u --trip-times -l 100 -R", "ERROR: payload (-l) size of 100 too small for --trip-times, must be 128 or greater", "128 needed"),
    ("companions_need_bounceback", "-c h --bounceback-hold 3", "", "--bounceback-hold needs --bounceback"),
    ("messages_fit_the_length", "-c h --bounceback --burst-size 1K", "WARN: options of --burst-size for bounce-back ignored, use -l sets size", "cannot be used with --bounceback"),
    ("messages_fit_the_length", "-c h --bounceback -l 100 --bounceback-request 200 --bounceback-reply 300", "WARN: bounceback request will use -l length and not --bounceback-request value\nWARN: bounceback reply will use -l length and not --bounceback-reply value", "using 100 bytes"),
    ("exchange_sizes_are_possible", "-c h --bounceback -l 20", "ERROR: option -l: 20 bytes: messages", "68 to 1048576"),
    ("quickack_is_one_way", "-c h --bounceback --tcp-quickack --bounceback-no-quickack", "ERROR: --tcp-quickack and --bounceback-no-quickack are mutually exclusive", "cannot be combined"),
    ("one_shape", "-c h -u --burst-period 1 --isochronous", "ERROR: options of --burst-period and --isochronous cannot be applied together", "cannot be combined"),
    ("one_shape", "-c h --burst-period 1 --burst-size 1M --near-congestion", "ERROR: options of --burst-period and --near-congestion cannot be applied together", "cannot be combined"),
    ("burst_holds_a_write", "-c h --burst-period 0.1", "ERROR: option of --burst-size 0 must be equal or larger to write length (-l) 131072", ""),
    ("burst_holds_a_write", "-c h --burst-period 0.1 --burst-size 1K -l 2K", "ERROR: option of --burst-size 1024 must be equal or larger to write length (-l) 2048", "less than one write"),
    ("burst_is_raised_to_a_write", "-c h --burst-size 1K", "WARN: Setting --burst-size to 131072 because value given is smaller than -l value", ""),
    ("connect_only_needs_tcp", "-c h -u --connect-only", "ERROR: option of --connect-only not supported with -u UDP", "needs TCP"),
    ("bounceback_needs_tcp", "-c h -u --bounceback", "ERROR: option of -X or --bounceback not supported with -u UDP\nWARN: setting of option --tcp-quickack is not supported with -u UDP", "needs TCP"),
    ("near_congestion_needs_tcp", "-c h -u --near-congestion", "ERROR: option of --near-congestion not supported with -u UDP", "needs TCP"),
    ("near_congestion_makes_the_rate", "-c h --near-congestion -b 10m", "ERROR: option of --near-congestion and -b rate limited are mutually exclusive", "cannot be combined"),
    ("gap_is_the_rate", "-c h -u --ipg 0.01 -b 1m", "ERROR: options of --b and --ipg cannot be applied together", "cannot be combined"),
    ("gap_is_the_rate", "-c h -u --ipg -1", "ERROR: option --ipg must be a positive value", "negative"),
    ("gap_is_the_rate", "-c h -u --ipg 61", "ERROR: IPG delay target of 61.0 secs too large (max value is 60 secs)", "more than 60 s"),
    ("gap_needs_udp", "-c h --ipg 0.01", "ERROR: option --ipg requires -u UDP", "needs -u"),
    ("tcp_details_need_tcp", "-c h -u --tcp-write-prefetch 4K", "WARN: setting of option --tcp-write-prefetch is not supported with -u UDP", "needs TCP"),
    ("tcp_details_need_tcp", "-c h -u --tcp-quickack --tcp-tx-delay 1", "WARN: setting of option --tcp-quickack is not supported with -u UDP\nWARN: setting of option --tcp-tx-delay is not supported with -u UDP", "needs TCP"),
    ("server_details_need_tcp", "-s -u --tcp-rx-window-clamp 4K --skip-rx-copy", "WARN: option of --tcp-rx-window-clamp not supported using -u UDP \nWARN: Option of --skip-rx-copy not supported with -u UDP", "cannot be used with -u"),
    ("connects_start_at_once", "-c h --txdelay-time 1 --connect-only", "ERROR: Fail because --txdelay-time and --connect-only cannot be applied together", "cannot be combined"),
    ("content_needs_a_sender", "-c h -R -I", "ERROR: -F and -I: the client must send", "send data of its own"),
    ("content_needs_a_sender", "-c h -u -R -b 10m,1m", "", "-b MEAN,DEVIATION: the client must send"),
    ("content_needs_a_sender", "-c h --bounceback -F /dev/null", "ERROR: -F and -I: the client must send", "send data of its own"),
    ("content_needs_a_sender", "-c h -u -R -l <5|1", "ERROR: -l as a chain of lengths: the client", "send data of its own"),
    ("l4s_needs_udp", "-c h --udp-l4s", "ERROR: option --udp-l4s requires -u UDP", "needs -u"),
    ("l4s_shapes_itself", "-c h -u --udp-l4s -R", "ERROR: option --udp-l4s not supported with --reverse, --full-duplex, -d and -r", "only the client sends"),
    ("link_checks_need_udp", "-c h --l2checks", "", "needs -u"),
    ("frames_make_the_rate", "-c h -u --isochronous -b 1m", "ERROR: options of --b and --isochronous cannot be applied together", "cannot be combined"),
    ("packet_frames_need_udp", "-c h --isochronous=2:25p", "ERROR: Invalid --isochronous units of 'p' with TCP must be bytes", "need -u"),
    ("one_workload", "-c h --bounceback -R", "ERROR: --bounceback and --reverse exclude each other", "cannot be combined"),
    ("one_workload", "-c h --connect-only --bounceback", "ERROR: --connect-only and --bounceback exclude each other", "cannot be combined"),
    ("other_shapes_exclude_each_other", "-c h -u -l <5|1 -b 1m,1k", "ERROR: -l as a chain of lengths and -b mean,deviation exclude each other", "cannot be combined"),
    ("load_is_the_clients", "-s --working-load=up", "ERROR: setting of --working-load options is not supported on the server, just use --working-load", "takes no value"),
    ("servers_answer_unasked", "-s --bounceback", "ERROR: setting of option --bounce-back is not supported on the server", "does not apply to a server"),
    ("stamps_are_for_clients", "-s --trip-times", "WARN: setting of option --trip-times is not supported on the server", "does not apply to a server"),
    ("tap_is_for_servers", "-c h --tap-dev", "WARN: option of --tap-dev not supported on the client", "does not apply to a client"),
    ("tap_needs_udp", "-s --tap-dev", "ERROR: option --tap-dev needs -u", "needs -u"),
    ("measurements_bring_their_kind", "-c h --trip-times", "", ""),
    ("group_source_is_unicast", "-s -u -B 232.1.1.1 -H 232.1.1.2", "WARNING: SSM host src address (-H or --ssm-host) must be ip unicast", "no multicast address"),
    ("group_source_is_unicast", "-s -u -B 232.1.1.1 -H x", "ERROR: option -H: 'x' is no address", "is no address"),
    ("group_source_needs_a_group", "-s -u -H 10.0.0.1", "ERROR: option -H needs a multicast group (-B GROUP)", "needs a multicast group"),
    ("multicast_keeps_its_identities", "-c 224.0.0.9 -u --sync-transfer-id", "ERROR: option of --sync-transfer-id incompatibile with multicast", "cannot be used with a multicast"),
    ("ttl_fits_a_byte", "-c h -T 256", "ERROR: option of -ttl (-T) must be less than 255", "'256' is not between 1 and 255"),
    ("retry_options_come_in_pairs", "-c h --connect-retry-time 1", "WARN: companion option of --connect-retry-timer not set - setting to default value of one second", ""),
    ("retry_options_come_in_pairs", "-c h --connect-retry-timer 1", "WARN: companion option of --connect-retry-time not set - setting to default value of ten seconds", ""),
    ("peer_detect_needs_tcp", "-c h -u -X", "ERROR: option of -X or --peer-detect not supported with -u UDP", "-X needs TCP"),
    ("retries_need_tcp", "-c h -u --connect-retry-time 1 --connect-retry-timer 1", "ERROR: option --connect-retries not supported with -u UDP", "need TCP"),
    ("datagram_fits_udp", "-c h -u -l 65508", "ERROR: option -l: 65508 bytes do not fit a UDP datagram (at most 65507)", "do not fit"),
    ("udp_rate_is_a_rate", "-c h -u -b abc", "ERROR: -b value of 'abc' not recognized", "needs a number, not \"abc\""),
    ("udp_rate_is_a_rate", "-c h -u -b 0.5pps", "ERROR: -b value of '0.5pps' not recognized", ""),
    ("udp_gap_is_bounded", "-c h -u -b 10", "ERROR: IPG delay target of 1176.0 secs too large (max value is 60 secs)", "more than 60 s"),
    ("udp_gap_is_bounded", "-c h -u -V -b 100", "ERROR: IPG delay target of 116.0 secs too large (max value is 60 secs)", "every 116.0 s"),
    ("tcp_rate_covers_a_write", "-c h -b 1k", "ERROR: option -b and -l of 131072 are incompatible, consider setting -l to 125 or lower", ""),
    ("tcp_rate_covers_a_write", "-c h -b 1m -l 1M", "ERROR: option -b and -l of 1048576 are incompatible, consider setting -l to 125000 or lower", ""),
    ("udp_fin_needs_udp", "-c h --no-udp-fin", "ERROR: option --no-udp-fin requires -u UDP", "needs -u"),
    ("packet_rate_needs_udp", "-c h -b 100pps", "ERROR: units of pps not supported with TCP", "packets per second need -u"),
    ("one_arrangement", "-c h -R -d", "ERROR: options of --full-duplex, --reverse, -d and -r are mutually exclusive", "cannot be combined"),
    ("port_range_ascends", "-s -p 9-8", "ERROR: invalid port range of 9-8", "the range goes down"),
    ("server_rate_is_a_rate", "-s -b abc", "ERROR: -b value of 'abc' not recognized", "needs a number"),
    ("client_options_have_no_effect", "-s -R", "WARN: option of --reverse is not supported on the server", "-R does not apply to a server"),
    ("neither_client_nor_server", "-u", "Usage: iperf [-s|-c host] [options]\nTry `iperf --help' for more information.", "nothing to do"),
    ("host_has_a_name", "--client=", ": Unknown server error", "needs the name"),
    ("source_is_unicast", "-c h -B 224.0.0.9", "WARNING: Client src addr (per -B) must be ip unicast", "cannot send from a multicast"),
    ("source_has_no_device", "-c h -B 10.0.0.1%lo", "WARNING: Client cannot set bind device lo via -B consider using -c", "-c HOST%lo"),
    ("listener_has_no_bind_port", "-s -B 10.0.0.1:99", "WARNING: port 99 ignored - set receive port on server via -p or -L", "port 99 is ignored"),
    ("multicast_is_one_way", "-c 224.0.0.9 -u -R", "ERROR: options of --full-duplex, --reverse, -d and -r not supported with multicast addresses", "cannot be used with a multicast"),
    ("multicast_needs_udp", "-c 224.0.0.9", "Multicast requires -u option  failed", "needs -u"),
    ("source_fits_family", "-c h -V -B 127.0.0.1", "ERROR: failed to find an ipv6 address for host '127.0.0.1'", "is an IPv4 address"),
    ("source_fits_family", "-s -4 -B ::1", "", "is an IPv6 address"),
    ("host_fits_family", "-c 127.0.0.1 -V", "ERROR: failed to find an ipv6 address for host '127.0.0.1'", "is an IPv4 address"),
    ("host_fits_family", "-c ::1 -4", "", "is an IPv6 address"),
    ("ports_and_flows_agree", "-c h -p 7-9 -P 2", "WARNING: port-range and -P mismatch (adjusting -P to 3)", "using -P 3"),
    ("ports_and_flows_agree", "-c h -p 7-9 -P 5", "WARNING: port-range and -P mismatch (adjusting port-range to 7-11)", "using 7-11"),
    ("ports_and_flows_agree", "-c h -p 65530-65531 -P 9", "WARNING: port-range and -P mismatch (adjusting port-range to 65530-65538)\nERROR: 9 ports from 65530 go beyond 65535", "go beyond 65535"),
    ("client_port_is_a_port", "-c h -p 0", "", "cannot connect to port 0"),
    ("peer_detect_yields_to_compatibility", "-c h -C -X", "WARNING: Options of '-C' '--compatibility' AND '-X' '--peerdetect' are mutually exclusive, --peerdetect ignored", "-X is ignored"),
];

#[test]
fn every_rule_speaks_in_the_words_of_the_name() {
    for (rule, text, iperf, native) in RULE_CASES {
        let resolution = line(Iperf2, text);
        let heard = said(&resolution).join("\n");
        // The version stands behind some refusals.
        assert!(
            heard.starts_with(iperf) && heard.is_empty() == iperf.is_empty(),
            "{rule} {text}: {heard}"
        );
        let errs = iperf.contains("ERROR") || resolution.outcome.is_err();
        assert_eq!(resolution.outcome.is_err(), errs, "{rule} {text}");
        let resolution = line(Native, text);
        let heard = said(&resolution).join("\n");
        assert!(
            heard.contains(native)
                && (heard.is_empty()
                    || heard.starts_with("error: ")
                    || heard.starts_with("warning: ")),
            "{rule} {text}: {heard}"
        );
        assert!(native.is_empty() || !heard.is_empty(), "{rule} {text}");
    }
    let tested: HashSet<&str> = RULE_CASES.iter().map(|(rule, ..)| *rule).collect();
    let rules: HashSet<&str> = CONFLICTS
        .iter()
        .chain(POSSIBILITIES)
        .chain(ADDRESSES)
        .map(|rule| rule.name)
        .collect();
    assert_eq!(tested, rules);
}

#[test]
fn rules_keep_silent_when_nothing_is_wrong() {
    for text in [
        "-c h -u -b 1m -l 1000 -R -t 5 -T 5",
        "-c h -X -N -Z reno -P 2 -p 7-8",
        "-s -p 7-9 -B 10.0.0.1%lo -t 3",
        "-s -u -B 224.0.0.9",
        "-c ::1 -V",
    ] {
        for personality in [Iperf2, Native] {
            let resolution = line(personality, text);
            assert_eq!(said(&resolution), [""; 0], "{text}");
            assert!(resolution.outcome.is_ok(), "{text}");
        }
    }
}

#[test]
fn iperf_reports_every_conflict_in_the_order_of_the_reference() {
    let resolution = line(
        Iperf2,
        "-c h -C -R -X -T 256 -u --connect-retry-time 1 -b 1",
    );
    assert_eq!(
        said(&resolution),
        [
            "ERROR: compatibility mode not supported with the requested with options",
            "ERROR: option of -ttl (-T) must be less than 255",
            "WARN: companion option of --connect-retry-timer not set - setting to default value \
             of one second",
            "ERROR: option of -X or --peer-detect not supported with -u UDP",
            "ERROR: option --connect-retries not supported with -u UDP",
            "ERROR: IPG delay target of 11760.0 secs too large (max value is 60 secs)",
        ]
    );
    assert_eq!(resolution.outcome, Err(ExitCode::Failure));
    let resolution = line(
        Iperf2,
        "-c 127.0.0.1 -C -e -T 256 --permit-key --incr-srcip --incr-srcport --sum-dstip \
         --tos-override 4 --tcp-rx-window-clamp 4K --jitter-histograms --txstart-time 9999999999 \
         --txdelay-time 9999 --trip-times -l 20 -R --full-duplex -d --tcp-quickack --bounceback \
         --bounceback-no-quickack --burst-period 1 --burst-size 1 --isochronous=2:25p \
         --near-congestion -X --connect-only --connect-retry-time 1 --ipg 0.01 -b 1pps \
         --tcp-write-prefetch 4K --tcp-tx-delay 1 --no-udp-fin --working-load=up,2 \
         --sync-transfer-id -t 0 --bounceback-request 200 --bounceback-reply 300",
    );
    assert_eq!(
        said(&resolution),
        [
            "WARNING: option -d is not valid in compatibility mode",
            "WARNING: client will send traffic forever or until an external signal (e.g. SIGINT \
             or SIGTERM) occurs to stop it",
            "ERROR: compatibility mode not supported with the requested with options",
            "ERROR: option of --incr-srcip requires -B bind option to be set",
            "WARN: option of --sum-dstip not supported on the client",
            "WARN: option of --tos-override not supported on the client",
            "WARN: option of --tcp-rx-window-clamp not supported on the client",
            "WARN: option of --jitter-histogram not supported on the client",
            "ERROR: option of -ttl (-T) must be less than 255",
            "ERROR: option of --permit-key requires a value on the client",
            "ERROR: options of --txstart-time and --txdelay-time are mutually exclusive",
            "ERROR: payload (-l) size of 20 too small for --trip-times, must be 92 or greater",
            "WARN: options of --burst-size for bounce-back ignored, use -l sets size",
            "WARN: bounceback request will use -l length and not --bounceback-request value",
            "WARN: bounceback reply will use -l length and not --bounceback-reply value",
            "ERROR: --tcp-quickack and --bounceback-no-quickack are mutually exclusive",
            "ERROR: options of --burst-period and --isochronous cannot be applied together",
            "WARN: companion option of --connect-retry-timer not set - setting to default value \
             of one second",
            "ERROR: option of --near-congestion and -b rate limited are mutually exclusive",
            "ERROR: option --ipg requires -u UDP",
            "ERROR: option --no-udp-fin requires -u UDP",
            "ERROR: Fail because --txdelay-time and --connect-only cannot be applied together",
            "ERROR: units of pps not supported with TCP",
            "ERROR: options of --full-duplex, --reverse, -d and -r are mutually exclusive",
            "ERROR: options of --b and --isochronous cannot be applied together",
        ]
    );
    let resolution = line(Iperf2, "-c h -b 100pps -R -d --no-udp-fin -T 256");
    assert_eq!(
        said(&resolution),
        [
            "ERROR: option of -ttl (-T) must be less than 255",
            "ERROR: option --no-udp-fin requires -u UDP",
            "ERROR: units of pps not supported with TCP",
            "ERROR: options of --full-duplex, --reverse, -d and -r are mutually exclusive",
        ]
    );
    let resolution = line(
        Iperf2,
        "-s -R --full-duplex -X --no-udp-fin --ignore-shutdown \
                                   --connect-retry-timer 1 -b 1m,1m -p 9-8 -4 -6",
    );
    assert_eq!(
        said(&resolution),
        [
            "WARN: both ipv4 and ipv6 set",
            "ERROR: invalid port range of 9-8",
            "WARN: option of variance per -b is not supported on the server",
            "WARN: option of --full-duplex is not supported on the server",
            "WARN: option of --reverse is not supported on the server",
            "WARN: option of --ignore-shutdown is not supported on the server",
            "WARN: option of --no-udp-fin is not supported on the server",
            "WARN: option of -X or --peer-detect not supported on the server",
            "WARN: option --connect-retries not supported on the server",
        ]
    );
}
