//! Other programs that are too slow: tapeline knows only its own end.

use crate::cause::Cause::{Network, ReceiveWindow, ReceiverCpu, SenderCpu};
use crate::cause::Truth;
use crate::situation::{Host, OTHERS_FORWARD, OTHERS_REVERSE, Setting, Situation, TCP, UDP};

const ALONE: Situation = Situation {
    setting: Setting::Alone,
    runs: OTHERS_FORWARD,
    ..TCP
};
/// Nothing parts a slow reader from a small window, or a slow path.
const STARVED: Truth = Truth {
    right: &[ReceiverCpu],
    borne: &[ReceiveWindow, Network],
};

pub(crate) const SITUATIONS: &[Situation] = &[
    Situation {
        name: "other program, receiver with a quota of 6 %",
        client: "-t 4",
        receiving_host: Host::Quota(6),
        truth: STARVED,
        ..ALONE
    },
    Situation {
        name: "other program, receiver with a quota of 6 %, cubic",
        client: "-t 4 -Z cubic",
        receiving_host: Host::Quota(6),
        truth: STARVED,
        ..ALONE
    },
    Situation {
        name: "other program, receiver on what a busy processor leaves",
        client: "-t 4",
        receiving_host: Host::Leftovers,
        truth: STARVED,
        ..ALONE
    },
    Situation {
        name: "other program, sender with a quota of 5 %",
        client: "-t 4",
        sending_host: Host::Quota(5),
        runs: OTHERS_REVERSE,
        truth: Truth {
            right: &[SenderCpu],
            borne: &[Network],
        },
        ..ALONE
    },
    Situation {
        name: "other program, datagrams to a receiver with a quota of 5 %",
        client: "-t 4 -b 200m",
        transport: UDP.transport,
        receiving_host: Host::Quota(5),
        truth: Truth {
            right: &[ReceiverCpu],
            borne: &[Network],
        },
        ..ALONE
    },
];
