//! Real runs under the name `iperf` against recorded runs of iperf 2.2.1.
//!
//! Each test repeats a recording's command lines on a network like the recording's and compares
//! the kinds of lines on both sides: every line must be one that iperf 2.2.1 prints, and the same
//! kinds must follow each other. Numbers vary, and so does how often a row is repeated. What is
//! different on purpose is listed in `exceptions.rs`.

#![allow(non_snake_case, reason = "the names are the recordings'")]

mod compare;
mod crafted;
mod exceptions;
mod recording;
mod signals;

use std::time::Duration;

use interop::{Invocation, Program, await_listening, skip};

use compare::compare;
use recording::{Recording, hosts};

/// Time for the server's last lines after the client has ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// Repeats a recording and compares both sides.
fn repeat(name: &str) {
    let program = Program::TapelineAsIperf;
    if let Some(reason) = program.missing() {
        return skip(name, &reason);
    }
    let pair = match hosts() {
        Ok(pair) => pair,
        Err(error) => {
            return skip(
                name,
                &format!("network namespaces are not available: {error}"),
            );
        }
    };
    let recording = Recording::load(name);
    let server = recording.server.as_ref().map(|line| {
        let server = Invocation::new(program).line(line).within(&pair.server);
        let server = server.spawn().expect("a server");
        await_listening(&server, recording.transport(), recording.port()).expect("a server");
        server
    });
    let client = recording.client.as_ref().expect("a client");
    let client = Invocation::new(program).line(client).within(&pair.client);
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
