//! What belongs to a link: link-local addresses, devices that are read below the sockets.

use std::time::Duration;

use interop::{
    DatagramCounts, Invocation, Namespace, NamespacePair, Program, Transcript, Transport,
    await_listening, skip,
};

/// Time that a server may take to print its last row after the client has ended.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Namespaces have ports of their own.
const PORT: u16 = 5011;

const OURS: Program = Program::TapelineAsIperf;
const PEER: Program = Program::Iperf221;
/// Client and server.
const PAIRS: [(Program, Program); 3] = [(OURS, PEER), (PEER, OURS), (OURS, OURS)];

/// Runs a client against a server on the other host, for every pair of programs; the server's
/// output goes to `check` when it has a total.
fn run(
    test: &str,
    pairs: &[(Program, Program)],
    server_line: &str,
    client_line: &str,
    check: impl Fn(&str, &str, &Transcript),
) {
    for (client, server) in pairs {
        let missing = [client, server].into_iter().find_map(|it| it.missing());
        if let Some(reason) = missing {
            return skip(test, &reason);
        }
        let pair = match NamespacePair::new() {
            Ok(pair) => pair,
            Err(error) => return skip(test, &format!("no network namespaces: {error}")),
        };
        let what = format!("{} to {}", client.label(), server.label());
        // Packets leave from the client's own one, which must be usable as well.
        let _ = link_local(&pair.client);
        let link_local = link_local(&pair.server);
        let transport = if server_line.contains("-u") {
            Transport::Udp
        } else {
            Transport::Tcp
        };
        let running = Invocation::new(*server)
            .line(&format!("-s -p {PORT} {server_line}"))
            .within(&pair.server)
            .spawn()
            .expect("a server");
        await_listening(&running, transport, PORT).expect("a server");
        let client = Invocation::new(*client)
            .line(&format!("-p {PORT} {client_line}").replace("LINK_LOCAL", &link_local))
            .within(&pair.client)
            .run()
            .expect("a client");
        assert_eq!(client.code(), Some(0), "{what}: {client}");
        let complete = running.wait_for(TIMEOUT, |out| !Transcript::parse(out).totals().is_empty());
        let output = running.stdout();
        running.interrupt();
        let _ = running.wait();
        assert!(complete, "{what}: {output}");
        check(&what, &output, &Transcript::parse(&output));
    }
}

/// The link-local address of a host, once it is usable.
fn link_local(host: &Namespace) -> String {
    for _ in 0..500 {
        let shown = host
            .ip("-6 -o address show dev eth0 scope link -tentative")
            .expect("addresses");
        if let Some((_, rest)) = shown.split_once("inet6 ") {
            return rest.split('/').next().unwrap_or_default().to_owned();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no link-local address");
}

/// All that was sent has arrived.
fn complete(what: &str, output: &str, server: &Transcript) {
    assert!(!output.contains("L2 processing"), "{what}: {output}");
    let totals = server.totals();
    assert_eq!(totals.len(), 1, "{what}");
    let Some(DatagramCounts { lost, total }) = totals[0].datagrams else {
        panic!("{what}: no datagrams");
    };
    assert_eq!(lost, 0, "{what}");
    assert!(total >= 40, "{what}: {total}");
}

/// 2.2.1 has no IPv6 groups for one source.
#[test]
fn an_ipv6_group_is_joined_for_one_source() {
    run(
        "groups_v6_source",
        &[(OURS, OURS)],
        "-u -V -B ff35::99%eth0 -H fd77::1",
        "-u -V -c ff35::99 -B fd77::1 -t 0.5",
        complete,
    );
}

#[test]
fn a_link_local_server_is_reached_through_its_device() {
    run(
        "groups_link_local_tcp",
        &PAIRS,
        "-V",
        "-V -c LINK_LOCAL%eth0 -n 1M",
        |what, _, server| assert_eq!(server.totals().len(), 1, "{what}"),
    );
    run(
        "groups_link_local_udp",
        &PAIRS,
        "-V -u",
        "-V -u -c LINK_LOCAL%eth0 -t 0.5",
        complete,
    );
}

/// The kernel computes checksums late between hosts of one machine; that is no fault.
#[test]
fn a_device_is_read_and_checked_below_the_sockets() {
    for server_line in ["-u -e --tap-dev=eth0", "-u -e --l2checks"] {
        run(
            "links_below_sockets",
            &[(PEER, OURS), (OURS, OURS)],
            server_line,
            "-u -c 10.77.0.2 --l2checks -t 0.5",
            complete,
        );
    }
}
