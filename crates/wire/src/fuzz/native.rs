//! Two tapelines.

use std::num::NonZeroU32;

use crate::native::*;

/// Most bytes of a text that is shown.
const LONGEST_TEXT: usize = 1024;

pub(crate) fn mark(bytes: &[u8]) {
    let Some(words) = bytes.first_chunk::<8>() else {
        return;
    };
    let [a, b, c, d, rest @ ..] = *words;
    let (name, number) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes(rest));
    if let Some(mark) = Mark::from_words(name, number) {
        assert_eq!(mark.to_words(), (name, number));
        assert!(VERSIONS.contains(&mark.common_version()));
    }
    if let (1.., Some(number)) = (d, NonZeroU32::new(number)) {
        let made = Mark { version: d, number };
        let (name, number) = made.to_words();
        assert_eq!(Mark::from_words(name, number), Some(made));
    }
}

/// What stands in the place of an acknowledgement.
pub(crate) fn refusal(bytes: &[u8]) {
    let Some(read) = Refusal::parse(bytes) else {
        return;
    };
    tame(&read.reason.to_string());
    assert_eq!(Refusal::parse(&read.encode()), Some(read));
}

pub(crate) fn message(bytes: &[u8]) {
    let announced = Message::announced_length(bytes);
    let read = Message::parse(bytes);
    match &announced {
        Ok(None) => assert!(bytes.len() < FRAME_HEADER && read.is_err()),
        Ok(Some(length)) => {
            assert!((FRAME_HEADER..=FRAME_HEADER + MAX_BODY).contains(length));
            assert!(read.is_err() || bytes.len() >= *length);
        }
        Err(_) => assert!(read.is_err()),
    }
    let Ok(Some(message)) = read else {
        return;
    };
    shown(&message);
    let mut encoded = Vec::new();
    message.encode(&mut encoded);
    // A program's name written out in full may be longer than what a peer takes; our own is not.
    let named = matches!(
        message,
        Message::Welcome { .. } | Message::About(_) | Message::Order(_)
    );
    if !named || encoded.len() <= FRAME_HEADER + LONGEST_TEXT {
        assert_eq!(Message::announced_length(&encoded), Ok(Some(encoded.len())));
        assert_eq!(Message::parse(&encoded), Ok(Some(message)));
    }
}

/// What a reader sees of a message moves no cursor and does not fill the screen.
fn shown(message: &Message) {
    match message {
        Message::Welcome {
            server, methods, ..
        } => {
            program(server);
            let names = methods.iter().flat_map(|methods| methods.0.keys());
            assert!(names.clone().count() <= MAX_METHODS);
            names.for_each(|name| tame(name));
        }
        Message::Order(order) => {
            tame(&order.method);
            assert!(order.seconds.as_secs() <= MAX_ORDER_SECONDS);
        }
        Message::Ready(ready) => assert!(ready.seconds.as_secs() <= MAX_ORDER_SECONDS),
        Message::Done(done) => {
            let path = done.path_mtu.iter();
            let words = path
                .flat_map(|path| [path.error.as_ref(), Some(&path.icmp), Some(&path.fragments)]);
            words
                .chain([done.why.as_ref()])
                .flatten()
                .for_each(|text| tame(text));
            assert!(done.load.iter().all(|load| load.rows.len() <= MAX_ROWS));
        }
        Message::About(about) => program(&about.client),
        Message::Refused(words)
        | Message::Stop(words)
        | Message::Error(words)
        | Message::Declined(words) => tame(words),
        Message::Hello(_)
        | Message::Granted(_)
        | Message::ClockRequest { .. }
        | Message::ClockReply(_)
        | Message::Progress(_)
        | Message::Finished
        | Message::Results(_)
        | Message::Status(_)
        | Message::Sample(_)
        | Message::Goodbye => {}
    }
}

fn program(program: &Program) {
    for text in [&program.program, &program.version, &program.system] {
        tame(text);
    }
}

fn tame(text: &str) {
    assert!(text.len() <= LONGEST_TEXT && !text.contains(char::is_control));
}

pub(crate) fn results(bytes: &[u8]) {
    let Ok(read) = std::str::from_utf8(bytes)
        .map_err(drop)
        .and_then(|text| Results::parse(text).map_err(drop))
    else {
        return;
    };
    for warning in &read.warnings {
        for text in [&warning.id, &warning.severity, &warning.text] {
            tame(text);
        }
    }
    for flow in &read.flows {
        let slices = flow.transit.iter().flat_map(|transit| &transit.slices);
        let delays: usize = slices.map(|slice| slice.delays.len()).sum();
        assert!(delays <= MAX_DELAYS);
        if let Some(name) = flow
            .tcp
            .as_ref()
            .and_then(|tcp| tcp.congestion_control.as_ref())
        {
            tame(name);
        }
    }
    let object = read.to_json();
    let again = Results::parse(&object).expect("what was written can be read");
    assert_eq!(again.flows.len(), read.flows.len());
    assert_eq!(again.warnings, read.warnings);
    let half = object.len() / 2;
    let cut = read.to_json_within(half);
    let empty = Results {
        flows: Vec::new(),
        ..read
    }
    .to_json();
    assert!(cut.len() <= half.max(empty.len()));
    assert!(Results::parse(&cut).is_ok());
}

pub(crate) fn probe(bytes: &[u8]) {
    let (request, reply) = (ProbeRequest::parse(bytes), ProbeReply::parse(bytes));
    assert!(request.is_none() || reply.is_none());
    if request.is_some() || reply.is_some() {
        assert_eq!(bytes.len(), ProbeRequest::LENGTH);
    }
    if let Some(request) = request {
        assert_eq!(ProbeRequest::parse(&request.encode()), Some(request));
    }
    if let Some(reply) = reply {
        assert_eq!(ProbeReply::parse(&reply.encode()), Some(reply));
    }
}

/// A datagram of a method, and what stands behind its first bytes.
pub(crate) fn method(bytes: &[u8]) {
    let Some(read) = MethodDatagram::parse(bytes) else {
        return;
    };
    assert!(is_method_datagram(bytes) && bytes.len() >= read.kind.shortest());
    let mut again = read.encode().to_vec();
    again.extend_from_slice(&bytes[MethodDatagram::LENGTH..]);
    assert_eq!(MethodDatagram::parse(&again), Some(read));
    if let Some(answer) = read.answer() {
        let answer_bytes = answer.encode();
        assert!(
            answer_bytes.len() <= bytes.len(),
            "longer than what it answers"
        );
        assert_eq!(MethodDatagram::parse(&answer_bytes), Some(answer));
        assert_eq!(answer.answer(), None, "answers are not answered");
    }
    match read.kind {
        MethodKind::Load => {
            let echo = LoadEcho::parse(bytes).expect("a load is long enough");
            assert_eq!(echo.encode(), bytes[32..48]);
        }
        MethodKind::Status => {
            let status = Status::parse(&bytes[32..]).expect("a Status is long enough");
            assert_eq!(status.encode(), bytes[32..]);
        }
        _ => {}
    }
}
