//! Start times, clocks, connect times, frames and chains of lengths.

use std::time::Duration;

use tapeline_base::WallTime;

use super::text_parts::{millis, percent};
use crate::calendar::Calendar;
use crate::model::{
    ClockCheck, MarkovReport, Measure, Phase, Row, ScheduleErrors, SendTiming, Severity,
    StartDelay, Subject,
};

/// A clock error below this may be nothing but the granularity of stamps.
const CLOCK_TOLERANCE: f64 = 2e-6;

/// When traffic begins.
pub(crate) fn start_delay(delay: &StartDelay, calendar: &Calendar) -> (Severity, String) {
    let id = delay.tag.id;
    let start = calendar.time_of_day(delay.start);
    if delay.start < delay.now {
        let sentence = format!("flow {id}: its start at {start} has passed, it begins at once");
        return (Severity::Warning, sentence);
    }
    let wait = seconds(delay.start) - seconds(delay.now);
    let sentence = format!("flow {id}: begins at {start}, in {wait:.2} s");
    (Severity::Note, sentence)
}

fn seconds(time: WallTime) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// What two clocks say of each other. One-way delays below 0, or together more than the round
/// trip, cannot be.
pub(crate) fn clock_check(check: &ClockCheck) -> (Severity, String) {
    let [trip, there, back] = [check.round_trip, check.send, check.acknowledge].map(millis);
    let sentence = format!(
        "flow {}: clocks compared: round trip {trip} ms, to the server {there} ms, back {back} ms",
        check.tag.id
    );
    if check.send.min(check.acknowledge) >= -CLOCK_TOLERANCE {
        return (Severity::Note, sentence);
    }
    let offset = (check.send - check.acknowledge) / 2.0;
    let sentence = format!(
        "{sentence}: they disagree by about {} ms, and one-way delays with them",
        millis(offset.abs())
    );
    (Severity::Warning, sentence)
}

/// How late an isochronous sender's frames were begun.
pub(crate) fn schedule_errors(schedule: &ScheduleErrors) -> Option<String> {
    let errors = &schedule.errors;
    (!errors.is_empty()).then(|| {
        format!(
            "flow {}: frames began {} ms after their tick, {} at most",
            schedule.tag.id,
            millis(errors.mean),
            millis(errors.max)
        )
    })
}

/// How a UDP sender's datagrams left.
pub(crate) fn send_timing(send_timing: &SendTiming) -> Option<String> {
    let SendTiming { tag, group, gaps } = send_timing;
    let id = tag.id;
    let Some(gaps) = gaps else {
        return (*group > 1)
            .then(|| format!("flow {id}: up to {group} datagrams left with one call"));
    };
    let micros = |time: Duration| format!("{:.2} us", time.as_secs_f64() * 1e6);
    let calls = match group {
        0 | 1 => String::new(),
        _ => format!(", {group} datagrams together"),
    };
    Some(format!(
        "flow {id}: gaps of {}{calls}, kept to {} (p50), {} (p99), {} (max); {} back to back, {} late",
        micros(gaps.gap),
        micros(gaps.p50),
        micros(gaps.p99),
        micros(gaps.max),
        percent(gaps.back_to_back),
        gaps.late
    ))
}

/// Of how many datagrams the arrival is not their own.
pub(crate) fn shared_arrivals(row: &Row) -> Option<String> {
    let (Subject::Flow(tag), Phase::Total, Measure::UdpReceive(receive)) =
        (row.subject, row.phase, &row.measure)
    else {
        return None;
    };
    let all = receive.received + receive.duplicates;
    (receive.joined > 0 && all > 0).then(|| {
        format!(
            "flow {}: {} of the datagrams came joined by the kernel, those of a group with one arrival time",
            tag.id,
            percent(receive.joined.min(all) as f64 / all as f64)
        )
    })
}

/// How often each length was chosen, and what followed it.
pub(crate) fn markov(report: &MarkovReport) -> Vec<String> {
    let all: u64 = report.counts.iter().flatten().sum();
    let mut lines = vec![format!(
        "flow {}: {all} lengths by the chain {}",
        report.tag.id, report.text
    )];
    for (row, length) in report.lengths.iter().enumerate() {
        let counts = report.counts.get(row).map_or(&[][..], Vec::as_slice);
        let used: u64 = counts.iter().sum();
        let next: Vec<String> = report
            .lengths
            .iter()
            .zip(counts)
            .map(|(next, count)| format!("{next} {}", share(*count, used)))
            .collect();
        lines.push(format!(
            "  {length:>5} B {:>8}, then {}",
            share(used, all),
            next.join(", ")
        ));
    }
    lines
}

fn share(part: u64, whole: u64) -> String {
    percent(part as f64 / whole.max(1) as f64)
}
