use super::*;
use crate::iperf2::{DatagramStamp, Millionths};

fn datagram(header: &UdpClientHeader, length: usize) -> Vec<u8> {
    let mut bytes = vec![0xee; length];
    header.write(&mut bytes);
    DatagramStamp {
        id: 1,
        seconds: 2,
        micros: 3,
    }
    .write_16(&mut bytes);
    bytes
}

#[test]
fn a_header_cut_anywhere_reads_absent_blocks_as_zero() {
    let header = UdpClientHeader {
        rate: Rate::Bits(BitRate(7 << 32 | 9)),
        trip_times: true,
        start_time: Some(Timestamp {
            seconds: 4,
            micros: 5,
        }),
        fq_rate: Some(ByteRate(5 << 32 | 6)),
        ..UdpClientHeader::default()
    };
    let bytes = datagram(&header, 200);
    assert_eq!(UdpClientHeader::parse(&bytes), Ok(header));
    let shortest = header.required_length();
    assert_eq!(UdpClientHeader::parse(&bytes[..shortest]), Ok(header));
    assert!(UdpClientHeader::parse(&bytes[..shortest - 1]) != Ok(header));
    for length in 0..160 {
        let cut = UdpClientHeader::parse(&bytes[..length]);
        assert_eq!(cut.is_ok(), length >= 40, "{length}");
        let Ok(cut) = cut else { continue };
        assert_eq!(cut.rate == header.rate, length >= 72, "{length}");
        assert_eq!(
            cut.start_time == header.start_time,
            length >= 120,
            "{length}"
        );
    }
}

#[test]
fn writing_into_a_short_datagram_gives_its_front() {
    let header = UdpClientHeader {
        no_fin: true,
        ..UdpClientHeader::default()
    };
    let whole = datagram(&header, 180);
    for length in 0..180 {
        assert_eq!(datagram(&header, length), whole[..length], "{length}");
    }
    assert_eq!(whole[80..160], [0; 80]);
    assert_eq!(whole[160..], [0xee; 20]);
}

#[test]
fn upper_flags_count_only_with_the_tests_flag() {
    let header = UdpClientHeader {
        mode: TestMode::Reverse,
        ..UdpClientHeader::default()
    };
    let mut bytes = datagram(&header, 80);
    assert_eq!(
        UdpClientHeader::parse(&bytes).unwrap().mode,
        TestMode::Reverse
    );
    bytes[16] &= !0x20;
    assert_eq!(
        UdpClientHeader::parse(&bytes).unwrap().mode,
        TestMode::Normal
    );
}

#[test]
fn full_duplex_never_waits_for_a_report() {
    let header = UdpClientHeader {
        mode: TestMode::FullDuplex,
        ..UdpClientHeader::default()
    };
    let bytes = datagram(&header, 80);
    assert_eq!(bytes[16..20], [0x6c, 0x01, 0x00, 0xa0]);
    assert!(UdpClientHeader::parse(&bytes).unwrap().no_fin);
}

#[test]
fn a_packet_rate_is_kept_as_one() {
    let header = UdpClientHeader {
        rate: Rate::Packets(PacketRate(20)),
        ..UdpClientHeader::default()
    };
    let read = UdpClientHeader::parse(&datagram(&header, 80)).unwrap();
    assert_eq!(read.rate, Rate::Packets(PacketRate(20)));
    assert_eq!(read.rate.bits(500), BitRate(80_000));
}

#[test]
fn the_older_extended_header_is_four_bytes_shorter() {
    let header = UdpClientHeader {
        form: UdpForm::Extended36,
        ..UdpClientHeader::default()
    };
    let bytes = datagram(&header, 80);
    assert_eq!(bytes[16..20], [0x48, 0x01, 0x00, 0x98]);
    assert_eq!(UdpClientHeader::parse(&bytes), Ok(header));
}

#[test]
fn legacy_settings_carry_rate_and_mode() {
    let header = UdpClientHeader {
        form: UdpForm::Legacy12,
        mode: TestMode::Dual,
        rate: Rate::Bits(BitRate(50_000)),
        wide_ids: false,
        version: None,
        ..UdpClientHeader::default()
    };
    let mut bytes = vec![0xee; 36];
    DatagramStamp {
        id: 0,
        seconds: 1,
        micros: 2,
    }
    .write_12(&mut bytes);
    header.write(&mut bytes);
    assert_eq!(bytes[12..16], [0x80, 0, 0, 1]);
    assert_eq!(UdpClientHeader::parse(&bytes), Ok(header));
}

#[test]
fn datagram_sizes_and_ports_are_bounded() {
    let header = UdpClientHeader {
        buffer_length: Some(u32::MAX),
        ..UdpClientHeader::default()
    };
    let mut bytes = datagram(&header, 80);
    put_word(&mut bytes, 24, 65_536);
    let read = UdpClientHeader::parse(&bytes).unwrap();
    assert_eq!(
        (read.buffer_length, read.port),
        (Some(limits::MAX_UDP_LENGTH), 0)
    );
}

#[test]
fn reverse_isochronous_settings_survive() {
    let settings = IsochronousSettings {
        frames_per_second: Millionths::from_whole(60),
        mean: Millionths::from_whole(50_000),
        variance: Millionths::from_whole(5_000),
        burst_gap: Millionths(5),
    };
    assert!(settings.is_usable());
    assert!(
        !IsochronousSettings {
            frames_per_second: Millionths(0),
            ..settings
        }
        .is_usable()
    );
    let header = UdpClientHeader {
        mode: TestMode::Reverse,
        workload: Workload::Isochronous(Some(settings)),
        ..UdpClientHeader::default()
    };
    assert_eq!(header.announced_length(), 144);
    assert_eq!(header.required_length(), 160);
    assert_eq!(UdpClientHeader::parse(&datagram(&header, 160)), Ok(header));
}

#[test]
fn a_packet_without_settings_is_refused() {
    let mut pattern = vec![0; 200];
    crate::iperf2::fill_pattern(&mut pattern);
    assert_eq!(
        UdpClientHeader::parse(&pattern),
        Err(DecodeError::NoHeader(0x3637_3839))
    );
    assert_eq!(ShortTripTimes::read(&pattern), None);
    ShortTripTimes { start_seconds: 9 }.write(&mut pattern);
    assert_eq!(
        ShortTripTimes::read(&pattern),
        Some(ShortTripTimes { start_seconds: 9 })
    );
    assert_eq!(
        UdpClientHeader::parse(&pattern),
        Err(DecodeError::NoHeader(0x0002_0000))
    );
}

#[test]
fn an_l4s_stamp_is_not_taken_for_version_and_tos() {
    let header = UdpClientHeader {
        l4s: true,
        ..UdpClientHeader::default()
    };
    let mut bytes = datagram(&header, 160);
    let stamp = crate::iperf2::L4sStamp {
        time: 1,
        echoed_time: 2,
        sequence: 3,
    };
    stamp.write(&mut bytes);
    let read = UdpClientHeader::parse(&bytes).unwrap();
    assert_eq!((read.l4s, read.version, read.tos), (true, None, Tos(0)));
}
