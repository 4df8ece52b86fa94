use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tapeline_base::Tos;

use super::*;
use crate::loopback::{any_port, connect, listener, tcp_pair};
use crate::options::SocketOption;
use crate::tcp::TcpListener;

#[test]
fn bytes_arrive_in_order_and_the_end_is_seen() {
    let (client, server) = tcp_pair();
    client.send_all(b"hello, world").unwrap();
    let mut head = [0; 5];
    assert_eq!(server.peek(&mut head).unwrap(), 5);
    server.recv_exact(&mut head).unwrap();
    assert_eq!(&head, b"hello");
    assert_eq!(server.recv_discard(2).unwrap(), 2);
    let mut tail = [0; 16];
    let count = server.recv(&mut tail).unwrap();
    assert_eq!(&tail[..count], b"world");

    assert_eq!(
        server.recv_nonblocking(&mut tail).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
    let nothing = server.recv_discard_nonblocking(64).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    client.shutdown_write().unwrap();
    assert_eq!(server.recv(&mut tail).unwrap(), 0);
    assert_eq!(server.recv_discard(64).unwrap(), 0);
    assert_eq!(
        server.recv_exact(&mut tail).unwrap_err().kind(),
        ErrorKind::UnexpectedEof
    );
}

#[test]
fn discarding_counts_every_byte() {
    let (client, server) = tcp_pair();
    let sender = thread::spawn(move || {
        client.send_all(&vec![7; 3_000_000]).unwrap();
    });
    let mut total = 0;
    loop {
        match server.recv_discard(1 << 20).unwrap() {
            0 => break,
            count => total += count,
        }
    }
    sender.join().unwrap();
    assert_eq!(total, 3_000_000);
}

#[test]
fn timeouts_are_would_block_and_zero_is_not_for_ever() {
    let (client, _server) = tcp_pair();
    client.set_receive_timeout(Some(Duration::ZERO)).unwrap();
    assert_eq!(
        client.recv(&mut [0; 8]).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
    client
        .set_send_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    let block = vec![0; 1 << 20];
    // Nobody reads, so the buffers fill up, however much the kernel lets them grow.
    for send in [TcpConn::send, TcpConn::send_nonblocking] {
        let error = std::iter::repeat_with(|| send(&client, &block))
            .find_map(Result::err)
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
    assert!(client.unacknowledged_bytes().is_none_or(|bytes| bytes > 0));
}

#[test]
fn a_shutdown_wakes_a_blocked_receive() {
    let (client, _server) = tcp_pair();
    thread::scope(|scope| {
        let (started, starts) = mpsc::channel();
        let receiving = scope.spawn({
            let client = &client;
            move || {
                started.send(()).unwrap();
                client.recv(&mut [0; 8])
            }
        });
        starts.recv().unwrap();
        client.shutdown_both().unwrap();
        assert_eq!(receiving.join().unwrap().unwrap(), 0);
    });
}

#[test]
fn a_shutdown_wakes_a_blocked_send() {
    let (client, _server) = tcp_pair();
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let block = vec![0; 1 << 20];
            // Nobody reads, so the buffers fill and a send blocks until the shutdown.
            std::iter::repeat_with(|| client.send(&block))
                .find_map(Result::err)
                .unwrap()
        });
        while client.wait_ready(Interest::WRITE, Wait::Never).unwrap() {
            thread::yield_now();
        }
        client.shutdown_both().unwrap();
        let error = sending.join().unwrap();
        assert!(matches!(
            error.kind(),
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
        ));
    });
}

#[test]
fn a_lingerless_close_resets_the_peer() {
    let (client, server) = tcp_pair();
    client.set_linger_zero().unwrap();
    drop(client);
    assert_eq!(
        server.recv(&mut [0; 8]).unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
}

#[test]
fn options_hold_on_the_connection() {
    let (_listener, address) = listener();
    let options = SocketOptions {
        send_buffer: Some(40_000),
        receive_buffer: Some(50_000),
        tos: Some(Tos(0x28)),
        nodelay: true,
        reuse_address: true,
        congestion: Some("no-such-algorithm".into()),
        ..SocketOptions::default()
    };
    let local = Some(any_port());
    let connected = TcpConn::connect(address, local, &options, None).unwrap();
    let names: Vec<_> = connected
        .refused
        .iter()
        .map(|failure| failure.option)
        .collect();
    assert_eq!(names, [SocketOption::Congestion]);
    let conn = connected.conn;
    assert!(connected.connect_time > Duration::ZERO);
    assert!(conn.send_buffer().unwrap() >= 40_000);
    assert!(conn.receive_buffer().unwrap() >= 50_000);
    assert_eq!(conn.tos().unwrap(), Tos(0x28));
    conn.set_tos(Tos(0xb8)).unwrap();
    assert_eq!(conn.tos().unwrap(), Tos(0xb8));
    conn.set_nodelay(false).unwrap();
    assert_eq!(conn.peer_addr().unwrap(), address);
    assert_eq!(crate::unmapped(address), address);
    assert!(conn.take_error().unwrap().is_none());
}

#[test]
fn v4_clients_of_a_dual_stack_listener_look_like_v4() {
    let wildcard: SocketAddr = "[::]:0".parse().unwrap();
    let options = SocketOptions {
        only_v6: Some(false),
        ..SocketOptions::default()
    };
    let Ok(opened) = TcpListener::bind(wildcard, &options, 4) else {
        return; // a host without IPv6
    };
    let port = opened.socket.local_addr().unwrap().port();
    let client = connect(SocketAddr::from(([127, 0, 0, 1], port)));
    assert!(opened.socket.wait_ready(Wait::Forever).unwrap());
    let (server, peer) = opened.socket.accept().unwrap().unwrap();
    assert_eq!(peer, client.local_addr().unwrap());
    assert!(server.peer_addr().unwrap().is_ipv4() && server.local_addr().unwrap().is_ipv4());
    server.set_tos(Tos(0x48)).unwrap();
    assert_eq!(server.tos().unwrap(), Tos(0x48));
}

#[test]
fn an_empty_queue_is_no_error() {
    let (listener, _) = listener();
    assert!(listener.accept().unwrap().is_none());
    assert!(!listener.wait_ready(Wait::Never).unwrap());
    assert!(listener.receive_buffer().unwrap() > 0);
}

#[test]
fn two_listeners_on_one_address_collide() {
    let (_listener, address) = listener();
    let error = TcpListener::bind(address, &SocketOptions::default(), 4).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    assert!(error.to_string().starts_with(&format!("bind {address}: ")));
}

#[cfg(target_os = "linux")]
#[test]
fn linux_reports_the_state_of_a_connection() {
    let (client, server) = tcp_pair();
    client.send_all(&[1; 100_000]).unwrap();
    server.recv_exact(&mut vec![0; 100_000]).unwrap();
    server.send_all(&[2; 10]).unwrap();
    client.recv_exact(&mut [0; 10]).unwrap();
    let info = client.tcp_info().unwrap();
    assert_eq!(info.state, Some(1), "established");
    assert!(info.snd_mss.unwrap() > 500);
    assert!(info.rtt_us.unwrap() > 0 && info.min_rtt_us.unwrap() <= info.rtt_us.unwrap());
    assert!(info.snd_cwnd.unwrap() > 0 && info.cwnd_bytes().unwrap() > 500);
    assert_eq!(info.bytes_received, Some(10));
    // The counter of acknowledged bytes may include the SYN.
    assert!(
        (100_000..=100_001).contains(&info.bytes_acked.unwrap()),
        "{info:?}"
    );
    assert_eq!(info.bytes_sent, Some(100_000));
    assert_eq!((info.in_flight(), info.notsent_bytes), (Some(0), Some(0)));
    assert!(info.busy_time_us.is_some() && info.sndbuf_limited_us.is_some());
    assert_eq!(
        client.congestion(),
        crate::HostFacts::gather().default_congestion
    );
    assert!(client.mss().unwrap() > 500);
    client.set_quickack(true).unwrap();
    client.set_notsent_lowat(65_536).unwrap();
    client.set_receive_lowat(16).unwrap();
    client.set_pacing_rate(1_000_000_000_000).unwrap();
    assert_eq!(
        client.tcp_info().unwrap().max_pacing_rate,
        Some(1_000_000_000_000)
    );
    client.set_congestion("reno").unwrap();
    assert_eq!(client.congestion().as_deref(), Some("reno"));
}

#[cfg(target_os = "linux")]
#[test]
fn unsent_data_is_what_a_moment_delivers_or_two_segments() {
    use crate::platform::sockopt::get;
    let (client, server) = tcp_pair();
    let limit = || {
        let value = get::<libc::c_int>(&client.socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT);
        value.unwrap().0 as u32
    };
    let before = limit();
    client.limit_unsent(Duration::from_millis(5)).unwrap();
    assert_eq!(limit(), before, "no rate is known yet");
    client.send_all(&[1; 1_000_000]).unwrap();
    server.recv_exact(&mut vec![0; 1_000_000]).unwrap();
    let info = client.tcp_info().unwrap();
    let (rate, segment) = (info.delivery_rate.unwrap(), info.snd_mss.unwrap());
    // Long enough for more than two segments, whatever the rate is.
    let time = Duration::from_secs_f64(3.0 * f64::from(segment) / rate as f64);
    client.limit_unsent(time).unwrap();
    assert!(limit().abs_diff(3 * segment) <= 2, "{} {info:?}", limit());
    client.limit_unsent(Duration::from_nanos(1)).unwrap();
    assert_eq!(limit(), 2 * segment);
}

#[cfg(target_os = "linux")]
#[test]
fn keepalive_s_parts_read_back_and_the_others_stay() {
    use crate::platform::sockopt::get;
    let (conn, _peer) = tcp_pair();
    let read = |name| {
        let value = get::<libc::c_int>(&conn.socket, libc::IPPROTO_TCP, name);
        value.unwrap().0
    };
    let before = read(libc::TCP_KEEPINTVL);
    conn.set_keepalive_probes(Some(Duration::from_secs(7)), None, Some(3))
        .unwrap();
    assert!(conn.socket.keepalive().unwrap());
    assert_eq!(read(libc::TCP_KEEPIDLE), 7);
    assert_eq!(read(libc::TCP_KEEPCNT), 3);
    assert_eq!(read(libc::TCP_KEEPINTVL), before);
}

#[test]
fn a_connected_socket_takes_what_it_still_can() {
    let (conn, _peer) = tcp_pair();
    let refused = conn.set(&SocketOptions {
        tos: Some(Tos(0x20)),
        congestion: Some("no-such-algorithm".into()),
        receive_buffer: Some(50_000),
        ..SocketOptions::default()
    });
    let names: Vec<_> = refused.iter().map(|failure| failure.option).collect();
    assert_eq!(names, [SocketOption::Congestion]);
    assert_eq!(conn.tos().unwrap(), Tos(0x20));
    assert!(conn.receive_buffer().unwrap() >= 50_000);
}

#[test]
fn an_idle_peer_is_asked_whether_it_is_there() {
    let (client, _server) = tcp_pair();
    assert!(!client.inner().keepalive().unwrap());
    client.set_keepalive(Duration::from_secs(7)).unwrap();
    assert!(client.inner().keepalive().unwrap());
    #[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
    {
        let socket = client.inner();
        assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(7));
        assert_eq!(
            socket.tcp_keepalive_interval().unwrap(),
            Duration::from_secs(7)
        );
    }
}

/// Servers set options on their listener; what counts is the connection.
#[cfg(target_os = "linux")]
#[test]
fn accepted_connections_have_the_options_of_their_listener() {
    use crate::platform::sockopt::get;
    use libc::{IPPROTO_IP, IPPROTO_TCP, SOL_SOCKET, c_int};

    let options = SocketOptions {
        tos: Some(Tos(0x48)),
        ttl: Some(9),
        window_clamp: Some(30_000),
        notsent_lowat: Some(16_384),
        dont_route: true,
        nodelay: true,
        device: Some("lo".into()),
        ..SocketOptions::default()
    };
    let opened = TcpListener::bind(any_port(), &options, 16).unwrap();
    assert!(opened.refused.is_empty(), "{:?}", opened.refused);
    let listener = opened.socket;
    let _client = connect(listener.local_addr().unwrap());
    assert!(listener.wait_ready(Wait::Forever).unwrap());
    let (server, _) = listener.accept().unwrap().expect("a connection is waiting");
    let read = |level, name| get::<c_int>(&server.socket, level, name).unwrap().0;
    assert_eq!(read(IPPROTO_IP, libc::IP_TOS), 0x48);
    assert_eq!(read(IPPROTO_IP, libc::IP_TTL), 9);
    assert_eq!(read(IPPROTO_TCP, libc::TCP_WINDOW_CLAMP), 30_000);
    assert_eq!(read(IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT), 16_384);
    assert_eq!(read(IPPROTO_TCP, libc::TCP_NODELAY), 1);
    assert_eq!(read(SOL_SOCKET, libc::SO_DONTROUTE), 1);
    assert_eq!(server.socket.device().unwrap().as_deref(), Some(&b"lo"[..]));
}

mod connecting {
    use std::io::ErrorKind;
    use std::thread;

    #[cfg(target_os = "linux")]
    use socket2::Protocol;

    use super::super::*;
    use crate::loopback::{any_port, listener};
    #[cfg(target_os = "linux")]
    use crate::options::StreamProtocol;
    use crate::tcp::TcpListener;

    /// A port of this host that nobody listens on.
    fn closed_port() -> SocketAddr {
        let (listener, address) = listener();
        drop(listener);
        address
    }

    #[test]
    fn a_refused_connect_names_the_address() {
        let peer = closed_port();
        let error = TcpConn::connect(
            peer,
            None,
            &SocketOptions::default(),
            Some(Duration::from_secs(5)),
        )
        .unwrap_err();
        assert_eq!(
            (error.operation, error.kind()),
            (Operation::Connect, ErrorKind::ConnectionRefused)
        );
        assert_eq!(
            error.to_string(),
            format!("connect {peer}: {}", error.reason())
        );
        assert!(!error.reason().contains("os error"));
    }

    #[test]
    fn binding_a_foreign_address_fails_as_bind() {
        let foreign: SocketAddr = "192.0.2.77:0".parse().unwrap();
        let error = TcpConn::connect(
            closed_port(),
            Some(foreign),
            &SocketOptions::default(),
            None,
        )
        .unwrap_err();
        assert_eq!(
            (error.operation, error.address),
            (Operation::Bind, Some(foreign))
        );
    }

    /// A listener whose queue is full: further handshakes are not answered.
    fn full_listener() -> (TcpListener, Vec<TcpConn>, SocketAddr) {
        let opened = TcpListener::bind(any_port(), &SocketOptions::default(), 0)
            .unwrap()
            .socket;
        let address = opened.local_addr().unwrap();
        let mut held = Vec::new();
        let timeout = Some(Duration::from_millis(100));
        for _ in 0..16 {
            match TcpConn::connect(address, None, &SocketOptions::default(), timeout) {
                Ok(connected) => held.push(connected.conn),
                Err(_) => return (opened, held, address),
            }
        }
        panic!("the queue never filled");
    }

    #[test]
    fn an_unanswered_connect_times_out_or_is_cancelled() {
        let (_listener, _held, address) = full_listener();
        let short = Some(Duration::from_millis(20));
        let error = TcpConn::connect(address, None, &SocketOptions::default(), short).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);

        let waker = Waker::new().unwrap();
        thread::scope(|scope| {
            let attempt = scope.spawn(|| {
                let options = SocketOptions::default();
                TcpConn::connect_or_cancel(address, None, &options, None, &waker).unwrap_err()
            });
            waker.wake();
            assert_eq!(attempt.join().unwrap().kind(), ErrorKind::Interrupted);
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn several_paths_are_asked_for_where_the_kernel_has_them() {
        let (_listener, address) = listener();
        let options = SocketOptions {
            protocol: StreamProtocol::Multipath,
            ..SocketOptions::default()
        };
        match TcpConn::connect(address, None, &options, Some(Duration::from_secs(5))) {
            Ok(connected) => {
                let protocol = connected.conn.socket.protocol().unwrap();
                assert_eq!(protocol, Some(Protocol::MPTCP));
            }
            Err(error) => assert_eq!(error.operation, Operation::Open, "{error}"),
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_listener_for_several_paths_takes_plain_connections_too() {
        let listener = |protocol| {
            let options = SocketOptions {
                protocol,
                ..SocketOptions::default()
            };
            TcpListener::bind(any_port(), &options, 8)
        };
        let Ok(opened) = listener(StreamProtocol::Multipath) else {
            // A kernel without.
            return;
        };
        let listener = opened.socket;
        let address = listener.local_addr().unwrap();
        for protocol in [StreamProtocol::Tcp, StreamProtocol::Multipath] {
            let options = SocketOptions {
                protocol,
                ..SocketOptions::default()
            };
            let limit = Some(Duration::from_secs(5));
            let client = TcpConn::connect(address, None, &options, limit)
                .unwrap()
                .conn;
            assert!(
                listener
                    .wait_ready(Wait::AtMost(Duration::from_secs(5)))
                    .unwrap()
            );
            let (server, _) = listener.accept().unwrap().expect("a connection");
            client.send_all(b"there").unwrap();
            let mut received = [0; 5];
            server.recv_exact(&mut received).unwrap();
            assert_eq!(&received, b"there");
            let carried = server.socket.protocol().unwrap();
            let several = carried == Some(Protocol::MPTCP);
            assert_eq!(several, protocol == StreamProtocol::Multipath);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_kernel_without_sctp_says_so_at_once() {
        let (_listener, address) = listener();
        let options = SocketOptions {
            protocol: StreamProtocol::Sctp,
            ..SocketOptions::default()
        };
        // With SCTP nobody listens for it.
        let error = TcpConn::connect(address, None, &options, Some(Duration::from_secs(5)))
            .expect_err("no SCTP server");
        let lacking = error.operation == Operation::Open;
        assert_eq!(
            lacking,
            error.source.raw_os_error() == Some(libc::EPROTONOSUPPORT)
        );
    }
}
