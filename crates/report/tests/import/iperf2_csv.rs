//! iperf 2's `-y C`: each row of each recording.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tapeline_report::import::{self, Kind};

use super::{Run, recordings, runs};

/// Stream, begin, end, bytes and rate of a row.
type Row = (i64, String, String, u64, u64);

/// The rows of streams, as they stand in the file.
fn told(text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = text.lines().filter_map(cells).collect();
    rows.sort();
    rows
}

fn cells(line: &str) -> Option<Row> {
    let line = line.replacen('-', ",", usize::from(!line.starts_with('+')));
    let cells: Vec<&str> = line.split(',').collect();
    let id = cells.get(5)?.parse().ok().filter(|id| *id >= 0)?;
    let number = |at: usize| cells[at].parse().ok();
    Some((
        id,
        cells[6].to_owned(),
        cells[7].to_owned(),
        number(8)?,
        number(9)?,
    ))
}

fn text(number: &Value) -> String {
    format!("{:.1}", number.as_f64().expect("a number"))
}

/// The same of documents: intervals and totals.
fn found(runs: &[Run]) -> Vec<Row> {
    let mut rows = Vec::new();
    for Run { document, .. } in runs {
        for interval in document["intervals"].as_array().expect("intervals") {
            rows.push((
                interval["stream"].as_i64().expect("a stream"),
                text(&interval["start_seconds"]),
                text(&interval["end_seconds"]),
                interval["bytes"].as_u64().expect("bytes"),
                interval["bits_per_second"].as_f64().expect("a rate") as u64,
            ));
        }
        for stream in document["streams"].as_array().expect("streams") {
            for end in ["sender", "receiver"] {
                if let Some(bytes) = stream[end]["bytes"].as_u64() {
                    rows.push((
                        stream["id"].as_i64().expect("a stream"),
                        "0.0".to_owned(),
                        text(&stream[end]["seconds"]),
                        bytes,
                        stream[end]["bits_per_second"].as_f64().expect("a rate") as u64,
                    ));
                }
            }
        }
    }
    rows.sort();
    rows
}

fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = ["iperf2", "iperf2-fast-sampling", "import"]
        .iter()
        .flat_map(|folder| recordings(folder, ".txt"))
        .collect();
    files.retain(|file| {
        let name = file.to_string_lossy();
        name.contains("_y_") && !fs::read(file).expect("bytes").is_empty()
    });
    files
}

#[test]
fn every_row_of_every_recording_is_there_once() {
    let files = files();
    assert!(files.len() >= 120, "{}", files.len());
    for file in files {
        let text = fs::read_to_string(&file).expect("text");
        let read =
            runs(text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(found(&read), told(&text), "{}", file.display());
    }
}

fn recording(name: &str) -> Vec<Value> {
    let file = files()
        .into_iter()
        .find(|file| file.ends_with(name))
        .expect(name);
    let read = runs(&fs::read(file).expect("bytes")).expect("runs");
    read.into_iter().map(|run| run.document).collect()
}

#[test]
fn what_rows_without_names_tell() {
    let [tcp] = &recording("iperf2/tcp_P2_y_C.client.txt")[..] else {
        panic!("one run");
    };
    let (test, sum) = (&tcp["test"], &tcp["sum"]["directions"][0]);
    assert_eq!(
        (&test["protocol"], &test["transport"]),
        (&"iperf2".into(), &"tcp".into())
    );
    assert_eq!((&test["role"], &test["streams"]), (&Value::Null, &2.into()));
    assert_eq!(test["complete"], true);
    assert_eq!(sum["direction"], "forward");
    assert_eq!(sum["sender"]["bytes"], 5_222_039_680_u64);
    assert_eq!(sum["sender"]["bits_per_second"], 20_886_184_975.0);
    assert_eq!(tcp["streams"][0]["local"], "192.168.77.1:45648");
    assert_eq!(tcp["imported"]["resolution"]["seconds"], 0.1);
    // Rows of datagrams have the same columns at both ends.
    let sent = &recording("iperf2/udp_y_C.client.txt")[0];
    assert_eq!(sent["intervals"][0]["counted_by"], "sender");
    assert_eq!(sent["intervals"][0]["packets"], 90);
    let received = &recording("iperf2/udp_y_C.server.txt")[0];
    let stream = &received["streams"][0]["receiver"];
    assert_eq!(
        (&stream["packets"], &stream["lost"]),
        (&181.into(), &0.into())
    );
    assert_eq!(stream["jitter_ms"], 0.003);
    assert_eq!(received["intervals"][0]["counted_by"], "receiver");
}

#[test]
fn what_named_columns_tell() {
    let tcp = &recording("iperf2/tcp_P2_y_c_e.client.txt")[0];
    assert_eq!(tcp["test"]["role"], "client");
    assert_eq!(tcp["peer"]["address"], "192.168.77.2");
    let interval = &tcp["intervals"][0];
    assert_eq!(interval["retransmits"], 4);
    assert_eq!(interval["cwnd_bytes"], 475 * 1024);
    assert_eq!(
        (&interval["rtt_ms"], &interval["rtt_variance_ms"]),
        (&1.535.into(), &2.86.into())
    );
    assert_eq!(tcp["sum"]["sender"]["retransmits"], 274);
    let server = &recording("iperf2/udp_triptimes_y_c_e.server.txt")[0];
    assert_eq!(server["test"]["role"], "server");
    let delay = &server["streams"][0]["one_way_delay"];
    assert_eq!(
        (&delay["mean_ms"], &delay["samples"]),
        (&0.01.into(), &183.into())
    );
    assert_eq!(
        (&delay["max_ms"], &delay["clock"]),
        (&0.119.into(), &"unknown".into())
    );
    let trips = &recording("iperf2/tcp_bounceback_y_c_e.client.txt")[0];
    assert_eq!(trips["test"]["workload"], "request_response");
    let stream = &trips["streams"][0];
    assert_eq!(
        (&stream["rtt"]["mean_ms"], &stream["requests"]["responses"]),
        (&0.157.into(), &20.into())
    );
    assert_eq!(stream["requests"]["per_second"], 6367.4);
    let both = &recording("iperf2/tcp_fullduplex_y_c_e.client.txt");
    assert_eq!(both.len(), 1);
    assert_eq!(both[0]["test"]["direction"], "bidirectional");
}

#[test]
fn tests_one_after_the_other_are_runs() {
    let row = |second: u32, port: u16, id: u32| {
        format!("202611202311{second:02},10.0.0.1,{port},10.0.0.2,5001,{id},0.0-10.0,1000,800\n")
    };
    // The same number with another port, and another number ten seconds later; two streams end together.
    let file = [
        row(10, 40_000, 3),
        row(20, 40_001, 3),
        row(30, 40_002, 4),
        row(30, 40_003, 5),
    ]
    .concat();
    let read = runs(file.as_bytes()).expect("runs");
    let streams = |run: &Run| run.document["streams"].as_array().map(Vec::len);
    assert_eq!(
        read.iter().map(streams).collect::<Vec<_>>(),
        [Some(1), Some(1), Some(2)]
    );
    // Two clients of a server, among each other.
    let other = |second: u32, rows: &str| {
        format!("202611202311{second:02},10.0.0.9,7,10.0.0.2,5001,4,{rows},1000,800\n")
    };
    let mixed = [
        row(10, 40_000, 3),
        other(10, "0.0-1.0"),
        other(11, "1.0-2.0"),
        other(11, "0.0-2.0"),
    ];
    assert_eq!(runs(mixed.concat().as_bytes()).expect("runs").len(), 2);
}

/// Before 2.0.14 the server's own address came first.
#[test]
fn an_old_server_receives() {
    let row = b"20091120231110,10.0.0.2,5001,10.0.0.1,40000,4,0.0-10.0,1000,800\n";
    let stream = |document: &Value| document["streams"][0].clone();
    let old = stream(&runs(row).expect("runs")[0].document);
    assert_eq!(
        (&old["direction"], &old["receiver"]["bytes"]),
        (&"forward".into(), &1000.into())
    );
    assert_eq!(old["local"], "10.0.0.2:5001");
    let new = String::from_utf8_lossy(row).replace(",4,", ",1,");
    let new = stream(&runs(new.as_bytes()).expect("runs")[0].document);
    assert_eq!(
        (&new["direction"], &new["sender"]["bytes"]),
        (&"reverse".into(), &1000.into())
    );
}

#[test]
fn rows_are_bounded() {
    let row = |start: u32| {
        format!(
            "20261120231110,1.1.1.1,9,1.1.1.2,5001,3,{start}.0-{}.0,1,8\n",
            start + 1
        )
    };
    let many: String = (1..=(1 << 19) + 1).map(row).collect();
    let mut why = String::new();
    let used = allocation_counter::measure(|| {
        let mut runs = import::read("a.csv", many.as_bytes(), Some(Kind::Iperf2Csv)).expect("rows");
        let fault = runs.next().expect("an item").map(|run| run.position);
        why = fault.expect_err("a fault").to_string();
    });
    assert!(used.bytes_max <= 160 << 20, "{} MiB", used.bytes_max >> 20);
    assert_eq!(why, "a.csv:524289: more than 524288 intervals");
}
