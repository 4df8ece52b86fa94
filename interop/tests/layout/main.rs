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
use tapeline_report::Build;

/// Time for the server's last lines after the client has ended.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Repeats a recording and compares both sides.
fn repeat(name: &str, build: Build) {
    // A switch is given by a variable that is defined.
    let command = || match build {
        Build::Plain => Invocation::new(Program::TapelineAsIperf),
        Build::FastSampling => {
            Invocation::new(Program::TapelineAsIperf).env("IPERF_FASTSAMPLING", "1")
        }
    };
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
    let recording = Recording::load(name, build);
    let server = recording.server.as_ref().map(|line| {
        let server = command().line(line).within(&pair.server);
        let server = server.spawn().expect("a server");
        await_listening(&server, recording.transport(), recording.port()).expect("a server");
        server
    });
    let client = recording.client.as_ref().expect("a client");
    let client = command().line(client).within(&pair.client);
    let client = client.run().expect("a client");
    let printed = server.map(|server| {
        let enough = recording.printed[1].lines().count();
        server.wait_for(TIMEOUT, |out| out.lines().count() >= enough);
        server.interrupt();
        server.wait().expect("it ends")
    });
    compare(name, "client", build, &recording.printed[0], &client.stdout);
    if let Some(server) = printed {
        compare(name, "server", build, &recording.printed[1], &server.stdout);
    }
}

macro_rules! recordings {
    ($build:ident: $($name:ident)*) => {$(
        #[test]
        fn $name() {
            repeat(stringify!($name), Build::$build);
        }
    )*};
}

// Three recordings are of refusals, which are tested as bad invocations: udp_C, udp_ipg and
// udp_permitkey_fail.
recordings! {
    Plain:
    tcp_bounceback_load tcp_bounceback_load_down2 udp_workload tcp tcp_1 tcp_B tcp_B_dev tcp_C tcp_F tcp_M tcp_M_legacy tcp_N_S_Z tcp_P2 tcp_P2_e
    tcp_P2_incrdstip tcp_P2_sumdstip tcp_P2_sumonly tcp_P2_sumonly_e tcp_P2_triptimes_histograms
    tcp_P2_triptimes_y_c_e tcp_P2_y_C tcp_P2_y_c_e tcp_R tcp_R_P2_e tcp_R_e tcp_R_y_C
    tcp_R_y_c_e tcp_X tcp_X_legacy tcp_X_triptimes tcp_bounceback tcp_bounceback_P2
    tcp_bounceback_e_srv tcp_bounceback_hist tcp_bounceback_hold tcp_bounceback_key_hide
    tcp_bounceback_noqack tcp_bounceback_p0
    tcp_bounceback_triptimes tcp_bounceback_y_C tcp_bounceback_y_c_e tcp_burst
    tcp_burst_triptimes tcp_connectonly tcp_connectonly_3 tcp_connectonly_e tcp_connectonly_n
    tcp_d tcp_d_L tcp_d_e tcp_d_y_C tcp_d_y_c_e tcp_e tcp_e_b tcp_e_b_vary tcp_e_noi
    tcp_e_partial tcp_f_a tcp_f_a_upper tcp_f_b tcp_f_b_upper tcp_f_g tcp_f_g_upper tcp_f_k
    tcp_f_k_upper tcp_f_m tcp_f_m_upper tcp_f_t_upper tcp_fqrate tcp_fqratestep tcp_fullduplex
    tcp_fullduplex_P2_e tcp_fullduplex_e tcp_fullduplex_tosoverride tcp_fullduplex_y_C
    tcp_fullduplex_y_c_e tcp_hideips tcp_hideips_e tcp_histograms_client tcp_i tcp_i_partial
    tcp_i_partial26 tcp_if tcp_ignoreshutdown tcp_incrdstport tcp_isoch tcp_isoch_hist
    tcp_isoch_triptimes tcp_isoch_y_C tcp_isoch_y_c_e tcp_l tcp_m tcp_n tcp_nearcong
    tcp_noconnectsync tcp_permitkey tcp_permitkey_bad tcp_permitkey_gen tcp_portrange tcp_r
    tcp_r_e tcp_rxclamp tcp_serverb tcp_servert tcp_skiprx tcp_synctransferid tcp_tos_bb
    tcp_triptimes tcp_triptimes_P2 tcp_triptimes_R tcp_triptimes_fullduplex
    tcp_triptimes_histograms tcp_triptimes_legacyserver tcp_triptimes_y_C tcp_triptimes_y_c_e
    tcp_txstart tcp_utc tcp_v4_on_v6 tcp_v6 tcp_v6_e tcp_v6_y_C tcp_w tcp_w_e tcp_writeprefetch
    tcp_writetimes tcp_writetimes_R tcp_writetimes_histograms tcp_x_D tcp_x_M_P2 tcp_y_C
    tcp_y_C_hide_utc tcp_y_c_e udp udp_P2 udp_P2_e udp_P2_histograms udp_P2_sumdstip
    udp_P2_sumonly udp_P2_sumonly_e udp_P2_triptimes udp_P2_triptimes_sumonly
    udp_P2_triptimes_y_c_e udp_P2_y_C udp_P2_y_c_e udp_R udp_R_e udp_R_y_C udp_R_y_c_e udp_U
    udp_b0 udp_b_pps udp_burst udp_d udp_e udp_e_b10m udp_fullduplex udp_fullduplex_e
    udp_fullduplex_y_C udp_fullduplex_y_c_e udp_hideips udp_histograms udp_histograms_arg udp_i
    udp_if_isoch udp_incrdstip udp_isoch udp_isoch_p udp_isoch_triptimes_hist
    udp_isoch_y_C udp_isoch_y_c_e udp_jitterhist udp_jitterhist_arg udp_l udp_l2checks
    udp_l_small udp_markov udp_markov_legacy udp_mcast udp_mcast_e udp_mcast_noif udp_mcast_v6
    udp_n udp_nofin udp_noi_e udp_noserver udp_noserver_e udp_r udp_serverb
    udp_ssm udp_sync udp_tos udp_tostoride udp_triptimes udp_triptimes_legacyserver
    udp_triptimes_y_C udp_triptimes_y_c_e udp_txdelay udp_v6 udp_v6_e udp_w udp_xC
    udp_y_C udp_y_c_e
}

/// The text of `--fast-sampling`: a run for each kind of rows.
mod fast_sampling {
    use super::{Build, repeat};

    recordings! {
        FastSampling:
        tcp tcp_e tcp_i_partial tcp_P2_e tcp_P2_sumonly_e tcp_P2_triptimes_histograms tcp_P2_y_C
        tcp_R_e tcp_d tcp_r tcp_bounceback tcp_bounceback_hist tcp_bounceback_triptimes
        tcp_bounceback_y_c_e tcp_burst_triptimes tcp_fqrate tcp_fullduplex_e tcp_if
        tcp_isoch_hist tcp_triptimes tcp_triptimes_y_c_e tcp_writetimes tcp_y_c_e udp udp_e
        udp_P2_e udp_R udp_burst udp_fullduplex_e udp_histograms udp_isoch
        udp_isoch_triptimes_hist udp_if_isoch udp_r udp_triptimes udp_y_c_e
    }
}
