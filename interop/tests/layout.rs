//! Real runs under the name `iperf` against recorded runs of iperf 2.2.1.
//!
//! Each test repeats a recording's command lines on a network like the recording's and compares
//! the kinds of lines on both sides: every line must be one that iperf 2.2.1 prints, and the same
//! kinds must follow each other. Numbers vary, and so does how often a row is repeated.

#![allow(non_snake_case, reason = "the names are the recordings'")]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use interop::{Family, Invocation, NamespacePair, Program, Transport, await_listening, skip};
use tapeline_report::layout::{Complaint, Header, LineKind, Who, classify};

/// Time for the server's last lines after the client has ended.
const PATIENCE: Duration = Duration::from_secs(5);
/// Where the recordings are.
const RECORDINGS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/report/tests/golden/iperf2"
);

/// A recorded run.
struct Recording {
    server: Option<String>,
    client: String,
    /// What each side printed.
    printed: [String; 2],
}

impl Recording {
    fn load(name: &str, pair: &NamespacePair) -> Self {
        let read = |end: &str| {
            let path = Path::new(RECORDINGS).join(format!("{name}.{end}"));
            std::fs::read_to_string(&path).unwrap_or_default()
        };
        let commands = read("cmd");
        let line = |side: &str| {
            let line = commands.lines().find_map(|line| line.strip_prefix(side))?;
            let line = line
                .replace("192.168.77.2", &pair.server_address(Family::V4).to_string())
                .replace(
                    "2001:db8:77::2",
                    &pair.server_address(Family::V6).to_string(),
                );
            (!line.trim().is_empty()).then(|| line.trim().to_owned())
        };
        Self {
            server: line("server:"),
            client: line("client:").unwrap_or_else(|| panic!("no recording {name}")),
            printed: [read("client.txt"), read("server.txt")],
        }
    }

    fn transport(&self) -> Transport {
        let udp = |line: &str| line.split(' ').any(|word| word == "-u" || word == "-U");
        if udp(&self.client) {
            Transport::Udp
        } else {
            Transport::Tcp
        }
    }
}

/// Repeats a recording and compares both sides.
fn repeat(name: &str) {
    let program = Program::TapelineAsIperf;
    if let Some(reason) = program.missing() {
        return skip(name, &reason);
    }
    let pair = match NamespacePair::new() {
        Ok(pair) => pair,
        Err(error) => {
            return skip(
                name,
                &format!("network namespaces are not available: {error}"),
            );
        }
    };
    let recording = Recording::load(name, &pair);
    let server = recording.server.as_ref().map(|line| {
        let server = Invocation::new(program).line(line).within(&pair.server);
        let server = server.spawn().expect("a server");
        let port = if line.contains("-p 6001-6002") {
            6002
        } else {
            5001
        };
        await_listening(&server, recording.transport(), port).expect("a server");
        server
    });
    let client = Invocation::new(program)
        .line(&recording.client)
        .within(&pair.client);
    let client = client.run().expect("a client");
    let printed = server.map(|server| {
        let enough = recording.printed[1].lines().count();
        server.wait_for(PATIENCE, |out| out.lines().count() >= enough);
        server.interrupt();
        server.wait().expect("it ends")
    });
    compare(name, "client", &recording.printed[0], &client.stdout);
    if let Some(server) = printed {
        compare(name, "server", &recording.printed[1], &server.stdout);
    }
}

/// Compares the kinds of lines.
fn compare(name: &str, side: &str, recorded: &str, printed: &str) {
    let shown = || format!("{side}\n--- recorded\n{recorded}--- printed\n{printed}");
    let [expected, found] = [recorded, printed].map(|text| -> Vec<LineKind> {
        let lines = text.lines().filter(|line| !line.is_empty());
        let kinds = lines.map(|line| {
            classify(line)
                .unwrap_or_else(|| panic!("not a line of iperf 2.2.1: {line}\n{}", shown()))
        });
        kinds.filter(|kind| is_comparable(name, kind)).collect()
    });
    if has_one_flow(&expected) {
        let [mut expected, mut found] = [expected, found];
        expected.dedup();
        found.dedup();
        assert_eq!(found, expected, "{}", shown());
    } else {
        // Flows print in the order in which their intervals and they themselves end.
        let [expected, found] =
            [expected, found].map(|kinds| kinds.into_iter().collect::<BTreeSet<_>>());
        assert_eq!(found, expected, "{}", shown());
    }
}

/// Whether a kind of line must be the same in the recording and here.
fn is_comparable(name: &str, kind: &LineKind) -> bool {
    match kind {
        // Whether the processor was the limit depends on the machine's other work.
        LineKind::Complaint(Complaint::CpuBound) => false,
        // 2.2.1's servers see reordering where there is none when flows begin at the same time.
        LineKind::OutOfOrder(_) => false,
        // 2.2.1 sums senders in a server under the header of receivers, with all counts 0.
        LineKind::Row(Who::CountedSum, _)
        | LineKind::Header(Header::SumTcpSend | Header::SumTcpReceive) => name != "tcp_R_P2_e",
        _ => true,
    }
}

/// Whether all rows are of one flow in one direction, so that their order is certain.
fn has_one_flow(kinds: &[LineKind]) -> bool {
    let connections = kinds
        .iter()
        .filter(|kind| matches!(kind, LineKind::Connection(..)))
        .count();
    let shows = |who| {
        kinds
            .iter()
            .any(|kind| matches!(kind, LineKind::Row(of, _) if *of == who))
    };
    connections == 1 && !(shows(Who::Flow) && shows(Who::Reversed))
}

macro_rules! recordings {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            repeat(stringify!($name));
        }
    )*};
}

recordings! {
    tcp tcp_1 tcp_M tcp_M_legacy tcp_N_S_Z tcp_P2 tcp_P2_e tcp_P2_sumonly tcp_P2_sumonly_e tcp_P2_y_C
    tcp_P2_y_c_e tcp_R tcp_R_P2_e tcp_R_e tcp_R_y_C tcp_R_y_c_e tcp_d tcp_d_L tcp_d_e tcp_d_y_C
    tcp_d_y_c_e tcp_e tcp_e_b tcp_e_noi tcp_e_partial tcp_f_a tcp_f_a_upper tcp_f_b tcp_f_b_upper
    tcp_f_g tcp_f_g_upper tcp_f_k tcp_f_k_upper tcp_f_m tcp_f_m_upper tcp_f_t_upper tcp_fullduplex
    tcp_fullduplex_P2_e tcp_fullduplex_e tcp_fullduplex_y_C tcp_fullduplex_y_c_e tcp_hideips
    tcp_hideips_e tcp_i tcp_i_partial tcp_i_partial26 tcp_ignoreshutdown tcp_l tcp_m tcp_n
    tcp_noconnectsync tcp_portrange tcp_r tcp_r_e tcp_servert tcp_utc tcp_v4_on_v6 tcp_v6 tcp_v6_e
    tcp_v6_y_C tcp_w tcp_w_e tcp_y_C tcp_y_C_hide_utc tcp_y_c_e
    udp udp_P2 udp_P2_e udp_P2_sumonly udp_P2_sumonly_e udp_P2_y_C udp_P2_y_c_e udp_R udp_R_e udp_R_y_C
    udp_R_y_c_e udp_b0 udp_b_pps udp_d udp_e udp_e_b10m udp_fullduplex udp_fullduplex_e
    udp_fullduplex_y_C udp_fullduplex_y_c_e udp_hideips udp_i udp_l udp_l_small udp_n udp_nofin
    udp_noi_e udp_noserver udp_noserver_e udp_r udp_tos udp_tostoride udp_v6 udp_v6_e udp_w
    udp_y_C udp_y_c_e
}
