//! iperf 2.

use crate::iperf2::*;

pub(crate) fn tcp_client_header(bytes: &[u8]) {
    let announced = bytes.first_chunk().map(FirstWord::inspect);
    if let Some(FirstWord::Header { length, .. }) = announced {
        assert!((limits::BASE_HEADER..=limits::MAX_HEADER).contains(&length));
    }
    if let Ok(length) = TcpClientHeader::permit_key_length(bytes) {
        assert!(length == 0 || (4..=128).contains(&length));
    }
    if let Some(header) = TcpClientHeader::peek_base(bytes) {
        assert_eq!(header.form, HeaderForm::Base);
    }
    let consistent = TcpClientHeader::looks_consistent(bytes);
    let Ok(header) = TcpClientHeader::parse(bytes) else {
        return;
    };
    assert!(matches!(announced, Some(FirstWord::Header { .. })));
    assert!(
        header
            .buffer_length
            .is_none_or(|n| (1..=limits::MAX_TCP_LENGTH).contains(&n))
    );
    assert!(
        header
            .write_prefetch
            .is_none_or(|n| n <= limits::MAX_WRITE_PREFETCH)
    );
    assert!(
        header
            .barrier_micros
            .is_none_or(|n| n <= limits::MAX_BARRIER_MICROS)
    );
    assert!(
        header
            .rate
            .is_none_or(|rate| (1..=limits::MAX_RATE).contains(&rate.0))
    );
    let mut encoded = Vec::new();
    header.encode(&mut encoded);
    if consistent && header.form == HeaderForm::Extended40 {
        assert_eq!(TcpClientHeader::parse(&encoded), Ok(header));
    }
}

pub(crate) fn server_ack(bytes: &[u8]) {
    let whole = ServerAck::is_ack(bytes);
    if let Some(Ok(length)) = bytes.first_chunk().map(ServerAck::announced_length) {
        assert!(matches!(length, limits::ACK | limits::ACK_TRIP_TIMES));
    }
    super::native::refusal(bytes);
    let Ok(ack) = ServerAck::parse(bytes) else {
        return assert!(!whole);
    };
    let mut encoded = Vec::new();
    ack.encode(&mut encoded);
    assert!(ServerAck::is_ack(&encoded));
    assert_eq!(ServerAck::parse(&encoded), Ok(ack));
}

pub(crate) fn burst_header(bytes: &[u8]) {
    let Some(header) = bytes.first_chunk() else {
        return;
    };
    for with_period in [false, true] {
        let Ok(burst) = BurstHeader::read(header, with_period) else {
            return;
        };
        assert!((BurstHeader::LENGTH as u32..=limits::MAX_BURST).contains(&burst.size));
        let mut encoded = *header;
        burst.write(&mut encoded);
        assert_eq!(encoded, *header);
    }
}

pub(crate) fn bounceback(bytes: &[u8]) {
    let Some(header) = bytes.first_chunk() else {
        return;
    };
    let Ok(message) = Bounceback::parse(header) else {
        return;
    };
    let sizes = limits::MIN_BOUNCEBACK..=limits::MAX_BOUNCEBACK;
    assert!(sizes.contains(&message.request_size) && sizes.contains(&message.reply_length()));
    assert!(message.hold_micros <= limits::MAX_HOLD_MICROS);
    let mut encoded = [0; Bounceback::LENGTH];
    message.write(&mut encoded);
    assert_eq!(Bounceback::parse(&encoded), Ok(message));
}

pub(crate) fn udp_datagram(bytes: &[u8]) {
    for stamp in [
        DatagramStamp::read_16(bytes, true),
        DatagramStamp::read_16(bytes, false),
        DatagramStamp::read_12(bytes),
    ] {
        assert_eq!(stamp.is_some(), bytes.len() >= 4);
        let end = stamp.and_then(|stamp| stamp.fin_number(100));
        assert_eq!(end.is_some(), stamp.is_some_and(|stamp| stamp.is_fin()));
    }
    let layout = UdpLayout::detect(bytes);
    assert_eq!(
        ShortTripTimes::read(bytes).is_some(),
        layout == UdpLayout::ShortTripTimes
    );
    if let Some(frame) = IsochronousFrame::read(bytes) {
        assert!(frame.remaining > 0 && frame.remaining <= frame.size);
    }
    let Ok(header) = UdpClientHeader::parse(bytes) else {
        return;
    };
    assert!(matches!(
        layout,
        UdpLayout::Extended16 | UdpLayout::Legacy12
    ));
    assert!(
        header
            .buffer_length
            .is_none_or(|n| (1..=limits::MAX_UDP_LENGTH).contains(&n))
    );
    let mut encoded = [0; limits::UDP_HEADER_ROOM];
    header.write(&mut encoded);
    assert_eq!(UdpClientHeader::parse(&encoded), Ok(header));
}

pub(crate) fn server_report(bytes: &[u8]) {
    let Some(report) = ServerReport::accept(bytes) else {
        return;
    };
    assert!(bytes.len() >= limits::REPORT_LEGACY && !ServerAck::is_ack(bytes));
    assert!(report.transit.deviation_micros() >= 0.0);
    let again = if report.layout == ReportLayout::Legacy12 {
        ServerReport::accept(&report.encode_12(DatagramStamp::default()))
    } else {
        ServerReport::accept(&report.encode_16())
    };
    let again = again.expect("an encoded report is one");
    assert_eq!(again.bytes, report.bytes);
    assert_eq!(again.layout, report.layout);
    assert_eq!(
        (again.lost, again.out_of_order, again.datagrams),
        (report.lost, report.out_of_order, report.datagrams)
    );
}

pub(crate) fn l4s(bytes: &[u8]) {
    if let Some(stamp) = L4sStamp::read(bytes) {
        let mut encoded = bytes.to_vec();
        stamp.write(&mut encoded);
        assert_eq!(encoded, bytes);
    }
    if let Ok(ack) = L4sAck::parse(bytes) {
        assert_eq!(L4sAck::parse(&ack.encode()), Ok(ack));
    }
}
