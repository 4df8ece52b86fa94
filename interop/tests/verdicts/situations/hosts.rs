//! Hosts that are too slow, with tapeline at both ends.

use crate::cause::Cause::{Network, ReceiverCpu, RequestedRate, SenderCpu};
use crate::cause::Truth;
use crate::situation::{Host, OURS, OURS_FORWARD, Setting, Situation, TCP, UDP, Way, only};

const ALONE: Situation = Situation {
    setting: Setting::Alone,
    ..TCP
};

/// The path is the limit; that its ends had to wait for their processors may be said with low confidence.
const OVER_BUSY_PROCESSORS: Truth = Truth {
    right: &[Network],
    borne: &[SenderCpu, ReceiverCpu],
};

pub(crate) const SITUATIONS: &[Situation] = &[
    Situation {
        name: "receiver with a quota of 6 %",
        client: "-t 4",
        receiving_host: Host::Quota(6),
        truth: only(&[ReceiverCpu]),
        sample: true,
        ..ALONE
    },
    Situation {
        name: "receiver with a quota of 6 %, four streams, cubic",
        client: "-t 4 -P 4 -Z cubic",
        receiving_host: Host::Quota(6),
        truth: only(&[ReceiverCpu]),
        ..ALONE
    },
    Situation {
        name: "receiver with a quota of 15 %",
        client: "-t 4",
        receiving_host: Host::Quota(15),
        truth: only(&[ReceiverCpu]),
        ..ALONE
    },
    Situation {
        name: "receiver on what a busy processor leaves",
        client: "-t 4",
        receiving_host: Host::Leftovers,
        truth: only(&[ReceiverCpu]),
        ..ALONE
    },
    Situation {
        name: "receiver on what a busy processor leaves, cubic",
        client: "-t 4 -Z cubic",
        receiving_host: Host::Leftovers,
        truth: only(&[ReceiverCpu]),
        ..ALONE
    },
    Situation {
        name: "sender with a quota of 5 %",
        client: "-t 4",
        sending_host: Host::Quota(5),
        truth: only(&[SenderCpu]),
        ..ALONE
    },
    Situation {
        name: "sender on what a busy processor leaves",
        client: "-t 4",
        sending_host: Host::Leftovers,
        truth: only(&[SenderCpu]),
        ..ALONE
    },
    Situation {
        name: "slow link, receiver beside a busy process",
        client: "-t 4 -Z cubic",
        data: Way::shaped(10.0, 60.0),
        receiving_host: Host::Neighbour,
        truth: only(&[Network]),
        ..ALONE
    },
    Situation {
        name: "slow link, sender beside a busy process",
        client: "-t 4 -Z cubic",
        data: Way::shaped(10.0, 60.0),
        sending_host: Host::Neighbour,
        truth: only(&[Network]),
        ..ALONE
    },
    Situation {
        name: "slow link, quotas of 50 %",
        client: "-t 4 -Z cubic",
        data: Way::shaped(10.0, 60.0),
        sending_host: Host::Quota(50),
        receiving_host: Host::Quota(50),
        truth: only(&[Network]),
        ..ALONE
    },
    Situation {
        name: "rate of TCP reached beside busy processes",
        client: "-t 4 -b 10m",
        receiving_host: Host::Neighbour,
        truth: only(&[RequestedRate]),
        runs: OURS,
        ..ALONE
    },
    Situation {
        // An optimised build reads these at 5 % of a processor.
        name: "datagrams to a receiver with a quota of 1 %",
        client: "-t 4 -b 200m",
        transport: UDP.transport,
        receiving_host: Host::Quota(1),
        truth: only(&[ReceiverCpu]),
        ..ALONE
    },
    Situation {
        name: "datagrams to a receiver on what a busy processor leaves",
        client: "-t 4 -b 100m",
        transport: UDP.transport,
        receiving_host: Host::Leftovers,
        truth: only(&[ReceiverCpu]),
        ..ALONE
    },
    Situation {
        name: "datagrams of a sender with a quota of 5 %",
        client: "-t 4 -b 500m",
        transport: UDP.transport,
        sending_host: Host::Quota(5),
        truth: only(&[SenderCpu]),
        ..ALONE
    },
    Situation {
        name: "datagrams of a sender on what a busy processor leaves",
        client: "-t 4 -b 500m",
        transport: UDP.transport,
        sending_host: Host::Leftovers,
        truth: only(&[SenderCpu]),
        ..ALONE
    },
    Situation {
        name: "rate of datagrams reached with a quota of 50 %",
        client: "-t 4 -b 5m",
        transport: UDP.transport,
        receiving_host: Host::Quota(50),
        truth: only(&[RequestedRate]),
        ..ALONE
    },
    Situation {
        name: "slow link on the way, quota of 30 %",
        client: "-t 4 -Z cubic",
        data: Way::link(8.0, 60.0, 5.0),
        back: Way::far(5.0),
        receiving_host: Host::Quota(30),
        truth: only(&[Network]),
        ..ALONE
    },
    Situation {
        // The relay takes most of the processors, but carries what the link lets pass.
        name: "fast link, processors busy with carrying it",
        client: "-t 4 -Z cubic",
        data: Way::link(900.0, 20.0, 1.0),
        back: Way::far(1.0),
        truth: OVER_BUSY_PROCESSORS,
        ..ALONE
    },
    Situation {
        name: "fast link, processors busy with carrying it, bbr",
        client: "-t 4 -Z bbr",
        data: Way::link(900.0, 20.0, 1.0),
        back: Way::far(1.0),
        truth: OVER_BUSY_PROCESSORS,
        ..ALONE
    },
    Situation {
        name: "link of 300 Mbit/s, processors busy with carrying it",
        client: "-t 4 -Z cubic",
        data: Way::link(300.0, 20.0, 1.0),
        back: Way::far(1.0),
        truth: OVER_BUSY_PROCESSORS,
        ..ALONE
    },
    Situation {
        name: "cable without limits",
        client: "-t 3",
        truth: Truth {
            right: &[SenderCpu, ReceiverCpu],
            borne: &[Network],
        },
        runs: OURS_FORWARD,
        ..ALONE
    },
];
