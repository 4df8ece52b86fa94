//! Whatever a message says, it survives encoding and decoding.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tapeline_base::{BitRate, Bytes, PacketRate, Tos};
use tapeline_wire::iperf2::*;
use tapeline_wire::native::Mark;

fn timestamp() -> impl Strategy<Value = Timestamp> {
    (1_u32.., any::<u32>()).prop_map(|(seconds, micros)| Timestamp { seconds, micros })
}

fn version() -> impl Strategy<Value = PeerVersion> {
    (1_u16.., any::<u16>(), 1_u16.., 0_u32..16).prop_map(|(major, minor, patch, state)| {
        let upper = u32::from(major) << 16 | u32::from(minor);
        PeerVersion::from_words(upper, u32::from(patch) << 16 | state).unwrap()
    })
}

fn mark() -> impl Strategy<Value = Mark> {
    (1_u8.., 1_u32..).prop_map(|(version, number)| Mark {
        version,
        number: number.try_into().unwrap(),
    })
}

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![
        Just(Amount::Unspecified),
        (1..=limits::MAX_TICKS).prop_map(|ticks| Amount::Time(Ticks(ticks))),
        (1..=limits::MAX_AMOUNT_BYTES).prop_map(Amount::Bytes),
    ]
}

fn millionths() -> impl Strategy<Value = Millionths> {
    (1..u64::from(u32::MAX) * 1_000_000).prop_map(Millionths)
}

fn settings() -> impl Strategy<Value = IsochronousSettings> {
    [millionths(), millionths(), millionths(), millionths()].prop_map(
        |[frames_per_second, mean, variance, burst_gap]| IsochronousSettings {
            frames_per_second,
            mean,
            variance,
            burst_gap,
        },
    )
}

fn mode() -> impl Strategy<Value = TestMode> {
    prop_oneof![
        Just(TestMode::Normal),
        Just(TestMode::Reverse),
        Just(TestMode::FullDuplex),
        Just(TestMode::Dual),
        Just(TestMode::Tradeoff),
    ]
}

/// The old modes exclude what their flag bits would be confused with.
fn is_legacy(mode: TestMode) -> bool {
    matches!(mode, TestMode::Dual | TestMode::Tradeoff)
}

prop_compose! {
    /// A header of the base form.
    fn base_tcp_header()(
        threads in 1..=limits::MAX_THREADS_WITH_ID,
        transfer_id in option::of((0..=limits::MAX_TRANSFER_ID).prop_map(TransferId::new)),
        port in 1..=u16::MAX,
        buffer_length in option::of(1..=limits::MAX_TCP_LENGTH),
        window: u32,
        amount in amount(),
        mode in mode(),
    ) -> TcpClientHeader {
        TcpClientHeader {
            transfer_id: transfer_id.filter(|_| !is_legacy(mode)),
            threads, port, buffer_length, window, amount, mode,
            ..TcpClientHeader::default()
        }
    }
}

prop_compose! {
    /// A header with everything, in the form of 2.2.
    fn tcp_header()(
        base in base_tcp_header(),
        [peer_detect, epoch_start, trip_times, quickack] in any::<[bool; 4]>(),
        version in option::of(version()),
        tos in any::<u8>().prop_map(Tos),
        rate in option::of((1..=limits::MAX_RATE).prop_map(BitRate)),
        write_prefetch in option::of(0..=limits::MAX_WRITE_PREFETCH),
        barrier_micros in option::of(0..=limits::MAX_BARRIER_MICROS),
        start_time in option::of(timestamp()),
        fq_rate in option::of((0..=limits::MAX_FQ_RATE).prop_map(ByteRate)),
        workload in prop_oneof![
            Just(Workload::Stream),
            option::of(settings()).prop_map(Workload::Isochronous),
            [millionths(), millionths()].prop_map(|[frames_per_second, mean]| {
                let unused = IsochronousSettings::default();
                Workload::PeriodicBurst(IsochronousSettings { frames_per_second, mean, ..unused })
            }),
        ],
        congestion_control in option::of("[a-z0-9_-]{1,31}"),
        permit_key in option::of(vec(any::<u8>(), 4..=128)),
        mark in option::of(mark()),
    ) -> TcpClientHeader {
        TcpClientHeader {
            peer_detect: peer_detect && !is_legacy(base.mode),
            start_time,
            congestion_control: congestion_control
                .map(|name| CongestionControl::new(name.as_bytes()).unwrap()),
            permit_key: permit_key.map(|key| PermitKey::new(&key).unwrap()),
            version, tos, rate, write_prefetch, barrier_micros, epoch_start, trip_times,
            fq_rate, workload, quickack, mark,
            ..base
        }
    }
}

prop_compose! {
    fn udp_header()(
        base in base_tcp_header(),
        buffer_length in option::of(1..=limits::MAX_UDP_LENGTH),
        [wide_ids, epoch_start, trip_times, no_fin, l2_length_check, l2_ipv6, l4s]
            in any::<[bool; 7]>(),
        version in option::of(version()),
        tos in any::<u8>().prop_map(Tos),
        rate in prop_oneof![
            (0..=limits::MAX_RATE).prop_map(|rate| Rate::Bits(BitRate(rate))),
            (0..=limits::MAX_RATE).prop_map(|rate| Rate::Packets(PacketRate(rate))),
        ],
        start_time in option::of(timestamp()),
        fq_rate in option::of((0..=limits::MAX_FQ_RATE).prop_map(ByteRate)),
        workload in prop_oneof![
            Just(Workload::Stream),
            option::of(settings()).prop_map(Workload::Isochronous),
        ],
        form in prop_oneof![Just(UdpForm::Extended36), Just(UdpForm::Extended40)],
        mark in option::of(mark()),
    ) -> UdpClientHeader {
        UdpClientHeader {
            form,
            threads: base.threads,
            transfer_id: base.transfer_id,
            port: base.port,
            amount: base.amount,
            mode: base.mode,
            no_fin: no_fin || base.mode == TestMode::FullDuplex,
            version: version.filter(|_| !l4s),
            tos: if l4s { Tos::default() } else { tos },
            buffer_length, rate, wide_ids, start_time, epoch_start, trip_times,
            fq_rate, workload, l2_length_check, l2_ipv6, l4s, mark,
        }
    }
}

prop_compose! {
    fn report()(
        layout in prop_oneof![Just(ReportLayout::Narrow16), Just(ReportLayout::Wide16)],
        bytes in (0..=limits::MAX_REPORTED_BYTES).prop_map(Bytes),
        counters in proptest::array::uniform3(0..=limits::MAX_REPORTED_DATAGRAMS),
        times in any::<[i32; 7]>(),
        m2 in millionths(),
        count: u32,
        packets_per_second: u32,
        transit_valid: bool,
    ) -> ServerReport {
        let mask = if layout == ReportLayout::Wide16 { u64::MAX } else { u64::from(u32::MAX) };
        let [lost, out_of_order, datagrams] = counters.map(|counter| counter & mask);
        let [duration, jitter, min, max, sum, mean, last_difference] =
            times.map(|time| Micros(i64::from(time) * 1_001));
        let transit = TransitTimes {
            min, max, sum, mean, m2, last_difference, count, packets_per_second,
        };
        ServerReport {
            layout, bytes, duration, lost, out_of_order, datagrams, jitter, transit, transit_valid,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn tcp_client_headers(header in tcp_header(), tail in vec(any::<u8>(), 0..8)) {
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        let length = bytes.len();
        let key = header.permit_key.is_some();
        let counted = header.counted_length();
        prop_assert_eq!(
            FirstWord::inspect(bytes.first_chunk().unwrap()),
            FirstWord::Header { length: counted, key }
        );
        prop_assert_eq!(TcpClientHeader::permit_key_length(&bytes), Ok(length - counted));
        bytes.extend_from_slice(&tail);
        prop_assert_eq!(TcpClientHeader::parse(&bytes), Ok(header));
    }

    #[test]
    fn every_front_of_a_tcp_header_is_cut(header in tcp_header(), at: prop::sample::Index) {
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        let cut = at.index(bytes.len());
        let truncated = matches!(
            TcpClientHeader::parse(&bytes[..cut]),
            Err(DecodeError::Truncated { found, .. }) if found == cut
        );
        prop_assert!(truncated);
    }

    #[test]
    fn base_tcp_headers(header in base_tcp_header()) {
        let header = TcpClientHeader {
            form: HeaderForm::Base,
            version: None,
            mode: if is_legacy(header.mode) { header.mode } else { TestMode::Dual },
            transfer_id: None,
            ..header
        };
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        prop_assert_eq!(bytes.len(), limits::BASE_HEADER);
        prop_assert_eq!(TcpClientHeader::parse(&bytes), Ok(header));
    }

    #[test]
    fn udp_client_headers(header in udp_header(), length in 160..300_usize) {
        let mut datagram = vec![0xee; length];
        header.write(&mut datagram);
        prop_assert_eq!(UdpLayout::detect(&datagram), UdpLayout::Extended16);
        prop_assert_eq!(UdpClientHeader::parse(&datagram), Ok(header));
    }

    #[test]
    fn server_acknowledgements(
        version in option::of(version()),
        mark in option::of(mark()),
        times in option::of([timestamp(), timestamp(), timestamp()]),
    ) {
        let trip_times =
            times.map(|[sent, accepted, acknowledged]| AckTimes { sent, accepted, acknowledged });
        let ack = ServerAck { version, mark, trip_times };
        let mut bytes = Vec::new();
        ack.encode(&mut bytes);
        prop_assert!(ServerAck::is_ack(&bytes));
        prop_assert_eq!(ServerAck::parse(&bytes), Ok(ack));
    }

    #[test]
    fn burst_headers(
        stamps in [timestamp(), timestamp()],
        period_micros in option::of(any::<u32>()),
        id: u32,
        size in BurstHeader::LENGTH as u32..=limits::MAX_BURST,
        sequence: u64,
    ) {
        let [report_start, write_time] = stamps;
        let burst = BurstHeader { report_start, write_time, period_micros, id, size, sequence };
        let mut bytes = [TRIP_TIMES_FILL; BurstHeader::LENGTH];
        burst.write(&mut bytes);
        prop_assert_eq!(BurstHeader::read(&bytes, period_micros.is_some()), Ok(burst));
    }

    #[test]
    fn bounceback_messages(
        sizes in [limits::MIN_BOUNCEBACK..=limits::MAX_BOUNCEBACK, limits::MIN_BOUNCEBACK..=100],
        id: u32,
        [quickack, clock_synchronised, stop, other_reply] in any::<[bool; 4]>(),
        tos in option::of(any::<u8>().prop_map(Tos)),
        run_time in any::<u32>().prop_map(Ticks),
        client_send in timestamp(),
        server_receive in option::of(timestamp()),
        server_send in option::of(timestamp()),
        hold_micros in 0..=limits::MAX_HOLD_MICROS,
        mark in option::of(mark()),
    ) {
        let message = Bounceback {
            request_size: sizes[0],
            reply_size: other_reply.then_some(sizes[1]),
            id, quickack, clock_synchronised, stop, tos, run_time, client_send,
            server_receive: server_receive.filter(|time| time.seconds != u32::MAX),
            server_send: server_send.filter(|time| time.seconds != u32::MAX),
            hold_micros,
            mark,
        };
        let mut bytes = [0; Bounceback::LENGTH];
        message.write(&mut bytes);
        prop_assert_eq!(Bounceback::parse(&bytes), Ok(message));
    }

    #[test]
    fn datagram_stamps(id: i64, seconds: u32, micros: u32) {
        let stamp = DatagramStamp { id, seconds, micros };
        let mut bytes = [0; 20];
        stamp.write_16(&mut bytes);
        prop_assert_eq!(DatagramStamp::read_16(&bytes, true), Some(stamp));
        let narrow = DatagramStamp { id: i64::from(id as i32), ..stamp };
        prop_assert_eq!(DatagramStamp::read_16(&bytes, false), Some(narrow));
        stamp.write_12(&mut bytes);
        prop_assert_eq!(DatagramStamp::read_12(&bytes), Some(narrow));
    }

    #[test]
    fn isochronous_frames(
        period_micros: u32,
        start in timestamp(),
        ids: [u32; 2],
        (size, remaining) in (1..=u32::MAX).prop_flat_map(|size| (Just(size), 1..=size)),
    ) {
        let frame = IsochronousFrame {
            period_micros, start, previous_id: ids[0], id: ids[1], size, remaining,
        };
        let mut datagram = [0xee; IsochronousFrame::END];
        frame.write(&mut datagram);
        prop_assert_eq!(IsochronousFrame::read(&datagram), Some(frame));
    }

    #[test]
    fn server_reports(report in report()) {
        prop_assert_eq!(ServerReport::accept(&report.encode_16()), Some(report));
    }

    #[test]
    fn l4s_messages(
        times: [i32; 2], sequence: u32, counters: [u32; 3], ecn_error: bool,
    ) {
        let [time, echoed_time] = times;
        let stamp = L4sStamp { time, echoed_time, sequence };
        let mut datagram = [0xee; 80];
        stamp.write(&mut datagram);
        prop_assert_eq!(L4sStamp::read(&datagram), Some(stamp));
        let [received, marked, lost] = counters;
        let ack = L4sAck { ecn_error, time, echoed_time, received, marked, lost };
        prop_assert_eq!(L4sAck::parse(&ack.encode()), Ok(ack));
    }
}
