//! Faults 2, 19, 20 and 23 on the control connections of tapeline's own protocol.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use tapeline_wire::iperf2::{ServerAck, TcpClientHeader, TestMode, limits};
use tapeline_wire::native::{Hello, MAX_BODY, Mark, Message, PREAMBLE, VERSIONS};

use crate::Fault;
use crate::iperf2_tcp::{encoded, header};
use crate::iperf3::send_slowly;
use crate::subject::{AFTER_DEADLINE, SOON, Subject, are_closed, is_closed};

pub(crate) const FAULTS: &[Fault] = &[
    ("2 silent control connections", silent),
    ("19 control connections that outlive their tests", outliving),
    ("20 lengths on control connections", lengths),
    ("23 control connections of others", foreign),
];

/// Kinds of messages, as they are numbered.
const WELCOME: u8 = 2;
const REFUSED: u8 = 3;
const RESULTS: u8 = 8;
const ERROR: u8 = 10;
/// Time for what a deadline of 30 s ends.
const AFTER_LONG_DEADLINE: Duration = Duration::from_secs(60);

/// A test whose server has recognised its client: the flow, and what opens the control connection.
fn recognised(subject: &Subject) -> (TcpStream, Hello) {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let test = NonZeroU32::new(NEXT.fetch_add(1, Ordering::Relaxed)).expect("few tests");
    let version = *VERSIONS.end();
    let order = encoded(&TcpClientHeader {
        mark: Some(Mark {
            version,
            number: test,
        }),
        ..header(TestMode::Normal, 100)
    });
    let mut flow = subject.connect();
    flow.write_all(&order).expect("an order");
    let mut answer = [0; limits::ACK];
    flow.read_exact(&mut answer).expect("an answer");
    let answer = ServerAck::parse(&answer).expect("an answer");
    let token = answer.mark.expect("a mark").number;
    let hello = Hello {
        test,
        token,
        lowest: version,
        highest: version,
    };
    (flow, hello)
}

fn greeting(hello: Hello) -> Vec<u8> {
    let mut bytes = PREAMBLE.to_vec();
    Message::Hello(hello).encode(&mut bytes);
    bytes
}

/// The kind of the server's next message, or nothing where it has closed.
fn next_kind(mut stream: &TcpStream) -> Option<u8> {
    let mut front = [0; 4];
    stream.read_exact(&mut front).ok()?;
    let [kind, lengths @ ..] = front;
    let length = lengths
        .iter()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(kind)
}

/// A test with its control connection.
pub(crate) fn controlled(subject: &Subject) -> (TcpStream, TcpStream) {
    let (flow, hello) = recognised(subject);
    let mut control = subject.connect();
    control.write_all(&greeting(hello)).expect("a greeting");
    assert_eq!(next_kind(&control), Some(WELCOME));
    (flow, control)
}

fn silent() {
    let subject = Subject::new();
    let silent: Vec<TcpStream> = (0..200)
        .map(|number| {
            let mut stream = subject.connect();
            stream.write_all(&PREAMBLE).expect("a beginning");
            let part: &[u8] = if number % 2 == 0 { &[] } else { &[1, 0, 0] };
            stream.write_all(part).expect("a part");
            stream
        })
        .collect();
    subject.serves();
    assert!(
        are_closed(&silent, AFTER_DEADLINE),
        "silence is borne for long"
    );
    subject.recovers(SOON);
}

/// Neither a message that comes byte by byte, though data flows next to it, nor small talk behind the
/// test's end keeps a place for ever.
fn outliving() {
    // Clients that are trusted may hold their data back for long.
    let subject = Subject::public();
    let (drop_by_drop, chatter) = (controlled(&subject), controlled(&subject));
    let over = AtomicBool::new(false);
    let mut results = vec![RESULTS, 2, 0, 0];
    results.resize(results.len() + (2 << 16), b' ');
    std::thread::scope(|scope| {
        scope.spawn(|| send_slowly(&drop_by_drop.1, &results, &over));
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) && (&drop_by_drop.0).write_all(&[0; 1000]).is_ok() {
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        scope.spawn(|| {
            let mut request = Vec::new();
            Message::ClockRequest { number: 1, sent: 1 }.encode(&mut request);
            while !over.load(Ordering::Relaxed) && (&chatter.1).write_all(&request).is_ok() {
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        let controls = [&drop_by_drop.1, &chatter.1];
        let closed = controls.map(|control| end_comes(control, AFTER_LONG_DEADLINE));
        over.store(true, Ordering::Relaxed);
        assert_eq!(
            closed,
            [true, true],
            "they are kept for long: {}",
            subject.said()
        );
    });
    drop((drop_by_drop, chatter));
    subject.recovers(SOON);
}

/// Whether the server closes within `timeout`, though it goes on talking until then.
fn end_comes(mut stream: &TcpStream, timeout: Duration) -> bool {
    let end = std::time::Instant::now() + timeout;
    let mut buffer = [0; 4096];
    while std::time::Instant::now() < end {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return true,
        }
    }
    false
}

fn lengths() {
    let subject = Subject::new();
    let long = [MAX_BODY + 1, 0xff_ffff];
    let mut held = Vec::new();
    for kind in 0..=u8::MAX {
        for length in long {
            let mut stream = subject.connect();
            let [_, a, b, c] = (length as u32).to_be_bytes();
            stream.write_all(&PREAMBLE).expect("a beginning");
            let _ = stream.write_all(&[kind, a, b, c]);
            let _ = stream.write_all(&[b' '; 1000]);
            held.push(stream);
        }
    }
    // In a test that runs, too.
    for length in long {
        let (flow, mut control) = controlled(&subject);
        let [_, a, b, c] = (length as u32).to_be_bytes();
        let _ = control.write_all(&[RESULTS, a, b, c]);
        held.push(control);
        drop(flow);
    }
    subject.serves();
    for stream in &held {
        // Answered at once, and not as what is late is.
        let kind = std::iter::repeat_with(|| next_kind(stream))
            .find(|kind| matches!(kind, None | Some(ERROR | REFUSED)));
        assert_ne!(kind, Some(Some(REFUSED)), "an absurd length is waited for");
        assert!(is_closed(stream));
    }
    subject.recovers(SOON);
}

/// A connection from another address of this host.
fn connected_from(own: Ipv4Addr, subject: &Subject) -> TcpStream {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &std::net::SocketAddr::from((own, 0))).expect("an address");
    connect(&socket, &subject.address()).expect("a connection");
    let stream = TcpStream::from(socket);
    stream
        .set_read_timeout(Some(AFTER_DEADLINE))
        .expect("a timeout");
    stream
}

fn foreign() {
    let subject = Subject::new();
    let (flow, hello) = recognised(&subject);
    let guess = Hello {
        token: NonZeroU32::new(hello.token.get() ^ 1).unwrap_or(NonZeroU32::MIN),
        ..hello
    };
    let elsewhere = Ipv4Addr::new(127, 0, 0, 2);
    for (mut stranger, hello) in [
        (subject.connect(), guess),
        (connected_from(elsewhere, &subject), hello),
    ] {
        stranger.write_all(&greeting(hello)).expect("a greeting");
        assert_eq!(next_kind(&stranger), Some(REFUSED));
    }
    // The client's own is another matter.
    let mut own = subject.connect();
    own.write_all(&greeting(hello)).expect("a greeting");
    assert_eq!(next_kind(&own), Some(WELCOME));
    drop((flow, own));
    subject.recovers(SOON);
}
