//! Buffers and windows of TCP where the path changes, or limits as well.

use crate::cause::Cause::{Network, ReceiveWindow, ReceiverCpu, SendBuffer, SenderCpu};
use crate::cause::Truth;
use crate::situation::{OURS, OURS_FORWARD, SERVERS, Setting, Situation, TCP, Way, only};

/// A fast link whose delay changes from packet to packet.
const UNSTEADY: Way = Way {
    jitter: 30.0,
    ..Way::link(100.0, 50.0, 15.0)
};

pub(crate) const SITUATIONS: &[Situation] = &[
    Situation {
        name: "deep queue, sender's buffer of 64K, bbr",
        client: "-t 4 -Z bbr",
        sender: "-w 64K",
        data: Way::link(5.0, 500.0, 5.0),
        back: Way::far(5.0),
        truth: only(&[Network]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "deep queue, small receive buffers of the host, bbr",
        client: "-t 4 -Z bbr",
        receive_memory: 131_072,
        data: Way::link(5.0, 500.0, 5.0),
        back: Way::far(5.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "unsteady path, small receive buffers of the host",
        client: "-t 4 -Z cubic",
        receive_memory: 65536,
        data: UNSTEADY,
        back: Way::far(15.0),
        truth: Truth {
            right: &[ReceiveWindow],
            borne: &[Network],
        },
        runs: SERVERS,
        ..TCP
    },
    Situation {
        name: "unsteady path, small send buffers of the host",
        client: "-t 4 -Z cubic",
        send_memory: 65536,
        data: UNSTEADY,
        back: Way::far(15.0),
        truth: Truth {
            right: &[SendBuffer],
            borne: &[Network],
        },
        runs: SERVERS,
        ..TCP
    },
    Situation {
        name: "small window beside a test that fills the queue",
        client: "-t 4 -Z cubic",
        receiver: "-w 32K",
        competitor: Some("-Z cubic"),
        data: Way::link(8.0, 200.0, 10.0),
        back: Way::far(10.0),
        // A larger window would take more of the queue, and the link is full.
        truth: only(&[Network, ReceiveWindow]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "rate that small send buffers do not allow",
        client: "-t 4 -b 40m -Z cubic",
        send_memory: 65536,
        data: Way::link(100.0, 30.0, 30.0),
        back: Way::far(30.0),
        truth: only(&[SendBuffer]),
        runs: SERVERS,
        ..TCP
    },
    Situation {
        name: "rate that a small window does not allow",
        client: "-t 4 -b 40m -Z cubic",
        receive_memory: 65536,
        data: Way::link(100.0, 30.0, 30.0),
        back: Way::far(30.0),
        truth: only(&[ReceiveWindow]),
        runs: SERVERS,
        ..TCP
    },
    Situation {
        name: "four streams with small windows",
        client: "-t 4 -P 4 -Z cubic",
        receive_memory: 65536,
        data: Way::link(150.0, 30.0, 40.0),
        back: Way::far(40.0),
        truth: only(&[ReceiveWindow]),
        ..TCP
    },
    Situation {
        name: "little unsent data, slow link",
        client: "-t 4 -Z cubic --trip-times",
        data: Way::link(8.0, 60.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "small segments, slow link",
        client: "-t 4 -Z cubic -M 536",
        data: Way::link(8.0, 60.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        runs: SERVERS,
        ..TCP
    },
    Situation {
        name: "small writes over a cable",
        client: "-t 3 -l 100 -N",
        truth: Truth {
            right: &[SenderCpu, ReceiverCpu],
            borne: &[Network],
        },
        runs: OURS,
        setting: Setting::Alone,
        ..TCP
    },
];
