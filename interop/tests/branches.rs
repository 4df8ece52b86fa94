//! Parallel UDP flows of the reference's client, each with a socket of its own at our server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use interop::{
    DatagramCounts, Family, Program, Row, RowId, ServerSpec, Transcript, Transport, skip,
};

/// Time that a server may take to print its total after the client has ended.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Between two looks at the sockets.
const LOOK: Duration = Duration::from_millis(5);

/// Sockets that are bound to a port of this host, in the kernel's table.
fn sockets(port: u16) -> usize {
    let tables = ["/proc/net/udp", "/proc/net/udp6"].map(std::fs::read_to_string);
    let local = format!(":{port:04X}");
    let lines = tables.iter().flatten().flat_map(|table| table.lines());
    let bound = lines.filter(|line| {
        let address = line.split_whitespace().nth(1);
        address.is_some_and(|address| address.ends_with(&local))
    });
    bound.count()
}

/// The most sockets that a port has while `body` runs, and its result.
fn most_sockets<T>(port: u16, body: impl FnOnce() -> T) -> (usize, T) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !over.load(Ordering::Relaxed) {
                most = most.max(sockets(port));
                std::thread::sleep(LOOK);
            }
            most
        });
        let result = body();
        over.store(true, Ordering::Relaxed);
        (watch.join().expect("a watch"), result)
    })
}

/// Datagrams of all flows that an end has sent or counted.
fn sum(counts: impl Iterator<Item = u64>, flows: usize, what: &str) -> u64 {
    let counts: Vec<u64> = counts.collect();
    assert_eq!(counts.len(), flows, "{what}: {counts:?}");
    counts.iter().sum()
}

/// Runs so many flows of `client`; returns the most sockets that the server's port had.
fn run(client: Program, family: Family, flows: usize) -> usize {
    let server = ServerSpec::new(Program::TapelineAsIperf, Transport::Udp, family)
        .options("-i 0.5")
        .start()
        .expect("a server");
    let what = format!("{client} {family:?} -P {flows}");
    let line = format!("-P {flows} -b 40m -l 1470 -t 1.5");
    let (sockets, client) = most_sockets(server.port(), || {
        server.client(client).line(&line).run().expect("a client")
    });
    assert_eq!(client.code(), Some(0), "{what}: {client}");
    let is_whole = |row: &Row| row.interval.0 == 0.0 && row.interval.1 > 1.0;
    let served = server.await_output(TIMEOUT, |out| {
        let totals = out.totals();
        let sums = flows == 1 || out.sum().is_some_and(is_whole);
        totals.len() == flows && totals.iter().all(is_whole) && sums
    });
    let client = Transcript::parse(&client.stdout);
    // The client counts its final datagrams, too.
    let sent = client.sent.iter().filter(|(id, _)| *id != RowId::Sum);
    let sent = sum(sent.map(|(_, count)| count - 1), flows, &what);
    let totals = served.totals();
    let counted = totals.iter().map(|row| {
        let DatagramCounts { lost, total } = row.datagrams.expect("counts");
        assert_eq!(lost, 0, "{what}");
        let intervals = served.intervals(row);
        let bytes: u64 = intervals.iter().map(|row| row.bytes).sum();
        // What comes a moment behind the last boundary has no row.
        let behind = row.bytes.checked_sub(bytes);
        let behind = behind.unwrap_or_else(|| panic!("{what}: the rows have {bytes}"));
        assert!(behind < row.bytes / 50, "{what}: {behind}");
        total
    });
    assert_eq!(sum(counted, flows, &what), sent, "{what}");
    if flows > 1 {
        let of_all = served.sum().and_then(|row| row.datagrams);
        assert_eq!(of_all.expect("a sum").total, sent, "{what}");
    }
    assert_eq!(served.out_of_order_total(), 0, "{what}");
    let reports = client.server_reports.iter();
    let reported = reports.map(|row| row.datagrams.expect("counts").total);
    assert_eq!(sum(reported, flows, &what), sent, "{what}");
    sockets
}

/// There is the reference and more than one processor, or a skip.
fn is_able(test: &str) -> bool {
    let one = std::thread::available_parallelism().is_ok_and(|count| count.get() == 1);
    let reason = Program::Iperf221.missing();
    let reason = reason.or_else(|| one.then(|| "there is one processor".to_owned()));
    if let Some(reason) = &reason {
        skip(test, reason);
    }
    reason.is_none()
}

#[test]
fn four_flows_have_several_sockets_and_no_datagram_is_missed() {
    if !is_able("four_flows_have_several_sockets_and_no_datagram_is_missed") {
        return;
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    for client in [Program::Iperf221, Program::Iperf2014a] {
        if client.missing().is_none() {
            let sockets = run(client, Family::V4, 4);
            assert_eq!(sockets, 1 + processors.min(4), "{client}");
        }
    }
    let sockets = run(Program::Iperf221, Family::V6, 4);
    assert_eq!(sockets, 1 + processors.min(4));
}

#[test]
fn one_flow_has_the_servers_socket() {
    if is_able("one_flow_has_the_servers_socket") {
        assert_eq!(run(Program::Iperf221, Family::V4, 1), 1);
    }
}
