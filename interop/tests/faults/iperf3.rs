//! Faults 19 to 23: control connections of iperf3 that stop, lie, or talk nonsense.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tapeline_wire::iperf2::TestMode;

use crate::Fault;
use crate::iperf2_tcp::order;
use crate::subject::{AFTER_DEADLINE, SOON, Subject, are_closed, is_closed};

pub(crate) const FAULTS: &[Fault] = &[
    ("19 silence after each step", silence_after_each_step),
    ("19 one byte per second", one_byte_per_second),
    ("20 lengths of messages", lengths),
    ("21 absurd parameters", absurd_parameters),
    ("22 every state at every moment", states),
    ("22 malformed results", malformed_results),
    ("23 a foreign cookie", foreign_cookie),
    ("23 a datagram of a foreign address", foreign_datagram),
];

/// Bytes of a cookie with the NUL at its end.
const COOKIE: usize = 37;
/// States that the server sends.
const PARAM_EXCHANGE: u8 = 9;
const CREATE_STREAMS: u8 = 10;
const TEST_START: u8 = 1;
const TEST_RUNNING: u8 = 2;
const TEST_END: u8 = 4;
const EXCHANGE_RESULTS: u8 = 13;

/// A cookie of its own for each number.
pub(crate) fn cookie(number: u64) -> [u8; COOKIE] {
    let mut cookie = [b'a'; COOKIE];
    cookie[COOKIE - 1] = 0;
    for (place, byte) in cookie.iter_mut().take(16).enumerate() {
        *byte = b'a' + ((number >> (4 * place)) & 15) as u8;
    }
    cookie
}

/// A cookie that no other connection has.
fn fresh_cookie() -> [u8; COOKIE] {
    static NEXT: AtomicU64 = AtomicU64::new(1000);
    cookie(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Parameters of a test in which the client sends.
const FORWARD: &str = r#"{"tcp":true,"omit":0,"time":2,"num":0,"blockcount":0,"parallel":1,"len":131072,"pacing_timer":1000,"client_version":"3.18"}"#;
const UDP_REVERSE: &str = r#"{"udp":true,"omit":0,"time":2,"num":0,"blockcount":0,"parallel":1,"reverse":true,"len":1448,"bandwidth":10000000,"pacing_timer":1000,"client_version":"3.18"}"#;

/// A control connection.
struct Control {
    stream: TcpStream,
    cookie: [u8; COOKIE],
}

impl Control {
    /// A connection with its cookie sent, and the question for parameters read.
    fn open(subject: &Subject) -> Self {
        let mut control = Self::silent(subject);
        assert_eq!(control.state(), Some(PARAM_EXCHANGE));
        control
    }

    fn silent(subject: &Subject) -> Self {
        let cookie = fresh_cookie();
        let mut stream = subject.connect();
        stream.write_all(&cookie).expect("a cookie");
        Self { stream, cookie }
    }

    /// The next byte of the server; nothing when it has closed.
    fn state(&mut self) -> Option<u8> {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(1) => Some(byte[0]),
            Ok(_) => None,
            Err(error) => {
                let kind = error.kind();
                assert_ne!(kind, ErrorKind::WouldBlock, "it says nothing");
                None
            }
        }
    }

    /// Sends a message behind its length.
    fn say(&mut self, message: &[u8]) {
        let length = u32::try_from(message.len()).expect("a length");
        let _ = self.stream.write_all(&length.to_be_bytes());
        let _ = self.stream.write_all(message);
    }

    /// A test whose streams are awaited.
    fn asked(subject: &Subject, parameters: &str) -> Self {
        let mut control = Self::open(subject);
        control.say(parameters.as_bytes());
        assert_eq!(control.state(), Some(CREATE_STREAMS));
        control
    }

    /// A forward test that runs, and its stream.
    fn running(subject: &Subject) -> (Self, TcpStream) {
        let mut control = Self::asked(subject, FORWARD);
        let mut stream = subject.connect();
        stream.write_all(&control.cookie).expect("a cookie");
        assert_eq!(control.state(), Some(TEST_START));
        assert_eq!(control.state(), Some(TEST_RUNNING));
        (control, stream)
    }

    /// A test whose results are awaited.
    fn ended(subject: &Subject) -> (Self, TcpStream) {
        let (mut control, mut stream) = Self::running(subject);
        stream.write_all(&[0; 1000]).expect("data");
        control.stream.write_all(&[TEST_END]).expect("an end");
        assert_eq!(control.state(), Some(EXCHANGE_RESULTS));
        (control, stream)
    }
}

fn silence_after_each_step() {
    let subject = Subject::new();
    let mut controls = Vec::new();
    let mut streams = Vec::new();
    for _ in 0..4 {
        controls.push(Control::open(&subject));
        controls.push(Control::asked(&subject, FORWARD));
        for made in [Control::running(&subject), Control::ended(&subject)] {
            controls.push(made.0);
            streams.push(made.1);
        }
    }
    subject.serves();
    let silent = controls.iter().map(|control| &control.stream);
    assert!(are_closed(silent, AFTER_DEADLINE), "a silent test goes on");
    subject.recovers(SOON);
}

/// Each byte is in time for a limit of the time between two of them.
fn one_byte_per_second() {
    let subject = Subject::new();
    let cookie = |_: &Subject| (subject.connect(), None, fresh_cookie().to_vec());
    let order = |_: &Subject| (subject.connect(), None, order(TestMode::Normal, 1));
    let parameters = |subject: &Subject| (Control::open(subject).stream, None, announced(8000));
    let results = |subject: &Subject| {
        let (control, stream) = Control::ended(subject);
        (control.stream, Some(stream), announced(60_000))
    };
    let slow: [Slow<'_>; 4] = [&cookie, &order, &parameters, &results];
    let over = AtomicBool::new(false);
    let sent: Vec<_> = slow.iter().map(|begin| begin(&subject)).collect();
    std::thread::scope(|scope| {
        for (stream, _, message) in &sent {
            scope.spawn(|| send_slowly(stream, message, &over));
        }
        let served = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| subject.serves()));
        let streams = sent.iter().map(|(stream, _, _)| stream);
        let closed = are_closed(streams, AFTER_DEADLINE);
        over.store(true, Ordering::Relaxed);
        if let Err(complaint) = served {
            std::panic::resume_unwind(complaint);
        }
        assert!(closed, "a slow message is waited for");
    });
    subject.recovers(SOON);
}

/// Begins what is sent slowly: its connection, what else is to be held, and its bytes.
type Slow<'a> = &'a dyn Fn(&Subject) -> (TcpStream, Option<TcpStream>, Vec<u8>);

/// A message of so many bytes.
fn announced(length: u32) -> Vec<u8> {
    let mut message = length.to_be_bytes().to_vec();
    message.resize(message.len() + length as usize, b' ');
    message
}

/// Sends a byte a second until nobody takes them.
pub(crate) fn send_slowly(mut stream: &TcpStream, message: &[u8], over: &AtomicBool) {
    for byte in message {
        if over.load(Ordering::Relaxed) || stream.write_all(&[*byte]).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn lengths() {
    let subject = Subject::new();
    let mut controls = Vec::new();
    for length in [
        0,
        1,
        10 << 20,
        100 << 20,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff_u32,
    ] {
        let mut control = Control::open(&subject);
        let _ = control.stream.write_all(&length.to_be_bytes());
        let _ = control.stream.write_all(&[b' '; 1000]);
        controls.push(control);
        let (mut control, stream) = Control::ended(&subject);
        let _ = control.stream.write_all(&length.to_be_bytes());
        let _ = control.stream.write_all(&[b' '; 1000]);
        drop(stream);
        controls.push(control);
    }
    subject.serves();
    // Well before a message would be late.
    let controls = controls.iter().map(|control| &control.stream);
    assert!(are_closed(controls, SOON), "an absurd length is waited for");
    subject.recovers(SOON);
}

fn absurd_parameters() {
    let subject = Subject::new();
    let deep = "[".repeat(60_000);
    let wide = format!("{{{}\"z\":1}}", "\"a\":1,".repeat(5000));
    for message in [
        deep.as_bytes(),
        wide.as_bytes(),
        b"",
        b"\0",
        b"{",
        b"[]",
        b"null",
        b"1",
        b"\"\"",
        b"{\"tcp\":\xff\xfe}",
        b"{\"\xff\":1}",
        b"{\"client_version\":\"\x1b[2J\"}",
    ] {
        let mut control = Control::open(&subject);
        control.say(message);
        assert!(are_closed([&control.stream], SOON), "{message:?}");
    }
    let keys = [
        "tcp",
        "udp",
        "sctp",
        "omit",
        "server_affinity",
        "time",
        "num",
        "blockcount",
        "MSS",
        "nodelay",
        "parallel",
        "reverse",
        "bidirectional",
        "window",
        "len",
        "bandwidth",
        "fqrate",
        "pacing_timer",
        "burst",
        "TOS",
        "flowlabel",
        "title",
        "extra_data",
        "congestion",
        "get_server_output",
        "udp_counters_64bit",
        "repeating_payload",
        "zerocopy",
        "dont_fragment",
        "authtoken",
        "client_version",
    ];
    let values = [
        "-1",
        "0",
        "1",
        "2147483647",
        "2147483648",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "1e308",
        "-1e308",
        "1e999",
        "0.5",
        "true",
        "null",
        "[]",
        "{}",
        "\"\"",
        "\"../../etc/passwd\"",
        "\"\\u0000\\u001b[2J\"",
    ];
    for key in keys {
        for value in values {
            let parameters = FORWARD.replacen('{', &format!("{{\"{key}\":{value},"), 1);
            let mut control = Control::open(&subject);
            control.say(parameters.as_bytes());
            // Admitted or refused: an answer in either case, or a close.
            let _ = control.state();
        }
    }
    subject.recovers(AFTER_DEADLINE);
}

fn states() {
    let subject = Subject::new();
    for byte in 0..=u8::MAX {
        let mut asked = Control::open(&subject);
        let _ = asked.stream.write_all(&[byte]);
        let mut creating = Control::asked(&subject, FORWARD);
        let _ = creating.stream.write_all(&[byte]);
        let (mut running, _one) = Control::running(&subject);
        let _ = running.stream.write_all(&[byte]);
        let (mut ended, _two) = Control::ended(&subject);
        let _ = ended.stream.write_all(&[byte]);
        for (control, belongs) in [(&creating, false), (&running, byte == TEST_END)] {
            let closed = belongs || are_closed([&control.stream], SOON);
            assert!(closed, "{byte} out of turn is borne");
        }
    }
    subject.recovers(AFTER_DEADLINE);
}

fn malformed_results() {
    let subject = Subject::new();
    let deep = "{\"streams\":".repeat(5000);
    for results in [
        "",
        "{",
        "{}",
        "[]",
        "null",
        "1e999",
        "{\"streams\":1}",
        "{\"streams\":[1]}",
        "{\"streams\":[{}]}",
        "{\"streams\":[{\"id\":-1,\"bytes\":-1,\"jitter\":1e308}]}",
        "{\"cpu_util_total\":\"x\",\"streams\":[]}",
        "{\"cpu_util_total\":1e308,\"cpu_util_user\":-1,\"cpu_util_system\":0,\"sender_has_retransmits\":9,\"streams\":[{\"id\":99,\"bytes\":18446744073709551615,\"retransmits\":-1,\"jitter\":-5,\"errors\":-7,\"packets\":-9}]}",
        &deep,
    ] {
        let (mut control, _stream) = Control::ended(&subject);
        control.say(results.as_bytes());
        let _ = control.stream.shutdown(std::net::Shutdown::Write);
        assert!(is_closed(&control.stream), "{results}");
    }
    subject.recovers(SOON);
}

fn foreign_cookie() {
    let subject = Subject::new();
    let mut control = Control::asked(&subject, FORWARD);
    // No stream of the test: a test of its own, which is asked for its parameters.
    let mut stranger = Control::open(&subject);
    let _ = stranger.stream.write_all(&[0; 1000]);
    let looked = control
        .stream
        .set_read_timeout(Some(Duration::from_millis(300)));
    looked.expect("a timeout");
    let mut byte = [0];
    let error = control
        .stream
        .read(&mut byte)
        .expect_err("the test has not begun");
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    drop((control, stranger));
    subject.recovers(SOON);
}

fn foreign_datagram() {
    let subject = Subject::new();
    let mut control = Control::asked(&subject, UDP_REVERSE);
    let stranger = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).expect("a socket");
    stranger.connect(subject.address()).expect("its peer");
    stranger
        .set_read_timeout(Some(Duration::from_millis(500)))
        .expect("a timeout");
    for connect in [
        *b"9876",
        123_456_789_u32.to_be_bytes(),
        123_456_789_u32.to_le_bytes(),
    ] {
        stranger.send(&connect).expect("a datagram");
    }
    let mut buffer = [0; 2000];
    assert!(
        stranger.recv(&mut buffer).is_err(),
        "a stranger is answered"
    );
    // The client's own address is another matter.
    let own = subject.datagrams();
    own.send(b"9876").expect("a datagram");
    assert_eq!(own.recv(&mut buffer).expect("an answer"), 4);
    assert_eq!(control.state(), Some(TEST_START));
    drop((control, own));
    subject.recovers(AFTER_DEADLINE);
}
