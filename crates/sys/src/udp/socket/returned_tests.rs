use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use super::*;
use crate::loopback::any_port;
use crate::{Interest, ReceiveBatch, ReceiveFeatures, SocketOptions, Wait};

/// Long enough for any machine; nothing waits for it that comes.
const TIMEOUT: Duration = Duration::from_secs(20);

fn bound(local: SocketAddr) -> UdpSocket {
    UdpSocket::bind(local, &SocketOptions::default())
        .expect("a socket")
        .socket
}

/// A port of this address that nobody has any more.
fn closed(local: SocketAddr) -> SocketAddr {
    bound(local).local_addr().expect("an address")
}

/// What comes back next; a poller reports it.
fn await_returned(socket: &UdpSocket) -> Returned {
    loop {
        if let Some(returned) = socket.next_returned() {
            return returned;
        }
        let ready = socket.wait_ready(Interest::READ, Wait::AtMost(TIMEOUT));
        assert!(ready.expect("a poll"), "nothing comes back");
    }
}

#[test]
fn a_closed_port_is_reported_with_both_addresses() {
    let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    for (local, own) in [(any_port(), any_port()), (any, any_port()), (any, v6)] {
        let Ok(opened) = UdpSocket::bind(local, &SocketOptions::default()) else {
            // A host without IPv6.
            continue;
        };
        let socket = opened.socket;
        let features = socket.request(ReceiveFeatures {
            destination: local.ip().is_unspecified(),
            ..ReceiveFeatures::default()
        });
        assert!(socket.receive_refusals());
        assert_eq!(socket.next_returned(), None);
        let peer = closed(own);
        socket.send_to(b"anyone?", peer).expect("it leaves");
        let refused = Returned::Refused {
            peer,
            source: features.destination.then_some(own.ip()),
        };
        assert_eq!(await_returned(&socket), refused);
        assert_eq!(socket.next_returned(), None, "told once");
    }
}

#[test]
fn a_socket_that_does_not_ask_receives_nothing() {
    let socket = bound(any_port());
    socket
        .send_to(b"anyone?", closed(any_port()))
        .expect("it leaves");
    assert_eq!(socket.next_returned(), None);
}

#[test]
fn what_comes_back_fails_no_call_for_others() {
    let (socket, other) = (bound(any_port()), bound(any_port()));
    let to = other.local_addr().expect("an address");
    assert!(socket.receive_refusals());
    let gone = closed(any_port());
    let datagrams = [7; 400];
    let mut expected = 0;
    // No more than any receive buffer holds.
    for round in 0..30 {
        socket.send_to(b"anyone?", gone).expect("it leaves");
        // Over loopback the answer is there when the send returns.
        let sent = match round % 3 {
            0 => socket.send_to(&datagrams, to),
            1 => socket.send_segments(&datagrams, 100, Some(to)),
            _ => {
                let marks = crate::Marks {
                    tos: Some(tapeline_base::Tos(8)),
                    source: None,
                };
                socket.send_marked_to(&datagrams, to, marks)
            }
        };
        assert_eq!(sent.expect("it leaves"), datagrams.len());
        expected += datagrams.len();
    }
    let mut buffer = [0; 1000];
    let mut arrived = 0;
    while arrived < expected {
        other.set_receive_timeout(Some(TIMEOUT)).expect("a timeout");
        arrived += other.recv(&mut buffer).expect("all arrive, and once");
    }
    assert!(other.recv_nonblocking(&mut buffer).is_err(), "none twice");
}

#[test]
fn a_receive_goes_on_behind_what_comes_back() {
    let (socket, other) = (bound(any_port()), bound(any_port()));
    assert!(socket.receive_refusals());
    let mut batch = ReceiveBatch::new(4, 100);
    let to = socket.local_addr().expect("an address");
    other.send_to(b"data", to).expect("it leaves");
    socket
        .send_to(b"anyone?", closed(any_port()))
        .expect("it leaves");
    let received = batch.receive(&socket, Wait::AtMost(TIMEOUT));
    assert_eq!(received.expect("the data"), 1);
    assert!(batch.take_returned(), "it is told beside the data");
    assert!(!batch.take_returned(), "once");
    assert!(matches!(await_returned(&socket), Returned::Refused { .. }));
    assert_eq!(batch.receive(&socket, Wait::Never).expect("nothing"), 0);
}
