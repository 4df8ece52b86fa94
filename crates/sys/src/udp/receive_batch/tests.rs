use std::time::{Duration, Instant};

use tapeline_base::{Clock, Tos};

use super::*;
use crate::clock::SystemClock;
use crate::loopback::udp_pair;
use crate::udp::ReceiveFeatures;

const LENGTH: usize = 200;

/// Sends `count` numbered datagrams of `LENGTH` bytes in groups of `group`.
fn send_numbered(sender: &UdpSocket, count: u32, group: usize) {
    let numbers: Vec<u32> = (0..count).collect();
    for numbers in numbers.chunks(group) {
        let data: Vec<u8> = numbers
            .iter()
            .flat_map(|number| {
                let mut datagram = [0xaa; LENGTH];
                datagram[..4].copy_from_slice(&number.to_be_bytes());
                datagram
            })
            .collect();
        assert_eq!(
            sender.send_segments(&data, LENGTH, None).unwrap(),
            data.len()
        );
    }
}

/// Receives until `count` datagrams have come; returns their numbers and the number of slots.
fn receive_numbered(
    batch: &mut ReceiveBatch,
    receiver: &UdpSocket,
    count: usize,
) -> (Vec<u32>, usize) {
    let (mut numbers, mut slots) = (Vec::new(), 0);
    while numbers.len() < count {
        let filled = batch
            .receive(receiver, Wait::AtMost(Duration::from_secs(5)))
            .unwrap();
        assert!(filled > 0, "{} of {count} arrived", numbers.len());
        slots += filled;
        for datagram in batch.datagrams() {
            assert!(!datagram.truncated);
            for segment in datagram.segments() {
                assert_eq!(segment.len(), LENGTH);
                numbers.push(u32::from_be_bytes(*segment.first_chunk().unwrap()));
            }
        }
    }
    (numbers, slots)
}

#[test]
fn every_combination_of_offloads_delivers_the_same_datagrams() {
    for segmentation in [false, true] {
        for coalescing in [false, true] {
            let (sender, receiver) = udp_pair();
            if !segmentation {
                sender.disable_segmentation();
            }
            let wanted = ReceiveFeatures {
                coalescing,
                ..ReceiveFeatures::default()
            };
            let granted = receiver.request(wanted);
            receiver.maximise_receive_buffer().unwrap();
            send_numbered(&sender, 100, 20);
            let mut batch = ReceiveBatch::coalescing(8);
            let (numbers, slots) = receive_numbered(&mut batch, &receiver, 100);
            let expected: Vec<u32> = (0..100).collect();
            assert_eq!(numbers, expected, "{segmentation} {coalescing}");
            if granted.coalescing && sender.supports_segmentation() {
                assert_eq!(slots, 5, "groups of 20 stay joined on loopback");
            } else {
                assert_eq!(slots, 100);
            }
            assert_eq!(batch.receive(&receiver, Wait::Never).unwrap(), 0);
            assert!(batch.is_empty());
        }
    }
}

#[test]
fn arrival_times_lie_between_send_and_receive() {
    let (sender, receiver) = udp_pair();
    let granted = receiver.request(ReceiveFeatures::MEASURE);
    assert_eq!(granted.timestamps, cfg!(target_os = "linux"));
    let mut batch = ReceiveBatch::new(4, 2048);
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let before = SystemClock.wall();
        sender.send(&[1; 10]).unwrap();
        let sent = SystemClock.wall();
        assert_eq!(batch.receive(&receiver, Wait::Forever).unwrap(), 1);
        let received = SystemClock.wall();
        let datagram = batch.datagrams().next().unwrap();
        assert!(datagram.arrival >= before && datagram.arrival <= received);
        assert_eq!(datagram.source, sender.local_addr().unwrap());
        assert_eq!(
            (datagram.count(), datagram.segment_size, datagram.tos),
            (1, None, None)
        );
        // Loopback delivers within the send call. The kernel begins to stamp shortly after it
        // was asked to; until then it stamps when the datagram is fetched.
        if !granted.timestamps || datagram.arrival <= sent {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "stamped on receipt: {datagram:?}"
        );
    }
}

#[test]
fn a_datagram_longer_than_its_slot_is_marked() {
    let (sender, receiver) = udp_pair();
    sender.send(&[9; 300]).unwrap();
    sender.send(&[8; 100]).unwrap();
    let mut batch = ReceiveBatch::new(2, 100);
    let mut seen = Vec::new();
    while seen.len() < 2 {
        batch.receive(&receiver, Wait::Forever).unwrap();
        seen.extend(
            batch
                .datagrams()
                .map(|one| (one.payload.to_vec(), one.truncated)),
        );
    }
    assert_eq!(seen, [(vec![9; 100], true), (vec![8; 100], false)]);
}

#[test]
fn slots_are_clean_after_use() {
    let (sender, receiver) = udp_pair();
    receiver.request(ReceiveFeatures {
        tos: true,
        ..ReceiveFeatures::MEASURE
    });
    let mut batch = ReceiveBatch::coalescing(2);
    sender.set_tos(Tos(0xb8)).unwrap();
    send_numbered(&sender, 10, 10);
    receive_numbered(&mut batch, &receiver, 10);
    sender.set_tos(Tos(0)).unwrap();
    for length in [0, 7] {
        sender.send(&vec![3; length]).unwrap();
        assert_eq!(batch.receive(&receiver, Wait::Forever).unwrap(), 1);
        let datagram = batch.datagrams().next().unwrap();
        assert_eq!(
            (datagram.payload.len(), datagram.segment_size),
            (length, None)
        );
        assert_eq!((datagram.count(), datagram.truncated), (1, false));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_type_of_service_is_reported_when_asked_for() {
    let (sender, receiver) = udp_pair();
    assert!(
        receiver
            .request(ReceiveFeatures {
                tos: true,
                ..Default::default()
            })
            .tos
    );
    sender.set_tos(Tos(0xb8)).unwrap();
    sender.send(b"expedited").unwrap();
    let mut batch = ReceiveBatch::new(1, 64);
    assert_eq!(batch.receive(&receiver, Wait::Forever).unwrap(), 1);
    assert_eq!(batch.datagrams().next().unwrap().tos, Some(Tos(0xb8)));
}

#[cfg(target_os = "linux")]
#[test]
fn dropped_datagrams_are_counted_by_the_socket() {
    use crate::loopback::any_port;
    use crate::options::SocketOptions;

    let options = SocketOptions {
        receive_buffer: Some(8192),
        ..SocketOptions::default()
    };
    let receiver = UdpSocket::bind(any_port(), &options).unwrap().socket;
    assert!(
        receiver
            .request(ReceiveFeatures {
                drops: true,
                ..Default::default()
            })
            .drops
    );
    let peer = receiver.local_addr().unwrap();
    let sender = UdpSocket::connected(peer, None, &SocketOptions::default())
        .unwrap()
        .socket;
    let before = crate::HostCounters::read();
    assert_eq!(receiver.dropped(), Some(0));
    for _ in 0..200 {
        sender.send(&[0; 1000]).unwrap();
    }
    let mut batch = ReceiveBatch::new(64, 2048);
    let mut received = 0;
    while batch.receive(&receiver, Wait::Never).unwrap() > 0 {
        received += batch.len() as u64;
    }
    let dropped = receiver.dropped().unwrap();
    assert!(received < 200, "8 KiB cannot hold 200 datagrams");
    assert_eq!(received + dropped, 200);
    assert_eq!(
        batch.drops(),
        0,
        "what was queued came before the first drop"
    );

    // The next datagram that gets through carries the count.
    sender.send(&[1; 1000]).unwrap();
    assert_eq!(batch.receive(&receiver, Wait::Forever).unwrap(), 1);
    assert_eq!(u64::from(batch.drops()), dropped);
    let host = crate::HostCounters::read().since(&before);
    assert!(
        host.udp_receive_buffer_errors.unwrap() >= dropped,
        "{host:?}"
    );
}

#[test]
fn waiting_ends_with_the_time_or_the_sockets_timeout() {
    let (_sender, receiver) = udp_pair();
    let mut batch = ReceiveBatch::new(2, 64);
    assert_eq!(batch.receive(&receiver, Wait::Never).unwrap(), 0);
    assert_eq!(
        batch
            .receive(&receiver, Wait::AtMost(Duration::from_millis(2)))
            .unwrap(),
        0
    );
    receiver
        .set_receive_timeout(Some(Duration::from_millis(2)))
        .unwrap();
    assert_eq!(batch.receive(&receiver, Wait::Forever).unwrap(), 0);
}

#[test]
fn only_a_sleeping_receiver_gives_its_processor_back() {
    let used = |mode: WaitMode| {
        let (_sender, receiver) = udp_pair();
        let mut batch = ReceiveBatch::new(2, 64).waiting(mode);
        let before = crate::thread_cpu_time();
        let longest = Duration::from_millis(50);
        assert_eq!(batch.receive(&receiver, Wait::AtMost(longest)).unwrap(), 0);
        crate::thread_cpu_time().saturating_sub(before)
    };
    let asleep = used(WaitMode::Sleep).max(used(WaitMode::Auto));
    for mode in [WaitMode::Spin, WaitMode::Yield] {
        let awake = used(mode);
        assert!(awake > 5 * asleep, "{mode:?}: {awake:?}, asleep {asleep:?}");
    }
}

#[test]
fn a_receiver_that_stays_awake_takes_what_comes() {
    for mode in [WaitMode::Spin, WaitMode::Yield] {
        let (sender, receiver) = udp_pair();
        let sending = std::thread::spawn(move || sender.send(b"late").unwrap());
        let mut batch = ReceiveBatch::new(2, 64).waiting(mode);
        let longest = Wait::AtMost(Duration::from_secs(20));
        assert_eq!(batch.receive(&receiver, longest).unwrap(), 1, "{mode:?}");
        sending.join().unwrap();
    }
}

#[test]
fn a_refused_datagram_surfaces() {
    let (sender, receiver) = udp_pair();
    drop(receiver);
    sender.send(b"anyone?").unwrap();
    let mut batch = ReceiveBatch::new(2, 64);
    let error = batch
        .receive(&sender, Wait::AtMost(Duration::from_secs(5)))
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_batch_may_move_to_another_thread() {
    let (sender, receiver) = udp_pair();
    let mut batch = ReceiveBatch::new(4, 64);
    sender.send(b"first").unwrap();
    batch.receive(&receiver, Wait::Forever).unwrap();
    std::thread::spawn(move || {
        assert_eq!(batch.datagrams().next().unwrap().payload, b"first");
        sender.send(b"second").unwrap();
        batch.receive(&receiver, Wait::Forever).unwrap();
        assert_eq!(batch.datagrams().next().unwrap().payload, b"second");
    })
    .join()
    .unwrap();
}

#[test]
#[cfg(any(target_os = "linux", target_os = "android"))]
fn one_socket_marks_each_flow_by_itself() {
    let (_, receiver) = udp_pair();
    receiver.request(ReceiveFeatures {
        tos: true,
        ..ReceiveFeatures::default()
    });
    let sender = UdpSocket::bind(
        crate::loopback::any_port(),
        &crate::SocketOptions::default(),
    )
    .unwrap()
    .socket;
    let peer = receiver.local_addr().unwrap();
    let mut batch = ReceiveBatch::new(1, 64);
    for tos in [Tos(0x40), Tos(0xb8)] {
        sender
            .send_marked_to(
                b"marked",
                peer,
                crate::Marks {
                    tos: Some(tos),
                    source: None,
                },
            )
            .unwrap();
        assert_eq!(batch.receive(&receiver, Wait::Forever).unwrap(), 1);
        assert_eq!(batch.datagrams().next().unwrap().tos, Some(tos));
    }
    sender.send_to(b"plain", peer).unwrap();
    assert_eq!(batch.receive(&receiver, Wait::Forever).unwrap(), 1);
    assert_eq!(batch.datagrams().next().unwrap().tos, Some(Tos(0)));
}
