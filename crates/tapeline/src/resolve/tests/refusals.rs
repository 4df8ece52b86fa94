//! Values that are refused, and the sentence that says why.

use super::*;

#[test]
fn tapeline_stops_at_the_first_bad_word() {
    for (text, sentence) in [
        ("-c h -q", "there is no option -q"),
        (
            "-c h --bandwith 3",
            "there is no option --bandwith; did you mean --bandwidth?",
        ),
        ("-c h --zzzz", "there is no option --zzzz"),
        ("-c h --fo", "option --fo needs a value"),
        (
            "-c h --tr",
            "--tr is the beginning of --tradeoff, --trip-times, --trust",
        ),
        ("-c h -t", "option -t needs a value"),
        ("-c h --udp=1", "option --udp takes no value"),
        ("-c h -t 1s", "option -t: '1s' is no number of seconds"),
        (
            "-c h -l 10x",
            "option -l: '10x' ends in 'x', which is no unit (k m g = 1000-multiples, \
                         K M G = 1024-multiples)",
        ),
        (
            "-c h -l 0",
            "option -l: '0' is not between 1 and 268435456 bytes",
        ),
        ("-c h -n 0", "option -n: '0' is nothing to send"),
        ("-c h --len abc", "option --len: 'abc' is not a number"),
        ("-c h -p 70000", "option -p: '70000' is no port (0..65535)"),
        ("-c h -P 0", "option -P: '0' is no positive number"),
        ("-c h -P 70000", "option -P: '70000' is more than 65535"),
        (
            "-c h -f x",
            "option -f: 'x' is none of a b k m g t p A B K M G T P, iperf3-json, iperf3-json-stream",
        ),
        (
            "-c h -S nope",
            "option -S: 'nope' is no type of service: give a DSCP name (af11..af43, \
                          cs0..cs7, ef, le, nqb) or 0..255",
        ),
        ("-c h --dscp 64", "option --dscp: '64' is more than 63"),
        ("-c h -x Z", "option -x: 'Z' is none of C D M S V"),
        ("-c h -y J", "option -y: 'J' is no style (C is CSV)"),
        ("-c h -i -1", "option -i: '-1' is negative"),
        ("-c h -B 10.0.0.1:x", "option -B: 'x' is no port (1..65535)"),
        ("-c h:0", "option -c: '0' is no port (1..65535)"),
        (
            "-c h:7 -p 8",
            "the port is given twice: behind the host and with -p",
        ),
        ("-s -R", "option -R does not apply to a server"),
        ("-c h -1", "option -1 does not apply to a client"),
        (
            "h",
            "'h' is not understood (a server to test towards: -c h)",
        ),
        (
            "-c h extra",
            "'extra' is not understood (a server to test towards: -c extra)",
        ),
    ] {
        let resolution = line(Native, text);
        assert_eq!(
            said(&resolution),
            [format!("tapeline: {sentence}")],
            "{text}"
        );
        assert_eq!(resolution.outcome, Err(ExitCode::Usage), "{text}");
    }
    assert_eq!(said(&line(Native, "-c h -q -k --nope -t abc")).len(), 1);
}

/// Values that the other options refuse under the name tapeline.
#[rustfmt::skip]
const BAD_VALUES: &[(&str, &str)] = &[
    ("-c h --bounceback=0", "option --bounceback: '0' is no number of requests"),
    ("-c h --bounceback=x", "option --bounceback: 'x' is no whole number"),
    ("-c h --bounceback --bounceback-period -1", "option --bounceback-period: '-1' is negative"),
    ("-c h --bounceback --bounceback-period x", "option --bounceback-period: 'x' is no number of seconds"),
    ("-c h --bounceback --bounceback-hold x", "option --bounceback-hold: 'x' is no number of milliseconds"),
    ("-c h --bounceback --bounceback-hold 99999999", "option --bounceback-hold: '99999999' is not between 0 and 4294967 milliseconds"),
    ("-c h --bounceback --bounceback-request 20", "option --bounceback-request: '20' is not between 68 and 1048576 bytes"),
    ("-c h --bounceback --bounceback-reply 2M", "option --bounceback-reply: '2M' is not between 68 and 1048576 bytes"),
    ("-c h --burst-period 0", "option --burst-period: '0' is not more than 0.00001 seconds"),
    ("-c h --burst-size x", "option --burst-size: 'x' is not a number"),
    ("-c h --isochronous=0", "option --isochronous: '0' has no frames per second above 0 and up to 1000000"),
    ("-c h --isochronous=60:x", "option --isochronous: '60:x' has 'x' where a rate should be"),
    ("-c h --isochronous=60:1m,-1", "option --isochronous: '60:1m,-1' has a deviation that is no rate of 0 or more"),
    ("-c h --isochronous=60:0", "option --isochronous: '60:0' has no mean above 0"),
    ("-c h --ipg x", "option --ipg: 'x' is no number of seconds"),
    ("-c h --near-congestion=0", "option --near-congestion: '0' is no number above 0"),
    ("-c h --near-congestion=abc", "option --near-congestion: 'abc' is no number above 0"),
    ("-c h --set-rand-seed x", "option --set-rand-seed: 'x' is no whole number"),
    ("-c h --txstart-time abc", "option --txstart-time: 'abc' is no number of seconds since 1970"),
    ("-c h --txdelay-time -1", "option --txdelay-time: '-1' is no number of seconds, 0 or more"),
    ("-c h --txdelay-time abc", "option --txdelay-time: 'abc' is no number of seconds, 0 or more"),
    ("-c h --connect-only=x", "option --connect-only: 'x' is no whole number"),
    ("-c h --histograms=0", "option --histograms: '0' has no bin width above 0 (such as 100u or 1m)"),
    ("-c h --histograms=1u,0", "option --histograms: '1u,0' has no number of bins from 1 to 1048576"),
    ("-c h --histograms=1u,5,200", "option --histograms: '1u,5,200' has no percentiles from 0 to 100"),
    ("-c h --tcp-write-prefetch x", "option --tcp-write-prefetch: 'x' is not a number"),
    ("-c h --tcp-tx-delay x", "option --tcp-tx-delay: 'x' is no number of milliseconds"),
    ("-c h --tcp-tx-delay -1", "option --tcp-tx-delay: '-1' is not between 0.001 and 2147483 milliseconds"),
    ("-c h --local-only=2", "option --local-only: '2' is neither 0 nor 1"),
    ("-c h --fq-rate x", "option --fq-rate: 'x' is no rate (k m g bits, K M G bytes)"),
    ("-c h --fq-rate -1", "option --fq-rate: '-1' is negative"),
    ("-c h --fq-rate-step-interval 0", "option --fq-rate-step-interval: '0' is not above 0"),
    ("-c h --working-load=sideways", "option --working-load: 'sideways' does not begin with up, down or bidir"),
    ("-c h --working-load=up,0", "option --working-load: 'up,0' has no number of flows from 1 to 65535"),
    ("-c h --NUM_REPORT_STRUCTS x", "option --NUM_REPORT_STRUCTS: 'x' is no whole number"),
    ("-c h -i x", "option -i: 'x' is no number of seconds"),
    ("-c h -i ff", "option -i: 'ff' is no number of seconds, nor f (frames)"),
    ("-c h -l <5|x", "option -l: 'x' is not a number"),
    ("-c h -l <5|0.5", "option -l: the probabilities behind length 1 add up to 0.500000, not to 1"),
    ("-c h -l <5|0.5,0.5", "option -l: '5|0.5,0.5' has 2 probabilities for 1 lengths"),
    ("-c h -b 1m,x", "option -b: 'x' is not a number"),
    ("-s --jitter-histograms=0", "option --jitter-histograms: '0' is no number of microseconds"),
    ("-s --jitter-histograms=x", "option --jitter-histograms: 'x' is no whole number"),
    ("-s --tcp-rx-window-clamp 9G", "option --tcp-rx-window-clamp: '9G' is too large"),
    ("-s --permit-key=abcd --permit-key-timeout x", "option --permit-key-timeout: 'x' is no number of seconds"),
    ("-s --test-exchange-timeout -1", "option --test-exchange-timeout: '-1' is negative"),
];

#[test]
fn tapeline_refuses_values_that_mean_nothing() {
    for (text, sentence) in BAD_VALUES {
        let resolution = line(Native, text);
        assert_eq!(
            said(&resolution),
            [format!("tapeline: {sentence}")],
            "{text}"
        );
        assert_eq!(resolution.outcome, Err(ExitCode::Usage), "{text}");
    }
}
