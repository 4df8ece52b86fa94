//! What the peer says, and what its clock is worth: lines at the end of a test.

use tapeline_base::{BitRate, FormatLetter};
use tapeline_stats::{BufferbloatGrade, DelayCounts, PUBLISHED_PERCENTILES};

use super::number::decimals;
use super::summary::pattern_phrases;
use super::text_parts::{Headline, millis, rate, size};
use crate::model::{
    ClockEstimate, DelayClock, LoadedLatency, LossPattern, Measure, NoPeerResults, OneWayDelay,
    PeerFlow, PeerProgress, PeerResults,
};

/// What both ends counted, from the other's side: a line for what it sent, one for what it received.
pub(crate) fn headlines(end: &PeerResults, format: FormatLetter) -> Vec<Headline> {
    let mut list: Vec<Headline> = [false, true]
        .into_iter()
        .filter_map(|sends| direction(&end.flows, sends, format))
        .collect();
    if let Some((_, _, details)) = list.last_mut() {
        details.extend(end.cpu.map(|cpu| format!("{:.0} % CPU", cpu.total)));
        let program = end.program.as_ref();
        details.extend(program.map(|known| format!("{} {}", known.program, known.version)));
    }
    list
}

/// Running counters of the peer, as far as they were shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SoFar {
    shown: PeerProgress,
    /// An interval of this end was reported since.
    due: bool,
}

impl SoFar {
    /// An interval of this end was reported: the peer's numbers may follow it.
    pub(crate) fn interval_ended(&mut self) {
        self.due = true;
    }

    /// `far end  9.38 Gbit/s  1.17 GB in 1.00 s  31 % CPU`: the rate since the line before. Nothing
    /// where no interval was reported in between, or nothing has moved.
    pub(crate) fn line(&mut self, now: &PeerProgress, format: FormatLetter) -> Option<String> {
        let before = self.shown;
        let time = now.elapsed.checked_sub(before.elapsed)?;
        let bytes = now.bytes.checked_sub(before.bytes)?;
        if !std::mem::take(&mut self.due) || bytes == 0 || time.is_zero() {
            return None;
        }
        self.shown = *now;
        let mut parts = vec![
            format!("far end  {}", rate(BitRate::over(bytes, time), format)),
            format!("{} in {:.2} s", size(now.bytes), now.elapsed.as_secs_f64()),
        ];
        parts.extend(now.cpu_percent.map(|cpu| format!("{cpu:.0} % CPU")));
        Some(parts.join("  "))
    }
}

fn direction(flows: &[PeerFlow], sends: bool, format: FormatLetter) -> Option<Headline> {
    let other_sends = |flow: &&PeerFlow| flow.total.measure.sends() == sends;
    let flows: Vec<&PeerFlow> = flows.iter().filter(other_sends).collect();
    let longest = flows.iter().map(|flow| flow.total.span.length()).max()?;
    let bytes = flows
        .iter()
        .fold(0_u64, |sum, flow| sum.saturating_add(flow.total.bytes));
    let verb = if sends { "sent" } else { "received" };
    let mut details = vec![
        format!("{verb} there"),
        format!("{} in {:.2} s", size(bytes), longest.as_secs_f64()),
    ];
    if flows.len() > 1 {
        details.push(format!("{} flows", flows.len()));
    }
    let retransmits = flows.iter().filter_map(|flow| flow.limits.retransmits);
    if let Some(sum) = retransmits.reduce(u64::saturating_add) {
        details.push(format!("{sum} retransmissions"));
    }
    let patterns = flows.iter().filter_map(|flow| match &flow.total.measure {
        Measure::UdpReceive(receive) => receive.pattern,
        _ => None,
    });
    let pattern = patterns.reduce(LossPattern::with);
    details.extend(pattern.iter().flat_map(pattern_phrases));
    let drops = flows.iter().filter_map(|flow| flow.limits.socket_drops);
    if let Some(sum) = drops.reduce(u64::saturating_add).filter(|sum| *sum > 0) {
        details.push(format!("{sum} dropped by its socket"));
    }
    Some((
        "far end",
        rate(BitRate::over(bytes, longest), format),
        details,
    ))
}

/// How the clocks differ.
pub(crate) fn clocks(clock: &ClockEstimate) -> Headline {
    let ahead = if clock.offset < 0.0 {
        "behind"
    } else {
        "ahead"
    };
    let details = vec![
        format!("the far end's clock is {ahead}"),
        format!("± {} if the path is symmetric", millis(clock.bound)),
        format!("± {} in any case", millis(clock.certain)),
        format!("skew {:.1} ppm", clock.skew * 1e6),
        format!("{} exchanges", clock.exchanges),
        format!("{} ms smallest round trip", millis(clock.round_trip)),
    ];
    (
        "clocks",
        format!("{} ms", millis(clock.offset.abs())),
        details,
    )
}

/// A flow's one-way delay with what it is worth.
pub(crate) fn one_way(delay: &OneWayDelay) -> Headline {
    let [mean, min, max] = [delay.mean, delay.min, delay.max].map(millis);
    let number = match &delay.clock {
        DelayClock::Estimated(clock) => format!("{mean} ms ± {}", millis(clock.bound)),
        DelayClock::AssumedSynchronised => format!("{mean} ms"),
    };
    let certain = match &delay.clock {
        DelayClock::Estimated(clock) => Some(format!(
            "if the path is symmetric, ± {} in any case",
            millis(clock.certain)
        )),
        DelayClock::AssumedSynchronised => None,
    };
    let way = if delay.tag.reversed { "back" } else { "there" };
    let mut details: Vec<String> = certain.into_iter().collect();
    details.push(format!("one-way delay of flow {} {way}", delay.tag.id));
    details.push(format!("{min} min"));
    details.extend(percentiles(&delay.counts));
    details.push(format!("{max} max"));
    let single = delay.bound_single.map(millis);
    details.extend(single.map(|bound| format!("each ± {bound}")));
    details.push(format!("{} datagrams", delay.samples));
    if delay.clock == DelayClock::AssumedSynchronised {
        details.push("as the clocks say".to_owned());
    }
    ("delay", number, details)
}

/// Round trips beside the traffic, and what they say of the path's queues.
pub(crate) fn under_load(latency: &LoadedLatency) -> Headline {
    let median = |trips: &DelayCounts| {
        let nanos = trips.percentile(50.0);
        nanos.map_or_else(
            || "unknown".to_owned(),
            |nanos| format!("{} ms", millis(nanos as f64 * 1e-9)),
        )
    };
    let (idle, loaded) = (&latency.idle, &latency.loaded);
    let mut details = vec![
        "median round trip under load".to_owned(),
        format!("{} idle", median(&idle.round_trips)),
    ];
    let signed = |seconds: f64| {
        let sign = if seconds < 0.0 { "-" } else { "+" };
        format!("{sign}{}", millis(seconds.abs()))
    };
    details.extend(latency.increase.map(|by| format!("{} ms", signed(by))));
    let ways = latency.increase_there.zip(latency.increase_back);
    details.extend(
        ways.map(|(there, back)| format!("{} there and {} back", signed(there), signed(back))),
    );
    details.extend(percentiles(&loaded.round_trips));
    details.push(match latency.grade {
        Some(grade) => format!("bufferbloat grade {}", grade.letter()),
        None if latency.load < BufferbloatGrade::LEAST_LOAD => {
            "no bufferbloat grade: the load was shorter than 5 s".to_owned()
        }
        None => "no bufferbloat grade: too few probes were answered".to_owned(),
    });
    details.push(format!(
        "{} of {} probes answered",
        loaded.round_trips.count(),
        loaded.sent
    ));
    ("loaded", median(&loaded.round_trips), details)
}

/// `+45.2 ms`: how much longer a round trip takes under load than on the quiet path; nothing where
/// one of both is not known.
pub(crate) fn increase(latency: &LoadedLatency) -> Option<String> {
    let loaded = latency.loaded.round_trips.percentile(50.0)?;
    let longer = latency.increase?.max(0.0) * 1e3;
    // Not finer than the median that it was taken from.
    let decimals = decimals(loaded as f64 * 1e-6);
    Some(format!("+{longer:.decimals$} ms"))
}

/// The published percentiles that are known, in milliseconds.
pub(crate) fn percentiles(counts: &DelayCounts) -> Option<String> {
    let known = PUBLISHED_PERCENTILES.iter().filter_map(|percent| {
        let nanos = counts.percentile(*percent)?;
        Some(format!("p{percent} {}", millis(nanos as f64 * 1e-9)))
    });
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| known.join(" "))
}

/// Why nothing is known of the peer, and what is missing for it.
pub(crate) fn absence(reason: &NoPeerResults) -> String {
    let missing = "its CPU use and what it counts are unknown";
    match reason {
        NoPeerResults::NotRecognised => {
            format!("the other end has not shown that it is tapeline: {missing}")
        }
        NoPeerResults::Unreachable(why) => format!("no control connection ({why}): {missing}"),
        NoPeerResults::Refused(why) => {
            format!("the other end refused the control connection ({why}): {missing}")
        }
        NoPeerResults::Broken(why) => format!("the control connection broke ({why}): {missing}"),
    }
}

#[cfg(test)]
mod tests {
    use tapeline_base::{FlowId, FlowTag};

    use crate::model::ProbeSeries;

    use super::*;

    const CLOCK: ClockEstimate = ClockEstimate {
        offset: -0.003_012,
        bound: 0.000_04,
        certain: 0.0101,
        skew: 12e-6,
        round_trip: 0.0202,
        exchanges: 73,
    };

    #[test]
    fn running_counters_follow_own_intervals() {
        let at = |seconds: u64, bytes| PeerProgress {
            elapsed: std::time::Duration::from_secs(seconds),
            bytes,
            flows: 1,
            cpu_percent: Some(30.6),
            ..PeerProgress::default()
        };
        let mut so_far = SoFar::default();
        let line = |so_far: &mut SoFar, now| so_far.line(&now, FormatLetter::BITS);
        assert_eq!(line(&mut so_far, at(1, 1_000_000)), None);
        so_far.interval_ended();
        let said = line(&mut so_far, at(2, 2_000_000)).expect("a line");
        assert_eq!(said, "far end  8.000 Mbit/s  1.91 MiB in 2.00 s  31 % CPU");
        assert_eq!(line(&mut so_far, at(3, 4_000_000)), None);
        so_far.interval_ended();
        // The rate is that of the time since the last line.
        let said = line(&mut so_far, at(4, 6_000_000)).expect("a line");
        assert!(said.starts_with("far end  16.00 Mbit/s  "), "{said}");
        // Another test begins with less.
        so_far.interval_ended();
        assert_eq!(line(&mut so_far, at(1, 10)), None);
    }

    #[test]
    fn losses_are_told_with_their_runs_and_the_longest_outage() {
        let pattern = LossPattern {
            longest_extent: 3,
            runs: 2,
            longest_run: 17,
            outage: Some(crate::model::Outage {
                start: std::time::Duration::from_millis(3210),
                length: std::time::Duration::from_millis(120),
            }),
        };
        let said = pattern_phrases(&pattern).join(", ");
        assert_eq!(
            said,
            "2 runs of losses, the longest of 17, late by up to 3, longest outage 120.000 ms at 3.21 s"
        );
        assert!(pattern_phrases(&LossPattern::default()).is_empty());
    }

    #[test]
    fn a_load_is_compared_with_the_quiet_path_and_graded() {
        let trips = |millis: i64, count: u64| ProbeSeries {
            sent: count + 1,
            round_trips: [(millis * 1_000_000, count)].into_iter().collect(),
        };
        let latency = LoadedLatency {
            idle: trips(2, 24),
            loaded: trips(47, 60),
            load: std::time::Duration::from_secs(10),
            increase: Some(0.045),
            increase_there: Some(0.046),
            increase_back: Some(-0.001),
            grade: Some(BufferbloatGrade::B),
        };
        let (title, number, details) = under_load(&latency);
        assert_eq!((title, number.as_str()), ("loaded", "47.000 ms"));
        let said = details.join(", ");
        for words in [
            "2.000 ms idle, +45.000 ms, +46.000 there and -1.000 back",
            "p50 47.000 p90 47.000 p95 47.000, bufferbloat grade B, 60 of 61 probes answered",
        ] {
            assert!(said.contains(words), "{said}");
        }
        let short = LoadedLatency {
            load: std::time::Duration::from_secs(2),
            grade: None,
            ..latency
        };
        let (_, _, details) = under_load(&short);
        assert!(
            details.join(", ").contains("shorter than 5 s"),
            "{details:?}"
        );
    }

    #[test]
    fn a_delay_comes_with_its_bound() {
        let delay = OneWayDelay {
            tag: FlowTag {
                id: FlowId(1),
                reversed: false,
            },
            samples: 500,
            min: 0.0121,
            mean: 0.01231,
            max: 0.0142,
            deviation: 0.0001,
            counts: [(12_100_000, 100), (12_300_000, 399), (14_200_000, 1)]
                .into_iter()
                .collect(),
            clock: DelayClock::Estimated(CLOCK),
            bound_single: Some(6e-5),
        };
        let (title, number, details) = one_way(&delay);
        assert_eq!((title, number.as_str()), ("delay", "12.310 ms ± 0.040"));
        assert_eq!(
            details[..6],
            [
                "if the path is symmetric, ± 10.100 in any case",
                "one-way delay of flow 1 there",
                "12.100 min",
                "p50 12.300 p90 12.300 p95 12.300 p99 12.300",
                "14.200 max",
                "each ± 0.060",
            ]
        );
        let (_, number, details) = clocks(&CLOCK);
        assert_eq!(number, "3.012 ms");
        assert_eq!(details[0], "the far end's clock is behind");
        assert_eq!(details[3], "skew 12.0 ppm");
    }
}
