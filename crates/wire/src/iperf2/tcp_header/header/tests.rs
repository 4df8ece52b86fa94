use super::*;
use crate::iperf2::{FirstWord, Millionths};

fn encoded(header: &TcpClientHeader) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    bytes
}

fn plain() -> Vec<u8> {
    encoded(&TcpClientHeader::default())
}

#[test]
fn payload_that_aliases_a_flag_word_is_inconsistent() {
    assert!(TcpClientHeader::looks_consistent(&plain()));
    let mut payload = vec![0; 300];
    crate::iperf2::fill_pattern(&mut payload);
    for shift in 0..10 {
        assert!(
            !TcpClientHeader::looks_consistent(&payload[shift..]),
            "shift {shift}"
        );
    }
    for at in [24, 31, 37, 44, 46] {
        let mut bytes = plain();
        bytes[at] ^= 1;
        assert!(!TcpClientHeader::looks_consistent(&bytes), "byte {at}");
    }
    assert!(!TcpClientHeader::looks_consistent(&plain()[..63]));
}

#[test]
fn threads_and_port_must_be_possible() {
    for (at, value) in [(4, 0), (4, 0x7fff_ffff), (8, 0), (8, 65_536)] {
        let mut bytes = plain();
        put_word(&mut bytes, at, value);
        assert!(
            !TcpClientHeader::looks_consistent(&bytes),
            "{value} at {at}"
        );
        assert!(at == 4 || TcpClientHeader::parse(&bytes).unwrap().port == 0);
    }
}

#[test]
fn a_base_header_alone_must_be_possible_too() {
    let header = TcpClientHeader {
        form: HeaderForm::Base,
        mode: TestMode::Dual,
        version: None,
        ..TcpClientHeader::default()
    };
    let mut bytes = encoded(&header);
    assert!(TcpClientHeader::looks_consistent(&bytes));
    put_word(&mut bytes, 0, 0x8000_0002);
    assert!(!TcpClientHeader::looks_consistent(&bytes));
    put_word(&mut bytes, 0, 0x8000_0001);
    put_word(&mut bytes, 4, 0);
    assert!(!TcpClientHeader::looks_consistent(&bytes));
}

#[test]
fn only_a_header_without_length_may_be_numbered() {
    let mut bytes = plain();
    put_word(&mut bytes, 24, 1);
    put_word(&mut bytes, 28, 28);
    assert!(!TcpClientHeader::looks_consistent(&bytes));
    put_word(&mut bytes, 0, Flags::EXTEND.0);
    assert!(TcpClientHeader::looks_consistent(&bytes));
    // Its base header counts as long as it makes sense.
    put_word(&mut bytes, 20, 20_480);
    let read = TcpClientHeader::parse(&bytes).unwrap();
    assert_eq!((read.port, read.amount), (5001, Amount::Bytes(20_480)));
}

#[test]
fn rates_above_56_bits_are_cut() {
    let header = TcpClientHeader {
        rate: Some(BitRate(1 << 56)),
        ..TcpClientHeader::default()
    };
    let read = TcpClientHeader::parse(&encoded(&header)).unwrap();
    assert_eq!(read.rate, Some(BitRate(limits::MAX_RATE)));
}

#[test]
fn an_undersized_header_reads_absent_blocks_as_zero() {
    let full = TcpClientHeader {
        trip_times: true,
        start_time: Some(Timestamp {
            seconds: 7,
            micros: 8,
        }),
        rate: Some(BitRate(5 << 32)),
        ..TcpClientHeader::default()
    };
    let mut bytes = encoded(&full);
    assert_eq!(bytes.len(), 80);
    put_word(&mut bytes, 0, Flags::EXTEND.with_header_length(50).0);
    let cut = TcpClientHeader::parse(&bytes).unwrap();
    assert!(cut.trip_times);
    assert_eq!((cut.start_time, cut.rate), (None, None));
}

#[test]
fn a_cut_header_says_how_much_is_missing() {
    let header = TcpClientHeader {
        permit_key: Some(PermitKey::new(b"mykey-0123").unwrap()),
        ..TcpClientHeader::default()
    };
    let bytes = encoded(&header);
    assert_eq!(bytes.len(), 76);
    let cut = |needed, found| Err(DecodeError::Truncated { needed, found });
    assert_eq!(TcpClientHeader::parse(&bytes[..3]), cut(4, 3));
    assert_eq!(TcpClientHeader::parse(&bytes[..65]), cut(66, 65));
    assert_eq!(TcpClientHeader::parse(&bytes[..75]), cut(76, 75));
    assert_eq!(TcpClientHeader::parse(&bytes), Ok(header));
}

#[test]
fn impossible_permit_keys_are_refused() {
    let key = PermitKey::new(b"abcd").unwrap();
    let mut bytes = encoded(&TcpClientHeader {
        permit_key: Some(key),
        ..TcpClientHeader::default()
    });
    for length in [0_u16, 3, 129, u16::MAX] {
        bytes[64..66].copy_from_slice(&length.to_be_bytes());
        let refused = Err(DecodeError::PermitKeyLength(usize::from(length)));
        assert_eq!(TcpClientHeader::permit_key_length(&bytes), refused);
    }
    let short = (Flags::EXTEND | Flags::KEY_CHECK).with_header_length(24);
    put_word(&mut bytes, 0, short.0);
    assert_eq!(
        TcpClientHeader::parse(&bytes),
        Err(DecodeError::HeaderLength(24))
    );
}

#[test]
fn a_congestion_control_outside_the_header_is_refused() {
    let name = CongestionControl::new(b"reno").unwrap();
    let bytes = encoded(&TcpClientHeader {
        congestion_control: Some(name),
        ..TcpClientHeader::default()
    });
    assert_eq!(bytes.len(), 118);
    for (at, value) in [(113, 5), (112, 0xff), (113, 0), (114, b'/')] {
        let mut bad = bytes.clone();
        bad[at] = value;
        assert_eq!(
            TcpClientHeader::parse(&bad),
            Err(DecodeError::CongestionControl),
            "{at}"
        );
    }
}

#[test]
fn received_values_are_cut_to_their_bounds() {
    let header = TcpClientHeader {
        buffer_length: Some(u32::MAX),
        write_prefetch: Some(u32::MAX),
        barrier_micros: Some(u32::MAX),
        fq_rate: Some(ByteRate(u64::MAX)),
        rate: Some(BitRate(u64::MAX)),
        ..TcpClientHeader::default()
    };
    let read = TcpClientHeader::parse(&encoded(&header)).unwrap();
    assert_eq!(read.buffer_length, Some(limits::MAX_TCP_LENGTH));
    assert_eq!(read.write_prefetch, Some(limits::MAX_WRITE_PREFETCH));
    assert_eq!(read.barrier_micros, Some(limits::MAX_BARRIER_MICROS));
    assert_eq!(read.fq_rate, Some(ByteRate(limits::MAX_FQ_RATE)));
    assert_eq!(read.rate, Some(BitRate(limits::MAX_RATE)));
}

#[test]
fn a_transfer_id_or_reverse_test_is_never_dual() {
    let mode = |flags: Flags, threads: u32, upper: UpperFlags| {
        let mut bytes = plain();
        put_word(
            &mut bytes,
            0,
            (flags | Flags::EXTEND).with_header_length(64).0,
        );
        put_word(&mut bytes, 4, threads);
        bytes[32..34].copy_from_slice(&upper.0.to_be_bytes());
        TcpClientHeader::parse(&bytes).unwrap().mode
    };
    let dual = Flags::VERSION1 | Flags::RUN_NOW;
    assert_eq!(mode(dual, 1, UpperFlags::NONE), TestMode::Dual);
    assert_eq!(
        mode(Flags::VERSION1, 1, UpperFlags::NONE),
        TestMode::Tradeoff
    );
    assert_eq!(mode(dual, 0x8010_0001, UpperFlags::NONE), TestMode::Normal);
    assert_eq!(
        mode(dual | Flags::VERSION2, 1, UpperFlags::NONE),
        TestMode::Normal
    );
    assert_eq!(
        mode(dual | Flags::VERSION2, 1, UpperFlags::REVERSE),
        TestMode::Reverse
    );
}

#[test]
fn bursts_are_whole_even_where_their_block_is_cut() {
    let settings = IsochronousSettings {
        frames_per_second: Millionths::from_f64(2.5),
        mean: Millionths::from_whole(20_480),
        ..IsochronousSettings::default()
    };
    let mut header = TcpClientHeader {
        workload: Workload::PeriodicBurst(settings),
        ..TcpClientHeader::default()
    };
    for (trip_times, length) in [(false, 96), (true, 112)] {
        header.trip_times = trip_times;
        let bytes = encoded(&header);
        assert_eq!(bytes.len(), length);
        assert_eq!(TcpClientHeader::parse(&bytes), Ok(header.clone()));
    }
}

/// Found by fuzzing: a zero start time used to cut the settings when encoded again.
#[test]
fn isochronous_settings_without_start_time_stay_whole() {
    let settings = IsochronousSettings {
        frames_per_second: Millionths::from_whole(10),
        mean: Millionths::from_whole(100_000),
        variance: Millionths::from_whole(10_000),
        burst_gap: Millionths(5),
    };
    let header = TcpClientHeader {
        workload: Workload::Isochronous(Some(settings)),
        ..TcpClientHeader::default()
    };
    assert_eq!(TcpClientHeader::parse(&encoded(&header)), Ok(header));
}

#[test]
fn the_longest_header_still_fits_its_length_field() {
    let longest = TcpClientHeader {
        congestion_control: Some(CongestionControl::new(&[b'a'; 31]).unwrap()),
        permit_key: Some(PermitKey::new(&[b'k'; 128]).unwrap()),
        ..TcpClientHeader::default()
    };
    let bytes = encoded(&longest);
    assert_eq!(bytes.len(), 147 + 128);
    assert_eq!(longest.counted_length(), 147);
    assert_eq!(
        FirstWord::inspect(bytes.first_chunk().unwrap()),
        FirstWord::Header {
            length: 147,
            key: true
        }
    );
    assert_eq!(TcpClientHeader::parse(&bytes), Ok(longest));
}
