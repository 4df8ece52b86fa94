//! What programs of others read from a client's document.

use interop::{Invocation, Program, Transport, await_listening, free_port, skip};
use libtest_mimic::{Failed, Trial};
use serde_json::Value;

/// A program of others.
struct Reader {
    name: &'static str,
    /// What it asks the client for.
    options: &'static str,
    /// Numbers that it reads; `*` stands for each element of an array that is not empty.
    numbers: &'static [&'static str],
    /// Truths that it reads.
    truths: &'static [&'static str],
}

const READERS: &[Reader] = &[
    Reader {
        name: "Prometheus exporter",
        options: "-J -t 1 -b 20M",
        numbers: EXPORTED,
        truths: &[],
    },
    Reader {
        name: "Prometheus exporter, reverse",
        options: "-J -t 1 -b 20M -R",
        numbers: EXPORTED,
        truths: &[],
    },
    Reader {
        name: "Prometheus exporter, UDP",
        options: "-J -u -t 1 -b 2M -l 1000",
        numbers: &[
            "end.sum_sent.seconds",
            "end.sum_sent.bytes",
            "end.sum_sent.bits_per_second",
            "end.sum_sent.packets",
            "end.sum_received.seconds",
            "end.sum_received.bytes",
            "end.sum_received.bits_per_second",
            "end.sum.jitter_ms",
            "end.sum.lost_packets",
            "end.sum.packets",
            "end.sum.lost_percent",
        ],
        truths: &[],
    },
    Reader {
        name: "perfSONAR, TCP",
        options: "-J -t 1 -i 0.5 -b 20M -P 2",
        numbers: &[
            "intervals.*.streams.*.socket",
            "intervals.*.streams.*.start",
            "intervals.*.streams.*.end",
            "intervals.*.streams.*.seconds",
            "intervals.*.streams.*.bytes",
            "intervals.*.streams.*.bits_per_second",
            "intervals.*.streams.*.retransmits",
            "intervals.*.streams.*.snd_cwnd",
            "intervals.*.streams.*.rtt",
            "intervals.*.sum.start",
            "intervals.*.sum.end",
            "intervals.*.sum.bytes",
            "intervals.*.sum.bits_per_second",
            "intervals.*.sum.retransmits",
            "end.sum_sent.bytes",
            "end.sum_sent.bits_per_second",
            "end.sum_sent.retransmits",
            "end.sum_received.bits_per_second",
            "end.streams.*.sender.bits_per_second",
            "end.streams.*.sender.mean_rtt",
            "end.streams.*.receiver.bits_per_second",
        ],
        truths: &["intervals.*.streams.*.omitted", "intervals.*.sum.omitted"],
    },
    Reader {
        name: "perfSONAR, UDP",
        options: "-J -u -t 1 -i 0.5 -b 2M -l 1000",
        numbers: &[
            "intervals.*.streams.*.bytes",
            "intervals.*.streams.*.bits_per_second",
            "intervals.*.streams.*.packets",
            "intervals.*.sum.bytes",
            "intervals.*.sum.packets",
            "end.sum.bytes",
            "end.sum.bits_per_second",
            "end.sum.jitter_ms",
            "end.sum.lost_packets",
            "end.sum.packets",
            "end.sum.lost_percent",
        ],
        truths: &["intervals.*.streams.*.omitted", "intervals.*.sum.omitted"],
    },
    Reader {
        name: "Kubernetes benchmarks, TCP",
        options: "-J -t 1 -b 20M -P 2",
        numbers: &[
            "end.sum_sent.retransmits",
            "end.sum_sent.bits_per_second",
            "end.sum_received.bits_per_second",
            "end.cpu_utilization_percent.host_total",
            "end.cpu_utilization_percent.remote_total",
        ],
        truths: &[],
    },
    Reader {
        name: "Kubernetes benchmarks, UDP",
        options: "-J -u -t 1 -b 2M -l 1000",
        numbers: &[
            "end.sum.bits_per_second",
            "end.sum.lost_percent",
            "end.sum.jitter_ms",
        ],
        truths: &[],
    },
];

/// What an exporter needs of a TCP test.
const EXPORTED: &[&str] = &[
    "end.sum_sent.seconds",
    "end.sum_sent.bytes",
    "end.sum_sent.bits_per_second",
    "end.sum_sent.retransmits",
    "end.sum_received.seconds",
    "end.sum_received.bytes",
    "end.sum_received.bits_per_second",
];

/// A trial for each reader and each server.
pub(crate) fn trials() -> Vec<Trial> {
    let servers = [Program::Iperf3V22, Program::Tapeline];
    let cases = READERS
        .iter()
        .flat_map(|reader| servers.map(|server| (reader, server)));
    let trials = cases.map(|(reader, server)| {
        let test = format!("read by {}, to {server}", reader.name);
        Trial::test(test.clone(), move || run(&test, reader, server))
    });
    trials.collect()
}

fn run(test: &str, reader: &Reader, server: Program) -> Result<(), Failed> {
    let client = Program::TapelineAsIperf3;
    if let Some(reason) = [client, server].into_iter().find_map(Program::missing) {
        skip(test, &reason);
        return Ok(());
    }
    let port = free_port().to_string();
    let serving = Invocation::new(server).args(["-s", "-p", &port]).spawn()?;
    await_listening(&serving, Transport::Tcp, port.parse()?)?;
    let line = Invocation::new(client).args(["-c", "127.0.0.1", "-p", &port]);
    let finished = line.line(reader.options).run()?;
    if finished.code() != Some(0) || !finished.stderr.is_empty() {
        return Err(Failed::from(finished.to_string()));
    }
    // Nothing but one document is on the standard output.
    let document: Value = serde_json::from_str(&finished.stdout)?;
    let number = |value: &Value| value.as_f64().is_some_and(|number| number >= 0.0);
    let missing = |paths: &'static [&'static str], is: fn(&Value) -> bool| {
        let holds = |path: &str| all(&document, path, &is);
        paths
            .iter()
            .filter(move |path| !holds(path))
            .copied()
            .collect::<Vec<_>>()
    };
    let failures = [
        missing(reader.numbers, number),
        missing(reader.truths, Value::is_boolean),
    ];
    let failures = failures.concat();
    if failures.is_empty() {
        return Ok(());
    }
    Err(Failed::from(format!("missing: {failures:?}\n{finished}")))
}

/// Whether all values of a path are there and hold.
fn all(value: &Value, path: &str, holds: &impl Fn(&Value) -> bool) -> bool {
    let (key, rest) = path
        .split_once('.')
        .map_or((path, None), |(key, rest)| (key, Some(rest)));
    let within = |value: &Value| rest.map_or_else(|| holds(value), |rest| all(value, rest, holds));
    match (key, value) {
        ("*", Value::Array(values)) => !values.is_empty() && values.iter().all(within),
        ("*", _) => false,
        _ => value.get(key).is_some_and(within),
    }
}
