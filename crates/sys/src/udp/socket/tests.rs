use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::loopback::{any_port, udp_pair};

#[test]
fn datagrams_keep_their_borders_and_sender() {
    let (sender, receiver) = udp_pair();
    sender.send(b"one").unwrap();
    sender.send(b"").unwrap();
    let unconnected = UdpSocket::bind(any_port(), &SocketOptions::default())
        .unwrap()
        .socket;
    unconnected
        .send_to(b"three", receiver.local_addr().unwrap())
        .unwrap();
    let mut buffer = [0; 16];
    let own = sender.local_addr().unwrap();
    assert_eq!(receiver.recv_from(&mut buffer).unwrap(), (3, own));
    assert_eq!(receiver.recv(&mut buffer).unwrap(), 0);
    let other = unconnected.local_addr().unwrap();
    assert_eq!(receiver.recv_from(&mut buffer).unwrap(), (5, other));
    assert_eq!(
        receiver.recv_nonblocking(&mut buffer).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
    receiver
        .set_receive_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    assert_eq!(
        receiver.recv(&mut buffer).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
}

#[test]
fn a_connected_receiver_receives_from_its_peer_only() {
    let (sender, receiver) = udp_pair();
    let stranger = UdpSocket::bind(any_port(), &SocketOptions::default())
        .unwrap()
        .socket;
    receiver.connect(sender.local_addr().unwrap()).unwrap();
    assert_eq!(receiver.peer_addr().unwrap(), sender.local_addr().unwrap());
    stranger
        .send_to(b"stranger", receiver.local_addr().unwrap())
        .unwrap();
    sender.send(b"peer").unwrap();
    let mut buffer = [0; 16];
    assert_eq!(receiver.recv(&mut buffer).unwrap(), 4);
}

#[test]
fn a_closed_port_surfaces_as_refused() {
    let (sender, receiver) = udp_pair();
    drop(receiver);
    sender.send(b"anyone?").unwrap();
    sender
        .set_receive_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let error = sender.recv(&mut [0; 8]).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset
    ));
    assert!(
        sender.take_error().unwrap().is_none(),
        "an error is reported once"
    );
}

#[test]
fn a_segmented_send_arrives_as_datagrams() {
    for (offload, to) in [(true, false), (true, true), (false, false), (false, true)] {
        let (connected, receiver) = udp_pair();
        let unconnected = UdpSocket::bind(any_port(), &SocketOptions::default())
            .unwrap()
            .socket;
        let sender = if to { unconnected } else { connected };
        let peer = to.then(|| receiver.local_addr().unwrap());
        if !offload {
            sender.disable_segmentation();
        }
        let data: Vec<u8> = (0..10_u8).flat_map(|number| [number; 100]).collect();
        assert_eq!(sender.send_segments(&data[..950], 100, peer).unwrap(), 950);
        let mut buffer = [0; 200];
        for number in 0..10_u8 {
            let count = receiver.recv(&mut buffer).unwrap();
            let expected = if number == 9 { 50 } else { 100 };
            assert_eq!(
                buffer[..count],
                vec![number; expected],
                "offload {offload}, to {to}"
            );
        }
    }
}

#[test]
fn marks_go_with_every_segment() {
    for offload in [true, false] {
        let receiver = UdpSocket::bind(any_port(), &SocketOptions::default())
            .unwrap()
            .socket;
        if !receiver.watch_tos() {
            return;
        }
        let sender = UdpSocket::bind(any_port(), &SocketOptions::default())
            .unwrap()
            .socket;
        if !offload {
            sender.disable_segmentation();
        }
        let peer = receiver.local_addr().unwrap();
        let marks = Marks {
            tos: Some(Tos(0xb9)),
            source: Some(peer.ip()),
        };
        let sent = sender.send_marked_segments(&[7; 250], 100, peer, marks);
        assert_eq!(sent.unwrap(), 250);
        let mut batch = crate::ReceiveBatch::new(4, 200);
        let mut lengths = Vec::new();
        while lengths.len() < 3 {
            batch.receive(&receiver, crate::Wait::Forever).unwrap();
            for datagram in batch.datagrams() {
                assert_eq!(datagram.tos, Some(Tos(0xb9)), "offload {offload}");
                assert_eq!(datagram.source, sender_address(&sender, peer.ip()));
                lengths.push(datagram.payload.len());
            }
        }
        assert_eq!(lengths, [100, 100, 50]);
    }
}

fn sender_address(sender: &UdpSocket, ip: IpAddr) -> SocketAddr {
    SocketAddr::new(ip, sender.local_addr().unwrap().port())
}

#[test]
fn a_send_of_many_segments_is_split_into_calls() {
    let (sender, receiver) = udp_pair();
    receiver.maximise_receive_buffer().unwrap();
    let data: Vec<u8> = (0..150).collect();
    assert_eq!(sender.send_segments(&data, 1, None).unwrap(), 150);
    for number in 0..150 {
        let mut buffer = [0; 8];
        assert_eq!(receiver.recv(&mut buffer).unwrap(), 1);
        assert_eq!(buffer[0], number);
    }
    assert_eq!(sender.supports_segmentation(), cfg!(target_os = "linux"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_refused_segmentation_falls_back_and_is_remembered() {
    use std::os::fd::AsRawFd;

    let (sender, receiver) = udp_pair();
    // Segmentation needs checksums; without them the kernel refuses it.
    let one: libc::c_int = 1;
    // SAFETY: pointer and length describe a live C `int`.
    let result = unsafe {
        libc::setsockopt(
            sender.inner().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NO_CHECK,
            (&raw const one).cast(),
            4,
        )
    };
    assert_eq!(result, 0);
    assert!(sender.supports_segmentation());
    assert_eq!(sender.send_segments(&[5; 250], 100, None).unwrap(), 250);
    assert!(!sender.supports_segmentation());
    assert_eq!(sender.send_segments(&[6; 100], 60, None).unwrap(), 100);
    for expected in [100, 100, 50, 60, 40] {
        assert_eq!(receiver.recv(&mut [0; 200]).unwrap(), expected);
    }
}

#[test]
fn impossible_sends_are_errors() {
    let (sender, _receiver) = udp_pair();
    assert_eq!(
        sender.send_segments(b"x", 0, None).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    assert!(sender.send(&vec![0; 70_000]).is_err());
    assert!(
        sender
            .send_segments(&vec![0; 140_000], 70_000, None)
            .is_err()
    );
    assert_eq!(UdpSocket::segments_per_call(1470), 44);
    assert_eq!(UdpSocket::segments_per_call(64), 64);
    assert_eq!(UdpSocket::segments_per_call(65_507), 1);
    assert_eq!(UdpSocket::segments_per_call(0), 64);
}

#[test]
fn the_receive_buffer_grows_and_never_shrinks() {
    let (_, receiver) = udp_pair();
    let before = receiver.receive_buffer().unwrap();
    let after = receiver.maximise_receive_buffer().unwrap();
    assert!(after >= before, "{before} -> {after}");
    assert_eq!(receiver.maximise_receive_buffer().unwrap(), after);
    assert_eq!(receiver.receive_buffer().unwrap(), after);
}

#[test]
fn an_ipv6_socket_reaches_ipv4_peers() {
    let wildcard = SocketAddr::from(([0_u16; 8], 0));
    let options = SocketOptions {
        only_v6: Some(false),
        ..SocketOptions::default()
    };
    let Ok(opened) = UdpSocket::bind(wildcard, &options) else {
        return; // a host without IPv6
    };
    let (_, receiver) = udp_pair();
    opened
        .socket
        .send_to(b"mapped", receiver.local_addr().unwrap())
        .unwrap();
    let (count, source) = receiver.recv_from(&mut [0; 16]).unwrap();
    assert_eq!((count, source.ip()), (6, Ipv4Addr::LOCALHOST.into()));
    receiver.send_to(b"back", source).unwrap();
    let (_, back) = opened.socket.recv_from(&mut [0; 16]).unwrap();
    assert_eq!(back, receiver.local_addr().unwrap());
}

#[test]
fn hop_limits_and_tos_are_set() {
    let (sender, _receiver) = udp_pair();
    sender.set_tos(Tos(0x68)).unwrap();
    assert_eq!(sender.tos().unwrap(), Tos(0x68));
    sender.set_ttl(3).unwrap();
    sender.set_multicast_ttl(2).unwrap();
    assert_eq!(sender.inner().ttl_v4().unwrap(), 3);
    assert_eq!(sender.inner().multicast_ttl_v4().unwrap(), 2);
}

#[test]
fn a_group_member_receives_from_the_group() {
    let group = MulticastGroup {
        address: Ipv4Addr::new(239, 255, 77, 1).into(),
        source: None,
        interface: crate::address::interface_index("lo").unwrap_or(1),
    };
    let wildcard = SocketAddr::from(([0, 0, 0, 0], 0));
    let receiver = UdpSocket::bind(wildcard, &SocketOptions::default())
        .unwrap()
        .socket;
    receiver.join(&group).unwrap();
    let sender = UdpSocket::bind(any_port(), &SocketOptions::default())
        .unwrap()
        .socket;
    let port = receiver.local_addr().unwrap().port();
    sender
        .send_to(b"all", SocketAddr::new(group.address, port))
        .unwrap();
    receiver
        .set_receive_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    assert_eq!(receiver.recv(&mut [0; 8]).unwrap(), 3);

    let unicast = MulticastGroup::any_interface(Ipv4Addr::LOCALHOST.into());
    let error = receiver.join(&unicast).unwrap_err();
    assert!(
        error.to_string().starts_with("join 127.0.0.1:0: "),
        "{error}"
    );
}

/// Addresses of this host other than the usual one.
#[cfg(target_os = "linux")]
const SECOND: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

#[cfg(target_os = "linux")]
#[test]
fn a_wildcard_socket_answers_from_the_address_it_was_asked_at() {
    use crate::udp::ReceiveBatch;
    use std::net::{IpAddr, Ipv6Addr};

    let wildcards = [
        IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    ];
    for wildcard in wildcards {
        let options = SocketOptions {
            only_v6: Some(false),
            ..SocketOptions::default()
        };
        let server = UdpSocket::bind(SocketAddr::new(wildcard, 0), &options)
            .unwrap()
            .socket;
        let wanted = ReceiveFeatures {
            destination: true,
            ..ReceiveFeatures::MEASURE
        };
        assert!(server.request(wanted).destination);
        let port = server.local_addr().unwrap().port();
        for asked_at in [Ipv4Addr::LOCALHOST, SECOND] {
            let asked_at = IpAddr::V4(asked_at);
            let client = UdpSocket::bind(any_port(), &SocketOptions::default())
                .unwrap()
                .socket;
            client
                .send_to(b"question", SocketAddr::new(asked_at, port))
                .unwrap();
            let mut batch = ReceiveBatch::coalescing(4);
            assert_eq!(batch.receive(&server, Wait::Forever).unwrap(), 1);
            let datagram = batch.datagrams().next().unwrap();
            assert_eq!(datagram.destination, Some(asked_at), "{wildcard}");
            let marks = Marks {
                source: datagram.destination,
                tos: Some(Tos(0x20)),
            };
            server
                .send_marked_to(b"answer", datagram.source, marks)
                .unwrap();
            let (_, from) = client.recv_from(&mut [0; 16]).unwrap();
            assert_eq!(from, SocketAddr::new(asked_at, port), "{wildcard}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_source_specific_member_receives_from_its_source_only() {
    let interface = crate::address::interface_index("lo").unwrap();
    let group = Ipv4Addr::new(232, 77, 1, 1);
    let receiver = UdpSocket::bind(SocketAddr::from((group, 0)), &SocketOptions::default())
        .unwrap()
        .socket;
    receiver
        .join(&MulticastGroup {
            address: group.into(),
            source: Some(SECOND.into()),
            interface,
        })
        .unwrap();
    receiver
        .set_receive_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let to = receiver.local_addr().unwrap();
    for (from, word) in [(Ipv4Addr::LOCALHOST, &b"other"[..]), (SECOND, b"source")] {
        let local = SocketAddr::from((from, 0));
        let sender = UdpSocket::connected(to, Some(local), &SocketOptions::default())
            .unwrap()
            .socket;
        sender.send(word).unwrap();
    }
    let mut buffer = [0; 16];
    let (count, source) = receiver.recv_from(&mut buffer).unwrap();
    assert_eq!(
        (&buffer[..count], source.ip()),
        (&b"source"[..], SECOND.into())
    );
}

#[cfg(target_os = "linux")]
#[test]
fn an_ipv6_group_has_several_members_on_one_host() {
    let interface = crate::address::interface_index("lo").unwrap();
    let group = "ff15::77:1".parse().unwrap();
    let options = SocketOptions {
        reuse_address: true,
        ..SocketOptions::default()
    };
    let member = |port| {
        let socket = UdpSocket::bind(SocketAddr::new(group, port), &options)
            .unwrap()
            .socket;
        socket
            .join(&MulticastGroup {
                interface,
                ..MulticastGroup::any_interface(group)
            })
            .unwrap();
        socket
            .set_receive_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        socket
    };
    let first = member(0);
    let to = first.local_addr().unwrap();
    let second = member(to.port());
    let sender = UdpSocket::bind("[::1]:0".parse().unwrap(), &SocketOptions::default())
        .unwrap()
        .socket;
    sender.set_multicast_ttl(3).unwrap();
    assert_eq!(sender.inner().multicast_hops_v6().unwrap(), 3);
    // The loopback interface has a route to such groups on few hosts only.
    let _ = multicast::leave_from(&sender.socket, "[::1]:0".parse().unwrap());
    if sender.send_to(b"all", to).is_ok() {
        for member in [first, second] {
            assert_eq!(member.recv(&mut [0; 8]).unwrap(), 3);
        }
    }
}

#[test]
fn an_ipv6_socket_has_a_traffic_class_and_a_hop_limit() {
    let local = "[::1]:0".parse().unwrap();
    let options = SocketOptions {
        tos: Some(Tos(0xb8)),
        ttl: Some(9),
        ..SocketOptions::default()
    };
    let opened = UdpSocket::bind(local, &options).unwrap();
    assert!(opened.refused.is_empty(), "{:?}", opened.refused);
    assert_eq!(opened.socket.tos().unwrap(), Tos(0xb8));
    assert_eq!(opened.socket.inner().unicast_hops_v6().unwrap(), 9);
}

#[test]
fn what_is_too_long_for_this_host_is_no_error() {
    let (sender, _receiver) = udp_pair();
    let mut largest = vec![0; UdpSocket::MAX_PAYLOAD];
    sender.set_path_mtu_mode(PathMtuMode::Fragment).unwrap();
    assert!(sender.send_whole(&largest).unwrap());
    largest.push(0);
    assert!(!sender.send_whole(&largest).unwrap());
    assert!(sender.send_whole(b"short").unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn the_way_to_the_peer_has_the_mtu_of_its_interface() {
    let (sender, receiver) = udp_pair();
    // Loopback devices take more than an IP packet can have.
    let loopback = crate::interface_mtu(&any_port()).map(|mtu| mtu.min(65_535));
    assert!(loopback.is_some());
    assert_eq!(sender.path_mtu(), loopback);
    assert_eq!(sender.outgoing_mtu(), loopback);
    // Finding out has sent nothing, and keeps nothing back.
    sender.send(b"next").unwrap();
    let mut buffer = [0; 8];
    assert_eq!(receiver.recv(&mut buffer).unwrap(), 4);
    let discovery = |socket: &UdpSocket| {
        use crate::platform::sockopt::get;
        let read = get::<i32>(socket.inner(), libc::IPPROTO_IP, libc::IP_MTU_DISCOVER);
        read.unwrap().0
    };
    assert_eq!(discovery(&sender), libc::IP_PMTUDISC_PROBE);
    sender.set_path_mtu_mode(PathMtuMode::Classical).unwrap();
    assert_eq!(discovery(&sender), libc::IP_PMTUDISC_DO);
}
