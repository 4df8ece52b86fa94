//! Every row of iperf3's table.

use super::*;
use crate::cli::iperf3::options::{End, Id, Spec, TABLE};
use crate::cli::parse::Arity;
use crate::plan::{Iperf3Task, Plan};
use tapeline_dialect::Iperf3Client;

fn value(spec: &Spec) -> &'static str {
    match spec.id {
        Id::Port | Id::ClientPort => "6001",
        Id::Format => "m",
        Id::Interval => "0.5",
        Id::Client | Id::Bind => "192.0.2.9",
        Id::Bitrate | Id::BitrateLimit | Id::FairQueueRate => "1.5M",
        Id::Bytes | Id::Blocks | Id::Window => "1m",
        Id::Length => "2k",
        Id::SegmentSize => "1400",
        Id::Tos => "0x20",
        Id::Dscp => "ef",
        Id::Keepalive => "9/1/2",
        Id::ConnectTimeout => "2K",
        Id::ReceiveTimeout | Id::SendTimeout => "500",
        Id::Congestion => "cubic",
        _ => "5",
    }
}

/// Lines with each option once.
fn lines() -> Vec<(&'static Spec, String)> {
    let mut lines = Vec::new();
    for spec in TABLE {
        let option = match spec.arity {
            Arity::Switch => format!("--{}", spec.names[0]),
            _ => format!("--{}={}", spec.names[0], value(spec)),
        };
        let bases: &[&str] = match (spec.id, spec.end) {
            (Id::Client | Id::Server, _) => &[""],
            (Id::ClientPort, _) => &["-c 192.0.2.1 -4", "-c 2001:db8::1 -6", "-c h -B 192.0.2.9"],
            (Id::Version6, _) => &["-c 2001:db8::1", "-s"],
            (_, End::Both) => &["-c 192.0.2.1", "-s"],
            (_, End::Client) => &["-c 192.0.2.1"],
            (_, End::Server) => &["-s"],
        };
        for base in bases {
            lines.push((spec, format!("iperf3 {base} {option}")));
        }
    }
    let client = |id: Id| TABLE.iter().find(|spec| spec.id == id).expect("a row");
    for (id, more) in [
        (Id::Udp, "-u -b 50M -P 2 -t 5"),
        (Id::Udp, "-u -b 0"),
        (Id::Bytes, "-n 10M -P 3"),
        (Id::Time, "-t 0"),
        (Id::Interval, "-i 0"),
        (Id::Tos, "-S 064"),
        (Id::Dscp, "--dscp lowdelay"),
        (Id::Dscp, "-S 7 --dscp 0"),
        (Id::Bitrate, "-b 1T"),
        (Id::Length, "-u -l 1200 -R"),
        (Id::Version4, "-4 -6"),
        (Id::Port, "-p 5201 -O 0 -w 0 -M 0"),
        (Id::NoFairQueue, "--no-fq-socket-pacing --forceflush"),
    ] {
        lines.push((client(id), format!("iperf3 -c 192.0.2.1 {more}")));
    }
    lines
}

fn task(name: CommandName, words: Vec<OsString>) -> Iperf3Client {
    match resolved(name, words, None).outcome {
        Ok(Plan::Iperf3(job)) => match job.task {
            Iperf3Task::Client(plan) => *plan,
            Iperf3Task::Server(..) => panic!("a server"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_option_is_read_or_refused_with_its_name() {
    let mut read_ones = 0;
    for (spec, typed) in lines() {
        let form = match read(&typed) {
            Ok(form) => form,
            Err(why) => {
                let name = format!("--{}", spec.names[0]);
                assert!(why.contains(&name), "{typed}: {why}");
                continue;
            }
        };
        read_ones += 1;
        assert_eq!(findings(&form).faults, [], "{typed}: {form:?}");
        let again = line(&form, CommandName::Iperf3);
        let again = again.unwrap_or_else(|why| panic!("{typed}: {form:?}: {why}"));
        assert_eq!(read(&again).as_ref(), Ok(&form), "{typed}: {again}");
        let own = line(&form, CommandName::Tapeline).expect("a line");
        assert_eq!(read(&own).as_ref(), Ok(&form), "{typed}: {own}");
    }
    assert!(read_ones > 45, "{read_ones}");
}

/// The bytes of a test of several streams are rounded up to whole bytes of each.
#[test]
fn lines_ask_a_server_for_the_same() {
    for (spec, typed) in lines() {
        let Ok(form) = read(&typed) else { continue };
        if form.job() == FormJob::Server {
            continue;
        }
        let composed = line(&form, CommandName::Iperf3).expect("a line");
        let theirs = task(CommandName::Iperf3, arguments(&typed));
        let again = task(CommandName::Iperf3, arguments(&composed));
        let mut own = task(CommandName::Tapeline, form.words().expect("words"));
        // It says who it is.
        own.parameters.tapeline = None;
        let rounded = if typed.contains("-n 10M -P 3") { 2 } else { 0 };
        let mut wanted = theirs.parameters.clone();
        wanted.bytes += rounded;
        assert_eq!(own.parameters, wanted, "{typed}: {form:?}");
        assert_eq!(again.parameters, wanted, "{typed}: {composed}");
        for plan in [&own, &again] {
            assert_eq!(plan.host, theirs.host, "{typed}");
            assert_eq!(plan.port, theirs.port, "{typed}");
            assert_eq!(plan.client_port, theirs.client_port, "{typed}");
            assert_eq!(plan.family, theirs.family, "{typed}");
            assert_eq!(plan.interval, theirs.interval, "{typed}");
            assert_eq!(plan.connect_timeout, theirs.connect_timeout, "{typed}");
            if theirs.bind.is_some() {
                assert_eq!(plan.bind, theirs.bind, "{typed}");
            }
        }
        assert!(spec.end != End::Server);
    }
}

#[test]
fn iperf3s_defaults_become_options() {
    let options = |line: &str| read(line).expect("a form");
    assert_eq!(options("iperf3 -c h"), client("client=h peer=iperf3"));
    assert_eq!(
        options("iperf3 -c h -u"),
        client("client=h peer=iperf3 udp bandwidth=1048576")
    );
    assert_eq!(options("iperf3 -s"), server("port=5201"));
    assert_eq!(
        options(
            "iperf3 -c h --bidir -C cubic -M 1400 -Z -O 2 --connect-timeout 2500 -b 5M -P 4 -l 8k"
        ),
        client(
            "client=h peer=iperf3 full-duplex tcp-congestion=cubic mss=1400 zero-copy omit=2 \
             connect-timeout=2.5 bandwidth=5M parallel=4 len=8192"
        )
    );
    for (line, said) in [
        ("iperf3 -c h%eth0", "names a device"),
        ("iperf3 -c h -B 192.0.2.9%eth0", "names a device"),
        ("iperf3 -c h -b 1M/10", "bursts"),
        ("iperf3 -c h --cport 7", "--cport"),
        ("iperf3 -c h -F /etc/passwd", "names a file"),
        ("iperf3 -c h --username u", "no logins"),
        ("iperf3 -c h -P 200", "invalid number of parallel streams"),
        ("iperf3 -c h -Q", "invalid option -- 'Q'"),
        ("iperf3 -c h -s", "cannot be both server and client"),
        ("iperf3", "must either be a client (-c) or server (-s)"),
    ] {
        let why = read(line).expect_err(line);
        assert!(why.contains(said), "{line}: {why}");
    }
}
