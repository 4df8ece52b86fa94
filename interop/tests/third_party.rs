//! Tests between other hosts: real ssh, an sshd in each of several network namespaces. Nothing is left on
//! any host, however a test ends.

use std::net::IpAddr;
use std::time::Duration;

use interop::{Family, Finished, Program, Running, ServerSpec, SshHosts, Transport, skip};

/// For what should be there soon.
const SOON: Duration = Duration::from_secs(20);
/// For everything to be gone from all hosts.
const GONE: Duration = Duration::from_secs(10);

/// Hosts, unless there can be none here; nobody makes them twice to find out.
fn hosts(test: &str, count: u8) -> Option<SshHosts> {
    if let Some(reason) = SshHosts::unavailable() {
        skip(test, &reason);
        return None;
    }
    Some(SshHosts::new(count).expect("hosts"))
}

#[track_caller]
fn nothing_is_left(hosts: &SshHosts) {
    let left = hosts.left_after(GONE);
    assert!(left.is_empty(), "{left:?}");
}

/// Runs a line on the host that orders.
#[track_caller]
fn run(hosts: &SshHosts, line: &str) -> Finished {
    let finished = hosts
        .tapeline()
        .line(line)
        .deadline(Duration::from_secs(60));
    finished.run().expect("tapeline")
}

/// A long test from `h1` to `h2` at a low rate, in its second row.
fn running(hosts: &SshHosts) -> Running {
    let address = hosts.hosts()[1].address();
    let line = format!("-c {address} --from h1 --serve-on ssh -t 600 -i 0.1 -b 20m");
    let client = hosts.tapeline().line(&line).spawn().expect("tapeline");
    let begun = client.wait_for(SOON, |text| text.contains(" 0.10-0.20 "));
    assert!(begun, "{}{}", client.stdout(), client.stderr());
    client
}

/// Both directions, both transports, with a server that is there and with one that is ordered.
#[test]
fn tests_run_between_other_hosts() {
    let Some(hosts) = hosts("tests_run_between_other_hosts", 2) else {
        return;
    };
    let (from, to) = (hosts.hosts()[0].address(), hosts.hosts()[1].address());
    let result = |finished: &Finished, words: &str| {
        assert_eq!(finished.code(), Some(0), "{finished}");
        assert!(finished.stdout.contains(words), "{finished}");
        assert!(finished.stdout.contains(&from.to_string()), "{finished}");
        nothing_is_left(&hosts);
    };
    for (options, words) in [
        ("-n 1M", "received by 10.78.0.2"),
        ("-R -n 1M", "received from 10.78.0.2"),
        ("-u -b 5m -t 1", "received by 10.78.0.2"),
        ("-u -R -b 5m -t 1", "received from 10.78.0.2"),
        ("--peer iperf3 -n 1M", "received by 10.78.0.2"),
    ] {
        let line = format!("-c {to} --from h1 --serve-on ssh {options}");
        result(&run(&hosts, &line), words);
    }
    let spec = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4);
    let server = spec.start_within(hosts.hosts()[1].namespace());
    let server = server.expect("a server");
    let line = format!("-c {to} -p {} --from root@h1 -n 1M", server.port());
    let finished = run(&hosts, &line);
    drop(server);
    result(&finished, "received by 10.78.0.2");
    // From here, to a server that is started there.
    let finished = run(&hosts, &format!("-c {to} --serve-on ssh:h2 -n 1M"));
    assert_eq!(finished.code(), Some(0), "{finished}");
    nothing_is_left(&hosts);
}

#[test]
fn an_interrupt_ends_the_test_there_with_its_totals() {
    let Some(hosts) = hosts("an_interrupt_ends_the_test_there_with_its_totals", 2) else {
        return;
    };
    let client = running(&hosts);
    client.interrupt();
    let finished = client.wait().expect("its end");
    assert_eq!(finished.code(), Some(0), "{finished}");
    assert!(
        finished.stdout.contains("received by 10.78.0.2"),
        "{finished}"
    );
    assert!(finished.stdout.contains("interrupted after"), "{finished}");
    nothing_is_left(&hosts);
}

/// What breaks says so, the rows stay, and no host keeps a process.
#[test]
fn what_breaks_is_named_and_leaves_nothing() {
    let Some(hosts) = hosts("what_breaks_is_named_and_leaves_nothing", 2) else {
        return;
    };
    let broken = |finished: &Finished, words: &str| {
        assert_eq!(finished.code(), Some(1), "{finished}");
        assert!(finished.stderr.contains(words), "{finished}");
        assert!(finished.stdout.contains(" 0.10-0.20 "), "{finished}");
        nothing_is_left(&hosts);
    };
    let client = running(&hosts);
    assert!(hosts.hosts()[0].kill("sshd: root@") > 0);
    broken(
        &client.wait().expect("its end"),
        "error: lost tapeline on h1: ",
    );
    let client = running(&hosts);
    assert!(hosts.hosts()[0].kill("tapeline remote") > 0);
    broken(
        &client.wait().expect("its end"),
        "error: lost tapeline on h1",
    );
    // The server's host: the test there ends with its connection.
    let client = running(&hosts);
    assert!(hosts.hosts()[1].kill("sshd: root@") > 0);
    broken(
        &client.wait().expect("its end"),
        "error: lost tapeline on 10.78.0.2: ",
    );
    // The one that ordered.
    let client = running(&hosts);
    client.kill().expect("its end");
    nothing_is_left(&hosts);
}

#[test]
fn a_host_that_cannot_is_named_before_the_test() {
    let Some(hosts) = hosts("a_host_that_cannot_is_named_before_the_test", 2) else {
        return;
    };
    let refused = |line: &str, words: &str| {
        let finished = run(&hosts, line);
        assert_eq!(finished.code(), Some(1), "{finished}");
        assert!(finished.stderr.contains(words), "{finished}");
        assert!(!finished.stdout.contains("Throughput"), "{finished}");
        nothing_is_left(&hosts);
    };
    let nowhere = IpAddr::from([192, 0, 2, 1]);
    refused(
        &format!("-c {nowhere} --from h1 -t 1"),
        "error: cannot connect to 192.0.2.1 port 5001: network is unreachable",
    );
    refused(
        "-c h9 --serve-on ssh -t 1",
        "error: ssh cannot reach h9: ssh: Could not resolve",
    );
    hosts.hosts()[0].uninstall().expect("there");
    refused(
        "-c 10.78.0.2 --from h1 -t 1",
        "error: no tapeline is found on h1: ",
    );
    hosts.forget_keys().expect("a file");
    refused(
        "-c 10.78.0.2 --from h1 -t 1",
        "error: ssh cannot reach h1: Host key verification failed.",
    );
}
