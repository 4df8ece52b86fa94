//! The effect of every option and of every rule, under both names.

mod effects;
mod enumeration;
mod methods;
mod refusals;
mod rules;

use std::ffi::OsString;
use std::time::Duration;

use tapeline_base::{
    BitRate, Bytes, ExitCode, Family, FormatLetter, Pace, PacketRate, Tos, Transport,
};
use tapeline_dialect::{
    Arrangement, ClientPlan, ClientWorkload, Limit, Payload, Personality, RetryPlan,
    ServedTransports, ServerPlan, Shape, Techniques,
};
use tapeline_report::Build;

use super::options::table::KnownTo;
use super::resolve::resolve;
use super::spec::RawArgs;
use crate::cli::{environment, parse};
use crate::message::CliMessage;
use crate::plan::Resolution;
use crate::plan::{HelpPage, Life, Plan, TryPlan};
use crate::presentation::{DocumentFile, DocumentForm, Presentation, TextStyle};
use Personality::{Iperf2, Native};

/// Resolves a line (words split at blanks) with variables `NAME=VALUE`.
fn with_variables(personality: Personality, line: &str, variables: &[&str]) -> Resolution {
    let variable = |name: &str| {
        let found = variables
            .iter()
            .find_map(|pair| pair.split_once('=').filter(|p| p.0 == name));
        found.map(|(_, value)| OsString::from(value))
    };
    let raw = RawArgs {
        file: Vec::new(),
        environment: environment::read(&variable),
        line: parse::cut(
            line.split_whitespace().map(OsString::from),
            &KnownTo(personality),
        ),
    };
    resolve(&raw, personality, "iperf", |name| match name {
        "localhost" => vec!["::1".parse().unwrap(), "127.0.0.1".parse().unwrap()],
        _ => Vec::new(),
    })
}

pub(crate) fn line(personality: Personality, text: &str) -> Resolution {
    with_variables(personality, text, &[])
}

/// The messages' texts.
pub(crate) fn said(resolution: &Resolution) -> Vec<&str> {
    resolution
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect()
}

fn client(personality: Personality, text: &str) -> (ClientPlan, Presentation) {
    let resolution = line(personality, text);
    match resolution.outcome {
        Ok(Plan::Client(plan, presentation, _)) => (*plan, presentation),
        other => panic!("{text}: {other:?} {:?}", resolution.messages),
    }
}

pub(crate) fn server(personality: Personality, text: &str) -> (ServerPlan, Presentation) {
    let resolution = line(personality, text);
    match resolution.outcome {
        Ok(Plan::Server(plan, presentation, ..)) => (*plan, presentation),
        other => panic!("{text}: {other:?} {:?}", resolution.messages),
    }
}

fn arrangement(plan: &ClientPlan) -> Arrangement {
    match plan.workload {
        ClientWorkload::Stream(arrangement) => arrangement,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn plans_have_the_documented_defaults() {
    let (plan, shown) = client(Iperf2, "-c h");
    assert_eq!(plan.ports, (5001, 5001));
    assert_eq!(plan.limit, Limit::Time(Duration::from_secs(10)));
    assert_eq!((plan.length, plan.pace, plan.interval), (None, None, None));
    assert_eq!(
        (plan.parallel, plan.connect_sync, plan.udp_fin),
        (1, true, true)
    );
    assert_eq!(arrangement(&plan), Arrangement::Forward);
    assert_eq!(shown, Presentation::new(TextStyle::Iperf2Text));
    assert_eq!(
        client(Native, "-c h").1,
        Presentation::new(TextStyle::Native)
    );
    let (plan, _) = server(Iperf2, "-s");
    assert_eq!(
        (plan.transports, plan.family),
        (ServedTransports::Tcp, Family::V4)
    );
    assert_eq!(server(Iperf2, "-s -B ::1").0.family, Family::Any);
    let (plan, _) = server(Native, "-s");
    assert_eq!(
        (plan.transports, plan.family),
        (ServedTransports::Both, Family::Any)
    );
}

#[test]
fn iperf_depends_on_the_order_where_the_reference_does() {
    assert_eq!(
        said(&line(Iperf2, "-d -c h")),
        ["WARNING: option -d is not valid for server mode"]
    );
    assert_eq!(
        arrangement(&client(Iperf2, "-d -c h").0),
        Arrangement::Forward
    );
    assert_eq!(
        arrangement(&client(Native, "-d -c h").0),
        Arrangement::Dual { listen_port: 5001 }
    );
    assert_eq!(
        said(&line(Iperf2, "-c h -s")),
        ["WARNING: option -s is not valid for client mode"]
    );
    assert!(matches!(
        line(Iperf2, "-s -c h").outcome,
        Ok(Plan::Server(..))
    ));
    assert_eq!(client(Iperf2, "-c a -c b").0.host, "b");
    assert_eq!(
        client(Iperf2, "-c h -B 1.1.1.1 -B 2.2.2.2")
            .0
            .bind
            .unwrap()
            .host,
        "1.1.1.1"
    );
    assert_eq!(
        client(Iperf2, "-c h -Z a --tcp-cca b -Z c")
            .0
            .socket
            .congestion
            .unwrap(),
        "a"
    );
    assert_eq!(
        said(&line(Iperf2, "-c h -Z a --tcp-cca b -Z c")),
        [
            "Option --tcp-cca ignored because --tcp-congestion or -Z set",
            "Option --tcp-congestion or -Z ignored because --tcp-cca set",
        ]
    );
    assert_eq!(
        client(Native, "-c h -Z a -Z c")
            .0
            .socket
            .congestion
            .unwrap(),
        "c"
    );
}

#[test]
fn help_and_version_act_at_once() {
    let resolution = line(Iperf2, "-q -h -k -t abc");
    assert_eq!(said(&resolution), ["iperf: invalid option -- q"]);
    assert_eq!(resolution.outcome, Ok(Plan::Help(HelpPage::Iperf2)));
    assert_eq!(line(Native, "-h").outcome, Ok(Plan::Help(HelpPage::Short)));
    assert_eq!(
        line(Native, "--help").outcome,
        Ok(Plan::Help(HelpPage::Full))
    );
    assert_eq!(line(Native, "-c h -v").outcome, Ok(Plan::Version));
    assert_eq!(line(Iperf2, "-t abc -v").outcome, Err(ExitCode::Failure));
}

#[test]
fn tapeline_takes_more_than_iperf() {
    let (plan, _) = client(Native, "-c [::1]:7");
    assert_eq!((plan.host.as_str(), plan.ports), ("::1", (7, 7)));
    assert_eq!(client(Native, "-c h:7").0.ports, (7, 7));
    assert_eq!(client(Iperf2, "-c h:7").0.host, "h:7");
    assert_eq!(
        client(Native, "-c h --dscp ef").0.socket.tos,
        Some(Tos(0xb8))
    );
    assert_eq!(client(Native, "-c h -i 0").0.interval, None);
    assert_eq!(
        client(Native, "-c h -b 1k").0.pace,
        Some(Pace::Bits(BitRate(1000)))
    );
}

#[test]
fn a_tapeline_server_can_be_restricted_to_one_host() {
    let only_from = |text| {
        server(Native, text)
            .0
            .only_from
            .map(|address| address.to_string())
    };
    assert_eq!(only_from("-s -c 10.0.0.1").as_deref(), Some("10.0.0.1"));
    assert_eq!(only_from("-c ::1 -s").as_deref(), Some("::1"));
    assert_eq!(only_from("-s -c localhost").as_deref(), Some("::1"));
    assert_eq!(
        only_from("-s -4 -c localhost").as_deref(),
        Some("127.0.0.1")
    );
    assert_eq!(server(Iperf2, "-s -c 10.0.0.1").0.only_from, None);
    let resolution = line(Native, "-s -c nowhere");
    assert_eq!(
        said(&resolution),
        ["error: -c: 'nowhere' has no address to admit"]
    );
}

#[test]
fn try_without_a_host_has_a_family_and_a_time() {
    let trial = |text| match line(Native, text).outcome {
        Ok(Plan::Try(plan, _)) => plan,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(
        trial("try"),
        TryPlan {
            family: Family::Any,
            time: None,
            techniques: Techniques::default(),
        }
    );
    assert_eq!(
        trial("-6 try -t 2.5"),
        TryPlan {
            family: Family::V6,
            time: Some(Duration::from_millis(2500)),
            techniques: Techniques::default(),
        }
    );
    for (text, sentence) in [
        (
            "try h i",
            "try takes one host\nhint:  tapeline try HOST[:PORT] [OPTIONS]",
        ),
        ("try -R", "-R does not apply to try"),
        ("try -c h", "-c does not apply to try"),
        ("try -p 7", "-p: try without a host chooses its own port"),
        ("try h -p 1-2", "-p: try takes one port (1..65535)"),
        ("try h -t 3", "-t: 3 is not between 5 and 30 s"),
        ("try h --udp", "--udp does not apply to try"),
        ("try -t 0", "-t: 0 is no length, and try needs an end"),
        ("mtu h -t 5", "-t does not apply to mtu"),
        ("mtu h -P 2", "-P does not apply to mtu"),
        ("mtu h -w 1M", "-w does not apply to mtu"),
        ("mtu h -Z reno", "-Z does not apply to mtu"),
    ] {
        assert_eq!(
            said(&line(Native, text)),
            [format!("error: {sentence}")],
            "{text}"
        );
    }
    assert_eq!(
        said(&line(Iperf2, "-c h try")),
        ["iperf: ignoring extra argument -- try"]
    );
}

#[test]
fn variables_come_before_the_line() {
    let client =
        |personality, text, variables: &[&str]| match with_variables(personality, text, variables)
            .outcome
        {
            Ok(Plan::Client(plan, ..)) => plan,
            other => panic!("{text}: {other:?}"),
        };
    let plan = client(
        Iperf2,
        "",
        &["IPERF_CLIENT=h", "IPERF_DUALTEST=", "IPERF_TIME=3"],
    );
    assert_eq!(plan.limit, Limit::Time(Duration::from_secs(3)));
    assert_eq!(arrangement(&plan), Arrangement::Dual { listen_port: 5001 });
    let plan = client(Iperf2, "-c i -t 4", &["IPERF_CLIENT=h", "IPERF_TIME=3"]);
    assert_eq!(
        (plan.host.as_str(), plan.limit),
        ("i", Limit::Time(Duration::from_secs(4)))
    );
    let mode = with_variables(Iperf2, "-c h", &["IPERF_SERVER="]);
    assert!(matches!(mode.outcome, Ok(Plan::Server(..))));
    assert_eq!(
        client(Iperf2, "-c h -B 2.2.2.2", &["IPERF_BIND=1.1.1.1"])
            .bind
            .unwrap()
            .host,
        "1.1.1.1"
    );
    let plan = client(
        Iperf2,
        "-c h",
        &["IPERF_FILE_INPUT=/dev/null", "IPERF_BANDWIDTH=10m,1m"],
    );
    // Read behind the client's variable, but before the line: no client yet.
    assert_eq!(plan.payload, Payload::Digits);
    assert_eq!(
        plan.shape,
        Shape::Variable {
            deviation: BitRate(1_000_000)
        }
    );
    let plan = client(
        Iperf2,
        "",
        &["IPERF_CLIENT=h", "IPERF_STDIN_INPUT=", "IPERF_INTERVAL=f"],
    );
    assert_eq!(plan.payload, Payload::StandardInput);
    assert!(plan.latency.by_frame);
    let server = with_variables(Iperf2, "-s", &["IPERF_DAEMON="]);
    assert!(matches!(
        server.outcome,
        Ok(Plan::Server(_, _, Life::Background, _))
    ));
    let bad = with_variables(Iperf2, "-c h", &["IPERF_TIME=abc"]);
    assert_eq!(said(&bad), ["ERROR: -t value of 'abc' not recognized"]);
    let other = with_variables(Iperf2, "-c h", &["IPERF_SUGGEST_WIN_SIZE="]);
    assert_eq!(
        said(&other),
        ["The -W option is not available in this release"]
    );
}

#[test]
fn under_tapeline_the_line_wins_over_variables() {
    let resolve = |text, variables: &[&str]| with_variables(Native, text, variables);
    assert!(matches!(
        resolve("-c h", &["IPERF_SERVER="]).outcome,
        Ok(Plan::Client(..))
    ));
    assert!(matches!(
        resolve("", &["IPERF_SERVER="]).outcome,
        Ok(Plan::Server(..))
    ));
    assert!(matches!(
        resolve("try", &["IPERF_CLIENT=h"]).outcome,
        Ok(Plan::Try(..))
    ));
    match resolve("-s", &["IPERF_CLIENT=10.0.0.1", "IPERF_TTL=3"]).outcome {
        Ok(Plan::Server(plan, ..)) => assert_eq!(plan.only_from, None),
        other => panic!("{other:?}"),
    }
    match resolve("-c h -B 2.2.2.2", &["IPERF_BIND=1.1.1.1"]).outcome {
        Ok(Plan::Client(plan, ..)) => assert_eq!(plan.bind.unwrap().host, "2.2.2.2"),
        other => panic!("{other:?}"),
    }
    let bad = resolve("-c h", &["IPERF_LEN=abc"]);
    assert_eq!(
        said(&bad),
        ["error: variable IPERF_LEN needs a number, not \"abc\""]
    );
}

#[test]
fn small_notices_are_those_of_the_reference() {
    assert_eq!(
        said(&line(Iperf2, "-c h -W")),
        ["The -W option is not available in this release"]
    );
    assert_eq!(said(&line(Iperf2, "-c h -A")), [""; 0]);
    assert_eq!(
        line(Iperf2, "-c h -P=4").messages,
        [CliMessage::out("WARNING: -P=4 is read as -P 4")]
    );
    assert_eq!(client(Iperf2, "-c h -P=4").0.parallel, 4);
    let resolution = line(Iperf2, "-c h -o /tmp/x");
    assert_eq!(
        resolution.messages,
        [CliMessage::out(
            "Output from stdout (but not from stderr) will be redirected to file /tmp/x"
        )]
    );
    assert_eq!(said(&line(Native, "-c h -o /tmp/x")), [""; 0]);
}

#[test]
fn a_server_may_live_in_the_background() {
    let life = |personality, text| match line(personality, text).outcome {
        Ok(Plan::Server(_, _, life, _)) => life,
        other => panic!("{text}: {other:?}"),
    };
    for personality in [Iperf2, Native] {
        assert_eq!(life(personality, "-s"), Life::Foreground);
        assert_eq!(life(personality, "-s -D"), Life::Background);
    }
    assert_eq!(
        said(&line(Iperf2, "-s -D")),
        ["Running Iperf Server as a daemon"]
    );
    assert_eq!(said(&line(Native, "-s -D")), [""; 0]);
}
