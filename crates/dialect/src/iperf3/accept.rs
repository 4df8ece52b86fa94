//! Accepting iperf3 clients: which connection and which datagram is whose, and one thread for each control
//! connection.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_report::Notice;
use tapeline_sys::{TcpConn, UdpSocket, Waker, reason};
use tapeline_wire::iperf3::{CONNECT_REPLY, Cookie, State};

use super::registry::Claim;
use super::server_test::Session;
use super::service::{Iperf3Service, Test};
use super::streams::Link;
use crate::run::control_socket::close_gracefully;

/// Control connections beyond those of running tests.
const MAX_SILENT: usize = 64;
/// Time for a client to close after its last word, so that it can read ours.
const FAREWELL: Duration = Duration::from_secs(2);

/// Takes a connection whose cookie has been read: a stream of a known test, or the control
/// connection of a new one. Returns whether a test began.
pub(crate) fn take(
    service: &Arc<Iperf3Service>,
    conn: TcpConn,
    peer: SocketAddr,
    accepted: MonoTime,
    cookie: Cookie,
) -> bool {
    let conn = Arc::new(conn);
    let link = Link::Tcp(Arc::clone(&conn));
    match service.registry.claim_tcp(&cookie, accepted, link) {
        Claim::Taken => false,
        Claim::Unwanted => {
            deny(&conn);
            false
        }
        Claim::Unknown => begin(service, conn, peer, cookie),
    }
}

fn begin(
    service: &Arc<Iperf3Service>,
    conn: Arc<TcpConn>,
    peer: SocketAddr,
    cookie: Cookie,
) -> bool {
    if service.registry.is_full(service.max_tests()) {
        deny(&conn);
        let max = service.max_tests();
        service.report_refusal(peer, &format!("{max} iperf3 tests run, which is the limit"));
        return false;
    }
    let max = service.max_tests().saturating_add(MAX_SILENT);
    let Ok(waker) = Waker::new().map(Arc::new) else {
        deny(&conn);
        return false;
    };
    let Some(expected) = service
        .registry
        .enter(cookie, peer.ip(), Arc::clone(&waker), max)
    else {
        deny(&conn);
        service.report_refusal(peer, "its test is known, or there is no place for it");
        return false;
    };
    let test = Test {
        number: service.numbers.fetch_add(1, Ordering::Relaxed) + 1,
        service: Arc::clone(service),
        conn,
        peer,
        expected,
        waker,
        part: Some(service.tally.begin()),
    };
    let spawned = std::thread::Builder::new()
        .name("iperf3".into())
        .spawn(move || run(test));
    if let Err(error) = spawned {
        let what = format!("no thread for a test: {}", reason(&error));
        service.context.notice(Notice::Text(what));
        return false;
    }
    true
}

/// Answers a UDP client's connect message with a socket of its own. Returns whether a test
/// awaited it.
pub(crate) fn take_datagram(
    service: &Iperf3Service,
    socket: &UdpSocket,
    source: SocketAddr,
    destination: Option<IpAddr>,
) -> bool {
    let Some(test) = service
        .registry
        .udp_test(tapeline_sys::unmapped(source).ip())
    else {
        return false;
    };
    let Ok(mut local) = socket.local_addr() else {
        return false;
    };
    if let Some(address) = destination {
        local.set_ip(address);
    }
    let branch = match socket.branch(local, source) {
        Ok(branch) => Arc::new(branch),
        Err(error) => {
            let what = format!("a socket for a UDP stream: {error}");
            service.context.notice(Notice::Text(what));
            return false;
        }
    };
    // The socket is bound before the client learns of it: its next datagram has a place.
    let answered = branch.send(&CONNECT_REPLY).is_ok();
    let came = service.context.now();
    answered && service.registry.give_udp(&test, came, Link::Udp(branch))
}

/// Replies to a client that there is no room for it.
fn deny(conn: &TcpConn) {
    let _ = conn.send_nonblocking(&[State::AccessDenied.byte()]);
    let _ = conn.shutdown_write();
}

/// Serves a control connection to its end.
fn run(mut test: Test) {
    let part = test.part.take();
    let ended = Session::new(&test).map(Session::serve);
    test.service.registry.leave(&test.expected);
    let context = &test.service.context;
    close_gracefully(&test.conn, context, FAREWELL, context.stop());
    // Somebody who only looked in, or could not log in, is not the one client.
    if test.service.plan.one_off && ended.is_some_and(|ended| ended.asked) {
        test.service.done.raise();
    }
    let failed = ended.is_none_or(|ended| ended.failed);
    if let Some(part) = part {
        // A server of many tests has not failed with one of them.
        part.end(failed && test.service.plan.one_off);
    }
}
