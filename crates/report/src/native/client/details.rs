//! What `-e` says of a test beside its table.

use std::collections::BTreeMap;

use tapeline_base::FlowTag;
use tapeline_stats::{DelayCounts, Finding};

use super::amount::Way;
use super::run::ClientRun;
use crate::model::{DelayClock, OneWayDelay, Row, ScheduleErrors, SendTiming};
use crate::native::number::{delay, digits, millis, small};
use crate::native::timing::shared_arrivals;
use crate::native::verdict::finding_words;

/// Columns of a label, with the indent of the block.
const LABEL: usize = 15;
/// Bytes from which on a cost says more about the bytes than about the start of a program.
const WORTH_TELLING: u64 = 50_000_000;

/// The block, without blank lines; empty where there is nothing to say.
pub(crate) fn lines(run: &ClientRun, width: usize) -> Vec<String> {
    let mut facts: Vec<(&str, String)> = Vec::new();
    let sends = run.ways().first() == Some(&Way::ToServer);
    let (own, other) = match sends {
        true => ("sender", "receiver"),
        false => ("receiver", "sender"),
    };
    let bytes = |rows: &BTreeMap<FlowTag, Row>| rows.values().map(|row| row.bytes).sum::<u64>();
    let cpu = run.own_cpu.map(|used| {
        let seconds = used.span.as_secs_f64();
        cpu_use((used.cpu.total, seconds), bytes(&run.totals))
    });
    let mut own_facts: Vec<String> = cpu.into_iter().collect();
    own_facts.extend(run.send_timings.first().and_then(paced));
    own_facts.extend(run.schedules.first().and_then(late_frames));
    let own_facts = (!own_facts.is_empty()).then(|| (own, own_facts.join("; ")));
    let peer = run.peer_cpu.map(|(cpu, seconds)| {
        let seconds = seconds.unwrap_or(run.duration().as_secs_f64());
        (
            other,
            cpu_use((cpu.total, seconds), bytes(&run.peer_totals)),
        )
    });
    let mut ends: Vec<(&str, String)> = own_facts.into_iter().chain(peer).collect();
    ends.sort_by_key(|(label, _)| *label != "sender");
    facts.extend(ends);
    facts.extend(latency(run).map(|value| ("latency", value)));
    facts.extend(run.delays.iter().map(|one| ("delay", one_way(one))));
    facts.extend(run.clocks.as_ref().map(|clocks| {
        let ahead = if clocks.offset < 0.0 {
            "behind"
        } else {
            "ahead"
        };
        let value = format!(
            "server {} ms {ahead}, error {} (worst case {}), drift {:.1} ppm",
            small(clocks.offset.abs() * 1e3),
            small(clocks.bound * 1e3),
            small(clocks.certain * 1e3),
            clocks.skew * 1e6
        );
        ("clocks", value)
    }));
    let shared = run.totals.values().find_map(shared_arrivals);
    facts.extend(shared.map(|value| ("arrivals", value)));
    for verdict in &run.verdicts {
        let findings = verdict.verdict.findings.iter().map(brief_words);
        let findings: Vec<String> = findings.collect();
        if !findings.is_empty() {
            facts.push(("findings", findings.join("; ")));
        }
    }
    if facts.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["Details".to_owned()];
    for (label, value) in facts {
        let folded = fold(&value, width.saturating_sub(LABEL));
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        let folded = labels.zip(folded);
        lines.extend(folded.map(|(label, part)| format!("  {label:<13}{part}")));
    }
    lines
}

/// Text in lines of at most `width`, which break between words.
fn fold(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `12 % CPU (9.60 s/GB)`, of percent and seconds.
fn cpu_use((percent, seconds): (f64, f64), bytes: u64) -> String {
    let cpu = format!("{percent:.0} % CPU");
    if bytes < WORTH_TELLING {
        return cpu;
    }
    let time = percent / 100.0 * seconds;
    format!("{cpu} ({} s/GB)", digits(time / (bytes as f64 / 1e9)))
}

fn paced(timing: &SendTiming) -> Option<String> {
    let micros = |time: std::time::Duration| time.as_secs_f64() * 1e6;
    let group = (timing.group > 1).then(|| format!("up to {} datagrams a call", timing.group));
    let gaps = timing.gaps.map(|gaps| {
        format!(
            "paced every {:.1} us, off by {:.2} us median",
            micros(gaps.gap),
            micros(gaps.p50)
        )
    });
    match (gaps, group) {
        (Some(gaps), Some(group)) => Some(format!("{gaps}, {group}")),
        (gaps, group) => gaps.or(group),
    }
}

fn late_frames(schedule: &ScheduleErrors) -> Option<String> {
    let errors = &schedule.errors;
    (!errors.is_empty()).then(|| {
        format!(
            "frames sent {} ms late, {} at most",
            millis(errors.mean),
            millis(errors.max)
        )
    })
}

/// `p50 2.16, p90 2.31, p99 2.77`; of delays with this error, seconds.
fn percentiles(counts: &DelayCounts, error: f64) -> String {
    let known = [50.0, 90.0, 99.0].into_iter().filter_map(|percent| {
        let nanos = counts.percentile(percent)?;
        Some(format!(
            "p{percent} {}",
            bare_delay(nanos as f64 * 1e-9, error)
        ))
    });
    let known: Vec<String> = known.collect();
    known.join(", ")
}

/// A delay without its unit.
fn bare_delay(seconds: f64, error: f64) -> String {
    let delay = delay(seconds, error);
    delay.trim_end_matches(" ms").to_owned()
}

fn latency(run: &ClientRun) -> Option<String> {
    let loaded = &run.latency.as_ref()?.loaded;
    let shown = percentiles(&loaded.round_trips, 0.0);
    let answered = loaded.round_trips.count();
    let grade = match run.latency.as_ref()?.grade {
        Some(_) => "",
        None => "; the grade needs 5 s of load",
    };
    (!shown.is_empty()).then(|| {
        format!(
            "loaded {shown} ms ({answered} of {} probes){grade}",
            loaded.sent
        )
    })
}

fn one_way(measured: &OneWayDelay) -> String {
    let way = match measured.tag.reversed {
        false => Way::ToServer,
        true => Way::FromServer,
    };
    let (error, remark) = match &measured.clock {
        DelayClock::Estimated(clock) => (clock.bound, ""),
        DelayClock::AssumedSynchronised => (0.0, ", clocks assumed synchronised"),
    };
    let shown = match percentiles(&measured.counts, error) {
        none if none.is_empty() => format!("mean {}", bare_delay(measured.mean, error)),
        known => known,
    };
    let max = bare_delay(measured.max, error);
    format!("{} {shown}, max {max} ms{remark}", way.words())
}

/// A finding beside the limit that it explains.
fn brief_words(finding: &Finding) -> String {
    match finding {
        Finding::RateReached(_) => "requested rate reached".to_owned(),
        _ => finding_words(finding),
    }
}
