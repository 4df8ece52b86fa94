//! UDP over paths, and no peer.

use crate::cause::Cause::{Network, Nothing, ReceiveBuffer, RequestedRate};
use crate::cause::Truth;
use crate::situation::{
    CABLE, EVERYONE, OURS, OURS_FORWARD, Rate, SENDING_STREAMS, SERVERS, Setting, Situation, UDP,
    Way, only,
};

pub(crate) const SITUATIONS: &[Situation] = &[
    Situation {
        name: "link slower than the datagrams",
        client: "-t 3 -b 10m",
        data: Way::link(6.0, 50.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        sample: true,
        ..UDP
    },
    Situation {
        name: "device slower than the datagrams, short queue",
        client: "-t 3 -b 10m",
        data: Way::shaped(5.0, 20.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        ..UDP
    },
    Situation {
        name: "device slower than the datagrams, deep queue",
        client: "-t 3 -b 20m",
        data: Way::shaped(6.0, 800.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        ..UDP
    },
    Situation {
        name: "policer under datagrams",
        client: "-t 3 -b 10m",
        data: Way {
            policer: Some(Rate {
                megabits: 6.0,
                queue: 20.0,
            }),
            ..CABLE
        },
        truth: only(&[Network]),
        runs: EVERYONE,
        ..UDP
    },
    Situation {
        name: "random loss of datagrams",
        client: "-t 3 -b 5m",
        data: Way {
            loss: 3.0,
            ..Way::far(20.0)
        },
        back: Way::far(20.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        ..UDP
    },
    Situation {
        name: "filtered datagrams",
        client: "-t 3 -b 5m --no-latency-probes",
        data: Way {
            filtered_one_in: 25,
            ..CABLE
        },
        truth: only(&[Network]),
        runs: OURS_FORWARD,
        ..UDP
    },
    Situation {
        name: "bunches and jitter of a radio link, datagrams",
        client: "-t 3 -b 5m",
        data: Way {
            aggregation: 8.0,
            jitter: 5.0,
            ..Way::link(20.0, 60.0, 5.0)
        },
        back: Way::far(5.0),
        truth: only(&[RequestedRate]),
        runs: OURS,
        ..UDP
    },
    Situation {
        name: "receive buffer overrun below the link's rate",
        client: "-t 3 -b 16m",
        receiver: "-w 8K",
        data: Way {
            aggregation: 25.0,
            ..Way::link(40.0, 100.0, 5.0)
        },
        back: Way::far(5.0),
        truth: only(&[ReceiveBuffer]),
        runs: OURS_FORWARD,
        ..UDP
    },
    Situation {
        name: "unequal streams of datagrams through a slow link",
        client: "-t 3 -b 3m -P 4",
        data: Way::link(6.0, 20.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        runs: SENDING_STREAMS,
        ..UDP
    },
    Situation {
        name: "datagrams both ways, one loses 38 %",
        client: "-t 3 -b 5m --full-duplex",
        data: Way::link(3.1, 50.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        runs: OURS_FORWARD,
        sample: true,
        ..UDP
    },
    Situation {
        name: "datagrams both ways, the other one loses 38 %",
        client: "-t 3 -b 5m --full-duplex",
        data: Way::far(10.0),
        back: Way::link(3.1, 50.0, 10.0),
        truth: only(&[Network]),
        runs: OURS_FORWARD,
        ..UDP
    },
    Situation {
        name: "datagrams beside a TCP test",
        client: "-t 3 -b 5m",
        competitor: Some("-Z cubic"),
        data: Way::link(6.0, 40.0, 10.0),
        back: Way::far(10.0),
        truth: Truth {
            right: &[Network],
            borne: &[RequestedRate],
        },
        ..UDP
    },
    Situation {
        name: "datagrams to a closed port",
        client: "-t 2 -b 5m",
        truth: only(&[Nothing]),
        setting: Setting::NoServer,
        runs: OURS,
        sample: true,
        ..UDP
    },
    Situation {
        name: "datagrams a little faster than the link",
        client: "-t 3 -b 5m",
        data: Way::link(4.0, 60.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        runs: SERVERS,
        ..UDP
    },
    Situation {
        name: "datagrams as fast as the device takes them",
        client: "-t 3 -b 0",
        data: Way::shaped(8.0, 600.0),
        truth: only(&[Network]),
        runs: OURS,
        ..UDP
    },
    Situation {
        name: "small datagrams through a slow link",
        client: "-t 3 -b 4m -l 200",
        data: Way::link(2.5, 40.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        ..UDP
    },
    Situation {
        name: "frames larger than a link's queue",
        client: "-t 3 --isochronous=30:4m,0",
        data: Way::link(10.0, 4.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        runs: OURS_FORWARD,
        ..UDP
    },
    Situation {
        name: "datagrams that overtake each other",
        client: "-t 3 -b 5m",
        data: Way {
            overtaken: 5.0,
            ..Way::far(10.0)
        },
        back: Way::far(10.0),
        truth: only(&[RequestedRate]),
        runs: SERVERS,
        ..UDP
    },
    Situation {
        name: "datagrams both ways, both lose",
        client: "-t 3 -b 5m --full-duplex",
        data: Way::link(3.0, 50.0, 10.0),
        back: Way::link(3.0, 50.0, 10.0),
        truth: only(&[Network]),
        runs: OURS_FORWARD,
        ..UDP
    },
];
