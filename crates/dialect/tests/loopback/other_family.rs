//! iperf 2 clients that reach an iperf3 server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;

use tapeline_base::{ExitCode, Transport};
use tapeline_dialect::{Arrangement, ClientPlan, ClientWorkload, Limit};
use tapeline_report::Notice;

use crate::harness::{TestClient, V4, client_plan, free_port, notices};

/// A server that does what iperf3's does with what it takes for a cookie, for parameters, and
/// for the rest.
fn iperf3_server(answer: &'static [u8], refusal: &'static [u8]) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind((V4, 0)).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let thread = std::thread::spawn(move || {
        let (mut conn, _) = listener.accept().expect("a client");
        conn.read_exact(&mut [0; 37]).expect("a cookie");
        conn.write_all(answer).expect("room");
        if refusal.is_empty() {
            // Deaf, until the client gives up.
            while conn.read(&mut [0; 65536]).is_ok_and(|count| count > 0) {}
        }
        let _ = conn.write_all(refusal);
    });
    (address, thread)
}

#[test]
fn a_client_says_which_command_works_long_before_its_time_is_over() {
    const REFUSAL: &[u8] = &[0xfe, 0, 0, 0, 111, 0, 0, 0, 0];
    let stream = ClientWorkload::Stream;
    for (workload, answer, refusal) in [
        (stream(Arrangement::Forward), &[9][..], &[][..]),
        (stream(Arrangement::Forward), &[0xff], &[]),
        (
            stream(Arrangement::Dual {
                listen_port: free_port(),
            }),
            &[9],
            &[],
        ),
        (stream(Arrangement::Reverse), &[9], REFUSAL),
        (stream(Arrangement::FullDuplex), &[9], REFUSAL),
    ] {
        let (address, thread) = iperf3_server(answer, refusal);
        let (code, events) = TestClient::start(ClientPlan {
            workload,
            limit: Limit::Never,
            ..client_plan(address, Transport::Tcp)
        })
        .wait();
        assert_eq!(code, ExitCode::Failure);
        let told = Notice::OtherFamily {
            host: V4.to_string(),
            port: address.port(),
        };
        let all = notices(&events);
        let count = all.iter().filter(|notice| **notice == told).count();
        assert_eq!(count, 1, "{workload:?}: {all:?}");
        thread.join().expect("the server");
    }
}
