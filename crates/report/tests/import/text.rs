//! Text of both iperfs: each row of each recording.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tapeline_report::import;

use super::{Run, recordings, run, runs};

/// Stream, begin, end, bytes.
type Row = (u32, String, String, u64);

/// The rows of streams in a text, read in the simplest way.
fn told(text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = text.lines().filter_map(cells).collect();
    rows.sort();
    rows
}

fn cells(line: &str) -> Option<Row> {
    let (_, line) = line.split_once('[')?;
    let (id, rest) = line.split_once(']')?;
    let id = id.trim().trim_start_matches('*').parse().ok()?;
    let rest = rest
        .split_once(']')
        .filter(|(part, _)| part.starts_with('['))
        .map_or(rest, |it| it.1);
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [span, "sec", number, unit, _, rate, ..] = words[..] else {
        return None;
    };
    let (start, end) = span.split_once('-')?;
    // What the other end did not report.
    if start == end && number == "0.000" {
        return None;
    }
    if !rate.ends_with("/sec") || (number, words.last()) == ("0.00", Some(&"receiver")) {
        return None;
    }
    let multiple = ["Byte", "KByte", "MByte", "GByte", "TByte"];
    let power = multiple
        .iter()
        .position(|name| *name == unit.trim_end_matches('s'))?;
    let number: f64 = number.parse().ok()?;
    let bytes = (number * 1024_f64.powi(power as i32)).round() as u64;
    Some((
        id,
        text(start.parse().ok()?),
        text(end.parse().ok()?),
        bytes,
    ))
}

fn text(seconds: f64) -> String {
    format!("{seconds:.4}")
}

fn found(runs: &[Run]) -> Vec<Row> {
    let mut rows = Vec::new();
    for Run { document, .. } in runs {
        let number = |value: &Value| text(value.as_f64().expect("a number"));
        for interval in document["intervals"].as_array().expect("intervals") {
            rows.push((
                interval["stream"].as_u64().expect("a stream") as u32,
                number(&interval["start_seconds"]),
                number(&interval["end_seconds"]),
                interval["bytes"].as_u64().expect("bytes"),
            ));
        }
        for stream in document["streams"].as_array().expect("streams") {
            for end in ["sender", "receiver"] {
                if let Some(bytes) = stream[end]["bytes"].as_u64() {
                    let id = stream["id"].as_u64().expect("a stream") as u32;
                    rows.push((id, text(0.0), number(&stream[end]["seconds"]), bytes));
                }
            }
        }
    }
    rows.sort();
    rows
}

fn files() -> Vec<PathBuf> {
    let folders = ["iperf2", "iperf2-fast-sampling", "iperf3", "import"];
    let mut files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| recordings(folder, ".txt"))
        .collect();
    files.retain(|file| {
        let text = fs::read_to_string(file).expect("text");
        !file.to_string_lossy().contains("_y_") && !told(&text).is_empty()
    });
    files
}

#[test]
fn every_row_of_every_recording_is_there_once() {
    let files = files();
    let mut wrong = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).expect("text");
        let read =
            runs(text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let (found, told) = (found(&read), told(&text));
        if found != told {
            wrong.push(format!("{}\n{found:?}\n{told:?}", file.display()));
        }
    }
    assert!(files.len() > 400, "{}", files.len());
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        files.len(),
        wrong.join("\n")
    );
}

fn recording(name: &str) -> Value {
    let all = ["iperf2", "iperf3", "import"]
        .iter()
        .flat_map(|folder| recordings(folder, ".txt"));
    let file = all
        .into_iter()
        .find(|file| file.ends_with(name))
        .expect(name);
    run(&fs::read(file).expect("bytes")).document
}

#[test]
fn what_iperf2_tells() {
    let tcp = recording("iperf2/tcp_P2_e.client.txt");
    let (test, sum) = (&tcp["test"], &tcp["sum"]["directions"][0]);
    assert_eq!(
        (&test["role"], &test["protocol"]),
        (&"client".into(), &"iperf2".into())
    );
    assert_eq!(
        (&test["transport"], &test["direction"]),
        (&"tcp".into(), &"forward".into())
    );
    assert_eq!(test["started"], "2026-11-20T23:06:41.347000Z");
    assert_eq!(tcp["peer"]["host"], "192.168.77.2");
    assert_eq!(tcp["streams"][0]["local"], "192.168.77.1:50064");
    assert_eq!(sum["sender"]["bits_per_second"], 33.0e9);
    assert_eq!(sum["sender"]["retransmits"], 117);
    let interval = &tcp["intervals"][0];
    assert_eq!(
        (&interval["cwnd_bytes"], &interval["in_flight_bytes"]),
        (&(2635 * 1024).into(), &(28 * 1024).into())
    );
    assert_eq!(
        (&interval["rtt_ms"], &interval["rtt_variance_ms"]),
        (&0.821.into(), &1.09.into())
    );
    let resolution = &tcp["imported"]["resolution"];
    assert_eq!(
        (&resolution["seconds"], &resolution["bits_per_second"]),
        (&0.01.into(), &1e8.into())
    );
    assert_eq!(tcp["imported"]["from"], "iperf2-text");

    let udp = recording("iperf2/udp_e.client.txt");
    let stream = &udp["streams"][0];
    assert_eq!(
        (&stream["sender"]["packets"], &stream["receiver"]["packets"]),
        (&181.into(), &181.into())
    );
    assert_eq!(
        (
            &stream["receiver"]["lost"],
            &stream["receiver"]["jitter_ms"]
        ),
        (&0.into(), &0.003.into())
    );
    assert_eq!(stream["one_way_delay"]["mean_ms"], 0.015);
    let server = recording("iperf2/udp_e.server.txt");
    assert_eq!(
        (&server["test"]["role"], &server["peer"]["version"]),
        (&"server".into(), &"2.2.1-rc".into())
    );
    assert_eq!(server["intervals"][0]["delay_max_ms"], 0.05);

    let trips = recording("iperf2/tcp_bounceback.client.txt");
    assert_eq!(trips["test"]["workload"], "request_response");
    assert_eq!(trips["streams"][0]["rtt"]["mean_ms"], 0.055);
    let requests = &trips["streams"][0]["requests"];
    assert_eq!(
        (&requests["responses"], &requests["per_second"]),
        (&20.into(), &18_100.0.into())
    );
    assert_eq!(
        recording("iperf2/tcp_R_e.client.txt")["test"]["direction"],
        "reverse"
    );
    assert_eq!(
        recording("iperf2/tcp_fullduplex_e.client.txt")["test"]["direction"],
        "bidirectional"
    );
    assert_eq!(
        recording("iperf2/udp_d.server.txt")["test"]["direction"],
        "bidirectional"
    );
    let both = recording("iperf2/udp_d.client.txt");
    assert_eq!(both["test"]["role"], "client");
    assert_eq!(both["test"]["direction"], "bidirectional");
}

#[test]
fn what_iperf3_tells() {
    let tcp = recording("iperf3/text-tcp-verbose.txt");
    let test = &tcp["test"];
    assert_eq!(
        (&test["role"], &test["protocol"]),
        (&"client".into(), &"iperf3".into())
    );
    assert_eq!(
        (&test["requested_seconds"], &test["length_bytes"]),
        (&3.0.into(), &131_072.into())
    );
    assert_eq!(test["started"], "2026-11-20T23:14:18.000000Z");
    assert_eq!(tcp["version"], "iperf 3.21+");
    let stream = &tcp["streams"][0];
    assert_eq!(
        (
            &stream["sender"]["retransmits"],
            &stream["receiver"]["bits_per_second"]
        ),
        (&1.into(), &40.2e6.into())
    );
    assert_eq!(tcp["intervals"][2]["cwnd_bytes"], 767 * 1024);
    let udp = recording("iperf3/text-udp-P2.txt");
    assert_eq!(udp["test"]["transport"], "udp");
    assert_eq!(udp["intervals"][0]["packets"], 500);
    assert_eq!(udp["streams"][1]["receiver"]["jitter_ms"], 0.003);
    assert_eq!(udp["sum"]["receiver"]["bits_per_second"], 7.99e6);
    assert_eq!(
        recording("iperf3/text-udp-R.txt")["test"]["direction"],
        "reverse"
    );
    assert_eq!(
        recording("iperf3/text-udp-R.server.txt")["test"]["direction"],
        "reverse"
    );
    let both = recording("iperf3/text-tcp-bidir.server.txt");
    assert_eq!(both["test"]["direction"], "bidirectional");
    assert_eq!(both["streams"].as_array().map(Vec::len), Some(2));
    let stopped = recording("iperf3/text-client-sigint.txt");
    assert!(stopped["streams"][0]["receiver"]["bytes"].is_null());
    assert_eq!(
        recording("iperf3/text-tcp-omit1.txt")["intervals"][0]["omitted"],
        true
    );
}

/// A log of many runs.
#[test]
fn runs_one_after_the_other() {
    let one = "Client connecting to h, TCP port 5001
[  3] local 1.1.1.1 port 9 connected with 1.1.1.2 port 5001
\
        [  3]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec
";
    let read = runs(one.repeat(3).as_bytes()).expect("runs");
    assert_eq!(read.len(), 3);
    let document = &read[2].document;
    assert_eq!(document["intervals"].as_array().map(Vec::len), Some(0));
    assert_eq!(document["sum"]["sender"]["bits_per_second"], 941e6);
    assert_eq!(document["test"]["complete"], true);
    let failed = run(b"Connecting to host h, port 5201\niperf3: error - unable to connect\n");
    assert_eq!(failed.origin, "import:iperf3-text");
    assert_eq!(failed.document["error"]["text"], "unable to connect");
}

#[test]
fn rows_are_bounded() {
    let row = |start: u32| {
        format!(
            "[  1] {start}.0-{}.0 sec  1 KBytes  8 Kbits/sec  0.1 ms 0/1 (0%) 1/1/1/1 ms\n",
            start + 1
        )
    };
    let many: String = (1..=(1 << 19) + 1).map(row).collect();
    let mut why = String::new();
    let used = allocation_counter::measure(|| {
        let mut runs = import::read("a.txt", many.as_bytes(), None).expect("rows");
        let fault = runs.next().expect("an item").map(|run| run.position);
        why = fault.expect_err("a fault").to_string();
    });
    assert!(used.bytes_max <= 180 << 20, "{} MiB", used.bytes_max >> 20);
    assert_eq!(why, "a.txt:524289: more than 524288 intervals");
    let streams: String = (0..4097)
        .map(|id| format!("[{id:3}] 0.0-1.0 sec  1 KBytes  8 Kbits/sec\n"))
        .collect();
    let all = streams.rsplit_once("[4096]").expect("the last one").0;
    let used =
        allocation_counter::measure(|| assert_eq!(runs(all.as_bytes()).expect("runs").len(), 1));
    assert!(used.bytes_max <= 100 << 20, "{} MiB", used.bytes_max >> 20);
    let fault = runs(streams.as_bytes()).expect_err("a fault");
    assert_eq!(fault.why, "more than 4096 streams");
}
