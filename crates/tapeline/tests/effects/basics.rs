//! Modes, addresses, amounts, directions, sockets and the form of the output.

use crate::pair::{Pair, has, has_not, number_before, rows};
use crate::program::{Program, Server};

#[test]
fn window_sets_the_buffer_of_each_role() {
    let pair = Pair::run("-w 64K", "-n 10K -w 32K");
    // Linux doubles what is asked for.
    has(
        pair.client(),
        "TCP window size: 64.0 KByte (WARNING: requested 32.0 KByte)",
    );
    has(
        pair.server(),
        "TCP window size:  128 KByte (WARNING: requested 64.0 KByte)",
    );
}

#[test]
fn congestion_control_is_set_and_sent_to_the_server() {
    for option in ["-Z", "--tcp-congestion", "--tcp-cca"] {
        let pair = Pair::run("-e", &format!("-n 10K -e {option} reno"));
        has(
            pair.client(),
            "TCP congestion control set to reno using reno",
        );
        has(&rows_of_connections(pair.server()), "(reno)");
    }
    let pair = Pair::run("-Z reno", "-n 10K");
    has(pair.server(), "set to reno using reno");
}

fn rows_of_connections(output: &str) -> String {
    let lines = output
        .lines()
        .filter(|line| line.contains("connected with"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn segment_sizes_are_set_and_shown() {
    let pair = Pair::run("", "-n 10K -M 900 -e");
    has(pair.client(), "MSS req size 900 bytes (per TCP_MAXSEG)");
    // Time stamps of TCP take 12 bytes of each segment.
    has(&rows_of_connections(pair.client()), "/888/");
    let pair = Pair::run("-m", "-n 10K -m");
    has(pair.client(), "MSS size ");
    has(pair.server(), "MSS size ");
}

#[test]
fn nodelay_is_shown() {
    has(
        Pair::run("", "-n 10K -e -N").client(),
        "nodelay (Nagle off)",
    );
    has(Pair::run("", "-n 10K -e").client(), "(Nagle on)");
}

#[test]
fn types_of_service_are_read_back() {
    let pair = Pair::run("-S 0x20", "-n 10K -e -S af41");
    has(pair.client(), "TOS set to 0x88 (dscp=34,ecn=0)");
    has(pair.server(), "tos tx=0x88");
    has(pair.server(), "TOS will be set to 0x20 (dscp=8,ecn=0)");
    let pair = Pair::run("", "-n 10K -e --dscp 46");
    has(pair.client(), "tos tx=0xb8,dscp=46,ecn=0");
    has(pair.server(), "tos tx=0xb8,dscp=46,ecn=0");
    let pair = Pair::run("--tos-override cs3", "-n 10K -e -R");
    has(
        pair.server(),
        "Reflected TOS will be set to 0x60 (dscp=24,ecn=0)",
    );
}

#[test]
fn lengths_and_amounts_are_kept() {
    let pair = Pair::run("-e -l 16K", "-n 1M -l 64K -e");
    has(pair.client(), "Write buffer size: 65536 Byte");
    // The test header has a write of its own, as in 2.2.1; the last one is shorter by it.
    has(pair.client(), "17/0");
    has(pair.client(), "1.00 MBytes");
    has(pair.server(), "Read buffer size: 16.0 KByte");
    let pair = Pair::run("-u", "-u -n 20000 -l 1000 -b 100m");
    // The last datagram ends the test.
    has(pair.client(), "Sent 21 datagrams");
}

#[test]
fn rates_are_kept() {
    interop::in_a_quiet_moment(|| {
        let pair = Pair::run("-u", "-u -b 8m -l 1000 -n 400000 -e");
        has(pair.client(), "IPG target: 1000.00 us");
        let rate = number_before(rows(pair.server(), "[  1]")[0], " Mbits/sec");
        assert!((7.2..8.8).contains(&rate), "{rate}");
    });
    let pair = Pair::run("-u", "-u -b 500pps -l 100 -n 5000 -e");
    has(pair.client(), "IPG target: 2000.00 us");
    let pair = Pair::run("", "-b 8m -l 10K -n 400K");
    let rate = number_before(rows(pair.server(), "[  1]")[0], " Mbits/sec");
    assert!(rate < 10.0, "{rate}");
}

#[test]
fn times_and_intervals_make_rows() {
    let pair = Pair::run("-i 0.2", "-t 0.5 -i 0.1");
    assert!(rows(pair.client(), "[  1]").len() >= 5, "{}", pair.client());
    has(pair.client(), "0.10-0.20 sec");
    has(pair.server(), "0.20-0.40 sec");
    let server = Server::iperf("-t 0.2").program.end();
    assert_eq!(server.code(), Some(0));
}

#[test]
fn parallel_flows_have_rows_and_a_sum() {
    let server = Server::iperf("-P 3");
    let client = Program::iperf(&format!("-c 127.0.0.1 -p {} -n 10K -P 3", server.port)).end();
    for id in ["[  1]", "[  2]", "[  3]", "[SUM]"] {
        assert_eq!(rows(&client.stdout, id).len(), 1, "{}", client.stdout);
    }
    // Served as many as asked for, the server ends by itself.
    assert_eq!(server.program.end().code(), Some(0));
}

#[test]
fn directions_have_their_rows() {
    let pair = Pair::run("", "-n 100K -R");
    assert_eq!(rows(pair.client(), "[ *1]").len(), 1, "{}", pair.client());
    let pair = Pair::run("", "-n 100K --full-duplex -e");
    for id in ["[  1]", "[ *1]", "[FD1]"] {
        assert_eq!(rows(pair.client(), id).len(), 1, "{}", pair.client());
    }
    for option in ["-d", "-r"] {
        let port = interop::free_port();
        let pair = Pair::run("", &format!("{option} -n 100K -L {port}"));
        has(
            pair.client(),
            &format!("Server listening on TCP port {port}"),
        );
        has(
            pair.client(),
            &format!("[  2] local 127.0.0.1 port {port} connected"),
        );
        assert_eq!(rows(pair.server(), "[ *2]").len(), 1, "{}", pair.server());
        // Only what runs at the same time is added up.
        assert_eq!(
            rows(pair.client(), "[SUM]").len(),
            usize::from(option == "-d")
        );
    }
}

#[test]
fn versions_are_asked_for_and_headers_left_out() {
    has(Pair::run("", "-X -n 10K -e").client(), "(peer 2.2.1");
    has(Pair::run("-e", "-n 10K -e").server(), "(peer 2.2.1");
    has_not(Pair::run("-e", "-C -n 10K").server(), "(peer ");
}

#[test]
fn refused_connects_are_tried_again() {
    let port = interop::free_port();
    let line = format!("-c 127.0.0.1 -p {port} --connect-retry-time 0.3 --connect-retry-timer 0.1");
    let ended = Program::iperf(&line).end();
    assert_eq!(ended.code(), Some(1));
    let refused = ended.stderr.matches("failed (Connection refused)").count();
    assert!((2..=4).contains(&refused), "{}", ended.stderr);
    has(&ended.stderr, "tcp connect attempt timer expired");
}

#[test]
fn a_udp_test_without_an_ending_has_no_report() {
    has(
        Pair::run("-u", "-u -n 10K -b 100m").client(),
        "Server Report:",
    );
    let server = Server::iperf("-u");
    let line = format!(
        "-c 127.0.0.1 -p {} -u -n 10K -b 100m --no-udp-fin",
        server.port
    );
    has_not(&Program::iperf(&line).end().stdout, "Server Report:");
}

#[test]
fn own_addresses_and_families_are_used() {
    let port = interop::free_port();
    let pair = Pair::run("", &format!("-n 10K -B 127.0.0.2:{port}"));
    let own = format!("local 127.0.0.2 port {port}");
    has(pair.client(), &own);
    has(
        pair.server(),
        &format!("connected with 127.0.0.2 port {port}"),
    );
    for option in ["-V", "-6", "--v6"] {
        let server = Server::iperf(option);
        let line = format!("-c ::1 -p {} -n 10K {option}", server.port);
        has(&Program::iperf(&line).end().stdout, "local ::1 port");
    }
    for option in ["-4", "--v4"] {
        has(
            Pair::run(option, &format!("-n 10K {option}")).client(),
            "local 127.0.0.1",
        );
    }
}

#[test]
fn output_takes_the_form_asked_for() {
    let pair = Pair::run("", "-n 10K -y C");
    let fields = |text: &str| text.lines().next().map(|line| line.split(',').count());
    assert_eq!(fields(pair.client()), Some(9), "{}", pair.client());
    let pair = Pair::run("", "-n 10K -x CS");
    has_not(pair.client(), "connected with");
    has_not(pair.client(), "Client connecting");
    let pair = Pair::run("", "-n 1000000 -P 2 --sum-only -f b");
    assert_eq!(rows(pair.client(), "[  1]").len(), 0);
    has(rows(pair.client(), "[SUM]")[0], " 2000000 Bytes ");
    let pair = Pair::run("", "-n 10K -e --hide-ips");
    has(pair.client(), "Client connecting to (**hidden**)");
    has(pair.client(), "local *.*.*.1");
    let pair = Pair::run("", "-n 10K -e --utc");
    has(pair.client(), "(GMT)");
}

#[test]
fn enhanced_rows_have_more_columns() {
    has(Pair::run("", "-n 10K -e").client(), "Write/Err  Rtry");
    has_not(Pair::run("", "-n 10K").client(), "Write/Err  Rtry");
}

#[test]
fn the_report_goes_to_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("report");
    let pair = Pair::run("", &format!("-n 10K -o {}", file.display()));
    has(
        pair.client(),
        "Output from stdout (but not from stderr) will be redirected to file",
    );
    let report = std::fs::read_to_string(&file).expect("the report");
    assert_eq!(rows(&report, "[  1]").len(), 1, "{report}");
}
