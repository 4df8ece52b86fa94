//! How far a result is to be trusted, and why.

use std::time::Duration;

use serde::Serialize;
use tapeline_base::counted;
use tapeline_stats::{Certainty, LimitedBy, Verdict};

/// How far, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TrustLevel {
    /// The number is that of the network, or of what was requested.
    Good,
    /// A host or its settings limited the test: the network may be faster.
    HostLimited,
    /// Something is missing; the rest holds.
    Partial,
    /// The number says little.
    Poor,
}

impl TrustLevel {
    /// Its word in text and documents.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::HostLimited => "host-limited",
            Self::Partial => "partial",
            Self::Poor => "poor",
        }
    }
}

/// One reason for a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustReason {
    /// A phrase that stands alone.
    pub text: String,
    /// The name of the warning that says more, as `tapeline explain` knows it.
    pub warning_id: Option<&'static str>,
}

impl TrustReason {
    fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            warning_id: None,
        }
    }

    fn warned(warning_id: &'static str, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            warning_id: Some(warning_id),
        }
    }
}

/// How far a result is to be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// How far.
    pub level: TrustLevel,
    /// Why, the weightiest reason first; at least one.
    pub reasons: Vec<TrustReason>,
}

/// Whose program is at the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeerKind {
    /// It has shown that it is tapeline.
    Tapeline,
    /// Nothing but iperf 2's protocol was observed.
    #[default]
    Iperf2,
    /// It speaks iperf3's protocol.
    Iperf3,
}

impl PeerKind {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tapeline => "tapeline",
            Self::Iperf2 => "iperf 2",
            Self::Iperf3 => "iperf3",
        }
    }
}

/// Who counted the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountedBy {
    /// Sender and receiver.
    #[default]
    BothEnds,
    /// The receiver; the sender's count is unknown.
    Receiver,
    /// The sender, over TCP, which loses nothing: what the receiver got is unknown.
    Sender,
    /// The sender, of datagrams that may be lost: nobody knows what arrived.
    Nobody,
    /// Requests and answers, timed by one clock.
    OneClock,
}

/// What is known of a test's own number when it is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrustFacts {
    /// How long traffic flowed.
    pub duration: Duration,
    /// Fewer writes or datagrams than a result needs: how many.
    pub too_few: Option<u64>,
    /// Who counted the data.
    pub counted_by: CountedBy,
    /// This end is the server, and its peer the client.
    pub is_server: bool,
    /// Program at the other end.
    pub peer: PeerKind,
    /// Streams of which the other end reported its count.
    pub peer_streams: usize,
    /// The CPU and the buffers of the other end are known.
    pub peer_visible: bool,
    /// Both ends are on this machine.
    pub same_machine: bool,
    /// How far a clock was set while the test ran, nanoseconds.
    pub clock_jump: Option<i64>,
    /// Interval rows that the output lost.
    pub rows_dropped: u64,
    /// The test was interrupted.
    pub interrupted: bool,
    /// How long it was to last, where a time was its end.
    pub requested: Option<Duration>,
    /// Streams that failed.
    pub failed_streams: usize,
    /// All streams.
    pub streams: usize,
    /// What limited it: one for each direction, the one that limits most first; none of a test too short to judge.
    pub limits: Vec<(Option<LimitedBy>, Certainty)>,
    /// It was of datagrams.
    pub datagrams: bool,
    /// Datagrams lost in either host, where that is known.
    pub lost_in_hosts: Option<u64>,
}

impl Trust {
    /// The verdict on a result; the first level that has a reason is its level.
    #[must_use]
    pub fn new(facts: &TrustFacts) -> Self {
        let levels = [
            (TrustLevel::Poor, poor(facts)),
            (TrustLevel::Partial, partial(facts)),
            (TrustLevel::HostLimited, host_limited(facts)),
        ];
        let found = levels.into_iter().find(|(_, reasons)| !reasons.is_empty());
        let (level, reasons) = found.unwrap_or_else(|| (TrustLevel::Good, good(facts)));
        Self { level, reasons }
    }
}

fn poor(facts: &TrustFacts) -> Vec<TrustReason> {
    let mut reasons = Vec::new();
    if facts.counted_by == CountedBy::Nobody {
        let text = format!("no report from the {}", peer_role(facts));
        reasons.push(TrustReason::warned("no-receiver-report", text));
    }
    if let Some(by) = facts.clock_jump {
        let text = format!("a clock jumped by {:+.1} s", by as f64 / 1e9);
        reasons.push(TrustReason::warned("clock-jumped", text));
    }
    if facts.duration < Verdict::LEAST_TIME {
        let seconds = facts.duration.as_secs_f64();
        let decimals = if seconds < 0.1 { 3 } else { 2 };
        let text = match facts.interrupted {
            true => format!("interrupted after {seconds:.decimals$} s, which is too short"),
            false => format!("{seconds:.decimals$} s of traffic is too short"),
        };
        reasons.push(TrustReason::new(text));
    } else if let Some(writes) = facts.too_few {
        let verb = if writes == 1 { "is" } else { "are" };
        let noun = match facts.counted_by {
            CountedBy::OneClock => "request",
            _ => "write",
        };
        let text = format!("{} {verb} too few", counted(writes, noun));
        reasons.push(TrustReason::new(text));
    }
    if facts.rows_dropped > 0 {
        let text = format!("{} dropped", counted(facts.rows_dropped, "interval row"));
        reasons.push(TrustReason::warned("intervals-dropped", text));
    }
    reasons
}

fn partial(facts: &TrustFacts) -> Vec<TrustReason> {
    let mut reasons = Vec::new();
    if facts.interrupted {
        let after = facts.duration.as_secs_f64();
        let of = facts.requested.map(|whole| whole.as_secs_f64());
        let of = of.map_or(String::new(), |whole| format!(" of {whole}"));
        reasons.push(TrustReason::new(format!(
            "interrupted after {after:.1}{of} s"
        )));
        reasons.push(TrustReason::new("valid up to then"));
        return reasons;
    }
    if facts.failed_streams > 0 {
        let text = match facts.streams {
            1 => "the stream failed before its end".to_owned(),
            all => format!("{} of {all} streams failed", facts.failed_streams),
        };
        reasons.push(TrustReason::new(text));
    }
    if facts.counted_by == CountedBy::Sender {
        reasons.push(TrustReason::new(match facts.peer {
            PeerKind::Iperf2 => "iperf 2 does not report what it received over TCP".to_owned(),
            _ if facts.peer_streams > 0 => format!(
                "the {} reported {} of {} streams",
                peer_role(facts),
                facts.peer_streams,
                facts.streams
            ),
            PeerKind::Iperf3 | PeerKind::Tapeline => {
                format!("no results came from the {}", peer_role(facts))
            }
        }));
    } else if !facts.peer_visible && !explained(facts) {
        let text = format!(
            "the {}'s CPU and buffers are unknown ({})",
            peer_role(facts),
            facts.peer.name()
        );
        reasons.push(TrustReason::new(text));
    }
    reasons
}

/// What the other end is.
const fn peer_role(facts: &TrustFacts) -> &'static str {
    if facts.is_server { "client" } else { "server" }
}

/// Whether what limited the test is known although the other end's host is not.
fn explained(facts: &TrustFacts) -> bool {
    let explains = |(limit, certainty): &(Option<LimitedBy>, Certainty)| {
        limit.is_some() && *certainty >= Certainty::Medium
    };
    facts.counted_by == CountedBy::OneClock
        || !facts.limits.is_empty() && facts.limits.iter().all(explains)
}

fn host_limited(facts: &TrustFacts) -> Vec<TrustReason> {
    if facts.same_machine {
        return vec![TrustReason::new("both ends are this machine")];
    }
    let limits = facts.limits.iter().filter_map(|(limit, _)| *limit);
    let Some(remedy) = limits.into_iter().find_map(remedy) else {
        return Vec::new();
    };
    ["the network may be faster", remedy]
        .map(TrustReason::new)
        .into()
}

/// What to try where a host is the limit; `None` where none is.
const fn remedy(limit: LimitedBy) -> Option<&'static str> {
    match limit {
        LimitedBy::SenderCpu => Some("try -P 2 or a larger -l"),
        LimitedBy::ReceiverCpu => Some("try -P 2 or a faster receiver"),
        LimitedBy::SendBuffer => Some("try a larger -w"),
        LimitedBy::ReceiveWindow | LimitedBy::ReceiveBuffer => {
            Some("try a larger -w at the receiver")
        }
        LimitedBy::Pacing => Some("try a larger -l"),
        LimitedBy::Measurement => Some("try a longer -i"),
        LimitedBy::Network
        | LimitedBy::RequestedRate
        | LimitedBy::Input
        | LimitedBy::Application => None,
    }
}

fn good(facts: &TrustFacts) -> Vec<TrustReason> {
    let counted = match facts.counted_by {
        CountedBy::BothEnds => "both ends counted",
        CountedBy::OneClock => "one clock measured both ways",
        CountedBy::Receiver | CountedBy::Sender | CountedBy::Nobody => "the receiver counted",
    };
    let mut reasons = vec![TrustReason::new(counted)];
    let hosts = match (facts.datagrams, facts.lost_in_hosts) {
        _ if !facts.peer_visible => None,
        (false, _) => Some("neither host was the bottleneck"),
        (true, Some(0)) => Some("no datagram was lost in either host"),
        (true, _) => None,
    };
    reasons.extend(hosts.map(TrustReason::new));
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> TrustFacts {
        TrustFacts {
            duration: Duration::from_secs(5),
            peer: PeerKind::Tapeline,
            peer_visible: true,
            streams: 4,
            limits: vec![(Some(LimitedBy::Network), Certainty::High)],
            ..TrustFacts::default()
        }
    }

    fn limited(limit: LimitedBy) -> TrustFacts {
        TrustFacts {
            limits: vec![(Some(limit), Certainty::High)],
            ..facts()
        }
    }

    /// As the result block shows it.
    fn said(facts: &TrustFacts) -> String {
        let trust = Trust::new(facts);
        let reasons = trust.reasons.iter().map(|reason| match reason.warning_id {
            Some(id) => format!("{} [{id}]", reason.text),
            None => reason.text.clone(),
        });
        let reasons: Vec<String> = reasons.collect();
        format!("{}: {}", trust.level.word(), reasons.join("; "))
    }

    #[test]
    fn the_first_level_that_has_a_reason_is_the_level() {
        let unseen = TrustFacts {
            peer: PeerKind::Iperf3,
            peer_visible: false,
            ..facts()
        };
        let cases = [
            (
                facts(),
                "good: both ends counted; neither host was the bottleneck",
            ),
            (
                TrustFacts {
                    datagrams: true,
                    lost_in_hosts: Some(0),
                    ..limited(LimitedBy::RequestedRate)
                },
                "good: both ends counted; no datagram was lost in either host",
            ),
            (
                TrustFacts {
                    datagrams: true,
                    lost_in_hosts: Some(3),
                    ..facts()
                },
                "good: both ends counted",
            ),
            (unseen.clone(), "good: both ends counted"),
            (
                TrustFacts {
                    counted_by: CountedBy::Receiver,
                    peer: PeerKind::Iperf2,
                    ..unseen.clone()
                },
                "good: the receiver counted",
            ),
            (
                TrustFacts {
                    counted_by: CountedBy::OneClock,
                    limits: Vec::new(),
                    ..unseen.clone()
                },
                "good: one clock measured both ways",
            ),
            (
                limited(LimitedBy::SenderCpu),
                "host-limited: the network may be faster; try -P 2 or a larger -l",
            ),
            (
                limited(LimitedBy::SendBuffer),
                "host-limited: the network may be faster; try a larger -w",
            ),
            (
                TrustFacts {
                    limits: vec![
                        (Some(LimitedBy::Network), Certainty::High),
                        (Some(LimitedBy::ReceiveWindow), Certainty::Low),
                    ],
                    ..facts()
                },
                "host-limited: the network may be faster; try a larger -w at the receiver",
            ),
            (
                TrustFacts {
                    same_machine: true,
                    ..facts()
                },
                "host-limited: both ends are this machine",
            ),
            (
                TrustFacts {
                    limits: vec![(None, Certainty::Low)],
                    ..unseen.clone()
                },
                "partial: the server's CPU and buffers are unknown (iperf3)",
            ),
            (
                TrustFacts {
                    limits: vec![(Some(LimitedBy::Network), Certainty::Low)],
                    ..unseen.clone()
                },
                "partial: the server's CPU and buffers are unknown (iperf3)",
            ),
            (
                TrustFacts {
                    is_server: true,
                    limits: vec![(None, Certainty::Low)],
                    ..unseen.clone()
                },
                "partial: the client's CPU and buffers are unknown (iperf3)",
            ),
            (
                TrustFacts {
                    counted_by: CountedBy::Sender,
                    peer: PeerKind::Iperf2,
                    ..unseen
                },
                "partial: iperf 2 does not report what it received over TCP",
            ),
            (
                TrustFacts {
                    counted_by: CountedBy::Sender,
                    ..limited(LimitedBy::SenderCpu)
                },
                "partial: no results came from the server",
            ),
            (
                TrustFacts {
                    failed_streams: 1,
                    ..facts()
                },
                "partial: 1 of 4 streams failed",
            ),
            (
                TrustFacts {
                    duration: Duration::from_millis(2410),
                    interrupted: true,
                    requested: Some(Duration::from_secs(10)),
                    same_machine: true,
                    ..facts()
                },
                "partial: interrupted after 2.4 of 10 s; valid up to then",
            ),
            (
                TrustFacts {
                    interrupted: true,
                    counted_by: CountedBy::Nobody,
                    ..facts()
                },
                "poor: no report from the server [no-receiver-report]",
            ),
            (
                TrustFacts {
                    clock_jump: Some(-3_600_000_000_000),
                    same_machine: true,
                    ..facts()
                },
                "poor: a clock jumped by -3600.0 s [clock-jumped]",
            ),
            (
                TrustFacts {
                    duration: Duration::from_millis(204),
                    too_few: Some(1),
                    ..facts()
                },
                "poor: 0.20 s of traffic is too short",
            ),
            (
                TrustFacts {
                    duration: Duration::from_millis(304),
                    interrupted: true,
                    ..facts()
                },
                "poor: interrupted after 0.30 s, which is too short",
            ),
            (
                TrustFacts {
                    too_few: Some(9),
                    ..facts()
                },
                "poor: 9 writes are too few",
            ),
            (
                TrustFacts {
                    rows_dropped: 12,
                    ..facts()
                },
                "poor: 12 interval rows dropped [intervals-dropped]",
            ),
        ];
        for (facts, expected) in cases {
            assert_eq!(said(&facts), expected, "{facts:?}");
        }
    }

    #[test]
    fn levels_are_ordered_from_the_best_to_the_worst() {
        use TrustLevel::{Good, HostLimited, Partial, Poor};
        assert!(Good < HostLimited && HostLimited < Partial && Partial < Poor);
    }
}
