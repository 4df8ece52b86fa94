//! The command line against what 3.22 says and does.

use std::collections::HashSet;
use std::ffi::OsString;
use std::time::Duration;

use tapeline_base::{ExitCode, Family};
use tapeline_dialect::{
    Iperf3Client, Iperf3Server, MaxTests, ServedProtocols, ServerPlan, Technique,
};
use tapeline_wire::iperf3::{CounterWidth, Direction, Protocol};

use super::options::{End, Id, TABLE, by_name};
use super::resolve::resolve;
use crate::cli::parse::{Arity, NameMatch};
use crate::help::iperf3::page;
use crate::plan::{HelpPage, Iperf3Job, Iperf3Task, Life, Plan, Resolution};
use crate::presentation::{Iperf3Form, TextStyle};

/// Names, letters and arities as `getopt_long` of 3.22 has them.
const OPTIONS: &str = include_str!("../../../tests/data/iperf3_options.tsv");

fn run(line: &str) -> Resolution {
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    resolve(&words, &|_| None, "iperf3")
}

fn job(line: &str) -> Iperf3Job {
    match run(line).outcome {
        Ok(Plan::Iperf3(job)) => *job,
        _ => panic!("{line}: {:?}", run(line)),
    }
}

fn client(line: &str) -> Iperf3Client {
    match job(&format!("-c h {line}")).task {
        Iperf3Task::Client(plan) => *plan,
        Iperf3Task::Server(..) => panic!("{line}: a server"),
    }
}

fn server(line: &str) -> ServerPlan {
    match job(&format!("-s {line}")).task {
        Iperf3Task::Server(plan, _) => *plan,
        Iperf3Task::Client(_) => panic!("{line}: a client"),
    }
}

/// How it serves iperf3 clients, and nobody else.
fn iperf3(plan: ServerPlan) -> Iperf3Server {
    match plan.protocols {
        ServedProtocols::Iperf3(plan) => plan,
        other => panic!("{other:?}"),
    }
}

/// What is said about a parameter.
fn complaint(line: &str) -> String {
    let resolution = run(line);
    assert_eq!(resolution.outcome, Err(ExitCode::Failure), "{line}");
    let text = &resolution.messages.last().expect("a message").text;
    let (first, usage) = text.split_once("\n\n").unwrap_or((text, ""));
    if !usage.is_empty() {
        assert_eq!(
            usage,
            "Usage: iperf3 [-s|-c host] [options]\nTry `iperf3 --help' for more information."
        );
    }
    first.to_owned()
}

#[test]
fn the_table_is_that_of_the_reference() {
    let mut known = HashSet::new();
    for line in OPTIONS.lines() {
        let [name, letter, arity] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("three columns: {line}");
        };
        let NameMatch::One(spec, _) = by_name(name) else {
            panic!("--{name} is not known");
        };
        let own = match spec.arity {
            Arity::Switch => "no",
            Arity::Required => "required",
            Arity::Optional => "optional",
        };
        let own_letter = spec.letter.map_or("-".to_owned(), String::from);
        assert_eq!((own, own_letter.as_str()), (arity, letter), "--{name}");
        known.insert(name);
    }
    let names: usize = TABLE.iter().map(|spec| spec.names.len()).sum();
    assert_eq!(known.len(), names, "options that the reference has not");
}

#[test]
fn every_option_is_used_on_its_side_only() {
    for spec in TABLE {
        let value = match spec.id {
            Id::Format => "k",
            Id::Dscp => "ef",
            Id::ReceiveTimeout | Id::Parallel => "100",
            _ => "7",
        };
        let option = match spec.arity {
            Arity::Required => format!("--{} {value}", spec.names[0]),
            _ => format!("--{}", spec.names[0]),
        };
        match spec.end {
            End::Client if spec.id != Id::Client => {
                let said = complaint(&format!("-s {option}"));
                assert_eq!(
                    said,
                    "iperf3: parameter error - some option you are trying to set is client only",
                    "{option}"
                );
            }
            End::Server if spec.id != Id::Server => {
                let said = complaint(&format!("-c h {option}"));
                assert_eq!(
                    said,
                    "iperf3: parameter error - some option you are trying to set is server only",
                    "{option}"
                );
            }
            _ => {}
        }
    }
}

#[test]
#[rustfmt::skip]
fn bad_values_are_refused_in_the_words_of_the_reference() {
    for (line, text) in [
        ("", "must either be a client (-c) or server (-s)"),
        ("-J", "must either be a client (-c) or server (-s)"),
        ("-s -c h", "cannot be both server and client"),
        ("-c h -s -u", "cannot be both server and client"),
        ("-c h -l 3000000", "block size too large (maximum = 1048576 bytes)"),
        ("-c h -l -5", "block size too large (maximum = 1048576 bytes)"),
        ("-c h -u -l 8", "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)"),
        ("-c h -l 70000 -u", "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)"),
        ("-c h -w 1G", "socket buffer size too large (maximum = 536870912 bytes)"),
        ("-c h -i 100", "invalid report interval (min = 0.1, max = 60 seconds)"),
        ("-s -i 0.05", "invalid report interval (min = 0.1, max = 60 seconds)"),
        ("-c h -M 99999", "TCP MSS too large (maximum = 32767 bytes)"),
        ("-c h -M -5", "TCP MSS too large (maximum = 32767 bytes)"),
        ("-c h -O 700", "bogus value for --omit (maximum = 600 seconds)"),
        ("-c h -b 1M/0", "invalid burst count (maximum = 1000)"),
        ("-c h -b 1M/2000", "invalid burst count (maximum = 1000)"),
        ("-c h -t 5 -n 1M", "only one test end condition (-t, -n, -k) may be specified"),
        ("-c h -k 5 -n 5", "only one test end condition (-t, -n, -k) may be specified"),
        ("-c h -S 300", "bad TOS value (must be between 0 and 255 inclusive)"),
        ("-c h -S foo", "bad TOS value (must be between 0 and 255 inclusive)"),
        ("-c h --dscp zz", "bad DSCP value (numeric: 0-63 inclusive, symbolic: one of [af11-13, af21-23, af31-33, af41-43, cs1-7, ef, va, lowdelay, throughput, reliability])"),
        ("-c h --username u", "you must specify a username, password, and path to a valid RSA public key"),
        ("-s --rsa-private-key-path /x", "you must specify a path to a valid RSA private key and a user credential file"),
        ("-s --authorized-users-path /no/x --rsa-private-key-path /no/y", "cannot access authorized users file"),
        ("-c h -R --bidir", "cannot be both reverse and bidirectional"),
        ("-c h --bidir -R", "cannot be both reverse and bidirectional"),
        ("-s --server-bitrate-limit 1M/100", "invalid time interval for calculating average data rate"),
        ("-s --time-skew-threshold 0", "skew threshold must be a positive number"),
        ("-s --idle-timeout 0", "idle timeout parameter is not positive or larger than allowed limit"),
        ("-c h --rcv-timeout 500", "client receive timeout is valid only in receiving mode: "),
        ("-c h --rcv-timeout 5 -R", "receive timeout value is incorrect or not in range: "),
        ("-c h --snd-timeout -5", "send timeout value is incorrect or not in range: "),
        ("-c h -u -F /etc/passwd", "cannot transfer file using UDP"),
        ("-c h --cntl-ka=10/5/2", "control connection Keepalive period should be larger than the full retry period (interval * count): "),
        ("-s --server-max-duration 100000", "test duration valid values are 0 to 86400 seconds"),
        ("-c h -t -1", "test duration valid values are 0 to 86400 seconds"),
        ("-c h -l 10X", "invalid unit value or suffix: '10X'"),
        ("-c h -b abc", "invalid unit value or suffix: 'abc'"),
        ("-c h -n -5", "invalid unit value or suffix: '-5'"),
        ("-c h -P 0", "invalid number of parallel streams (min = 1, max = 128)"),
        ("-J -c h -P 200", "invalid number of parallel streams (min = 1, max = 128)"),
        ("-c h -f x", "bad format specifier (valid formats are in the set [kmgtKMGT])"),
        ("-c h -A 2000", "unable to set CPU affinity: "),
        ("-c h -A x", "unable to set CPU affinity: "),
        ("-s -A 1,2", "some option you are trying to set is client only"),
        ("-s -p 70000", "port number must be between 1 and 65535 inclusive"),
        ("-c h --cport abc", "port number must be between 1 and 65535 inclusive"),
        ("-c h -L 0x100000", "unable to set IPv6 flow label"),
        ("-c h --sctp --nstreams 2", "an option you are trying to set is not implemented yet"),
    ] {
        assert_eq!(complaint(line), format!("iperf3: parameter error - {text}"), "{line}");
    }
    assert_eq!(
        complaint("-c h -F /no/such/file"),
        "iperf3: error - unable to open -F file: No such file or directory"
    );
}

#[test]
fn defaults_are_those_of_the_reference() {
    let tcp = client("");
    assert_eq!((tcp.host.as_str(), tcp.port), ("h", 5201));
    assert_eq!(tcp.interval, Some(Duration::from_secs(1)));
    assert_eq!(tcp.timeouts.answer, Duration::from_secs(10));
    let asked = &tcp.parameters;
    assert_eq!((asked.time, asked.bytes, asked.rate), (10, 0, 0));
    assert_eq!((asked.length, asked.parallel), (None, 1));
    assert_eq!(asked.client_version.as_deref(), Some("3.22"));
    assert_eq!(client("-u").parameters.rate, 1_048_576);
    assert_eq!(client("-u -b 0").parameters.rate, 0);
    let plan = server("");
    assert_eq!((plan.ports, plan.family), ((5201, 5201), Family::Any));
    let plan = iperf3(plan);
    assert_eq!(plan.timeouts.receive, Duration::from_secs(120));
    assert!(!plan.one_off && plan.rate_limit.is_none());
}

#[test]
fn a_client_asks_for_what_was_given() {
    let asked = client(
        "-u -b 5M/10 -t 3 -l 1K -P 4 --bidir -w 1M -M 1400 -N -S 0x10 -Z --skip-rx-copy -O 2 \
         -T title --extra-data more --get-server-output --udp-counters-64bit --dont-fragment \
         --repeating-payload -C cubic --fq-rate 9k --pacing-timer 2k -m -A 1,2",
    );
    assert_eq!(asked.affinity, Some(1));
    let asked = asked.parameters;
    assert_eq!(
        (asked.protocol, asked.direction),
        (Protocol::Udp, Direction::Bidirectional)
    );
    assert_eq!((asked.rate, asked.burst, asked.time), (5_000_000, 10, 3));
    assert_eq!(
        (asked.length, asked.parallel, asked.omit),
        (Some(1024), 4, 2)
    );
    assert_eq!(
        (asked.window, asked.segment_size),
        (Some(1 << 20), Some(1400))
    );
    assert_eq!((asked.tos, asked.server_affinity), (16, Some(2)));
    assert_eq!((asked.pacing_rate, asked.pacing_timer), (9000, 2048));
    assert_eq!(asked.title.as_deref(), Some("title"));
    assert_eq!(asked.extra_data.as_deref(), Some("more"));
    assert_eq!(asked.congestion.as_deref(), Some("cubic"));
    assert_eq!(asked.counters, CounterWidth::Wide);
    assert!(asked.nodelay && asked.zerocopy && asked.skip_receive_copy && asked.mptcp);
    assert!(asked.server_output && asked.dont_fragment && asked.repeating_payload);
}

#[test]
fn a_sender_can_be_told_to_sleep() {
    for (line, spins) in [
        ("-u", true),
        ("-u --pacing precise", true),
        ("-u --pacing economical", false),
        ("-u --pacing-timer economical", false),
        ("-u --pacing 1000", true),
    ] {
        let techniques = client(line).techniques;
        assert_eq!(techniques.uses(Technique::PacingSpin), spins, "{line}");
    }
    assert_eq!(client("--pacing 1K").parameters.pacing_timer, 1024);
}

#[test]
fn amounts_replace_the_time() {
    let bytes = client("-n 1M").parameters;
    assert_eq!((bytes.bytes, bytes.time), (1 << 20, 0));
    let blocks = client("-k 2K").parameters;
    assert_eq!((blocks.blocks, blocks.time), (2048, 0));
    assert_eq!(client("-n 0").parameters.time, 10);
    assert_eq!(client("-t 0").parameters.time, 0);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), [0; 1234]).expect("written");
    let path = file.path().display();
    assert_eq!(client(&format!("-F {path}")).parameters.bytes, 1234);
    assert_eq!(client(&format!("-F {path} -t 5")).parameters.bytes, 0);
    assert_eq!(client(&format!("-F {path} -R")).parameters.bytes, 0);
}

#[test]
fn addresses_devices_and_times_reach_the_plan() {
    let plan =
        client("-B 10.0.0.1%eth0 -p 7 --cport 9 -4 -i 0.5 --connect-timeout 1K -F /dev/null");
    assert_eq!(plan.bind.expect("an address").host, "10.0.0.1");
    assert_eq!(plan.device.as_deref(), Some("eth0"));
    assert_eq!(
        (plan.port, plan.client_port, plan.family),
        (7, Some(9), Family::V4)
    );
    assert_eq!(plan.interval, Some(Duration::from_millis(500)));
    assert_eq!(plan.connect_timeout, Some(Duration::from_millis(1024)));
    assert_eq!(
        plan.file.as_deref(),
        Some(std::path::Path::new("/dev/null"))
    );
    let plan = client("-c fe80::1%eth0 -i 0 -R --rcv-timeout 200 --snd-timeout 300 --cntl-ka=9//2");
    assert_eq!((plan.host.as_str(), plan.device), ("fe80::1%eth0", None));
    assert_eq!(plan.interval, None);
    assert_eq!(plan.timeouts.receive, Duration::from_millis(200));
    assert_eq!(plan.timeouts.send, Some(Duration::from_millis(300)));
    let keepalive = plan.timeouts.keepalive.expect("keepalive");
    assert_eq!(keepalive.idle, Some(Duration::from_secs(9)));
    assert_eq!((keepalive.interval, keepalive.count), (None, Some(2)));
    assert_eq!(client("-c h%lo").device.as_deref(), Some("lo"));
    assert_eq!(client("--bind-dev lo").device.as_deref(), Some("lo"));
}

#[test]
fn a_server_limits_what_was_given() {
    let plan = server("-p 7 -6 -1 --idle-timeout 9 --server-max-duration 5 -A 3 -B ::1%lo");
    assert_eq!((plan.ports.0, plan.family), (7, Family::V6));
    let bind = plan.bind.clone().expect("an address");
    assert_eq!(bind.device.as_deref(), Some("lo"));
    let any = server("--bind-dev lo").bind.expect("any address");
    assert_eq!(
        (any.host.as_str(), any.device.as_deref()),
        ("::", Some("lo"))
    );
    assert_eq!(plan.affinity, Some(3));
    let plan = iperf3(plan);
    assert!(plan.one_off && plan.max_tests == MaxTests::One);
    assert_eq!(plan.idle_timeout, Some(Duration::from_secs(9)));
    assert_eq!(plan.longest, Some(Duration::from_secs(5)));
    let limit = |line| iperf3(server(line)).rate_limit;
    assert_eq!(
        limit("--server-bitrate-limit 1M"),
        Some((1_000_000, Duration::from_secs(5)))
    );
    assert_eq!(
        limit("--server-bitrate-limit 1k/0.5"),
        Some((1000, Duration::from_millis(500)))
    );
    assert_eq!(limit("--server-bitrate-limit 0"), None);
    let life = |line| match job(line).task {
        Iperf3Task::Server(_, life) => life,
        Iperf3Task::Client(_) => panic!("a client"),
    };
    assert_eq!(life("-s -D"), Life::Background);
    assert_eq!(life("-s"), Life::Foreground);
}

#[test]
fn logins_come_from_files_and_the_environment() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, name).expect("written");
        path.display().to_string()
    };
    let line = format!(
        "-c h --username me --rsa-public-key-path {}",
        file("public")
    );
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    let password = |name: &str| (name == "IPERF3_PASSWORD").then(|| "secret".into());
    let Ok(Plan::Iperf3(job)) = resolve(&words, &password, "iperf3").outcome else {
        panic!("a job");
    };
    let Iperf3Task::Client(plan) = job.task else {
        panic!("a client");
    };
    let login = plan.credentials.expect("a login");
    assert_eq!(
        (login.user.as_str(), login.password.as_str()),
        ("me", "secret")
    );
    assert_eq!(login.public_key, "public");
    let plan = server(&format!(
        "--rsa-private-key-path {} --authorized-users-path {} --time-skew-threshold 3",
        file("private"),
        file("users")
    ));
    let gate = iperf3(plan).authentication.expect("a gate");
    assert_eq!(
        (gate.private_key.as_str(), gate.users.as_str()),
        ("private", "users")
    );
    assert_eq!(gate.skew, Duration::from_secs(3));
}

#[test]
fn output_options_choose_the_form() {
    let shown = |line: &str| job(&format!("-c h {line}")).presentation;
    let form = |line: &str| shown(line).style;
    assert_eq!(form(""), TextStyle::Iperf3(Iperf3Form::Text));
    assert_eq!(form("-J"), TextStyle::Iperf3(Iperf3Form::Json));
    let stream = |full| TextStyle::Iperf3(Iperf3Form::Stream { full });
    assert_eq!(form("--json-stream"), stream(false));
    assert_eq!(
        form("--json-stream --json-stream-full-output"),
        stream(true)
    );
    let look = shown("-V -f M --timestamps=%F --logfile /x/y -T t -d -I /x/z");
    assert!(look.verbose && look.errors_to_file);
    assert_eq!((look.format.letter(), look.debug), ('M', 4));
    assert_eq!(look.timestamps.as_deref(), Some("%F"));
    assert_eq!(look.title.as_deref(), Some("t"));
    assert_eq!(look.output_file, Some("/x/y".into()));
    assert_eq!(shown("--timestamps").timestamps.as_deref(), Some("%c "));
    assert_eq!(shown("--debug=2").debug, 2);
    assert_eq!(job("-s -I /x/z").pid_file, Some("/x/z".into()));
    assert!(job("-s -1").presentation.one_off);
}

#[test]
fn warnings_do_not_stop_a_test() {
    let said = |line| -> Vec<String> {
        let resolution = run(line);
        assert!(resolution.outcome.is_ok(), "{line}");
        resolution
            .messages
            .into_iter()
            .map(|message| message.text)
            .collect()
    };
    assert_eq!(
        said("-c h -J -f m -V"),
        [
            "warning: Report format (-f) flag ignored with JSON output (-J)",
            "warning: Verbose output (-v) may interfere with JSON output (-J)",
        ]
    );
    assert_eq!(
        said("-c h --no-fq-socket-pacing"),
        ["Warning:  --no-fq-socket-pacing is deprecated"]
    );
    assert!(said("-c h extra words --forceflush").is_empty());
}

#[test]
fn help_and_version_come_at_once() {
    assert_eq!(run("-h -c").outcome, Ok(Plan::Help(HelpPage::Iperf3)));
    assert_eq!(run("-v -Q").outcome, Ok(Plan::Iperf3Version));
    assert_eq!(complaint("-Q -h"), "iperf3: invalid option -- 'Q'");
    let help = page();
    for spec in TABLE.iter().filter(|spec| !spec.help.is_empty()) {
        assert!(
            help.contains(&format!("--{}", spec.names[0])),
            "{:?}",
            spec.id
        );
    }
    for line in help.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

/// What 3.22 lists, without SCTP, which it lists where it was built with it.
#[rustfmt::skip]
const LISTED: [&str; 67] = [
    "-p, --port", "-f, --format", "-i, --interval", "-I, --pidfile", "-F, --file",
    "-A, --affinity", "-B, --bind", "--bind-dev", "-V, --verbose", "-J, --json", "--json-stream",
    "--json-stream-full-output", "--logfile", "--forceflush", "--timestamps", "--rcv-timeout",
    "--snd-timeout", "--cntl-ka", "-m, --mptcp", "-d, --debug", "-v, --version", "-h, --help",
    "-s, --server", "-D, --daemon", "-1, --one-off", "--server-bitrate-limit", "--idle-timeout",
    "--server-max-duration", "--rsa-private-key-path", "--authorized-users-path",
    "--time-skew-threshold", "--use-pkcs1-padding", "-c, --client", "-u, --udp",
    "--connect-timeout", "-b, --bitrate", "--pacing-timer", "--fq-rate", "-t, --time",
    "-n, --bytes", "-k, --blockcount", "-l, --length", "--cport", "-P, --parallel",
    "-R, --reverse", "--bidir", "-w, --window", "-C, --congestion", "-M, --set-mss",
    "-N, --no-delay", "-4, --version4", "-6, --version6", "-S, --tos", "--dscp", "-L, --flowlabel",
    "-Z, --zerocopy", "--skip-rx-copy", "-O, --omit", "-T, --title", "--extra-data",
    "--get-server-output", "--udp-counters-64bit", "--gsro", "--repeating-payload",
    "--dont-fragment", "--username", "--rsa-public-key-path",
];

#[test]
fn the_help_lists_what_3_22_lists() {
    let page = page();
    for names in LISTED {
        let listed = page.lines().any(|line| {
            let rest = line
                .strip_prefix("  ")
                .and_then(|line| line.strip_prefix(names));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '[']))
        });
        assert!(listed, "{names} in\n{page}");
    }
}
