use super::*;
use crate::iperf2::fill_pattern;

fn report() -> ServerReport {
    ServerReport {
        layout: ReportLayout::Wide16,
        bytes: Bytes(7_500),
        duration: Micros(1_094_139),
        lost: 1 << 33 | 2,
        out_of_order: 1,
        datagrams: 1 << 34 | 15,
        jitter: Micros(12),
        transit: TransitTimes {
            last_difference: Micros(-8),
            m2: Millionths(669_500_000),
            count: 15,
            ..TransitTimes::default()
        },
        transit_valid: true,
    }
}

#[test]
fn wide_counters_keep_64_bits_and_narrow_ones_32() {
    assert_eq!(ServerReport::accept(&report().encode_16()), Some(report()));
    let narrow = ServerReport {
        layout: ReportLayout::Narrow16,
        ..report()
    };
    let read = ServerReport::accept(&narrow.encode_16()).unwrap();
    assert_eq!((read.lost, read.datagrams), (2, 15));
}

#[test]
fn negative_parts_share_their_sign() {
    let bytes = report().encode_16();
    assert_eq!(bytes[96..104], [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xf8]);
    let late = ServerReport {
        duration: Micros(-2_000_005),
        ..report()
    };
    assert_eq!(
        late.encode_16()[28..36],
        [0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xfb]
    );
    assert_eq!(ServerReport::accept(&late.encode_16()), Some(late));
}

#[test]
fn deviation_needs_two_samples() {
    let transit = report().transit;
    assert!((transit.deviation_micros() - (669.5_f64 / 14.0).sqrt()).abs() < 1e-9);
    assert!(
        TransitTimes {
            count: 1,
            ..transit
        }
        .deviation_micros()
        .abs()
            < f64::EPSILON
    );
}

#[test]
fn anything_but_a_report_is_refused() {
    let good = report().encode_16();
    assert!(ServerReport::accept(&good[..56]).is_some());
    assert_eq!(ServerReport::accept(&good[..55]), None);
    for bit in [0x2000_0000, 0x0001_0000, 0x0000_0001_u32] {
        let mut bytes = good;
        put_word(&mut bytes, 16, word(&good, 16) | bit);
        assert_eq!(ServerReport::accept(&bytes), None, "{bit:#x}");
    }
    let mut empty = good;
    put_word(&mut empty, 16, Flags::SEQUENCE_64.0);
    assert_eq!(ServerReport::accept(&empty), None);
}

#[test]
fn an_acknowledgement_of_52_bytes_is_no_report() {
    let mut ack = [0; 52];
    put_word(&mut ack, 0, 2);
    put_word(&mut ack, 4, 52);
    put_word(&mut ack, 12, Flags::VERSION1.0);
    assert_eq!(ServerReport::accept(&ack), None);
    put_word(&mut ack, 0, 3);
    assert!(ServerReport::accept(&ack).is_some());
}

#[test]
fn counters_beyond_any_network_are_cut() {
    let absurd = ServerReport {
        bytes: Bytes(u64::MAX),
        lost: u64::MAX,
        out_of_order: u64::MAX,
        datagrams: u64::MAX,
        ..report()
    };
    let read = ServerReport::accept(&absurd.encode_16()).expect("a report");
    assert_eq!(read.bytes.0, MAX_REPORTED_BYTES);
    assert_eq!(
        [read.lost, read.out_of_order, read.datagrams],
        [MAX_REPORTED_DATAGRAMS; 3]
    );
}

#[test]
fn a_legacy_report_must_fit_itself() {
    let fin = DatagramStamp {
        id: -14,
        seconds: 1,
        micros: 2,
    };
    let legacy = ServerReport {
        layout: ReportLayout::Legacy12,
        lost: 1,
        datagrams: 14,
        transit: TransitTimes::default(),
        transit_valid: false,
        ..report()
    };
    let good = legacy.encode_12(fin);
    assert_eq!(ServerReport::accept(&good), Some(legacy));
    // Of 14 ids each came three times.
    let doubled = ServerReport {
        out_of_order: 28,
        ..legacy
    };
    assert_eq!(ServerReport::accept(&doubled.encode_12(fin)), Some(doubled));
    // Datagrams that are shorter than a stamp count by their ids.
    let short = ServerReport {
        bytes: Bytes(8 * 28),
        ..doubled
    };
    assert_eq!(ServerReport::accept(&short.encode_12(fin)), Some(short));
    for (at, value) in [
        (16, 1),
        (24, u32::MAX),
        (28, 1_000_000),
        (32, 15),
        (36, u32::MAX),
        (44, u32::MAX),
        (48, 1 << 20),
    ] {
        let mut bad = good;
        put_word(&mut bad, at, value);
        assert_eq!(ServerReport::accept(&bad), None, "{value} at {at}");
    }
}

#[test]
fn the_datagrams_of_an_old_dual_client_are_no_report() {
    let mut bytes = [0; 500];
    fill_pattern(&mut bytes);
    DatagramStamp {
        id: -14,
        seconds: 1,
        micros: 2,
    }
    .write_12(&mut bytes);
    for (at, value) in [
        (12, Flags::VERSION1.0),
        (16, 1),
        (20, 5001),
        (24, 500),
        (28, 50_000),
    ] {
        put_word(&mut bytes, at, value);
    }
    for amount in [0, 20_480, (-100_i32) as u32] {
        put_word(&mut bytes, 32, amount);
        assert_eq!(ServerReport::accept(&bytes), None, "{amount}");
    }
}
