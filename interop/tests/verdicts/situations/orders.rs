//! Tests that are as fast as they were ordered to be, and tests that say nothing.

use crate::cause::Cause::{Application, Network, Nothing, ReceiveWindow, RequestedRate};
use crate::cause::Truth;
use crate::situation::{
    EVERYONE, EVERYONE_FORWARD, IPERF2S_FORWARD, OURS, OURS_FORWARD, SERVERS, Setting, Situation,
    TCP, UDP, Way, only,
};

pub(crate) const SITUATIONS: &[Situation] = &[
    Situation {
        name: "rate of TCP reached",
        client: "-t 3 -b 5m",
        truth: only(&[RequestedRate]),
        runs: EVERYONE,
        sample: true,
        ..TCP
    },
    Situation {
        name: "rate of TCP reached over a longer path",
        client: "-t 4 -b 5m -Z cubic",
        data: Way::link(20.0, 50.0, 20.0),
        back: Way::far(20.0),
        truth: only(&[RequestedRate]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "rate of TCP above the link's",
        client: "-t 3 -b 20m -Z cubic",
        data: Way::shaped(5.0, 60.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "kernel's pacing reached",
        client: "-t 3 --fq-rate 5m -Z cubic",
        truth: only(&[RequestedRate]),
        runs: EVERYONE_FORWARD,
        sample: true,
        ..TCP
    },
    Situation {
        name: "kernel's pacing reached, bbr",
        client: "-t 3 --fq-rate 8m -Z bbr",
        truth: only(&[RequestedRate]),
        runs: EVERYONE_FORWARD,
        ..TCP
    },
    Situation {
        name: "kernel's pacing reached over a longer path",
        client: "-t 4 --fq-rate 5m -Z cubic",
        data: Way::link(20.0, 50.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[RequestedRate]),
        runs: EVERYONE_FORWARD,
        ..TCP
    },
    Situation {
        name: "kernel's pacing above the link's rate",
        client: "-t 3 --fq-rate 30m -Z cubic",
        data: Way::shaped(5.0, 60.0),
        truth: only(&[Network]),
        runs: EVERYONE_FORWARD,
        ..TCP
    },
    Situation {
        name: "server that reads at an ordered rate",
        client: "-t 4 -Z cubic",
        receiver: "-b 8m",
        truth: Truth {
            right: &[RequestedRate],
            borne: &[ReceiveWindow],
        },
        runs: IPERF2S_FORWARD,
        ..TCP
    },
    Situation {
        name: "rate of UDP reached",
        client: "-t 3 -b 5m",
        truth: only(&[RequestedRate]),
        runs: EVERYONE,
        sample: true,
        ..UDP
    },
    Situation {
        name: "rate of UDP reached over a longer path",
        client: "-t 3 -b 4m",
        data: Way::link(20.0, 50.0, 20.0),
        back: Way::far(20.0),
        truth: only(&[RequestedRate]),
        runs: EVERYONE,
        ..UDP
    },
    Situation {
        name: "rate of few large datagrams reached",
        client: "-t 3 -b 100pps -l 1000",
        truth: only(&[RequestedRate]),
        runs: OURS,
        ..UDP
    },
    Situation {
        name: "isochronous frames in time",
        client: "-t 3 --isochronous=60:3m,100k",
        truth: only(&[RequestedRate]),
        runs: OURS_FORWARD,
        ..UDP
    },
    Situation {
        name: "isochronous frames in time, TCP",
        client: "-t 3 --isochronous=30:3m,100k",
        truth: only(&[RequestedRate]),
        runs: IPERF2S_FORWARD,
        ..TCP
    },
    Situation {
        name: "bursts of TCP in time",
        client: "-t 3 --burst-period 0.5 --burst-size 100K",
        truth: only(&[RequestedRate, Application]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "requests and responses",
        client: "-t 3 --bounceback --bounceback-period 0",
        truth: only(&[Application, Nothing]),
        runs: IPERF2S_FORWARD,
        setting: Setting::Alone,
        ..TCP
    },
    Situation {
        name: "requests and responses, one burst a second",
        client: "-t 3 --bounceback",
        truth: only(&[Application, Nothing]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "requests and responses over a longer path",
        client: "-t 3 --bounceback --bounceback-period 0",
        data: Way::far(10.0),
        back: Way::far(10.0),
        truth: only(&[Application, Network, Nothing]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "overshot rate of small datagrams",
        client: "-t 3 -b 200pps -l 100 --pacing sleep",
        truth: only(&[RequestedRate]),
        setting: Setting::Alone,
        runs: OURS,
        ..UDP
    },
    Situation {
        name: "too short: 0.2 s of TCP",
        client: "-t 0.2 -Z cubic",
        data: Way::link(80.0, 20.0, 2.0),
        truth: only(&[Nothing]),
        runs: SERVERS,
        ..TCP
    },
    Situation {
        name: "0.2 s of TCP that fill a device's queue for longer",
        client: "-t 0.2",
        data: Way::shaped(10.0, 50.0),
        truth: only(&[Network, Nothing]),
        runs: SERVERS,
        ..TCP
    },
    Situation {
        name: "too short: 0.3 s of UDP",
        client: "-t 0.3 -b 5m",
        truth: only(&[Nothing]),
        runs: SERVERS,
        ..UDP
    },
    Situation {
        name: "too little: five datagrams",
        client: "-n 5000 -l 1000 -b 10pps",
        truth: only(&[Nothing]),
        runs: OURS_FORWARD,
        ..UDP
    },
    Situation {
        name: "too little: one burst of TCP",
        client: "-n 100K -b 10m",
        truth: only(&[Nothing]),
        runs: OURS,
        sample: true,
        ..TCP
    },
    Situation {
        name: "too little: five writes",
        client: "-n 5K -l 1K -b 10k",
        truth: only(&[Nothing]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "a second of TCP through a link",
        client: "-t 1 -Z cubic",
        data: Way::link(8.0, 40.0, 5.0),
        back: Way::far(5.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "rates of four streams reached",
        client: "-t 3 -b 1m -P 4",
        truth: only(&[RequestedRate]),
        runs: SERVERS,
        ..TCP
    },
    Situation {
        name: "rate of TCP a little below the link's",
        client: "-t 4 -b 5m -Z cubic",
        data: Way::link(7.5, 60.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[RequestedRate]),
        ..TCP
    },
    Situation {
        name: "pauses after each write",
        client: "-t 3 --near-congestion=1 -l 16K -Z cubic",
        data: Way::link(50.0, 50.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Application]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "both ways at the rate ordered, TCP",
        client: "-t 3 -b 4m --full-duplex",
        truth: only(&[RequestedRate]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "both ways at the rate ordered, UDP",
        client: "-t 3 -b 4m --full-duplex",
        data: Way::far(10.0),
        back: Way::far(10.0),
        truth: only(&[RequestedRate]),
        runs: OURS_FORWARD,
        ..UDP
    },
];
