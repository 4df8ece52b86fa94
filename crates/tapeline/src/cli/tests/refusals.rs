//! Values that are refused, and the sentence that says why.

use super::*;

#[test]
fn tapeline_stops_at_the_first_bad_word() {
    for (text, sentence) in [
        ("-c h -Q", "unknown option -Q"),
        (
            "-c h --bandwith 3",
            "unknown option --bandwith (did you mean --bandwidth?)",
        ),
        ("-c h --zzzz", "unknown option --zzzz"),
        ("-c h --fo", "--fo needs a value"),
        (
            "-c h --tr",
            "--tr could be --tradeoff, --trip-times, --trust",
        ),
        ("-c h -t", "-t needs a value"),
        ("-c h --udp=1", "--udp takes no value"),
        ("-c h -t 1s", "-t needs a number of seconds, not \"1s\""),
        (
            "-c h -l 10x",
            "-l: unknown unit \"x\" in \"10x\" (use k, K, M, G: 128K is 128 KiB)",
        ),
        (
            "-c h -b 10x",
            "-b: unknown unit \"x\" in \"10x\" (use k, M, G: 10M is 10 Mbit/s)",
        ),
        ("-c h -l 0", "-l: '0' is not between 1 and 268435456 bytes"),
        ("-c h -n 0", "-n: '0' is nothing to send"),
        ("-c h --len abc", "--len needs a number, not \"abc\""),
        ("-c h -p 70000", "-p needs a port (0..65535), not \"70000\""),
        ("-c h -P 0", "-P needs a positive number, not \"0\""),
        ("-c h -P 70000", "-P: '70000' is more than 65535"),
        (
            "-c h -f x",
            "-f: 'x' is none of a b k m g t p A B K M G T P, iperf3-json, iperf3-json-stream",
        ),
        (
            "-c h -S nope",
            "-S: 'nope' is no type of service: give a DSCP name (af11..af43, \
                          cs0..cs7, ef, le, nqb) or 0..255",
        ),
        ("-c h --dscp 64", "--dscp: '64' is more than 63"),
        ("-c h -x Z", "-x: 'Z' is none of C D M S V"),
        ("-c h -y J", "-y needs a style (C is CSV), not \"J\""),
        ("-c h -i -1", "-i: '-1' is negative"),
        (
            "-c h -B 10.0.0.1:x",
            "-B needs a port (1..65535), not \"x\"",
        ),
        ("-c h:0", "-c needs a port (1..65535), not \"0\""),
        (
            "-c h:7 -p 8",
            "the port is given twice: behind the host and with -p",
        ),
        ("-s -R", "-R does not apply to a server"),
        ("-c h -1", "-1 does not apply to a client"),
        (
            "h",
            "unknown command \"h\"\nhint:  tapeline -c h, or tapeline try h for a quick check",
        ),
        (
            "-c h --json x.json",
            "unknown command \"x.json\"\nhint:  the value of --json stands behind an equals sign: --json=x.json",
        ),
        (
            "-c h extra",
            "unknown command \"extra\"\nhint:  tapeline -c extra, or tapeline try extra for a quick check",
        ),
    ] {
        let resolution = line(Native, text);
        assert_eq!(said(&resolution), [format!("error: {sentence}")], "{text}");
        assert_eq!(resolution.outcome, Err(ExitCode::Usage), "{text}");
    }
    assert_eq!(said(&line(Native, "-c h -Q -k --nope -t abc")).len(), 1);
}

/// Values that the other options refuse under the name tapeline.
#[rustfmt::skip]
const BAD_VALUES: &[(&str, &str)] = &[
    ("-c h --bounceback=0", "--bounceback needs a number of requests, not \"0\""),
    ("-c h --bounceback=x", "--bounceback needs a whole number, not \"x\""),
    ("-c h --bounceback --bounceback-period -1", "--bounceback-period: '-1' is negative"),
    ("-c h --bounceback --bounceback-period x", "--bounceback-period needs a number of seconds, not \"x\""),
    ("-c h --bounceback --bounceback-hold x", "--bounceback-hold needs a number of milliseconds, not \"x\""),
    ("-c h --bounceback --bounceback-hold 99999999", "--bounceback-hold: '99999999' is not between 0 and 4294967 milliseconds"),
    ("-c h --bounceback --bounceback-request 20", "--bounceback-request: '20' is not between 68 and 1048576 bytes"),
    ("-c h --bounceback --bounceback-reply 2M", "--bounceback-reply: '2M' is not between 68 and 1048576 bytes"),
    ("-c h --burst-period 0", "--burst-period: '0' is not more than 0.00001 seconds"),
    ("-c h --burst-size x", "--burst-size needs a number, not \"x\""),
    ("-c h --isochronous=0", "--isochronous: '0' has no frames per second above 0 and up to 1000000"),
    ("-c h --isochronous=60:x", "--isochronous: '60:x' has 'x' where a rate should be"),
    ("-c h --isochronous=60:1m,-1", "--isochronous: '60:1m,-1' has a deviation that is no rate of 0 or more"),
    ("-c h --isochronous=60:0", "--isochronous: '60:0' has no mean above 0"),
    ("-c h --ipg x", "--ipg needs a number of seconds, not \"x\""),
    ("-c h --near-congestion=0", "--near-congestion needs a number above 0, not \"0\""),
    ("-c h --near-congestion=abc", "--near-congestion needs a number above 0, not \"abc\""),
    ("-c h --set-rand-seed x", "--set-rand-seed needs a whole number, not \"x\""),
    ("-c h --txstart-time abc", "--txstart-time needs a number of seconds since 1970, not \"abc\""),
    ("-c h --txdelay-time -1", "--txdelay-time needs a number of seconds, 0 or more, not \"-1\""),
    ("-c h --txdelay-time abc", "--txdelay-time needs a number of seconds, 0 or more, not \"abc\""),
    ("-c h --connect-only=x", "--connect-only needs a whole number, not \"x\""),
    ("-c h --histograms=0", "--histograms: '0' has no bin width above 0 (such as 100u or 1m)"),
    ("-c h --histograms=1u,0", "--histograms: '1u,0' has no number of bins from 1 to 1048576"),
    ("-c h --histograms=1u,5,200", "--histograms: '1u,5,200' has no percentiles from 0 to 100"),
    ("-c h --tcp-write-prefetch x", "--tcp-write-prefetch needs a number, not \"x\""),
    ("-c h --tcp-tx-delay x", "--tcp-tx-delay needs a number of milliseconds, not \"x\""),
    ("-c h --tcp-tx-delay -1", "--tcp-tx-delay: '-1' is not between 0.001 and 2147483 milliseconds"),
    ("-c h --local-only=2", "--local-only: '2' is neither 0 nor 1"),
    ("-c h --fq-rate x", "--fq-rate needs a number, not \"x\""),
    ("-c h --fq-rate -1", "--fq-rate: \"-1\" is out of range"),
    ("-c h --fq-rate-step-interval 0", "--fq-rate-step-interval: '0' is not above 0"),
    ("-c h --working-load=sideways", "--working-load: 'sideways' does not begin with up, down or bidir"),
    ("-c h --working-load=up,0", "--working-load needs a number of streams from 1 to 65535, not \"up,0\""),
    ("-c h --NUM_REPORT_STRUCTS x", "--NUM_REPORT_STRUCTS needs a whole number, not \"x\""),
    ("-c h -i x", "-i needs a number of seconds, not \"x\""),
    ("-c h -i ff", "-i needs a number of seconds, or f (frames), not \"ff\""),
    ("-c h -l <5|x", "-l: 'x' is not a number"),
    ("-c h -l <5|0.5", "-l: the probabilities behind length 1 add up to 0.500000, not to 1"),
    ("-c h -l <5|0.5,0.5", "-l: '5|0.5,0.5' has 2 probabilities for 1 lengths"),
    ("-c h -b 1m,x", "-b needs a number, not \"x\""),
    ("-s --jitter-histograms=0", "--jitter-histograms needs a number of microseconds, not \"0\""),
    ("-s --jitter-histograms=x", "--jitter-histograms needs a whole number, not \"x\""),
    ("-s --tcp-rx-window-clamp 9G", "--tcp-rx-window-clamp: '9G' is too large"),
    ("-s --permit-key=abcd --permit-key-timeout x", "--permit-key-timeout needs a number of seconds, not \"x\""),
    ("-s --test-exchange-timeout -1", "--test-exchange-timeout: '-1' is negative"),
];

#[test]
fn tapeline_refuses_values_that_mean_nothing() {
    for (text, sentence) in BAD_VALUES {
        let resolution = line(Native, text);
        assert_eq!(said(&resolution), [format!("error: {sentence}")], "{text}");
        assert_eq!(resolution.outcome, Err(ExitCode::Usage), "{text}");
    }
}
