//! iperf3.

use crate::iperf3::*;

pub(crate) fn cookie(bytes: &[u8]) {
    let Some(chunk) = bytes.first_chunk() else {
        return;
    };
    let read = Cookie::parse(chunk);
    assert_eq!(read.is_ok(), Cookie::could_begin(chunk));
    if let Ok(cookie) = read {
        assert_eq!(cookie.bytes(), chunk);
        assert_eq!(cookie.text().as_bytes(), &chunk[..36]);
        // A connection is recognised by its first bytes, however few of them are here.
        assert!((0..37).all(|length| Cookie::could_begin(&chunk[..length])));
    }
    let mut random = [0; 36];
    random.copy_from_slice(&chunk[..36]);
    let made = Cookie::from_random(random);
    assert_eq!(Cookie::parse(made.bytes()), Ok(made));
}

pub(crate) fn length(bytes: &[u8]) {
    let Some(prefix) = bytes.first_chunk() else {
        return;
    };
    let announced = u32::from_be_bytes(*prefix) as usize;
    for max in [1, limits::MAX_PARAMETERS, limits::MAX_RESULTS] {
        let fits = (1..=max).contains(&announced);
        assert_eq!(
            announced_length(*prefix, max).ok(),
            fits.then_some(announced)
        );
    }
}

pub(crate) fn state(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let Ok(state) = State::parse(*first) else {
        return;
    };
    assert_eq!(state.byte(), *first);
    if let Some(error) = ServerError::parse(rest).filter(|_| state == State::ServerError) {
        let mut encoded = Vec::new();
        error.encode(&mut encoded);
        let whole = rest.len().min(ServerError::LENGTH) & !3;
        assert_eq!(encoded[1..=whole], rest[..whole]);
        assert!(!error.code.to_string().is_empty());
    }
}

pub(crate) fn parameters(bytes: &[u8]) {
    let Ok(read) = Parameters::parse(bytes) else {
        return;
    };
    assert!((1..=limits::MAX_PARALLEL).contains(&read.parallel));
    assert!(read.connections() <= 2 * limits::MAX_PARALLEL);
    assert!(read.time <= limits::MAX_TIME && read.omit <= limits::MAX_OMIT);
    let (least, max) = match read.protocol {
        Protocol::Udp => (limits::MIN_UDP_LENGTH, limits::MAX_UDP_LENGTH),
        Protocol::Tcp | Protocol::Sctp => (1, limits::MAX_TCP_LENGTH),
    };
    assert!(
        read.length
            .is_none_or(|length| (least..=max).contains(&length))
    );
    assert!(
        read.window
            .is_none_or(|window| window <= limits::MAX_WINDOW)
    );
    assert!(read.segment_size.is_none_or(|size| size <= limits::MAX_MSS));
    assert!(read.burst <= limits::MAX_BURST);
    assert!(
        read.flow_label
            .is_none_or(|label| label <= limits::MAX_FLOW_LABEL)
    );
    let mut encoded = Vec::new();
    read.encode(&mut encoded);
    // As iperf3 writes it, a timer of 0 is not there, and is read as the usual one.
    let pacing_timer = match read.pacing_timer {
        0 => Parameters::default().pacing_timer,
        timer => timer,
    };
    let expected = Parameters {
        pacing_timer,
        ..read
    };
    assert_eq!(Parameters::parse(body(&encoded)), Ok(expected));
}

pub(crate) fn results(bytes: &[u8]) {
    let Ok(read) = Results::parse(bytes) else {
        return;
    };
    let mut encoded = Vec::new();
    read.encode(&mut encoded);
    let again = Results::parse(body(&encoded)).expect("what was written can be read");
    assert!(near(again.cpu_total, read.cpu_total));
    assert!(near(again.cpu_user, read.cpu_user));
    assert!(near(again.cpu_system, read.cpu_system));
    assert_eq!(again.retransmits, read.retransmits);
    assert_eq!(again.congestion, read.congestion);
    assert_eq!(again.server_output, read.server_output);
    assert_eq!(again.streams.len(), read.streams.len());
    for (again, read) in again.streams.iter().zip(&read.streams) {
        assert!(near(again.jitter, read.jitter));
        assert_eq!(again.end_time.is_some(), read.end_time.is_some());
        assert!(near(
            again.end_time.unwrap_or_default(),
            read.end_time.unwrap_or_default()
        ));
        let exact = StreamResults {
            jitter: read.jitter,
            end_time: read.end_time,
            ..*again
        };
        assert_eq!(exact, *read);
    }
}

/// Equal but for the last digit, which the decimal form may cost, and never without a value.
fn near(again: f64, read: f64) -> bool {
    assert!(read.is_finite());
    (again - read).abs() <= read.abs() * 1e-15
}

/// A message without its length, which must be right.
fn body(message: &[u8]) -> &[u8] {
    let (prefix, body) = message
        .split_first_chunk::<LENGTH_PREFIX>()
        .expect("a length");
    assert_eq!(u32::from_be_bytes(*prefix) as usize, body.len());
    body
}

pub(crate) fn datagram(bytes: &[u8]) {
    assert!(!(is_connect(bytes) && is_connect_reply(bytes)));
    if is_connect(bytes) || is_connect_reply(bytes) {
        assert_eq!(bytes.len(), 4);
    }
    for width in [CounterWidth::Narrow, CounterWidth::Wide] {
        let header = DatagramHeader::read(bytes, width);
        assert_eq!(header.is_some(), bytes.len() >= width.header_length());
        if let Some(header) = header {
            let mut written = bytes.to_vec();
            written[..width.header_length()].fill(0xaa);
            header.write(&mut written, width);
            assert_eq!(written, bytes);
        }
    }
}
