//! Shapes of traffic, starts, keys and names of flows.

use std::time::{Instant, SystemTime};

use crate::pair::{Pair, has, number_before, rows};
use crate::program::{Program, Server, command};

#[test]
fn frames_leave_at_their_rate() {
    let pair = Pair::run("-u", "-u --isochronous=50:2m,0 -t 0.5");
    has(
        pair.client(),
        "Isochronous: 50.00 frames/sec mean=2.00 Mbit/s",
    );
    has(pair.client(), "isoch:tx/miss/slip");
    // The machine may be late; no frame is forgotten.
    let row = rows(pair.client(), "[  1]")[0];
    let counts = row.split_whitespace().last().expect("three counts");
    let counts: Vec<u32> = counts
        .split('/')
        .map(|part| part.parse().expect("a count"))
        .collect();
    assert_eq!(counts[0] + counts[1], 25, "{row}");
}

#[test]
fn bursts_have_their_period_and_size() {
    let pair = Pair::run("-u", "-u --burst-period 0.1 --burst-size 20K -t 0.5 -e");
    has(pair.client(), "Bursting: 20.0 KByte every 0.100 second(s)");
    // Five bursts of 14 datagrams, and the final one.
    has(pair.client(), "Sent 71 datagrams");
}

#[test]
fn datagrams_keep_a_gap() {
    let pair = Pair::run("-u", "-u --ipg 0.01 -n 20000 -l 1000 -e");
    has(pair.client(), "IPG target: 10000.00 us");
    let rate = number_before(rows(pair.client(), "[  1]")[0], " pps");
    assert!((70.0..=110.0).contains(&rate), "{}", pair.client());
}

#[test]
fn lengths_follow_their_chain_and_repeat_with_the_seed() {
    let chain = "-u -e -b 5000pps -n 200K -l <100|0.5,0.5<300|0.2,0.8";
    let table = |seed: &str| {
        let pair = Pair::run("-u", &format!("{chain} {seed}"));
        has(
            pair.client(),
            "Sending lengths using markov chain: <100|0.5,0.5<300|0.2,0.8",
        );
        let lines = pair.client().lines().filter(|line| line.contains("=100("));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let first = table("--set-rand-seed 7");
    assert_eq!(first.len(), 2, "{first:?}");
    assert_eq!(first, table("--set-rand-seed 7"));
    assert_ne!(first, table("--set-rand-seed 8"));
}

#[test]
fn starts_are_put_off() {
    let begun = Instant::now();
    let pair = Pair::run("", "-n 10K --txdelay-time 0.3");
    assert!(begun.elapsed().as_secs_f64() >= 0.3);
    has(pair.client(), "Client traffic to start in ");
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("a clock");
    let start = now.as_secs_f64() + 0.7;
    Pair::run("", &format!("-n 10K --txstart-time {start:.6}"));
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("a clock");
    assert!(now.as_secs_f64() >= start);
}

#[test]
fn a_key_opens_the_server_to_those_who_know_it() {
    let pair = Pair::run("--permit-key=secret", "-n 10K --permit-key=secret");
    has(
        pair.server(),
        "Permit key is 'secret' (timeout in 20.0 seconds)",
    );
    has(pair.server(), "[secret(1)]");
    has(pair.client(), "[secret(1)]");
    let server = Server::iperf("--permit-key=secret");
    let line = format!("-c 127.0.0.1 -p {} -n 10K --permit-key=wrong", server.port);
    Program::iperf(&line).end();
    has(&server.stop().stdout, "(permit key fail)");
}

#[test]
fn a_key_is_made_up_and_ends_with_its_time() {
    let begun = Instant::now();
    let ended = Server::iperf("--permit-key --permit-key-timeout 0.5")
        .program
        .end();
    assert_eq!(ended.code(), Some(0));
    assert!(begun.elapsed().as_secs_f64() >= 0.4);
    has(&ended.stdout, "Permit key is '");
}

#[test]
fn the_server_shows_the_clients_numbers() {
    let server = Server::iperf("");
    // Without the option the server goes on counting.
    server.serves("");
    let line = format!(
        "-c 127.0.0.1 -p {} -n 10K -P 2 --sync-transfer-id",
        server.port
    );
    assert_eq!(Program::iperf(&line).end().code(), Some(0));
    let output = server.stop().stdout;
    assert_eq!(rows(&output, "[  1]").len(), 2, "{output}");
    assert_eq!(rows(&output, "[  2]").len(), 1, "{output}");
}

#[test]
fn receivers_leave_data_in_the_kernel_and_clamp_their_window() {
    let pair = Pair::run("--skip-rx-copy --tcp-rx-window-clamp 20K", "-n 1M");
    has(pair.server(), "(skip-rx-copy)");
    has(pair.server(), "(clamp=20480)");
    has(rows(pair.server(), "[  1]")[0], "1.00 MBytes");
}

#[test]
fn senders_pace_and_limit_what_waits() {
    let pair = Pair::run("", "-n 400K --fq-rate 8m --tcp-write-prefetch 16K -e");
    has(pair.client(), "fair-queue socket pacing set to 8.00 Mbit/s");
    has(
        pair.client(),
        "Event based writes (pending queue watermark at 16384 bytes)",
    );
    let pair = Pair::run("", "-n 10K --tcp-tx-delay 2.5");
    has(
        pair.client(),
        "Socket option of TCP_TX_DELAY set to 2.500 milliseconds",
    );
}

#[test]
fn a_ring_that_is_not_there_is_not_sized() {
    let pair = Pair::run("", "-n 10K --NUM_REPORT_STRUCTS 500");
    // A word on standard error would make a failure of it.
    assert_eq!(pair.client.stderr, "");
}

#[test]
fn rates_really_vary() {
    let line = "-u -b 8m,4m -l 500 -t 0.8 -i 0.1 --set-rand-seed 5";
    let pair = Pair::run("-u", line);
    let rows = rows(pair.client(), "[  1]");
    let amounts: std::collections::HashSet<&str> = rows
        .iter()
        .filter_map(|row| row.split(" sec ").nth(1)?.split("Bytes").next())
        .collect();
    assert!(amounts.len() >= 4, "{}", pair.client());
}

#[test]
fn streams_carry_frames_and_bursts_too() {
    let pair = Pair::run("-e", "--isochronous=50:2m,0 -t 0.5");
    has(pair.client(), "isoch:tx/miss/slip");
    // A busy machine may leave frames out; unpaced it would be gigabytes.
    let received = number_before(rows(pair.server(), "[  1]")[0], " KBytes");
    assert!((5.0..=123.0).contains(&received), "{}", pair.server());
    let pair = Pair::run("", "--burst-period 0.1 --burst-size 256K -t 0.3");
    has(rows(pair.client(), "[  1]")[0], " 768 KBytes");
}

#[test]
fn pauses_follow_the_round_trip() {
    let pair = Pair::run("", "--near-congestion=3 -t 0.2 -e");
    has(
        pair.client(),
        "TCP near-congestion delay weight set to 3.0000",
    );
    let free = Pair::run("", "-t 0.2 -e -l 128K");
    let rate = |pair: &Pair| {
        let row = rows(pair.client(), "[  1]")[0].to_owned();
        number_before(row.split(" sec ").nth(1).expect("writes"), "/0 ")
    };
    assert!(
        rate(&pair) < rate(&free),
        "{}{}",
        pair.client(),
        free.client()
    );
}

#[test]
fn pacing_by_the_kernel_takes_its_steps() {
    let line = "-t 0.5 -i 0.1 --fq-rate 8m --fq-rate-step 8m --fq-rate-step-interval 0.2";
    let pair = Pair::run("", line);
    has(pair.client(), "(stepping rate by 8.00 Mbit/s)");
    has(pair.client(), " 8.00 Mbit/sec");
    has(pair.client(), " 16.0 Mbit/sec");
}

#[test]
fn content_is_sent_to_its_last_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("content");
    // The test header of 64 bytes counts too.
    let content: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    std::fs::write(&path, content).expect("a file");
    let file = path.display();
    for option in ["-F", "--file_input", "--fileinput"] {
        let pair = Pair::run("-f b", &format!("{option} {file}"));
        has(rows(pair.server(), "[  1]")[0], " 300064 Bytes ");
    }
    for option in ["-I", "--stdin"] {
        let server = Server::iperf("-f b");
        let port = server.port.to_string();
        let input = std::fs::File::open(&path).expect("the file");
        let words = ["--as", "iperf", "-c", "127.0.0.1", "-p", &port, option];
        let client = command(&words).stdin(input).output().expect("a client");
        assert!(client.status.success());
        has(rows(&server.stop().stdout, "[  1]")[0], " 300064 Bytes ");
    }
}

#[test]
fn a_load_runs_beside_the_test_under_its_own_control() {
    let line = "--bounceback=2 -t 0.3 --working-load=down,2 --working-load-cca reno";
    let pair = Pair::run("", line);
    has(pair.client(), "(1/2 flows/load)");
    has(
        pair.client(),
        "TCP working load congestion control set to reno",
    );
    assert_eq!(
        pair.client().matches("(reverse) (reno)").count(),
        2,
        "{}",
        pair.client()
    );
    for id in ["[ *2]", "[ *3]"] {
        assert!(!rows(pair.client(), id).is_empty(), "{}", pair.client());
    }
}

#[test]
fn datagrams_under_congestion_control_carry_frames_too() {
    let pair = Pair::run("-u", "-u --udp-l4s-video=50:1m,0 -t 0.5");
    has(pair.client(), "(isoch) (l4s)");
    has(
        pair.client(),
        "Isochronous: 50.00 frames/sec mean=1.00 Mbit/s",
    );
    has(pair.client(), "isoch:tx/miss/slip");
}
