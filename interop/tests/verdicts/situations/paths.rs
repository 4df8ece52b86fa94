//! TCP over paths and through buffers.

use crate::cause::Cause::{Application, Network, Nothing, ReceiveWindow, SendBuffer};
use crate::cause::Truth;
use crate::situation::{
    CABLE, EVERYONE, IPERF2S_FORWARD, IPERF3S, OURS, OURS_FORWARD, Rate, SERVERS, Situation, TCP,
    Way, only,
};

/// A way of 20 ms, a link of 20 Mbit/s with a queue of 40 ms and a loss of 1 %.
const LOSSY: Way = Way {
    loss: 1.0,
    ..Way::link(20.0, 40.0, 20.0)
};
/// What a radio link does: packets leave in bunches, at changing times.
const RADIO: Way = Way {
    aggregation: 8.0,
    jitter: 4.0,
    ..Way::link(20.0, 60.0, 5.0)
};
/// What is above the rate is dropped, but for a burst of 30 ms.
const POLICED: Way = Way {
    policer: Some(Rate {
        megabits: 8.0,
        queue: 30.0,
    }),
    ..Way::far(10.0)
};

pub(crate) const SITUATIONS: &[Situation] = &[
    Situation {
        name: "shaped device, cubic",
        client: "-t 3 -Z cubic",
        data: Way::shaped(20.0, 50.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        sample: true,
        ..TCP
    },
    Situation {
        name: "shaped device, bbr",
        client: "-t 3 -Z bbr",
        data: Way::shaped(20.0, 50.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "link, cubic",
        client: "-t 3 -Z cubic",
        data: Way::link(10.0, 50.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "link, bbr",
        client: "-t 3 -Z bbr",
        data: Way::link(10.0, 50.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "shallow queue, cubic",
        client: "-t 3 -Z cubic",
        data: Way::link(10.0, 6.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "shallow queue, bbr",
        client: "-t 3 -Z bbr",
        data: Way::link(10.0, 6.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "deep queue, cubic",
        client: "-t 4 -Z cubic",
        data: Way::shaped(5.0, 500.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "deep queue on the way, cubic",
        client: "-t 4 -Z cubic",
        data: Way::link(5.0, 500.0, 5.0),
        back: Way::far(5.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "deep queue, sender's buffer of 64K",
        client: "-t 4 -Z cubic",
        sender: "-w 64K",
        data: Way::shaped(5.0, 500.0),
        truth: only(&[Network]),
        runs: IPERF2S_FORWARD,
        sample: true,
        ..TCP
    },
    Situation {
        name: "deep queue, receiver's window of 64K",
        client: "-t 4 -Z cubic",
        receiver: "-w 64K",
        data: Way::shaped(5.0, 500.0),
        truth: only(&[Network]),
        runs: IPERF2S_FORWARD,
        ..TCP
    },
    Situation {
        name: "deep queue on the way, receiver's window of 64K",
        client: "-t 4 -Z cubic",
        receiver: "-w 64K",
        data: Way::link(5.0, 500.0, 5.0),
        back: Way::far(5.0),
        truth: only(&[Network]),
        runs: IPERF2S_FORWARD,
        ..TCP
    },
    Situation {
        name: "deep queue on the way, sender's buffer of 64K",
        client: "-t 4 -Z cubic",
        sender: "-w 64K",
        data: Way::link(5.0, 500.0, 5.0),
        back: Way::far(5.0),
        truth: only(&[Network]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "long path, sender's buffer of 32K",
        client: "-t 3 -Z cubic",
        sender: "-w 32K",
        data: Way::far(25.0),
        back: Way::far(25.0),
        truth: only(&[SendBuffer]),
        runs: IPERF2S_FORWARD,
        sample: true,
        ..TCP
    },
    Situation {
        name: "long path, receiver's window of 32K",
        client: "-t 3 -Z cubic",
        receiver: "-w 32K",
        data: Way::far(25.0),
        back: Way::far(25.0),
        truth: only(&[ReceiveWindow]),
        runs: IPERF2S_FORWARD,
        sample: true,
        ..TCP
    },
    Situation {
        name: "fast long link, sender's buffer of 64K, bbr",
        client: "-t 3 -Z bbr",
        sender: "-w 64K",
        data: Way::link(100.0, 20.0, 30.0),
        back: Way::far(30.0),
        truth: only(&[SendBuffer]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "fast long link, receiver's window of 64K, bbr",
        client: "-t 3 -Z bbr",
        receiver: "-w 64K",
        data: Way::link(100.0, 20.0, 30.0),
        back: Way::far(30.0),
        truth: only(&[ReceiveWindow]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "slow link, window that is hardly used",
        client: "-t 4 -Z cubic",
        receiver: "-w 256K",
        data: Way::link(2.0, 60.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        runs: IPERF2S_FORWARD,
        ..TCP
    },
    Situation {
        name: "slow link, buffer that is hardly used",
        client: "-t 4 -Z cubic",
        sender: "-w 256K",
        data: Way::link(2.0, 60.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        runs: IPERF2S_FORWARD,
        ..TCP
    },
    Situation {
        name: "random loss at 40 ms, cubic",
        client: "-t 4 -Z cubic",
        data: LOSSY,
        back: Way::far(20.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        sample: true,
        ..TCP
    },
    Situation {
        name: "random loss at 40 ms, bbr",
        client: "-t 4 -Z bbr",
        data: LOSSY,
        back: Way::far(20.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "policer, cubic",
        client: "-t 4 -Z cubic",
        data: POLICED,
        back: Way::far(10.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "policer, bbr",
        client: "-t 4 -Z bbr",
        data: POLICED,
        back: Way::far(10.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "acknowledgements congested, cubic",
        client: "-t 4 -Z cubic",
        data: Way::link(50.0, 40.0, 10.0),
        back: Way::link(0.2, 200.0, 10.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "acknowledgements congested, bbr",
        client: "-t 4 -Z bbr",
        data: Way::link(50.0, 40.0, 10.0),
        back: Way::link(0.2, 200.0, 10.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "bunches and jitter of a radio link, cubic",
        client: "-t 3 -Z cubic",
        data: RADIO,
        back: Way {
            aggregation: 4.0,
            jitter: 4.0,
            ..Way::far(5.0)
        },
        truth: only(&[Network]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "bunches and jitter of a radio link, bbr",
        client: "-t 3 -Z bbr",
        data: RADIO,
        back: Way {
            aggregation: 4.0,
            jitter: 4.0,
            ..Way::far(5.0)
        },
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "two tests that compete, cubic",
        client: "-t 4 -Z cubic",
        competitor: Some("-Z cubic"),
        data: Way::link(10.0, 60.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "two tests that compete, bbr against cubic",
        client: "-t 4 -Z bbr",
        competitor: Some("-Z cubic"),
        data: Way::link(10.0, 60.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "eight unequal streams, cubic",
        client: "-t 4 -Z cubic -P 8",
        data: Way::link(10.0, 15.0, 10.0),
        back: Way::far(10.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "eight streams, sender's buffers of 16K",
        client: "-t 3 -Z cubic -P 8",
        sender: "-w 16K",
        data: Way::far(30.0),
        back: Way::far(30.0),
        truth: only(&[SendBuffer]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "long path, small send buffers of the host",
        client: "-t 3 -Z cubic",
        send_memory: 65536,
        data: Way::link(100.0, 30.0, 25.0),
        back: Way::far(25.0),
        truth: only(&[SendBuffer]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "long path, small receive buffers of the host",
        client: "-t 3 -Z cubic",
        receive_memory: 65536,
        data: Way::link(100.0, 30.0, 25.0),
        back: Way::far(25.0),
        truth: only(&[ReceiveWindow]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "long path, small receive buffers of the host, bbr",
        client: "-t 3 -Z bbr",
        receive_memory: 65536,
        data: Way::link(100.0, 30.0, 25.0),
        back: Way::far(25.0),
        truth: only(&[ReceiveWindow]),
        ..TCP
    },
    Situation {
        name: "deep queue, small send buffers of the host",
        client: "-t 4 -Z cubic",
        send_memory: 131_072,
        data: Way::link(5.0, 500.0, 5.0),
        back: Way::far(5.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "deep queue, small receive buffers of the host",
        client: "-t 4 -Z cubic",
        receive_memory: 131_072,
        data: Way::link(5.0, 500.0, 5.0),
        back: Way::far(5.0),
        truth: only(&[Network]),
        runs: EVERYONE,
        ..TCP
    },
    Situation {
        name: "long path, small window clamped by the receiver",
        client: "-t 3 -Z cubic",
        receiver: "--tcp-rx-window-clamp 32K",
        data: Way::link(100.0, 30.0, 25.0),
        back: Way::far(25.0),
        truth: only(&[ReceiveWindow]),
        runs: OURS,
        ..TCP
    },
    Situation {
        name: "long path, small buffers at both ends of iperf3",
        client: "-t 3 -Z cubic -w 32K",
        data: Way::far(25.0),
        back: Way::far(25.0),
        truth: only(&[SendBuffer, ReceiveWindow]),
        runs: IPERF3S,
        ..TCP
    },
    Situation {
        name: "deep queue, small buffers at both ends of iperf3",
        client: "-t 4 -Z cubic -w 64K",
        data: Way::link(5.0, 500.0, 5.0),
        back: Way::far(5.0),
        truth: only(&[Network]),
        runs: IPERF3S,
        ..TCP
    },
    Situation {
        name: "slow start alone",
        client: "-n 1M -Z cubic",
        data: Way::link(100.0, 100.0, 75.0),
        back: Way::far(75.0),
        // Its shortness and the path's window are the same thing here.
        truth: only(&[Application, Network, Nothing]),
        ..TCP
    },
    Situation {
        name: "both ways, one slower, cubic",
        client: "-t 4 -Z cubic --full-duplex",
        data: Way::link(4.0, 60.0, 10.0),
        back: Way::link(20.0, 60.0, 10.0),
        truth: only(&[Network]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "no limit but the path's, 200 ms",
        client: "-t 4 -Z cubic",
        data: Way::link(4.0, 120.0, 100.0),
        back: Way::far(100.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "link as fast as the window allows",
        client: "-t 4 -Z cubic",
        receiver: "-w 64K",
        data: Way::link(10.0, 30.0, 20.0),
        back: Way::far(20.0),
        // 64 KiB at most in 40 ms and more are 13 Mbit/s and less.
        truth: Truth {
            right: &[ReceiveWindow, Network],
            borne: &[],
        },
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "cable, sender's buffer far too large",
        client: "-t 3 -Z cubic",
        sender: "-w 4M",
        data: Way::shaped(10.0, 100.0),
        back: CABLE,
        truth: only(&[Network]),
        runs: OURS_FORWARD,
        ..TCP
    },
    Situation {
        name: "four streams through a shaped device",
        client: "-t 3 -P 4",
        data: Way::shaped(16.0, 60.0),
        truth: only(&[Network]),
        runs: SERVERS,
        ..TCP
    },
    Situation {
        name: "little loss at 100 ms, bbr",
        client: "-t 4 -Z bbr",
        data: Way {
            loss: 0.1,
            ..Way::link(20.0, 60.0, 50.0)
        },
        back: Way::far(50.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "loss, and small receive buffers that are not filled",
        client: "-t 4 -Z cubic",
        receive_memory: 131_072,
        data: Way {
            loss: 3.0,
            ..Way::link(20.0, 40.0, 15.0)
        },
        back: Way::far(15.0),
        truth: only(&[Network]),
        ..TCP
    },
    Situation {
        name: "loss of acknowledgements",
        client: "-t 4 -Z cubic",
        data: Way::link(10.0, 60.0, 10.0),
        back: Way {
            loss: 10.0,
            ..Way::far(10.0)
        },
        truth: only(&[Network]),
        ..TCP
    },
];
