use super::*;

const SECOND: u64 = 1_000_000;

/// A sender of one second of which the processor is known and idle.
fn sender() -> SenderEvidence {
    SenderEvidence {
        host: idle(),
        micros: SECOND,
        longest: SECOND,
        writes: Some(10_000),
        segments: Some(10_000),
        ..SenderEvidence::default()
    }
}

fn receiver() -> ReceiverEvidence {
    ReceiverEvidence {
        host: idle(),
        longest: SECOND,
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

/// A sender whose kernel reports these shares of the time, in per cent of a second.
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

/// The same with round trips of these many milliseconds: without queues, and at the end.
fn path(busy: u64, window: u64, buffer: u64, trips: (u32, u32)) -> SenderEvidence {
    SenderEvidence {
        round_trips: Some(RoundTrips {
            smallest: trips.0 * 1000,
            smoothed: trips.1 * 1000,
        }),
        retransmits: Some(0),
        ..stream(busy, window, buffer)
    }
}

/// Segments that were sent again, and those of them that the receiver had already.
fn again(retransmits: u64, spurious: u64, sender: SenderEvidence) -> SenderEvidence {
    SenderEvidence {
        retransmits: Some(retransmits),
        spurious: Some(spurious),
        ..sender
    }
}

fn starved(busy: f64, waiting: f64) -> ReceiverEvidence {
    ReceiverEvidence {
        host: HostEvidence {
            busy: Some(busy),
            waiting: Some(waiting),
            ..HostEvidence::default()
        },
        ..receiver()
    }
}

/// What a case is called, what its ends know, and what is said.
type Case = (
    &'static str,
    SenderEvidence,
    ReceiverEvidence,
    Option<LimitedBy>,
    Certainty,
);

fn check(cases: &[Case], judge: fn(&SenderEvidence, &ReceiverEvidence) -> Verdict) {
    for (name, sender, receiver, limited_by, certainty) in cases {
        expect(name, &judge(sender, receiver), *limited_by, *certainty);
    }
}

#[test]
fn orders_that_were_kept_limit_a_stream() {
    use Certainty::{High, Low, Medium};
    use LimitedBy::*;
    let unknown = ReceiverEvidence::default();
    let paced = |reached| SenderEvidence {
        paced: target(100.0, reached),
        ..path(100, 0, 0, (20, 20))
    };
    let reading = |reached| ReceiverEvidence {
        rate: target(100.0, reached),
        ..receiver()
    };
    let cases = [
        (
            "a rate that was reached",
            SenderEvidence {
                rate: target(100.0, 99.0),
                ..stream(100, 90, 0)
            },
            unknown,
            Some(RequestedRate),
            High,
        ),
        (
            "a rate that was not",
            SenderEvidence {
                rate: target(100.0, 50.0),
                ..again(9, 0, path(99, 0, 0, (20, 60)))
            },
            receiver(),
            Some(Network),
            High,
        ),
        (
            "pacing by the system, headers included",
            paced(95.0),
            unknown,
            Some(RequestedRate),
            High,
        ),
        (
            "pacing that was not in force",
            paced(300.0),
            receiver(),
            Some(Network),
            Medium,
        ),
        (
            "pacing beyond what the path takes",
            paced(40.0),
            receiver(),
            Some(Network),
            Medium,
        ),
        (
            "reading at a rate",
            path(98, 95, 0, (1, 1)),
            reading(99.0),
            Some(RequestedRate),
            High,
        ),
        (
            "reading that had nothing to read",
            path(98, 0, 0, (20, 60)),
            reading(20.0),
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
            Some(Input),
            High,
        ),
        (
            "pauses",
            stream(30, 0, 0),
            receiver(),
            Some(Application),
            Medium,
        ),
        (
            "pauses of a sender that waits for a processor",
            SenderEvidence {
                host: HostEvidence {
                    busy: Some(0.0),
                    waiting: Some(0.6),
                    ..HostEvidence::default()
                },
                ..stream(1, 0, 0)
            },
            receiver(),
            Some(SenderCpu),
            Medium,
        ),
        (
            "pauses of a sender that may be starved",
            SenderEvidence {
                host: HostEvidence::default(),
                ..stream(30, 0, 0)
            },
            receiver(),
            Some(Application),
            Low,
        ),
    ];
    check(&cases, judge_stream);
}

#[test]
fn paths_limit_a_stream() {
    use Certainty::{High, Low, Medium};
    use LimitedBy::*;
    let unknown = ReceiverEvidence::default();
    // As an iperf3 server reports it: a starved process uses little, too.
    let evidence = ReceiverEvidence {
        host: HostEvidence {
            busy: Some(0.05),
            ..HostEvidence::default()
        },
        ..receiver()
    };
    let window = |used, sender| SenderEvidence {
        window_use: Some(used),
        ..sender
    };
    let cases = [
        (
            "a queue",
            path(98, 2, 5, (20, 80)),
            receiver(),
            Some(Network),
            High,
        ),
        (
            "losses without a queue",
            again(40, 0, path(98, 2, 5, (20, 21))),
            receiver(),
            Some(Network),
            High,
        ),
        (
            "neither",
            path(98, 2, 5, (20, 21)),
            receiver(),
            Some(Network),
            Medium,
        ),
        (
            "one segment sent again",
            again(1, 0, path(98, 2, 5, (20, 21))),
            receiver(),
            Some(Network),
            Medium,
        ),
        (
            "segments that had come already",
            again(40, 39, path(98, 2, 5, (20, 21))),
            receiver(),
            Some(Network),
            Medium,
        ),
        (
            "writes that the path does not wait for",
            SenderEvidence {
                app_limited: Some(true),
                ..path(98, 0, 0, (20, 21))
            },
            receiver(),
            Some(Application),
            Low,
        ),
        (
            "a window still opening",
            path(98, 0, 0, (100, 100)),
            receiver(),
            Some(Network),
            Low,
        ),
        (
            "losses, and a receiver of which nothing is known",
            again(40, 0, path(98, 2, 5, (20, 21))),
            unknown,
            Some(Network),
            Low,
        ),
        (
            "losses, and a receiver that may wait for a processor",
            again(40, 0, path(98, 2, 5, (20, 21))),
            evidence,
            Some(Network),
            Low,
        ),
        (
            "a queue, and a receiver of which nothing is known",
            path(98, 0, 5, (20, 80)),
            unknown,
            Some(Network),
            Medium,
        ),
        (
            "the same at a rate that a receiver may not keep up with",
            SenderEvidence {
                throughput: Some(2.2e9),
                ..path(98, 0, 5, (20, 80))
            },
            unknown,
            Some(Network),
            Low,
        ),
        (
            "a window that closes now and then, too",
            path(98, 9, 5, (20, 80)),
            unknown,
            Some(Network),
            Low,
        ),
        (
            "round trips of late threads",
            SenderEvidence {
                host: HostEvidence {
                    busy: Some(0.5),
                    waiting: Some(0.2),
                    ..HostEvidence::default()
                },
                ..path(98, 2, 5, (1, 3))
            },
            receiver(),
            Some(Network),
            Low,
        ),
        (
            "a small window full of the path's queue",
            window(0.01, path(98, 95, 0, (1, 100))),
            receiver(),
            Some(Network),
            High,
        ),
        (
            "a small buffer full of the path's queue",
            SenderEvidence {
                buffer_use: Some(0.01),
                ..path(98, 0, 90, (1, 100))
            },
            receiver(),
            Some(Network),
            High,
        ),
    ];
    check(&cases, judge_stream);
}

#[test]
fn windows_and_buffers_limit_a_stream() {
    use Certainty::{High, Low, Medium};
    use LimitedBy::*;
    let unknown = ReceiverEvidence::default();
    let window = |used, busy, full| SenderEvidence {
        window_use: Some(used),
        ..path(busy, full, 0, (20, 21))
    };
    let buffer = |used, full, trips| SenderEvidence {
        buffer_use: Some(used),
        ..path(98, 2, full, trips)
    };
    let cases = [
        (
            "a window that is used up",
            window(0.8, 98, 90),
            receiver(),
            Some(ReceiveWindow),
            High,
        ),
        (
            "the same, now and then",
            window(0.8, 98, 30),
            unknown,
            Some(ReceiveWindow),
            Medium,
        ),
        (
            "a window that is used up, read by a waiting thread",
            window(0.8, 98, 90),
            starved(0.1, 0.5),
            Some(ReceiveWindow),
            High,
        ),
        (
            "a window of which the path's use is not known",
            stream(98, 90, 0),
            receiver(),
            Some(ReceiveWindow),
            Medium,
        ),
        (
            "the same, and nothing of its reader",
            stream(98, 90, 0),
            unknown,
            Some(ReceiveWindow),
            Low,
        ),
        (
            "a window that opens slowly, whyever",
            window(0.1, 98, 90),
            unknown,
            Some(ReceiveWindow),
            Low,
        ),
        (
            "a window that is hardly used, of a free reader",
            window(0.0, 98, 90),
            receiver(),
            Some(Network),
            Low,
        ),
        (
            "a buffer that is used up",
            buffer(0.7, 10, (20, 21)),
            receiver(),
            Some(SendBuffer),
            High,
        ),
        (
            "a buffer that is used up beside a short queue",
            buffer(0.7, 10, (20, 35)),
            receiver(),
            Some(SendBuffer),
            Medium,
        ),
        (
            "a buffer that is full, of which the kernel's clock knows nothing",
            buffer(1.1, 1, (20, 21)),
            unknown,
            Some(SendBuffer),
            High,
        ),
        (
            "a buffer that is used, but not full",
            buffer(0.6, 1, (20, 21)),
            receiver(),
            Some(Network),
            Medium,
        ),
        (
            "a small buffer, by the kernel's clock alone",
            stream(98, 0, 80),
            unknown,
            Some(SendBuffer),
            High,
        ),
        (
            "both, the buffer more",
            stream(98, 30, 60),
            receiver(),
            Some(SendBuffer),
            High,
        ),
    ];
    check(&cases, judge_stream);
}

#[test]
fn processors_limit_a_stream() {
    use Certainty::{High, Low, Medium};
    use LimitedBy::*;
    let unknown = ReceiverEvidence::default();
    let slow = |host, sender| SenderEvidence { host, ..sender };
    let full = SenderEvidence {
        window_use: Some(0.1),
        ..path(98, 90, 0, (1, 1))
    };
    let throttled_receiver = ReceiverEvidence {
        host: throttled(),
        ..receiver()
    };
    let busy_receiver = ReceiverEvidence {
        host: busy(),
        ..receiver()
    };
    let cases = [
        ("nothing", SenderEvidence::default(), unknown, None, Low),
        (
            "a window that opens slowly, read by a waiting thread",
            full,
            starved(0.1, 0.5),
            Some(ReceiverCpu),
            High,
        ),
        (
            "losses before a reader that is never done",
            again(48, 0, path(98, 0, 3, (1, 1))),
            starved(0.5, 0.45),
            Some(ReceiverCpu),
            Medium,
        ),
        (
            "losses before a reader that waits, and reads all in time",
            again(48, 0, path(98, 0, 3, (1, 1))),
            starved(0.2, 0.75),
            Some(Network),
            Low,
        ),
        (
            "a send buffer that fills before a starved reader",
            SenderEvidence {
                buffer_use: Some(0.9),
                ..path(98, 10, 80, (1, 1))
            },
            starved(0.03, 0.95),
            Some(ReceiverCpu),
            Medium,
        ),
        (
            "a throttled receiver",
            stream(98, 90, 0),
            throttled_receiver,
            Some(ReceiverCpu),
            High,
        ),
        (
            "a busy sender",
            slow(busy(), path(98, 3, 3, (1, 1))),
            receiver(),
            Some(SenderCpu),
            High,
        ),
        (
            "a throttled sender",
            slow(throttled(), stream(20, 3, 3)),
            receiver(),
            Some(SenderCpu),
            High,
        ),
        (
            "a busy sender before a window that nobody uses",
            slow(busy(), full),
            receiver(),
            Some(SenderCpu),
            Medium,
        ),
        (
            "the same, and a reader that waits",
            slow(busy(), full),
            starved(0.1, 0.6),
            Some(ReceiverCpu),
            Medium,
        ),
        (
            "busy ends, the receiver behind",
            slow(busy(), full),
            busy_receiver,
            Some(ReceiverCpu),
            Medium,
        ),
        (
            "busy ends",
            slow(busy(), stream(98, 3, 3)),
            busy_receiver,
            Some(SenderCpu),
            Low,
        ),
        (
            "another system, busy sender",
            slow(busy(), sender()),
            unknown,
            Some(SenderCpu),
            Medium,
        ),
        (
            "another system, busy ends",
            slow(busy(), sender()),
            busy_receiver,
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
            Some(Measurement),
            Low,
        ),
    ];
    check(&cases, judge_stream);
}

#[test]
fn nothing_is_said_of_what_was_too_short_or_refused() {
    let rate = target(10e6, 1218e6);
    let evidence = SenderEvidence {
        rate,
        datagrams: Some(1000),
        refused: Some(0),
        ..sender()
    };
    let long = receiver();
    let short = ReceiverEvidence {
        longest: SECOND * 4 / 10,
        ..receiver()
    };
    let cases = [
        (
            SenderEvidence {
                longest: SECOND * 4 / 10,
                ..evidence
            },
            short,
            Finding::TooShort(0.4),
        ),
        (
            SenderEvidence {
                writes: Some(1),
                segments: Some(70),
                ..evidence
            },
            long,
            Finding::TooFew(1),
        ),
        (
            SenderEvidence {
                refused: Some(45),
                ..evidence
            },
            long,
            Finding::Refused(45),
        ),
    ];
    for (sender, receiver, finding) in cases {
        for judge in [judge_stream, judge_datagrams] {
            let verdict = judge(&sender, &receiver);
            assert_eq!(
                (verdict.limited_by, &verdict.findings[..]),
                (None, &[finding][..])
            );
        }
    }
    // Long blocks on a slow path are few, and no burst.
    let blocks = SenderEvidence {
        writes: Some(3),
        segments: Some(2000),
        ..path(98, 0, 0, (20, 80))
    };
    let verdict = judge_stream(&blocks, &receiver());
    assert_eq!(verdict.limited_by, Some(LimitedBy::Network));
    // A server that died in mid-test has reported what it received before.
    let reported = losing(0, 0, 0);
    let refused = SenderEvidence {
        refused: Some(45),
        ..evidence
    };
    assert!(
        judge_datagrams(&refused, &reported).limited_by.is_some(),
        "a report counts"
    );
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
        ("all came", sent, losing(0, 0, 0), Some(RequestedRate), High),
        ("all left", sent, unknown, Some(RequestedRate), Low),
        (
            "a receiver that got no end, and little else",
            sent,
            ReceiverEvidence {
                expected: Some(800),
                ..losing(0, 9_150, 0)
            },
            Some(ReceiveBuffer),
            High,
        ),
        (
            "an end that was not counted",
            sent,
            ReceiverEvidence {
                expected: Some(9_995),
                ..losing(0, 0, 0)
            },
            Some(RequestedRate),
            High,
        ),
        (
            "a few were lost",
            sent,
            losing(9, 0, 0),
            Some(RequestedRate),
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
            "frames on schedule",
            SenderEvidence {
                rate: None,
                schedule: Some(FrameSchedule {
                    sent: 60,
                    missed: 0,
                }),
                ..sent
            },
            losing(0, 0, 0),
            Some(RequestedRate),
            High,
        ),
        (
            "frames that missed their period",
            SenderEvidence {
                rate: None,
                schedule: Some(FrameSchedule {
                    sent: 50,
                    missed: 10,
                }),
                ..sent
            },
            losing(0, 0, 0),
            Some(Pacing),
            Medium,
        ),
        (
            "too slow, and often without a processor",
            SenderEvidence {
                host: HostEvidence {
                    waiting: Some(0.3),
                    ..idle()
                },
                ..slow
            },
            losing(0, 0, 0),
            Some(SenderCpu),
            Medium,
        ),
        (
            "too slow on a host whose hypervisor takes much",
            SenderEvidence {
                host: HostEvidence {
                    stolen: Some(0.4),
                    ..idle()
                },
                ..slow
            },
            losing(0, 0, 0),
            Some(Pacing),
            Low,
        ),
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
            "a queue that is awaited without a processor",
            SenderEvidence {
                host: HostEvidence {
                    waiting: Some(0.7),
                    ..idle()
                },
                room_awaited: Some(730_000),
                ..slow
            },
            losing(0, 0, 0),
            Some(SenderCpu),
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
    check(&table, judge_datagrams);
}

#[test]
fn names_are_distinct_and_only_hosts_are_hosts() {
    let names: std::collections::BTreeSet<_> = LimitedBy::ALL.map(LimitedBy::id).into();
    assert_eq!(names.len(), LimitedBy::ALL.len());
    let hosts = LimitedBy::ALL.into_iter().filter(|limit| limit.is_host());
    assert_eq!(hosts.count(), 7);
}

#[test]
fn a_receiver_that_waited_for_its_processor_says_so_first() {
    let verdict = judge_stream(&stream(100, 40, 0), &starved(0.3, 0.62));
    assert_eq!(
        verdict.limited_by,
        Some(LimitedBy::ReceiverCpu),
        "{verdict:?}"
    );
    let first = verdict.findings.first();
    assert_eq!(
        first,
        Some(&Finding::ProcessorAwaited(End::Receiver, 0.62)),
        "{verdict:?}"
    );
}
