//! The highest rate without loss (`tapeline find-rate`): the truth is the token bucket at the IP layer,
//! the length of its queue, and what a packet filter drops.

use std::time::Duration;

use interop::{
    Family, Finished, Invocation, PacketFilter, ProcessorQuota, Program, Server, ServerSpec,
    TestPath, Transport, Way, in_a_quiet_moment, skip,
};
use serde_json::Value;

use crate::support::{assert_within, document, lacks, path};

/// P1 without its delay.
const WAY: Way = Way::P1.with_delay(Duration::ZERO);
/// Runs of a case in the level `methods`.
const RUNS: usize = 5;

fn server(path: &TestPath, program: Program) -> Server {
    // An iperf3 server has no option for it.
    let transport = match program {
        Program::Iperf3V22 => Transport::Tcp,
        _ => Transport::Udp,
    };
    ServerSpec::new(program, transport, Family::V4)
        .start_within(&path.hosts().server)
        .expect("a server")
}

/// Runs the method and returns what it printed.
fn search(path: &TestPath, server: &Server, options: &str) -> Finished {
    let hosts = path.hosts();
    let address = hosts.server_address(Family::V4).to_string();
    let finished = Invocation::new(Program::Tapeline)
        .args(["find-rate", &address, "-p", &server.port().to_string()])
        .within(&hosts.client)
        .line(options)
        .line("--json")
        .deadline(Duration::from_secs(400))
        .run()
        .expect("a client");
    assert_eq!(finished.code(), Some(0), "{finished}");
    finished
}

fn searches(shown: &Finished, direction: &str) -> Vec<Value> {
    let searches = document(shown)["result"][direction]["searches"].clone();
    searches
        .as_array()
        .cloned()
        .unwrap_or_else(|| panic!("no searches\n{shown}"))
}

fn number(value: &Value, member: &str, shown: &Finished) -> f64 {
    let number = value[member].as_f64();
    number.unwrap_or_else(|| panic!("no {member}\n{shown}"))
}

/// Fails unless the search has found between `low` and `high`, Mbit/s.
#[track_caller]
fn check(search: &Value, low: f64, high: f64, shown: &Finished) {
    assert_eq!(search["outcome"], "found", "{shown}");
    let lower = number(search, "lower_bits_per_second", shown) / 1e6;
    assert_within("rate", lower, low, high, shown);
}

#[test]
fn a_shaped_path_passes_the_rate_of_its_shaper() {
    in_a_quiet_moment(|| {
        let name = "a_shaped_path_passes_the_rate_of_its_shaper";
        let Some(path) = path(name, WAY, WAY) else {
            return;
        };
        let server = server(&path, Program::Tapeline);
        // In a second of trial the queue takes 1 % more.
        let options = "--direction up -t 1 -b 80M --resolution 2";
        let shown = search(&path, &server, options);
        check(&searches(&shown, "up")[0], 48.9, 51.1, &shown);
    });
}

#[test]
#[ignore = "minutes: cargo xtask test methods"]
fn both_directions_five_times() {
    for _ in 0..RUNS {
        in_a_quiet_moment(|| {
            let Some(path) = path("both_directions_five_times", WAY, WAY) else {
                return;
            };
            let server = server(&path, Program::Tapeline);
            let shown = search(&path, &server, "-l 1472 -b 200M");
            for direction in ["up", "down"] {
                check(&searches(&shown, direction)[0], 49.7, 50.3, &shown);
            }
        });
    }
}

#[test]
#[ignore = "minutes: cargo xtask test methods"]
fn a_limit_of_packets_is_one_for_every_size() {
    let name = "a_limit_of_packets_is_one_for_every_size";
    in_a_quiet_moment(|| {
        let limit = Way::packets(1000, 5, Duration::ZERO);
        let Some(path) = path(name, limit, Way::free(Duration::ZERO)) else {
            return;
        };
        let server = server(&path, Program::Tapeline);
        // The packets of the control connection and of the clocks, 25 a second in bursts, count too.
        let shown = search(
            &path,
            &server,
            "--direction up -l 64,1472 -b 50M --no-control",
        );
        for found in searches(&shown, "up") {
            let packets = number(&found, "packets_per_second", &shown);
            assert_within("packets per second", packets, 990.0, 1010.0, &shown);
        }
    });
}

#[test]
#[ignore = "minutes: cargo xtask test methods"]
fn random_loss_is_no_rate_and_goals_share_a_search() {
    let name = "random_loss_is_no_rate_and_goals_share_a_search";
    in_a_quiet_moment(|| {
        // What the queue takes besides is 0.13 % of a trial: with what the goal allows it stays below 0.6 %.
        let way = Way::shaped(50_000_000, 40 * 1024, Duration::ZERO);
        let Some(path) = path(name, way, way) else {
            return;
        };
        let server = server(&path, Program::Tapeline);
        // Packets of the load alone: those of the control connection and of the clocks are shorter.
        let one_of_1000 = "ip length 284 numgen inc mod 1000 0";
        let hosts = path.hosts();
        let filter = PacketFilter::drop_matching(&hosts.server, one_of_1000).expect("a filter");
        // A trial with 1000 datagrams cannot be free of loss: one of 5 s at 0.91 % of the link has them.
        let shown = search(&path, &server, "--direction up -l 256 -b 200M --loss 0,0.5");
        let [strict, loose] = &searches(&shown, "up")[..] else {
            panic!("two goals\n{shown}");
        };
        let lower = strict["lower_bits_per_second"].as_f64().unwrap_or(0.0);
        assert!(lower < 0.01 * 50e6, "{shown}");
        check(loose, 49.7, 50.3, &shown);
        drop(filter);
        let shown = search(&path, &server, "--direction up -b 200M --loss 0,0.5");
        let both = searches(&shown, "up");
        for (number, goal) in ["0", "0.5"].into_iter().enumerate() {
            let options = format!("--direction up -b 200M --loss {goal}");
            let alone = search(&path, &server, &options);
            let [one, other] = [
                (&both[number], &shown),
                (&searches(&alone, "up")[0], &alone),
            ]
            .map(|(search, shown)| self::number(search, "lower_bits_per_second", shown));
            assert_within("ratio", one / other, 0.993, 1.007, &shown);
        }
    });
}

#[test]
#[ignore = "minutes: cargo xtask test methods"]
fn a_receiver_without_a_processor_is_the_host() {
    let name = "a_receiver_without_a_processor_is_the_host";
    let quota = match ProcessorQuota::new(5) {
        Ok(quota) => quota,
        Err(error) => return skip(name, &format!("no quota of processor time: {error}")),
    };
    let free = Way::free(Duration::from_millis(1));
    let Some(path) = path(name, free, free) else {
        return;
    };
    let mut server = ServerSpec::new(Program::Tapeline, Transport::Udp, Family::V4)
        .options("-w 64K")
        .start_within(&path.hosts().server)
        .expect("a server");
    quota.confine(server.process().id()).expect("a process");
    let shown = search(&path, &server, "--direction up -t 2 -b 200M");
    assert_eq!(searches(&shown, "up")[0]["outcome"], "host", "{shown}");
}

#[test]
#[ignore = "minutes: cargo xtask test methods"]
fn plain_servers_give_the_same_rate() {
    let name = "plain_servers_give_the_same_rate";
    if lacks(name, &[Program::Iperf221, Program::Iperf3V22]) {
        return;
    }
    in_a_quiet_moment(|| {
        let Some(path) = path(name, WAY, WAY) else {
            return;
        };
        let iperf2 = server(&path, Program::Iperf221);
        let shown = search(&path, &iperf2, "--direction up -b 200M");
        check(&searches(&shown, "up")[0], 49.5, 50.5, &shown);
        drop(iperf2);
        let iperf3 = server(&path, Program::Iperf3V22);
        let shown = search(&path, &iperf3, "--peer iperf3 -b 200M");
        for direction in ["up", "down"] {
            check(&searches(&shown, direction)[0], 49.5, 50.5, &shown);
        }
    });
}
