//! One TCP stream as fast as it goes.

use std::time::Duration;

use interop::{Family, Program, ServerSpec, Transport};

use super::contest::{Bar, Benchmark, Measure, Sample};
use super::path::Path;
use crate::shell::Result;

const THROUGHPUT: Measure = Measure {
    name: "throughput",
    unit: "Gbit/s",
    digits: 2,
    higher_is_better: true,
    rare: false,
    bar: None,
};
const CPU: Measure = Measure {
    name: "CPU of both ends",
    unit: "s/GB",
    digits: 3,
    higher_is_better: false,
    rare: false,
    bar: None,
};
const CLIENT_MEMORY: Measure = Measure {
    name: "peak memory, client",
    unit: "MB",
    digits: 1,
    higher_is_better: false,
    rare: false,
    bar: None,
};
const SERVER_MEMORY: Measure = Measure {
    name: "peak memory, server",
    ..CLIENT_MEMORY
};

/// With the congestion control that the bars are set for.
const WITH_BARS: [Measure; 4] = [
    Measure {
        bar: Some(Bar::AtLeast(1.0)),
        ..THROUGHPUT
    },
    Measure {
        bar: Some(Bar::AtMost(0.9)),
        ..CPU
    },
    CLIENT_MEMORY,
    SERVER_MEMORY,
];
/// With the system's congestion control, which may limit the throughput by itself.
const WITHOUT_BARS: [Measure; 4] = [THROUGHPUT, CPU, CLIENT_MEMORY, SERVER_MEMORY];

/// One stream over a path, with a congestion control or the system's default.
pub(crate) fn benchmark<'a>(
    path: Path<'a>,
    congestion_control: Option<&'static str>,
    seconds: f64,
) -> Benchmark<'a> {
    let name = match congestion_control {
        Some(name) => name.to_owned(),
        None => format!("system default, {}", system_default()),
    };
    Benchmark {
        name: format!("TCP, one stream, {path}, {name}"),
        measures: if congestion_control.is_some() {
            &WITH_BARS
        } else {
            &WITHOUT_BARS
        },
        run: Box::new(move |program| run(program, path, congestion_control, seconds)),
    }
}

fn system_default() -> String {
    let name = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    name.map_or_else(|_| "unknown".to_owned(), |name| name.trim().to_owned())
}

fn run(
    program: Program,
    path: Path<'_>,
    congestion_control: Option<&str>,
    seconds: f64,
) -> Result<Sample> {
    let failed = |error: std::io::Error| error.to_string();
    let mut server = path
        .serve(&ServerSpec::new(program, Transport::Tcp, Family::V4))
        .map_err(failed)?;
    let before = server.process().usage().cpu;
    let mut client = path
        .client(program, &server)
        .args(["-t", &seconds.to_string()]);
    if let Some(name) = congestion_control {
        client = client.args(["-Z", name]);
    }
    let client = client
        .deadline(Duration::from_secs_f64(seconds + 20.0))
        .run()
        .map_err(failed)?;
    let received = server.await_output(Duration::from_secs(10), |out| !out.totals().is_empty());
    let at_server = server.process().usage();
    let total = received.totals().into_iter().next();
    let total =
        total.ok_or_else(|| format!("no total at the server\n{client}{}", server.output()))?;
    // What the receiver got, over the time in which it got it.
    let time = total.interval.1 - total.interval.0;
    let gigabytes = total.bytes as f64 / 1e9;
    let cpu = client.usage.cpu + at_server.cpu.saturating_sub(before);
    Ok(vec![
        gigabytes * 8.0 / time,
        cpu.as_secs_f64() / gigabytes,
        client.usage.peak_memory as f64 / 1e6,
        at_server.peak_memory as f64 / 1e6,
    ])
}
