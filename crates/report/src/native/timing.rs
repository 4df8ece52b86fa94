//! Start times, clocks, arrival times and Markov chains of sizes.

use tapeline_base::WallTime;

use super::number::{digits, percent};
use crate::calendar::Calendar;
use crate::model::{ClockCheck, MarkovReport, Measure, Phase, Row, Severity, StartDelay, Subject};

/// A clock error below this may be nothing but the granularity of stamps.
const CLOCK_TOLERANCE: f64 = 2e-6;

/// When traffic begins.
pub(crate) fn start_delay(delay: &StartDelay, calendar: &Calendar) -> (Severity, String) {
    let id = delay.tag.id;
    let start = calendar.time_of_day(delay.start);
    if delay.start < delay.now {
        let sentence = format!("stream {id}: its start at {start} has passed, it begins at once");
        return (Severity::Warning, sentence);
    }
    let wait = seconds(delay.start) - seconds(delay.now);
    let sentence = format!("stream {id}: begins at {start}, in {wait:.2} s");
    (Severity::Note, sentence)
}

fn seconds(time: WallTime) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// What two clocks say of each other. One-way delays below 0, or together more than the round
/// trip, cannot be.
pub(crate) fn clock_check(check: &ClockCheck) -> (Severity, String) {
    // A time below 0 is what this is about.
    let millis = |seconds: f64| digits(seconds * 1e3);
    let [trip, there, back] = [check.round_trip, check.send, check.acknowledge].map(millis);
    let sentence = format!(
        "stream {}: clocks compared: round trip {trip} ms, to server {there} ms, from server {back} ms",
        check.tag.id
    );
    if check.send.min(check.acknowledge) >= -CLOCK_TOLERANCE {
        return (Severity::Note, sentence);
    }
    let offset = (check.send - check.acknowledge) / 2.0;
    let sentence = format!(
        "{sentence}; the clocks differ by about {} ms, so one-way delays are wrong by as much",
        millis(offset.abs())
    );
    (Severity::Warning, sentence)
}

/// Stamps that contradict each other, at the end of a test.
pub(crate) fn clock_errors(row: &Row) -> Option<String> {
    let (Subject::Flow(tag), Phase::Total, Measure::RequestResponse(requests)) =
        (row.subject, row.phase, &row.measure)
    else {
        return None;
    };
    let times = requests.one_way?;
    (times.clock_errors > 0).then(|| {
        format!(
            "stream {}: {} of {} requests have an answer dated before the request: the clocks of \
             the hosts differ",
            tag.id, times.clock_errors, times.transmit.count
        )
    })
}

/// Of how many datagrams the arrival is not their own.
pub(crate) fn shared_arrivals(total: &Row) -> Option<String> {
    let Measure::UdpReceive(receive) = &total.measure else {
        return None;
    };
    let all = receive.received + receive.duplicates;
    (receive.joined > 0 && all > 0).then(|| {
        format!(
            "the kernel joined {} of the datagrams, which share their group's time",
            percent(receive.joined.min(all) as f64 / all as f64)
        )
    })
}

/// How often each size was chosen, and what followed it.
pub(crate) fn markov(report: &MarkovReport) -> Vec<String> {
    let all: u64 = report.counts.iter().flatten().sum();
    let mut lines = vec![format!(
        "stream {}: {all} sizes from the Markov chain {}",
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
