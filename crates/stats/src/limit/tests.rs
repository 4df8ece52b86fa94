use super::*;

const SECOND: u64 = 1_000_000;

/// A sender of one second of which the processor is known and idle.
fn sender() -> SenderEvidence {
    SenderEvidence {
        host: idle(),
        micros: SECOND,
        ..SenderEvidence::default()
    }
}

fn receiver() -> ReceiverEvidence {
    ReceiverEvidence {
        host: idle(),
        ..ReceiverEvidence::default()
    }
}

fn idle() -> HostEvidence {
    HostEvidence {
        busy: Some(0.1),
        waiting: Some(0.01),
        ..HostEvidence::default()
    }
}

fn busy() -> HostEvidence {
    HostEvidence {
        busy: Some(0.95),
        ..HostEvidence::default()
    }
}

fn throttled() -> HostEvidence {
    HostEvidence {
        throttled: Some(0.9),
        ..idle()
    }
}

/// A sender whose kernel tells these shares of the time, in per cent of a second.
fn stream(busy: u64, receive_window: u64, send_buffer: u64) -> SenderEvidence {
    SenderEvidence {
        stream: Some(StreamTimes {
            busy: busy * SECOND / 100,
            receive_window: receive_window * SECOND / 100,
            send_buffer: send_buffer * SECOND / 100,
        }),
        ..sender()
    }
}

fn target(asked: f64, reached: f64) -> Option<RateTarget> {
    Some(RateTarget { asked, reached })
}

/// A verdict is as expected, and one that blames something has a finding.
fn expect(name: &str, verdict: &Verdict, limited_by: Option<LimitedBy>, certainty: Certainty) {
    assert_eq!(
        (verdict.limited_by, verdict.certainty),
        (limited_by, certainty),
        "{name}: {:?}",
        verdict.findings
    );
    assert!(
        limited_by.is_none() || !verdict.findings.is_empty(),
        "{name}"
    );
}

#[test]
fn streams() {
    use Certainty::{High, Low, Medium};
    use LimitedBy::*;
    let unknown = ReceiverEvidence::default();
    let waiting = HostEvidence {
        busy: Some(0.1),
        waiting: Some(0.5),
        ..HostEvidence::default()
    };
    let starved = ReceiverEvidence {
        host: throttled(),
        ..receiver()
    };
    let table = [
        (
            "nothing is known",
            SenderEvidence::default(),
            unknown,
            None,
            Low,
        ),
        (
            "a rate that was reached",
            SenderEvidence {
                rate: target(100.0, 99.0),
                ..stream(100, 90, 0)
            },
            unknown,
            Some(Application),
            High,
        ),
        (
            "a rate that was not",
            SenderEvidence {
                rate: target(100.0, 50.0),
                retransmits: Some(9),
                ..stream(99, 0, 0)
            },
            unknown,
            Some(Network),
            High,
        ),
        (
            "slow input",
            SenderEvidence {
                input_awaited: Some(SECOND * 7 / 10),
                ..stream(90, 0, 0)
            },
            unknown,
            Some(Application),
            High,
        ),
        (
            "a narrow path",
            SenderEvidence {
                retransmits: Some(1),
                ..stream(98, 2, 5)
            },
            receiver(),
            Some(Network),
            High,
        ),
        (
            "no losses",
            SenderEvidence {
                retransmits: Some(0),
                ..stream(98, 2, 5)
            },
            receiver(),
            Some(Network),
            Medium,
        ),
        (
            "no losses, one end",
            stream(98, 2, 5),
            unknown,
            Some(Network),
            Low,
        ),
        (
            "a small window",
            stream(98, 90, 0),
            receiver(),
            Some(ReceiveWindow),
            High,
        ),
        (
            "a small window, sometimes",
            stream(98, 30, 10),
            receiver(),
            Some(ReceiveWindow),
            Medium,
        ),
        (
            "a window, whyever",
            stream(98, 90, 0),
            unknown,
            Some(ReceiveWindow),
            Medium,
        ),
        (
            "a window that is used up, read by a waiting thread",
            SenderEvidence {
                window_use: Some(0.8),
                ..stream(98, 90, 0)
            },
            ReceiverEvidence {
                host: waiting,
                ..receiver()
            },
            Some(ReceiveWindow),
            High,
        ),
        (
            "a window that opens slowly, read by a waiting thread",
            SenderEvidence {
                window_use: Some(0.1),
                ..stream(98, 90, 0)
            },
            ReceiverEvidence {
                host: waiting,
                ..receiver()
            },
            Some(ReceiverCpu),
            High,
        ),
        (
            "a window that opens slowly, whyever",
            SenderEvidence {
                window_use: Some(0.1),
                ..stream(98, 90, 0)
            },
            unknown,
            Some(ReceiveWindow),
            Low,
        ),
        (
            "losses before a reader that is never done",
            SenderEvidence {
                retransmits: Some(48),
                ..stream(98, 0, 3)
            },
            ReceiverEvidence {
                host: HostEvidence {
                    busy: Some(0.05),
                    waiting: Some(0.9),
                    ..HostEvidence::default()
                },
                ..receiver()
            },
            Some(ReceiverCpu),
            Medium,
        ),
        (
            "a buffer that is used up",
            SenderEvidence {
                buffer_use: Some(0.7),
                host: busy(),
                ..stream(98, 2, 10)
            },
            receiver(),
            Some(SendBuffer),
            High,
        ),
        (
            "a buffer that is full, of which the kernel's clock knows nothing",
            SenderEvidence {
                buffer_use: Some(1.1),
                ..stream(98, 0, 1)
            },
            receiver(),
            Some(SendBuffer),
            High,
        ),
        (
            "a buffer that is used, but not full",
            SenderEvidence {
                buffer_use: Some(0.6),
                ..stream(98, 0, 1)
            },
            receiver(),
            Some(Network),
            Medium,
        ),
        (
            "a starved receiver",
            stream(98, 90, 0),
            starved,
            Some(ReceiverCpu),
            High,
        ),
        (
            "a starved receiver that is not in the way",
            SenderEvidence {
                retransmits: Some(4),
                ..stream(98, 0, 0)
            },
            starved,
            Some(Network),
            High,
        ),
        (
            "a small buffer",
            stream(98, 0, 80),
            unknown,
            Some(SendBuffer),
            High,
        ),
        (
            "both, the buffer more",
            stream(98, 30, 60),
            starved,
            Some(SendBuffer),
            High,
        ),
        (
            "a busy sender",
            SenderEvidence {
                host: busy(),
                ..stream(98, 3, 3)
            },
            receiver(),
            Some(SenderCpu),
            High,
        ),
        (
            "a starved sender",
            SenderEvidence {
                host: throttled(),
                ..stream(20, 3, 3)
            },
            receiver(),
            Some(SenderCpu),
            High,
        ),
        (
            "busy ends, the receiver behind",
            SenderEvidence {
                host: busy(),
                ..stream(98, 60, 3)
            },
            ReceiverEvidence {
                host: busy(),
                ..receiver()
            },
            Some(ReceiverCpu),
            Medium,
        ),
        (
            "pauses",
            stream(30, 0, 0),
            receiver(),
            Some(Application),
            Medium,
        ),
        (
            "another system, busy sender",
            SenderEvidence {
                host: busy(),
                ..sender()
            },
            unknown,
            Some(SenderCpu),
            Medium,
        ),
        (
            "another system, busy ends",
            SenderEvidence {
                host: busy(),
                ..sender()
            },
            ReceiverEvidence {
                host: busy(),
                ..receiver()
            },
            Some(ReceiverCpu),
            Low,
        ),
        ("another system", sender(), receiver(), None, Low),
        (
            "late reports alone",
            SenderEvidence {
                host: HostEvidence {
                    late_reports: Some(2),
                    ..idle()
                },
                ..sender()
            },
            receiver(),
            Some(Reporter),
            Low,
        ),
    ];
    for (name, sender, receiver, limited_by, certainty) in table {
        expect(
            name,
            &judge_stream(&sender, &receiver),
            limited_by,
            certainty,
        );
    }
}

/// A receiver that knows of these losses: of all, its socket's, its host's.
fn losing(lost: u64, socket: u64, backlog: u64) -> ReceiverEvidence {
    ReceiverEvidence {
        lost: Some(lost),
        socket_drops: Some(socket),
        backlog_drops: Some(backlog),
        buffer_depth: Some(10_000),
        ..receiver()
    }
}

#[test]
fn datagrams() {
    use Certainty::{High, Low, Medium};
    use LimitedBy::*;
    let unknown = ReceiverEvidence::default();
    let sent = SenderEvidence {
        rate: target(100.0, 100.0),
        datagrams: Some(10_000),
        queue_drops: Some(0),
        ..sender()
    };
    let slow = SenderEvidence {
        rate: target(100.0, 60.0),
        ..sent
    };
    let host = throttled();
    let table = [
        (
            "nothing is known",
            SenderEvidence::default(),
            unknown,
            None,
            Low,
        ),
        ("all came", sent, losing(0, 0, 0), Some(Application), High),
        ("all left", sent, unknown, Some(Application), Medium),
        (
            "a few were lost",
            sent,
            losing(9, 0, 0),
            Some(Application),
            High,
        ),
        (
            "lost on the way",
            sent,
            losing(500, 20, 0),
            Some(Network),
            High,
        ),
        (
            "lost on the way, one end",
            SenderEvidence::default(),
            losing(500, 20, 0),
            Some(Network),
            Medium,
        ),
        (
            "lost somewhere",
            sent,
            ReceiverEvidence {
                socket_drops: None,
                ..losing(500, 0, 0)
            },
            Some(Network),
            Low,
        ),
        (
            "a small buffer",
            sent,
            losing(500, 480, 0),
            Some(ReceiveBuffer),
            High,
        ),
        (
            "drops before the socket",
            sent,
            losing(500, 0, 400),
            Some(ReceiveBuffer),
            High,
        ),
        (
            "a starved reader",
            sent,
            ReceiverEvidence {
                host,
                ..losing(500, 480, 0)
            },
            Some(ReceiverCpu),
            High,
        ),
        (
            "a busy reader",
            sent,
            ReceiverEvidence {
                host: busy(),
                ..losing(500, 480, 0)
            },
            Some(ReceiverCpu),
            High,
        ),
        (
            "no buffer at all",
            sent,
            ReceiverEvidence {
                host,
                buffer_depth: Some(300),
                ..losing(500, 480, 0)
            },
            Some(ReceiveBuffer),
            High,
        ),
        (
            "dropped before they left",
            SenderEvidence {
                queue_drops: Some(450),
                ..sent
            },
            losing(500, 0, 0),
            Some(Network),
            High,
        ),
        (
            "dropped in groups",
            SenderEvidence {
                queue_drops: Some(7),
                grouped: true,
                ..sent
            },
            losing(500, 0, 0),
            Some(Network),
            Medium,
        ),
        (
            "groups that a socket dropped",
            sent,
            ReceiverEvidence {
                joined: true,
                ..losing(500, 9, 0)
            },
            Some(ReceiveBuffer),
            Medium,
        ),
        (
            "groups that explain little",
            sent,
            ReceiverEvidence {
                joined: true,
                ..losing(50_000, 9, 0)
            },
            Some(Network),
            Low,
        ),
        ("too slow", slow, losing(0, 0, 0), Some(Pacing), Medium),
        (
            "too slow and busy",
            SenderEvidence {
                host: busy(),
                ..slow
            },
            losing(0, 0, 0),
            Some(SenderCpu),
            High,
        ),
        (
            "too slow and starved",
            SenderEvidence { host, ..slow },
            unknown,
            Some(SenderCpu),
            High,
        ),
        (
            "a device that takes no more",
            SenderEvidence {
                micros: 1_000_000,
                room_awaited: Some(400_000),
                ..slow
            },
            losing(0, 0, 0),
            Some(Network),
            Medium,
        ),
        (
            "a send that took long, once",
            SenderEvidence {
                micros: 1_000_000,
                room_awaited: Some(100_000),
                ..slow
            },
            losing(0, 0, 0),
            Some(Pacing),
            Medium,
        ),
        (
            "a full device",
            SenderEvidence {
                congested_sends: Some(7),
                ..slow
            },
            losing(0, 0, 0),
            Some(Network),
            Medium,
        ),
    ];
    for (name, sender, receiver, limited_by, certainty) in table {
        expect(
            name,
            &judge_datagrams(&sender, &receiver),
            limited_by,
            certainty,
        );
    }
}

#[test]
fn names_are_distinct_and_only_hosts_are_hosts() {
    let names: std::collections::BTreeSet<_> = LimitedBy::ALL.map(LimitedBy::id).into();
    assert_eq!(names.len(), LimitedBy::ALL.len());
    let hosts = LimitedBy::ALL.into_iter().filter(|limit| limit.is_host());
    assert_eq!(hosts.count(), 7);
}
