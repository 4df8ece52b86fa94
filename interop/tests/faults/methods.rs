//! Faults 29 to 34 on what clients order for methods: the server must not become a weapon against anybody.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use tapeline_wire::native::{
    Done, LoadParameters, Message, MethodDatagram, MethodKind, Order, OrderDirection, OrderEnd,
    Ready, Status,
};

use crate::Fault;
use crate::control::controlled;
use crate::subject::{SOON, Subject};

pub(crate) const FAULTS: &[Fault] = &[
    ("29 orders without the key", without_the_key),
    ("30 a key from another port", another_port),
    ("31 feedback withheld", feedback_withheld),
    ("32 a thousand orders at once", a_thousand),
    (
        "33 a control connection broken under load",
        broken_under_load,
    ),
    ("34 orders beyond the limits", beyond_limits),
];

/// Time for a server to notice, and for this machine to be late.
const LENIENCE: Duration = Duration::from_millis(250);
/// Time in which nothing is to come.
const WATCH: Duration = Duration::from_millis(1500);
/// A server to which loopback is foreign sends so much for a method, bits per second.
const RATE: u64 = 2_000_000;
/// Kinds of the messages that are read.
const FRONT: usize = 4;

/// A client with a control connection, and the flow of its test.
struct Client {
    control: TcpStream,
    _flow: TcpStream,
}

impl Client {
    fn new(subject: &Subject) -> Self {
        let (flow, control) = controlled(subject);
        let _ = flow.shutdown(std::net::Shutdown::Write);
        Self {
            control,
            _flow: flow,
        }
    }

    fn say(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.control.write_all(&bytes).expect("a message");
    }

    /// The next message about methods.
    fn next(&mut self) -> Option<Message> {
        loop {
            let mut front = [0; FRONT];
            self.control.read_exact(&mut front).ok()?;
            let length = Message::announced_length(&front).ok()??;
            let mut bytes = front.to_vec();
            bytes.resize(length, 0);
            self.control.read_exact(&mut bytes[FRONT..]).ok()?;
            match Message::parse(&bytes) {
                Ok(Some(Message::Progress(_) | Message::Granted(_) | Message::Status(_))) => {}
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn order(&mut self, method: &str, direction: OrderDirection) -> Result<Ready, String> {
        self.say(&order(method, direction));
        match self.next() {
            Some(Message::Ready(ready)) => Ok(ready),
            Some(Message::Declined(why)) => Err(why),
            other => panic!("{other:?}"),
        }
    }

    fn done(&mut self) -> Done {
        match self.next() {
            Some(Message::Done(done)) => *done,
            other => panic!("{other:?}"),
        }
    }
}

fn order(method: &str, direction: OrderDirection) -> Message {
    Message::Order(Box::new(Order {
        method: method.to_owned(),
        direction,
        seconds: Duration::from_secs(20),
        parameters: LoadParameters {
            length: Some(1000),
            ..LoadParameters::default()
        },
    }))
}

fn datagram(kind: MethodKind, number: u32, key: NonZeroU64) -> Vec<u8> {
    let head = MethodDatagram {
        kind,
        flags: 0,
        number,
        key,
        sent: 1_800_000_000_000_000_000,
    };
    head.encode().to_vec()
}

/// A status that lets a load grow.
fn status(number: u32, key: NonZeroU64) -> Vec<u8> {
    let status = Status {
        elapsed: u64::from(number) * 50_000_000,
        datagrams: u64::from(number) * 10,
        round_trip: 1_000_000,
        ..Status::default()
    };
    let mut bytes = datagram(MethodKind::Status, number, key);
    bytes.extend(status.encode());
    bytes
}

fn key_of(ready: &Ready) -> NonZeroU64 {
    ready.key.expect("a key")
}

/// A port of this client's that has shown the key, and was answered.
fn opened(subject: &Subject, key: NonZeroU64) -> UdpSocket {
    let socket = subject.datagrams();
    socket
        .send(&datagram(MethodKind::Open, 1, key))
        .expect("an open");
    let mut buffer = [0; 2000];
    let count = socket.recv(&mut buffer).expect("an answer");
    let head = MethodDatagram::parse(&buffer[..count]).expect("a datagram of a method");
    assert_eq!((head.kind, count), (MethodKind::Opened, 32));
    socket
}

/// What comes within a time: bytes, and when the last of it came.
fn taken(socket: &UdpSocket, watch: Duration) -> (u64, Option<Instant>) {
    let end = Instant::now() + watch;
    let (mut bytes, mut last) = (0, None);
    let mut buffer = [0; 2000];
    while let left = end.saturating_duration_since(Instant::now())
        && !left.is_zero()
    {
        socket.set_read_timeout(Some(left)).expect("a timeout");
        if let Ok(count) = socket.recv(&mut buffer) {
            bytes += count as u64;
            last = Some(Instant::now());
        }
    }
    (bytes, last)
}

/// A socket at another own address.
fn elsewhere(subject: &Subject) -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).expect("a socket");
    socket.connect(subject.address()).expect("its peer");
    socket
}

/// Nothing is sent to who has not shown the key, whatever else it shows.
fn without_the_key() {
    let subject = Subject::public();
    for method in ["mtu", "capacity"] {
        let mut client = Client::new(&subject);
        let ready = client.order(method, OrderDirection::Down).expect("ready");
        let guess = NonZeroU64::new(key_of(&ready).get() ^ 1).unwrap_or(NonZeroU64::MAX);
        let socket = subject.datagrams();
        for kind in MethodKind::ALL {
            for key in [guess, key_of(&ready)] {
                if kind == MethodKind::Open && key != guess {
                    continue;
                }
                let mut bytes = datagram(kind, 1, key);
                bytes.resize(kind.shortest(), 0);
                socket.send(&bytes).expect("a datagram");
            }
        }
        assert_eq!(taken(&socket, WATCH), (0, None), "{method}");
        assert_eq!(client.done().end, OrderEnd::NotOpened);
    }
    subject.recovers(SOON);
}

/// A key opens for one port of its client's address, and for no other.
fn another_port() {
    let subject = Subject::public();
    let mut client = Client::new(&subject);
    let ready = client
        .order("capacity", OrderDirection::Down)
        .expect("ready");
    let key = key_of(&ready);
    let stranger = elsewhere(&subject);
    stranger
        .send(&datagram(MethodKind::Open, 1, key))
        .expect("an open");
    assert_eq!(taken(&stranger, WATCH / 5), (0, None), "another address");
    let own = opened(&subject, key);
    let others = [subject.datagrams(), elsewhere(&subject)];
    for number in 1..=20 {
        own.send(&status(number, key)).expect("a status");
        for other in &others {
            other
                .send(&datagram(MethodKind::Open, number, key))
                .expect("an open");
            other.send(&status(number, key)).expect("a status");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let own = taken(&own, WATCH);
    assert!(own.0 > 10_000, "the load is there: {own:?}");
    for other in &others {
        assert_eq!(taken(other, Duration::from_millis(100)), (0, None));
    }
    assert_eq!(client.done().end, OrderEnd::NoFeedback);
    drop(client);
    subject.recovers(SOON);
}

/// A load ends a second after the last word of its receiver.
fn feedback_withheld() {
    let subject = Subject::public();
    let mut client = Client::new(&subject);
    for method in ["capacity", "mtu"] {
        let ready = client.order(method, OrderDirection::Down).expect("ready");
        let socket = opened(&subject, key_of(&ready));
        let began = Instant::now();
        let (bytes, last) = taken(&socket, 2 * WATCH);
        let last = last.expect("something came").duration_since(began);
        let longest = Duration::from_secs(1) + LENIENCE;
        assert!(bytes > 0 && last < longest, "{method}: {bytes} {last:?}");
        assert_eq!(client.done().end, OrderEnd::NoFeedback);
    }
    drop(client);
    subject.recovers(SOON);
}

/// Orders have places, and further ones are declined: at one connection, and at many.
fn a_thousand() {
    let subject = Subject::public();
    let before = subject.baseline().threads;
    let mut first = Client::new(&subject);
    for _ in 0..900 {
        first.say(&order("capacity", OrderDirection::Down));
    }
    let answers: Vec<bool> = (0..900)
        .map(|_| match first.next() {
            Some(Message::Ready(_)) => true,
            Some(Message::Declined(_)) => false,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(answers.iter().filter(|ready| **ready).count(), 1);
    let mut many: Vec<Client> = (0..100).map(|_| Client::new(&subject)).collect();
    let taken = many
        .iter_mut()
        .filter_map(|client| client.order("mtu", OrderDirection::Up).ok())
        .count();
    // One place was taken before.
    assert!(taken <= 15, "{taken} orders of one address");
    let threads = subject.vitals().threads;
    assert!(threads <= before + 20, "{before} {threads}");
    drop((first, many));
    subject.recovers(SOON);
}

/// A load ends at once with its control connection.
fn broken_under_load() {
    let subject = Subject::public();
    for round in 0..3 {
        let mut client = Client::new(&subject);
        let ready = client
            .order("capacity", OrderDirection::Down)
            .expect("ready");
        let key = key_of(&ready);
        let socket = opened(&subject, key);
        for number in 1..=10 {
            socket.send(&status(number, key)).expect("a status");
            std::thread::sleep(Duration::from_millis(50));
        }
        let sender = socket.try_clone().expect("a socket");
        let broken = Instant::now();
        drop(client);
        // Feedback goes on all the same.
        let feedback = std::thread::spawn(move || {
            for number in 11..=40 {
                let _ = sender.send(&status(number, key));
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let (_, last) = taken(&socket, WATCH);
        let longest = Duration::from_millis(200) + LENIENCE;
        let late = last.map(|last| last.saturating_duration_since(broken));
        assert!(late.is_none_or(|late| late < longest), "{round}: {late:?}");
        feedback.join().expect("feedback");
    }
    subject.recovers(SOON);
}

/// What is granted is all there is.
fn beyond_limits() {
    let subject = Subject::with("--trust none --limit methods=mtu --limit method-udp-rate=0");
    let mut client = Client::new(&subject);
    let declined = |client: &mut Client, method, direction| {
        let why = client.order(method, direction).expect_err("declined");
        assert!(why.contains("limit: method"), "{why}");
    };
    declined(&mut client, "capacity", OrderDirection::Up);
    declined(&mut client, "mtu", OrderDirection::Down);
    assert!(client.order("mtu", OrderDirection::Up).is_ok());
    drop(client);
    subject.recovers(SOON);
    let options = format!("--trust none --limit bytes=100K --limit method-udp-rate={RATE}");
    let subject = Subject::with(&options);
    let mut client = Client::new(&subject);
    let ready = client
        .order("capacity", OrderDirection::Down)
        .expect("ready");
    assert_eq!(ready.bytes, NonZeroU64::new(100 << 10));
    assert_eq!(ready.bits_per_second, NonZeroU64::new(RATE));
    let key = key_of(&ready);
    let socket = opened(&subject, key);
    let sender = socket.try_clone().expect("a socket");
    let feedback = std::thread::spawn(move || {
        for number in 1..=60 {
            let _ = sender.send(&status(number, key));
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let began = Instant::now();
    let (bytes, last) = taken(&socket, 2 * WATCH);
    feedback.join().expect("feedback");
    assert!((50_000..=100 << 10).contains(&bytes), "{bytes} bytes");
    let took = last.expect("a load").duration_since(began).as_secs_f64();
    let most = (took + 0.2) * RATE as f64 / 8.0;
    assert!((bytes as f64) < most, "{bytes} bytes in {took} s");
    assert_eq!(client.done().end, OrderEnd::BytesUsedUp);
    drop(client);
    subject.recovers(SOON);
}
