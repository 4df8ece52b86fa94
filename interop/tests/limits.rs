//! Tests of which it is known what limits them, and what tapeline says of it.
//!
//! The limit is made by the shaper, the relay, the scheduler's quota or the options; datagrams are
//! counted by the kernel and the packet filter. No verdict depends on how fast the machine is.

use std::io::Write;
use std::time::{Duration, Instant};

use interop::{
    Bottleneck, FairQueues, Family, Invocation, NamespacePair, PacketFilter, Places,
    ProcessorQuota, Program, RelayedPair, Running, Server, ServerSpec, Transport, skip,
};
use relay::Path;
use rustix::process::Signal;
use serde_json::Value;
use tapeline_base::ExitCode;

/// Time that a server may take for what follows a client's end.
const TIMEOUT: Duration = Duration::from_secs(20);
const TAPELINE: Program = Program::Tapeline;

/// Two hosts, or a skip.
fn hosts(test: &str) -> Option<NamespacePair> {
    let missing = TAPELINE.missing().or_else(NamespacePair::unavailable);
    if let Some(reason) = missing {
        skip(test, &reason);
        return None;
    }
    NamespacePair::new().ok()
}

/// Two hosts 20 ms apart, or a skip.
fn distant_hosts(test: &str) -> Option<RelayedPair> {
    if let Some(reason) = TAPELINE.missing() {
        skip(test, &reason);
        return None;
    }
    let way = || Path::with_delay(Duration::from_millis(10));
    match RelayedPair::new(way(), way()) {
        Ok(pair) => Some(pair),
        Err(error) => {
            skip(test, &format!("no relayed network here: {error}"));
            None
        }
    }
}

fn server(pair: &NamespacePair, transport: Transport, options: &str) -> Server {
    let spec = ServerSpec::new(TAPELINE, transport, Family::V4).options(options);
    spec.start_within(&pair.server).expect("a server")
}

fn client(pair: &NamespacePair, server: &Server, options: &str) -> Invocation {
    let address = pair.server_address(Family::V4);
    let client = server.client_to(TAPELINE, address).within(&pair.client);
    client.line(options).deadline(Duration::from_secs(40))
}

/// What a document says of the limit: `network (high): 96 % of the time cwnd-limited; ...`.
fn verdict(document: &str) -> Option<String> {
    let document: Value = serde_json::from_str(document).ok()?;
    let verdict = &document["verdict"];
    let evidence: Vec<&str> = verdict["evidence"]
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let limit = verdict["limited_by"].as_str().unwrap_or("unknown");
    let confidence = verdict["confidence"].as_str().unwrap_or_default();
    Some(format!("{limit} ({confidence}): {}", evidence.join("; ")))
}

/// What a client says that ran to its end.
fn client_verdict(pair: &NamespacePair, server: &Server, options: &str) -> String {
    let client = client(pair, server, options).line("--json");
    let client = client.run().expect("a client");
    assert_eq!(client.code(), Some(0), "{client}");
    verdict(&client.stdout).unwrap_or_else(|| panic!("no verdict in {client}"))
}

/// What a server says of the test that has just ended.
fn server_verdict(server: &Server) -> String {
    server.await_streams(TIMEOUT, 1);
    let documents = server.documents();
    let last = documents.lines().last().and_then(verdict);
    last.unwrap_or_else(|| panic!("no verdict in {documents}"))
}

fn assert_says(verdict: &str, limit: &str) {
    assert!(verdict.starts_with(limit), "{limit}: {verdict}");
}

#[test]
fn a_shaped_link_is_the_networks_limit() {
    let Some(pair) = hosts("a_shaped_link_is_the_networks_limit") else {
        return;
    };
    let server = server(&pair, Transport::Tcp, "");
    let _shaped = Bottleneck::new(&pair.client, 20_000_000, 50).expect("a bottleneck");
    let said = client_verdict(&pair, &server, "-t 2 -Z cubic");
    assert_says(&said, "network");
    // Only the sender sees that: the server knows from its client.
    assert_says(&server_verdict(&server), "network");
}

#[test]
fn a_rate_that_was_asked_for_is_the_tests_own_limit() {
    let Some(pair) = hosts("a_rate_that_was_asked_for_is_the_tests_own_limit") else {
        return;
    };
    let mut server = server(&pair, Transport::Tcp, "");
    let said = client_verdict(&pair, &server, "-t 2 -b 10M");
    assert_says(&said, "requested_rate (high)");
    assert!(server.process().is_alive());
}

#[test]
fn a_queue_that_takes_no_more_datagrams_is_the_networks_limit() {
    let Some(pair) = hosts("a_queue_that_takes_no_more_datagrams_is_the_networks_limit") else {
        return;
    };
    let server = server(&pair, Transport::Tcp, "");
    // It holds more than a socket's buffer: nothing is lost, and the sender is held up.
    let _shaped = Bottleneck::new(&pair.client, 20_000_000, 500).expect("a bottleneck");
    let said = client_verdict(&pair, &server, "-u -b 40M -t 2");
    assert_says(&said, "network");
    assert!(said.contains("transmit queue full"), "{said}");
    assert_says(&server_verdict(&server), "network");
}

/// What a client says of the latency under the load of its own test.
fn under_load(pair: &NamespacePair, server: &Server) -> String {
    // Of one flow's datagrams no more wait than its socket's buffer holds.
    let client = client(pair, server, "-u -P 8 -b 4M -t 6");
    let client = client.run().expect("a client");
    assert_eq!(client.code(), Some(0), "{client}");
    let whole = client.stdout.replace("\n         ", " ");
    let line = whole.lines().find(|line| line.starts_with("Latency "));
    line.unwrap_or_else(|| panic!("no latency under load in {client}"))
        .to_owned()
}

#[test]
fn a_deep_queue_gets_a_bad_grade_and_a_short_one_a_good_one() {
    let Some(pair) = hosts("a_deep_queue_gets_a_bad_grade_and_a_short_one_a_good_one") else {
        return;
    };
    let server = server(&pair, Transport::Tcp, "");
    // Always full: 300 ms and the bucket's 20 ms, 1 ms and the same.
    for (latency, grade) in [(300, "grade D"), (1, "grade A")] {
        let _shaped = Bottleneck::new(&pair.client, 20_000_000, latency).expect("a bottleneck");
        let said = under_load(&pair, &server);
        assert!(said.contains(grade), "{said}");
    }
}

#[test]
fn a_queue_for_each_flow_gets_a_good_grade() {
    let name = "a_queue_for_each_flow_gets_a_good_grade";
    let Some(pair) = hosts(name) else { return };
    let server = server(&pair, Transport::Tcp, "");
    let _fair = match FairQueues::new(&pair.client, 20_000_000) {
        Ok(fair) => fair,
        Err(error) => return skip(name, &format!("no fq_codel in this kernel: {error}")),
    };
    let said = under_load(&pair, &server);
    assert!(said.contains("grade A"), "{said}");
}

#[test]
fn small_buffers_on_a_long_path_are_distinguished() {
    let Some(pair) = distant_hosts("small_buffers_on_a_long_path_are_distinguished") else {
        return;
    };
    let hosts = pair.hosts();
    let free = server(hosts, Transport::Tcp, "");
    let said = client_verdict(hosts, &free, "-t 2 -Z cubic -w 32K");
    assert_says(&said, "send_buffer (high)");
    // Whoever asks for it gets an exit code that says so, of a limit at a host alone.
    for (options, code) in [("-w 32K", ExitCode::Limited), ("-b 1M", ExitCode::Success)] {
        let options = format!("-t 2 -Z cubic {options} --fail-if-host-limited");
        let client = client(hosts, &free, &options).run().expect("a client");
        assert_eq!(client.code(), Some(i32::from(code.code())), "{client}");
    }
    drop(free);
    let small = server(hosts, Transport::Tcp, "-w 32K");
    let said = client_verdict(hosts, &small, "-t 2 -Z cubic");
    assert_says(&said, "receive_window (high)");
}

#[test]
fn a_starved_receiver_is_its_processors_limit() {
    let name = "a_starved_receiver_is_its_processors_limit";
    let Some(pair) = hosts(name) else { return };
    let quota = match ProcessorQuota::new(5) {
        Ok(quota) => quota,
        Err(error) => return skip(name, &format!("no quota of processor time: {error}")),
    };
    let mut server = server(&pair, Transport::Tcp, "");
    quota.confine(server.process().id()).expect("a quota");
    let client = client(&pair, &server, "-t 3 -P 4 --json")
        .run()
        .expect("a client");
    assert_eq!(client.code(), Some(0), "{client}");
    // The client knows from the server.
    let said = [Some(server_verdict(&server)), verdict(&client.stdout)];
    for said in said {
        let said = said.unwrap_or_default();
        assert_says(&said, "receiver_cpu");
        assert!(said.contains("the receiver's CPU quota"), "{said}");
    }
    drop(server);
}

#[test]
fn a_starved_sender_is_its_processors_limit() {
    let name = "a_starved_sender_is_its_processors_limit";
    let Some(pair) = hosts(name) else { return };
    let quota = match ProcessorQuota::new(5) {
        Ok(quota) => quota,
        Err(error) => return skip(name, &format!("no quota of processor time: {error}")),
    };
    let server = server(&pair, Transport::Tcp, "");
    let client = client(&pair, &server, "-t 3 -P 4 --json").spawn();
    let client = client.expect("a client");
    quota.confine(client.id()).expect("a quota");
    let client = client.wait().expect("an end");
    assert_eq!(client.code(), Some(0), "{client}");
    let said = [verdict(&client.stdout), Some(server_verdict(&server))];
    for said in said {
        let said = said.unwrap_or_default();
        assert_says(&said, "sender_cpu");
        assert!(said.contains("the sender's CPU quota"), "{said}");
    }
}

#[test]
fn a_sender_that_slept_has_missed_its_pace() {
    let Some(pair) = hosts("a_sender_that_slept_has_missed_its_pace") else {
        return;
    };
    let mut server = server(&pair, Transport::Tcp, "");
    let client = client(&pair, &server, "-u -b 4M -l 1000 -t 4 --json")
        .spawn()
        .expect("a client");
    begins(&mut server);
    std::thread::sleep(Duration::from_millis(500));
    // More than a second of backlog is given up, so the rate cannot be reached any more.
    client.signal(Signal::STOP);
    std::thread::sleep(Duration::from_secs(2));
    client.signal(Signal::CONT);
    let client = client.wait().expect("an end");
    assert_eq!(client.code(), Some(0), "{client}");
    let said = [verdict(&client.stdout), Some(server_verdict(&server))];
    for said in said {
        assert_says(&said.unwrap_or_default(), "pacing");
    }
}

#[test]
fn input_that_comes_slowly_is_the_tests_own_limit() {
    let name = "input_that_comes_slowly_is_the_tests_own_limit";
    let Some(pair) = hosts(name) else { return };
    let path = std::env::temp_dir().join(format!("tapeline-input-{}", std::process::id()));
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.is_ok_and(|status| status.success()), "no pipe");
    let server = server(&pair, Transport::Tcp, "");
    let client = client(
        &pair,
        &server,
        &format!("-t 2 -l 4K --json -F {}", path.display()),
    )
    .spawn();
    let client = client.expect("a client");
    let mut input = std::fs::File::options()
        .write(true)
        .open(&path)
        .expect("a reader");
    // Until nobody reads any more.
    let end = Instant::now() + TIMEOUT;
    while input.write_all(&[b'x'; 4096]).is_ok() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let client = client.wait().expect("an end");
    std::fs::remove_file(&path).expect("the pipe");
    assert_eq!(client.code(), Some(0), "{client}");
    let said = [verdict(&client.stdout), Some(server_verdict(&server))];
    for said in said {
        let said = said.unwrap_or_default();
        assert!(said.contains("waited for input"), "{said}");
    }
}

/// Waits until a server's first test has begun.
fn begins(server: &mut Server) {
    let process = server.process();
    let began = process.wait_for(TIMEOUT, |out| out.contains("#1 "));
    assert!(began, "{}", process.stdout());
}

/// Counter of datagrams for which a process's host had no room in a receive buffer.
fn buffer_errors(process: &Running) -> u64 {
    let path = format!("/proc/{}/net/snmp", process.id());
    let text = std::fs::read_to_string(path).expect("the kernel's counters");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let names = lines.next().expect("names").split_whitespace();
    let values = lines.next().expect("values").split_whitespace();
    let mut pairs = names.zip(values);
    let (_, value) = pairs
        .find(|(name, _)| *name == "RcvbufErrors")
        .expect("RcvbufErrors");
    value.parse().expect("a number")
}

/// The number before `words` in a verdict.
fn counted(verdict: &str, words: &str) -> u64 {
    let before = verdict.split(words).next().unwrap_or_default();
    let number = before.rsplit(' ').find(|word| !word.is_empty());
    number
        .and_then(|word| word.parse().ok())
        .unwrap_or_else(|| panic!("no count of {words} in {verdict}"))
}

#[test]
fn losses_of_a_host_and_of_the_network_are_counted_apart() {
    let name = "losses_of_a_host_and_of_the_network_are_counted_apart";
    let Some(pair) = hosts(name) else { return };
    let mut server = server(&pair, Transport::Tcp, "-w 16K");
    // 4000 datagrams and the final one, of which the filter takes none; it would take probes, too.
    let places = Places::one(100, 7);
    let filter =
        PacketFilter::drop_arriving(&pair.server, server.port(), places).expect("a filter");
    let before = buffer_errors(server.process());
    let client = client(
        &pair,
        &server,
        "-u --no-latency-probes -b 8M -l 1000 -n 4000000 --json",
    )
    .spawn()
    .expect("a client");
    begins(&mut server);
    // Nobody reads, and the buffer is small.
    server.process().signal(Signal::STOP);
    let end = Instant::now() + TIMEOUT;
    while buffer_errors(server.process()) < before + 300 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    server.process().signal(Signal::CONT);
    let client = client.wait().expect("an end");
    assert_eq!(client.code(), Some(0), "{client}");
    let said = server_verdict(&server);
    assert_says(&said, "receive_buffer");
    let dropped = buffer_errors(server.process()) - before;
    let filtered = filter.packets("dropped").expect("a count");
    let both = verdict(&client.stdout).unwrap_or_default();
    for said in [said, both] {
        assert_says(&said, "receive_buffer");
        assert_eq!(
            (
                counted(&said, " datagrams lost in the network"),
                counted(&said, " datagrams lost in the receiver's host"),
            ),
            (filtered, dropped),
            "{said}\n{client}"
        );
    }
}
