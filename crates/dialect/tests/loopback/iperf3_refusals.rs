//! What a server of iperf3 clients refuses, ends early, or does not let itself be disturbed by.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tapeline_base::ExitCode;
use tapeline_dialect::{Iperf3Server, Iperf3Timeouts, MaxTests};
use tapeline_report::{Event, Notice};
use tapeline_sys::{SocketOptions, StreamProtocol, TcpListener};
use tapeline_wire::iperf3::{Cookie, Direction, ErrorCode, Parameters, Protocol};

use crate::harness::{LIMIT, TestClient, TestServer, V4, notices};
use crate::iperf3::{ends, fail, of_bytes, of_seconds, plan, serve, served, succeed, udp};

const PARAMETER_EXCHANGE: u8 = 9;
const CREATE_STREAMS: u8 = 10;
const TEST_END: u8 = 4;
const DENIED: u8 = 0xff;

fn cookie(number: u8) -> Cookie {
    Cookie::from_random([number; 36])
}

/// As many different ones as there are numbers.
fn numbered(number: u8) -> Cookie {
    let mut random = [0; 36];
    (random[0], random[1]) = (number / 16, number % 16);
    Cookie::from_random(random)
}

fn connect(server: SocketAddr) -> TcpStream {
    let conn = TcpStream::connect(server).expect("a connection");
    conn.set_read_timeout(Some(LIMIT)).expect("a timeout");
    conn
}

fn greet(server: SocketAddr, cookie: &Cookie) -> TcpStream {
    let mut conn = connect(server);
    conn.write_all(cookie.bytes()).expect("room");
    conn
}

fn read_bytes<const N: usize>(conn: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    conn.read_exact(&mut bytes).expect("an answer");
    bytes
}

/// All that the server says until it closes; a reset fails.
fn rest(conn: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    conn.read_to_end(&mut bytes).expect("a close in order");
    bytes
}

fn message(json: &[u8]) -> Vec<u8> {
    let length = u32::try_from(json.len()).expect("short");
    [&length.to_be_bytes()[..], json].concat()
}

fn refusal(code: ErrorCode) -> Vec<u8> {
    [&[0xfe][..], &code.0.to_be_bytes(), &[0; 4]].concat()
}

/// The server is as good as new.
#[track_caller]
fn still_serves(server: &TestServer) {
    succeed(plan(server.address, of_bytes(50_000)));
    succeed(plan(server.address, udp(of_bytes(20_000))));
}

#[test]
fn what_is_beyond_the_limits_is_refused_with_the_reference_s_code() {
    let server = serve(Iperf3Server {
        rate_limit: Some((10_000_000, Duration::from_secs(1))),
        longest: Some(Duration::from_secs(5)),
        ..Iperf3Server::default()
    });
    let fast = |parallel, direction| Parameters {
        rate: 4_000_000,
        parallel,
        direction,
        ..of_seconds(1)
    };
    for (parameters, code) in [
        (of_seconds(6), ErrorCode::TIME_LIMIT),
        (of_bytes(1000), ErrorCode::TIME_LIMIT),
        (fast(3, Direction::Forward), ErrorCode::RATE_LIMIT),
        (fast(2, Direction::Bidirectional), ErrorCode::RATE_LIMIT),
    ] {
        let failure = fail(plan(server.address, parameters));
        assert_eq!((failure.code, failure.by_peer), (code.0, true));
    }
    // Nothing was asked for, and too much was sent.
    let failure = fail(plan(server.address, of_seconds(5)));
    assert_eq!(
        (failure.code, failure.by_peer),
        (ErrorCode::RATE_LIMIT.0, true)
    );
    succeed(plan(server.address, fast(2, Direction::Forward)));
    server.stop();
}

#[test]
fn sctp_is_refused_at_once_where_the_system_has_none() {
    let server = serve(Iperf3Server::default());
    let options = SocketOptions {
        protocol: StreamProtocol::Sctp,
        ..SocketOptions::default()
    };
    let here = TcpListener::bind((V4, 0).into(), &options, 1).is_ok();
    let asked = Parameters {
        protocol: Protocol::Sctp,
        ..of_bytes(100_000)
    };
    if here {
        succeed(plan(server.address, asked));
    } else {
        let failure = fail(plan(server.address, asked));
        assert_eq!(
            (failure.code, failure.by_peer),
            (ErrorCode::STREAM_LISTEN.0, true)
        );
        assert!(failure.text.ends_with("not supported"), "{failure:?}");
    }
    still_serves(&server);
    server.stop();
}

#[test]
fn a_server_of_one_test_is_busy_with_it_and_free_afterwards() {
    let server = serve(Iperf3Server {
        max_tests: MaxTests::One,
        ..Iperf3Server::default()
    });
    // Who asks for nothing keeps nobody out, whether it has said hello or not.
    let _silent = connect(server.address);
    let mut waiting = greet(server.address, &cookie(1));
    let running = TestClient::start_iperf3(plan(server.address, of_seconds(20)));
    running.events.wait("the start", |events| {
        let started = |event: &Event| matches!(event, Event::TestStart(_));
        events.iter().any(started)
    });
    let failure = fail(plan(server.address, of_bytes(1000)));
    assert_eq!(failure.code, ErrorCode::ACCESS_DENIED.0);
    // Who was there before is answered when it asks.
    assert_eq!(read_bytes(&mut waiting), [PARAMETER_EXCHANGE]);
    waiting.write_all(&message(b"{}")).expect("room");
    assert_eq!(rest(&mut waiting), [DENIED]);
    running.interruption.interrupt();
    let (code, events) = running.wait();
    assert_eq!(code, ExitCode::Success);
    let end = ends(&events).pop().expect("an end");
    assert!(end.failure.expect("a reason").interrupted);
    server.events.wait("the other end", |events| {
        ends(events).iter().any(|end| {
            let failure = end.failure.as_ref();
            failure.is_some_and(|failure| {
                failure.code == ErrorCode::CLIENT_TERMINATED.0 || failure.by_peer
            })
        })
    });
    // The place may be free a moment after the end is reported.
    let until = std::time::Instant::now() + LIMIT;
    loop {
        let (code, events) = TestClient::start_iperf3(plan(server.address, of_bytes(1000))).wait();
        if code == ExitCode::Success {
            break;
        }
        assert!(std::time::Instant::now() < until, "{events:?}");
    }
    server.stop();
}

#[test]
fn silent_clients_keep_nobody_out() {
    let server = serve(Iperf3Server::default());
    // More of them than there are places for tests and for those that ask for none.
    let mut silent: Vec<TcpStream> = (0..140)
        .map(|number| greet(server.address, &numbered(number)))
        .collect();
    for conn in silent.iter_mut().rev().take(100) {
        assert_eq!(read_bytes(conn), [PARAMETER_EXCHANGE]);
    }
    still_serves(&server);
    // The oldest have made room.
    let first = silent.first_mut().expect("one");
    assert_eq!(rest(first), [PARAMETER_EXCHANGE, DENIED]);
    server.stop();
}

#[test]
fn refused_clients_are_logged_while_they_are_few_and_then_counted() {
    let server = serve(Iperf3Server {
        reports_each: false,
        ..Iperf3Server::default()
    });
    const CLIENTS: u8 = 40;
    for number in 0..CLIENTS {
        let mut conn = greet(server.address, &numbered(number));
        assert_eq!(read_bytes(&mut conn), [PARAMETER_EXCHANGE]);
        conn.write_all(&u32::MAX.to_be_bytes()).expect("room");
        assert_eq!(rest(&mut conn).first(), Some(&0xfe));
    }
    still_serves(&server);
    let events = server.stop();
    let notices_seen = notices(&events);
    let refused = |notice: &&Notice| matches!(notice, Notice::PeerRefused { reason, .. } if reason.starts_with("iperf3: "));
    let refused = notices_seen.iter().filter(refused).count() as u64;
    let counted: u64 = notices_seen
        .iter()
        .filter_map(|notice| match notice {
            Notice::Suppressed { count, .. } => Some(*count),
            _ => None,
        })
        .sum();
    assert_eq!(refused + counted, u64::from(CLIENTS), "{notices_seen:?}");
    assert_eq!(ends(&events).len(), 2, "those of tests");
}

#[test]
fn a_stranger_s_cookie_on_a_data_connection_begins_no_stream() {
    let server = serve(Iperf3Server::default());
    let mut control = greet(server.address, &cookie(1));
    assert_eq!(read_bytes(&mut control), [PARAMETER_EXCHANGE]);
    // Before streams are awaited, and with the cookie of another.
    let mut early = greet(server.address, &cookie(1));
    assert_eq!(rest(&mut early), [DENIED]);
    control.write_all(&message(b"{\"time\":1}")).expect("room");
    assert_eq!(read_bytes(&mut control), [CREATE_STREAMS]);
    let mut other = greet(server.address, &cookie(2));
    assert_eq!(
        read_bytes(&mut other),
        [PARAMETER_EXCHANGE],
        "a test of its own"
    );
    let _data = greet(server.address, &cookie(1));
    assert_eq!(read_bytes(&mut control), [1, 2]);
    let mut surplus = greet(server.address, &cookie(1));
    assert_eq!(rest(&mut surplus), [DENIED]);
    server.stop();
}

#[test]
fn hostile_bytes_end_their_own_test_with_the_reference_s_code() {
    let server = serve(Iperf3Server::default());
    let asking: [(&[u8], ErrorCode); 8] = [
        (&[0, 0, 0, 0], ErrorCode::RECEIVE_PARAMETERS),
        (&[0xff; 4], ErrorCode::UNKNOWN_MESSAGE),
        (&[0, 0, 0x20, 1], ErrorCode::RECEIVE_PARAMETERS),
        (b"\0\0\0\x02[]", ErrorCode::RECEIVE_PARAMETERS),
        (b"\0\0\0\x04{\xff\xfe}", ErrorCode::RECEIVE_PARAMETERS),
        (b"\0\0\0\x10{\"parallel\":129}", ErrorCode::STREAMS),
        (b"\0\0\0\x0e{\"omit\":60001}", ErrorCode::OMIT),
        (b"\0\0\0\x0d{\"time\":-100}", ErrorCode::DURATION),
    ];
    for (number, (bytes, code)) in (1..).zip(asking) {
        let mut control = greet(server.address, &cookie(number));
        assert_eq!(read_bytes(&mut control), [PARAMETER_EXCHANGE]);
        control.write_all(bytes).expect("room");
        // More than the server reads must not turn its answer into a reset.
        let _ = control.write_all(&[7; 3000]);
        control
            .shutdown(std::net::Shutdown::Write)
            .expect("a shutdown");
        let answer = rest(&mut control);
        let shown = String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(answer.len(), 9, "{shown:?}: {answer:?}");
        assert_eq!(answer[0], 0xfe, "{shown:?}");
        let is_named = answer == refusal(code) || answer == refusal(ErrorCode::UNKNOWN_MESSAGE);
        assert!(is_named, "{shown:?}: {answer:?}");
    }
    // In the middle of a test: a state that no client has, and results of nobody.
    for (number, bytes) in [
        (20, &[99][..]),
        (21, &[TEST_END, 0, 0, 0, 2, b'{', b'}'][..]),
    ] {
        let mut control = greet(server.address, &cookie(number));
        assert_eq!(read_bytes(&mut control), [PARAMETER_EXCHANGE]);
        control.write_all(&message(b"{}")).expect("room");
        assert_eq!(read_bytes(&mut control), [CREATE_STREAMS]);
        let _data = greet(server.address, &cookie(number));
        assert_eq!(read_bytes(&mut control), [1, 2]);
        control.write_all(bytes).expect("room");
        let answer = rest(&mut control);
        assert!(answer.contains(&0xfe), "{bytes:?}: {answer:?}");
    }
    still_serves(&server);
    server.stop();
}

#[test]
fn silent_connections_delay_nobody() {
    let server = serve(Iperf3Server::default());
    let silent: Vec<TcpStream> = (0..200_u8)
        .map(|number| {
            let mut conn = connect(server.address);
            let cookie = cookie(number);
            // Nothing, part of a cookie, a cookie and nothing else.
            let said = [0, 20, cookie.bytes().len()][usize::from(number % 3)];
            conn.write_all(&cookie.bytes()[..said]).expect("room");
            conn
        })
        .collect();
    still_serves(&server);
    drop(silent);
    server.stop();
}

#[test]
fn clients_that_vanish_leave_nothing_behind() {
    let server = serve(Iperf3Server {
        max_tests: MaxTests::AtOnce(1),
        ..Iperf3Server::default()
    });
    for (number, stage) in (1..).zip(0..3) {
        let mut control = greet(server.address, &cookie(number));
        assert_eq!(read_bytes(&mut control), [PARAMETER_EXCHANGE]);
        let mut data = None;
        if stage > 0 {
            control.write_all(&message(b"{}")).expect("room");
            assert_eq!(read_bytes(&mut control), [CREATE_STREAMS]);
        }
        if stage > 1 {
            data = Some(greet(server.address, &cookie(number)));
            assert_eq!(read_bytes(&mut control), [1, 2]);
        }
        drop((control, data));
        let ends = served(&server, number.into());
        let failure = ends.last().and_then(|end| end.failure.as_ref());
        assert_eq!(
            failure.map(|failure| failure.code),
            Some(ErrorCode::CONTROL_CLOSED.0)
        );
    }
    let until = std::time::Instant::now() + LIMIT;
    while TestClient::start_iperf3(plan(server.address, of_bytes(1000)))
        .wait()
        .0
        != ExitCode::Success
    {
        assert!(std::time::Instant::now() < until, "the place stays taken");
    }
    server.stop();
}

#[test]
fn a_server_that_is_asked_to_end_notifies_its_clients() {
    let server = serve(Iperf3Server::default());
    let client = TestClient::start_iperf3(plan(server.address, of_seconds(20)));
    client.events.wait("the start", |events| {
        let started = |event: &Event| matches!(event, Event::TestStart(_));
        events.iter().any(started)
    });
    let silent = greet(server.address, &cookie(9));
    server.stop();
    let (code, events) = client.wait();
    assert_eq!(code, ExitCode::Failure);
    let failure = ends(&events).pop().and_then(|end| end.failure);
    let failure = failure.expect("a failure");
    assert_eq!(failure.code, ErrorCode::SERVER_TERMINATED.0);
    drop(silent);
}

#[test]
fn a_receiver_that_gets_nothing_ends_the_test() {
    let timeouts = Iperf3Timeouts {
        receive: Duration::from_millis(300),
        ..Iperf3Timeouts::default()
    };
    let server = serve(Iperf3Server {
        timeouts,
        ..Iperf3Server::default()
    });
    let mut control = greet(server.address, &cookie(1));
    assert_eq!(read_bytes(&mut control), [PARAMETER_EXCHANGE]);
    control.write_all(&message(b"{}")).expect("room");
    assert_eq!(read_bytes(&mut control), [CREATE_STREAMS]);
    let _data = greet(server.address, &cookie(1));
    assert_eq!(read_bytes(&mut control), [1, 2]);
    assert_eq!(
        read_bytes::<9>(&mut control)[..],
        refusal(ErrorCode::RECEIVE_TIMEOUT)
    );
    still_serves(&server);
    server.stop();
}

#[cfg(target_os = "linux")]
#[test]
fn a_processor_that_is_not_there_is_refused_and_one_that_is_binds_this_test_only() {
    let server = serve(Iperf3Server::default());
    let on = |processor| Parameters {
        server_affinity: Some(processor),
        ..of_bytes(1000)
    };
    let failure = fail(plan(server.address, on(1024)));
    assert_eq!(
        (failure.code, failure.by_peer),
        (ErrorCode::AFFINITY.0, true)
    );
    let before = std::thread::available_parallelism().expect("a count");
    succeed(plan(server.address, on(0)));
    let after = std::thread::available_parallelism().expect("a count");
    assert_eq!(before, after);
    server.stop();
}

#[cfg(feature = "auth")]
mod logins {
    use tapeline_dialect::{Iperf3Authentication, Iperf3Client, Iperf3Credentials, RsaPadding};
    use tapeline_testkit::captures::Session;

    use super::*;

    fn key(name: &str) -> String {
        let keys = Session::load("iperf3-auth-ok").test_keys;
        keys[name].as_str().expect("a key").to_owned()
    }

    fn with_login(server: SocketAddr, password: &str, padding: RsaPadding) -> Iperf3Client {
        Iperf3Client {
            credentials: Some(Iperf3Credentials {
                user: "mario".into(),
                password: password.into(),
                public_key: key("public_pem"),
                padding,
            }),
            ..plan(server, of_bytes(1000))
        }
    }

    #[test]
    fn who_has_a_login_may_test_and_others_are_answered_late() {
        let server = serve(Iperf3Server {
            authentication: Some(Iperf3Authentication {
                private_key: key("private_pem"),
                users: key("users_csv"),
                skew: Duration::from_secs(10),
            }),
            ..Iperf3Server::default()
        });
        for padding in [RsaPadding::Oaep, RsaPadding::Pkcs1] {
            succeed(with_login(server.address, "rossi", padding));
        }
        let began = std::time::Instant::now();
        let failure = fail(with_login(server.address, "verdi", RsaPadding::Oaep));
        assert_eq!(failure.code, ErrorCode::AUTHENTICATION.0);
        let failure = fail(plan(server.address, of_bytes(1000)));
        assert_eq!(failure.code, ErrorCode::AUTHENTICATION.0);
        assert!(
            began.elapsed() >= Duration::from_millis(1500),
            "too fast to be throttled"
        );
        succeed(with_login(server.address, "rossi", RsaPadding::Oaep));
        server.stop();
    }
}
