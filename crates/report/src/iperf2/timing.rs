//! Start delays, clock checks, connect times, and the lines of a sender's end.

use tapeline_base::Role;

use super::figure::latency;
use super::page::{self, Page};
use crate::model::{ClockCheck, ConnectTimes, MarkovReport, ScheduleErrors, StartDelay};

/// Fewer connect times have no line, fewer than [`DEVIATION_SAMPLES`] no deviation.
const LINE_SAMPLES: u64 = 3;
const DEVIATION_SAMPLES: u64 = 25;

/// When traffic starts, or that the time has passed.
pub(super) fn start_delay(delay: &StartDelay, page: &Page) -> String {
    let id = page::plain(delay.tag);
    let now = page.exact_date(delay.now);
    if delay.start < delay.now {
        let micros = delay.start.as_nanos().div_euclid(1000);
        // 2.2.1 wants to print a first date here and prints nothing.
        return format!(
            "{id}WARNING: --txstart-time ({}.{:06})  is before now {now}",
            micros.div_euclid(1_000_000),
            micros.rem_euclid(1_000_000)
        );
    }
    let wait = delay.start.as_nanos() - delay.now.as_nanos();
    let seconds = (wait as f64 / 1e9).ceil();
    match delay.role {
        Role::Client => format!(
            "{id}Client traffic to start in {seconds:.0} seconds at {} current time is {now}",
            page.bare_date(delay.start)
        ),
        Role::Server => {
            let start = page.exact_date(delay.start);
            format!("{id}Server receiving to start in {seconds:.0} seconds at {start}")
        }
    }
}

/// What two clocks say of each other (`-X` with `--trip-times`).
pub(super) fn clock_check(check: &ClockCheck, page: &Page) -> String {
    let [round_trip, half, send, acknowledge, asymmetry] = [
        check.round_trip,
        check.round_trip / 2.0,
        check.send,
        check.acknowledge,
        check.send - check.acknowledge,
    ]
    .map(|seconds| seconds * 1e3);
    format!(
        "{}Clock sync check (ms): RTT/Half=({round_trip:.3}/{half:.3}) \
         OWD-send/ack/asym=({send:.3}/{acknowledge:.3}/{asymmetry:.3})",
        page.flow(check.tag)
    )
}

/// The end of a connect-only test; none for a handful of connections.
pub(super) fn connect_times(result: &ConnectTimes) -> Option<String> {
    let times = &result.times;
    if times.count < LINE_SAMPLES {
        return None;
    }
    let [min, mean, max, deviation] =
        [times.min, times.mean, times.max, times.stdev()].map(|seconds| seconds * 1e3);
    let (title, more) = if times.count < DEVIATION_SAMPLES {
        ("min/avg/max", String::new())
    } else {
        ("min/avg/max/stdev", format!("/{deviation:.3}"))
    };
    Some(format!(
        "[ CT] final connect times ({title}) = {min:.3}/{mean:.3}/{max:.3}{more} ms \
         (tot/err) = {}/{}",
        times.count, result.errors
    ))
}

/// How late frames were begun.
pub(super) fn schedule_errors(schedule: &ScheduleErrors, page: &Page) -> String {
    format!(
        "{}Isoch schedule errors (mean/min/max/stdev) = {} ms",
        page.flow(schedule.tag),
        latency(&schedule.errors)
    )
}

/// Transitions of a Markov chain: of all, then from each length.
pub(super) fn markov(report: &MarkovReport, page: &Page) -> Vec<String> {
    let id = page.flow(report.tag);
    let all: u64 = report.counts.iter().flatten().sum();
    let mut lines = vec![format!(
        "{id}Markov chain: {} transitions: {all}",
        report.text
    )];
    for (row, length) in report.lengths.iter().enumerate() {
        let counts = report.counts.get(row).map_or(&[][..], Vec::as_slice);
        let probabilities = report.probabilities.get(row).map_or(&[][..], Vec::as_slice);
        let used: u64 = counts.iter().sum();
        let mut line = format!("{id}{length}=");
        let mut cumulated = 0.0;
        for (column, next) in report.lengths.iter().enumerate() {
            let probability = probabilities.get(column).copied().unwrap_or(0.0);
            let count = counts.get(column).copied().unwrap_or(0);
            cumulated += probability;
            line += &format!(
                "{next}({row},{column})|{probability:.3}/{cumulated:.3}({count}/{:.3}) ",
                share(count, used)
            );
        }
        line += &format!(" {used}/{all}({:.1}%)", 100.0 * share(used, all));
        lines.push(line);
    }
    lines
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
