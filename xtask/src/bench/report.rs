//! The table and its machine-readable twin.

use std::fmt::Write;
use std::path::Path;

use interop::Program;
use serde_json::{Value, json};

use super::contest::Contest;
use super::{Options, PROGRAMS};
use crate::shell::Result;

/// The results as a Markdown document.
pub(crate) fn markdown(contests: &[Contest], options: &Options) -> String {
    let mut text = String::new();
    writeln!(
        text,
        "# Performance\n\n\
         Written on {} by `cargo xtask bench --rounds {} --seconds {} --out docs/performance.md`: \
         the programs take turns within each round, tapeline under the name `iperf` at both ends against \
         the peers at both ends. A cell is the median over the rounds and, in brackets, the best round; the ratio is \
         the median of the rounds' ratios to iperf 2.2.1. Rates and bytes are the receiver's; the gaps of UDP were seen \
         by a packet socket at the receiver's interface.\n\n\
         Machine: {}.\n",
        today(),
        options.rounds,
        options.seconds,
        machine()
    )
    .expect("memory");
    write!(text, "| Benchmark | Figure |").expect("memory");
    for program in PROGRAMS {
        write!(text, " {} |", name(program)).expect("memory");
    }
    writeln!(text, " Ratio | Bar | |").expect("memory");
    writeln!(
        text,
        "|---|---|{}--:|---|---|",
        "--:|".repeat(PROGRAMS.len())
    )
    .expect("memory");
    for contest in contests {
        rows(&mut text, contest);
    }
    text
}

fn rows(text: &mut String, contest: &Contest) {
    for (index, measure) in contest.measures.iter().enumerate() {
        let title = if index == 0 {
            contest.name.as_str()
        } else {
            ""
        };
        write!(text, "| {title} | {}, {} |", measure.name, measure.unit).expect("memory");
        for program in PROGRAMS {
            match contest.figures(program, index) {
                Some((median, best)) => {
                    let digits = measure.digits;
                    write!(text, " {median:.digits$} ({best:.digits$}) |").expect("memory");
                }
                None => write!(text, " - |").expect("memory"),
            }
        }
        let ratio = contest.ratio(index);
        let shown = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        let (bar, verdict) = match (measure.bar, ratio) {
            (Some(bar), Some(ratio)) if bar.is_met(ratio) => (bar.to_string(), "met"),
            (Some(bar), Some(_)) => (bar.to_string(), "**missed**"),
            _ => (String::new(), ""),
        };
        writeln!(text, " {shown} | {bar} | {verdict} |").expect("memory");
    }
}

/// Name of a column.
const fn name(program: Program) -> &'static str {
    match program {
        Program::TapelineAsIperf => "tapeline",
        other => other.label(),
    }
}

/// The date in universal time, as the system's `date` tells it.
fn today() -> String {
    let told = std::process::Command::new("date")
        .args(["-u", "+%F"])
        .output();
    told.ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| "an unknown day".into(), |text| text.trim().to_owned())
}

fn machine() -> String {
    let first = |path: &str, key: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = text
            .lines()
            .find(|line| line.starts_with(key))
            .unwrap_or_default();
        line.split_once(':')
            .map_or(line, |(_, value)| value)
            .trim()
            .to_owned()
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = first("/proc/sys/kernel/osrelease", "");
    let load = first("/proc/loadavg", "");
    let load = load.split(' ').next().unwrap_or_default();
    format!(
        "{cores} cores, {}, Linux {kernel}, load average {load} at the end",
        first("/proc/cpuinfo", "model name")
    )
}

/// Writes the document, and its figures as JSON beside it.
///
/// # Errors
/// A file cannot be written.
pub(crate) fn write(out: &Path, table: &str, contests: &[Contest]) -> Result<()> {
    let put = |path: &Path, text: &str| {
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    put(out, table)?;
    let figures: Vec<Value> = contests.iter().map(json_of).collect();
    let document = json!({ "machine": machine(), "benchmarks": figures });
    put(&out.with_extension("json"), &format!("{document:#}\n"))
}

fn json_of(contest: &Contest) -> Value {
    let measures: Vec<Value> = contest
        .measures
        .iter()
        .enumerate()
        .map(|(index, measure)| {
            let samples: serde_json::Map<String, Value> = contest
                .samples
                .iter()
                .map(|(program, samples)| {
                    let values: Vec<f64> = samples.iter().map(|sample| sample[index]).collect();
                    (name(*program).to_owned(), json!(values))
                })
                .collect();
            json!({
                "name": measure.name,
                "unit": measure.unit,
                "samples": samples,
                "ratio": contest.ratio(index),
                "bar": measure.bar.map(|bar| bar.to_string()),
                "met": measure.bar.zip(contest.ratio(index)).map(|(bar, ratio)| bar.is_met(ratio)),
            })
        })
        .collect();
    json!({ "name": contest.name, "measures": measures })
}
