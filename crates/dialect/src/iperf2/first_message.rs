//! The first message on a TCP connection to a server: distinguished byte by byte, without
//! reading a byte of payload.

use tapeline_wire::iperf2::{Bounceback, FirstWord, PermitKey, TcpClientHeader, TestMode, limits};
use tapeline_wire::iperf3::Cookie;
use tapeline_wire::native::{Mark, PREAMBLE};

use crate::plan::ServedProtocols;
use crate::policy::Ordered;

/// What a connection turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// Bulk data without a header; so many bytes of it were read.
    Headerless {
        /// Payload bytes read.
        read: u64,
        /// Streams of the test, when the old base header says.
        threads: u32,
    },
    /// A test with a header.
    Test {
        /// The header.
        header: Box<TcpClientHeader>,
        /// Bytes that count as data.
        counted: u64,
    },
    /// The cookie of an iperf3 test.
    Iperf3(Cookie),
    /// A control connection of another tapeline; its first message follows.
    Control,
    /// Request and response; the first bytes of the first request are here.
    Exchange {
        /// Parsed first request.
        first: Bounceback,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

impl Request {
    /// Streams of the test that it begins.
    pub(crate) fn streams(&self) -> u32 {
        match self {
            Self::Test { header, .. } => header.threads,
            Self::Headerless { .. } | Self::Exchange { .. } | Self::Iperf3(_) | Self::Control => 1,
        }
    }

    /// Whose test it is, where its client is tapeline.
    pub(crate) fn mark(&self) -> Option<Mark> {
        match self {
            Self::Test { header, .. } => header.mark,
            Self::Headerless { .. } | Self::Exchange { .. } | Self::Iperf3(_) | Self::Control => {
                None
            }
        }
    }

    /// What it orders in addition to them.
    pub(crate) fn ordered(&self) -> Ordered {
        match self {
            Self::Test { header, .. } => Ordered {
                block: header.buffer_length.unwrap_or(0),
                port: matches!(header.mode, TestMode::Dual | TestMode::Tradeoff)
                    .then_some(header.port),
            },
            Self::Exchange { first, .. } => Ordered {
                block: first.request_size.max(first.reply_length()),
                port: None,
            },
            Self::Headerless { .. } | Self::Iperf3(_) | Self::Control => Ordered::default(),
        }
    }
}

/// How far the first message is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Progress {
    /// So many bytes more, no more than that.
    Need(usize),
    /// Complete.
    Ready(Request),
    /// Not acceptable; the sentence says why.
    Refused(&'static str),
    /// The permit key is wrong, missing, or given where none is asked for.
    WrongKey,
}

/// Collects the first message.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstMessageReader {
    bytes: Vec<u8>,
    /// What a client must know to be served.
    key: Option<PermitKey>,
    /// Whose first bytes are understood.
    protocols: Protocols,
    /// Control connections are served.
    controlled: bool,
}

/// Whose first bytes a server understands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protocols {
    #[default]
    Iperf2,
    Iperf3,
    Both,
    /// Nobody's: control connections of tests over UDP, at most.
    None,
}

impl From<&ServedProtocols> for Protocols {
    fn from(protocols: &ServedProtocols) -> Self {
        match protocols {
            ServedProtocols::Iperf2 => Self::Iperf2,
            ServedProtocols::Iperf3(_) => Self::Iperf3,
            ServedProtocols::Both(_) => Self::Both,
        }
    }
}
/// Why a server of iperf 2 alone closes a connection.
const NO_IPERF2: &str = "its client is iperf3's, and this server speaks iperf 2's protocol only";
/// Why a server of iperf3 alone closes a connection.
const NO_IPERF3: &str = "it does not speak iperf3's protocol, and no other is served here";
/// Why a server of datagrams closes one.
const NO_STREAMS: &str = "this server takes datagrams only (-u)";

impl FirstMessageReader {
    /// For a server that asks for `key`.
    pub(crate) fn new(key: Option<PermitKey>) -> Self {
        Self {
            bytes: Vec::new(),
            key,
            protocols: Protocols::Iperf2,
            controlled: false,
        }
    }

    /// With control connections of other tapelines, or without.
    pub(crate) fn controlled(self, controlled: bool) -> Self {
        Self { controlled, ..self }
    }

    /// For clients of these protocols. iperf3's first bytes are letters and digits up to a NUL,
    /// as no other's are.
    pub(crate) fn for_protocols(self, protocols: Protocols) -> Self {
        Self { protocols, ..self }
    }

    /// Whether nothing has arrived yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes received bytes, at most as many as were asked for.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Progress {
        self.bytes.extend_from_slice(bytes);
        self.progress()
    }

    /// What is needed now.
    pub(crate) fn progress(&self) -> Progress {
        let begun = self.bytes.len().min(PREAMBLE.len());
        if self.controlled && begun > 0 && self.bytes[..begun] == PREAMBLE[..begun] {
            return match PREAMBLE.len() - begun {
                0 => Progress::Ready(Request::Control),
                rest => Progress::Need(rest),
            };
        }
        if self.may_be_cookie() {
            match self.bytes.first_chunk::<{ Cookie::LENGTH }>() {
                None => return Progress::Need(Cookie::LENGTH - self.bytes.len()),
                Some(bytes) => {
                    if let Ok(cookie) = Cookie::parse(bytes) {
                        return match self.protocols {
                            Protocols::Iperf2 => Progress::Refused(NO_IPERF2),
                            _ => Progress::Ready(Request::Iperf3(cookie)),
                        };
                    }
                }
            }
        }
        let foreign = match self.protocols {
            Protocols::Iperf2 | Protocols::Both => None,
            Protocols::Iperf3 => Some(NO_IPERF3),
            Protocols::None => Some(NO_STREAMS),
        };
        if let Some(why) = foreign {
            return match self.bytes.len() {
                0 => Progress::Need(1),
                _ => Progress::Refused(why),
            };
        }
        let Some(first) = self.bytes.first_chunk::<4>() else {
            return Progress::Need(4 - self.bytes.len());
        };
        match FirstWord::inspect(first) {
            FirstWord::Headerless => self.headerless(),
            // A request has no place for a key: who asks for one answers all the same, as 2.2.1.
            FirstWord::Bounceback => self.bounceback(),
            FirstWord::Header { length, key } => self.header(length, key),
        }
    }

    /// Whether these are the first bytes of an iperf3 client's cookie, as far as they are here.
    fn may_be_cookie(&self) -> bool {
        let begun = self
            .bytes
            .first()
            .is_some_and(|first| match self.protocols {
                Protocols::Iperf3 | Protocols::Both => true,
                // The payload of peers without a header, which may be shorter than a cookie.
                Protocols::Iperf2 => *first != b'0',
                Protocols::None => false,
            });
        begun && Cookie::could_begin(&self.bytes)
    }

    fn headerless(&self) -> Progress {
        if self.key.is_some() {
            return Progress::WrongKey;
        }
        Progress::Ready(Request::Headerless {
            read: self.bytes.len() as u64,
            threads: 1,
        })
    }

    fn bounceback(&self) -> Progress {
        let Some(head) = self.bytes.first_chunk::<{ limits::BOUNCEBACK_HEADER }>() else {
            return Progress::Need(limits::BOUNCEBACK_HEADER - self.bytes.len());
        };
        match Bounceback::parse(head) {
            Ok(first) => Progress::Ready(Request::Exchange {
                first,
                bytes: self.bytes.clone(),
            }),
            Err(_) => Progress::Refused("bounce-back request with an impossible size"),
        }
    }

    fn header(&self, length: usize, key: bool) -> Progress {
        if self.bytes.len() < length {
            return Progress::Need(length - self.bytes.len());
        }
        if !TcpClientHeader::looks_consistent(&self.bytes[..length]) {
            // Payload of a headerless peer that happens to look like a flag word.
            return self.headerless();
        }
        if key != self.key.is_some() {
            // A server without a key refuses any, as the reference does.
            return Progress::WrongKey;
        }
        let Ok(key_length) = TcpClientHeader::permit_key_length(&self.bytes) else {
            return Progress::WrongKey;
        };
        if self.bytes.len() < length + key_length {
            return Progress::Need(length + key_length - self.bytes.len());
        }
        match TcpClientHeader::parse(&self.bytes) {
            Ok(header) if header.permit_key != self.key => Progress::WrongKey,
            Ok(header) => Progress::Ready(Request::Test {
                header: Box::new(header),
                counted: length as u64,
            }),
            Err(_) => Progress::Refused("test header with impossible values"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(message: &[u8]) -> (Progress, usize) {
        feed_to(FirstMessageReader::default(), message)
    }

    fn feed_to(mut reader: FirstMessageReader, message: &[u8]) -> (Progress, usize) {
        let mut at = 0;
        loop {
            match reader.progress() {
                Progress::Need(n) => {
                    if at + n > message.len() {
                        return (Progress::Need(n), at);
                    }
                    // One byte at a time must do as well.
                    reader.push(&message[at..=at]);
                    at += 1;
                }
                done => return (done, at),
            }
        }
    }

    #[test]
    fn a_header_is_read_to_its_last_byte_and_no_further() {
        let header = TcpClientHeader {
            threads: 1,
            port: 5001,
            version: Some(tapeline_wire::iperf2::PeerVersion::IPERF_2_2_1),
            ..TcpClientHeader::default()
        };
        let mut message = Vec::new();
        header.encode(&mut message);
        message.extend_from_slice(b"payload");
        let (progress, read) = feed(&message);
        assert_eq!(read, 64);
        assert!(matches!(
            progress,
            Progress::Ready(Request::Test { counted: 64, .. })
        ));
    }

    #[test]
    fn digits_and_zeros_are_payload() {
        for message in [&b"0123456789"[..], &[0; 24]] {
            let (progress, read) = feed(message);
            assert_eq!(read, 4);
            assert_eq!(
                progress,
                Progress::Ready(Request::Headerless {
                    read: 4,
                    threads: 1
                })
            );
        }
    }

    #[test]
    fn a_bounceback_request_keeps_its_bytes() {
        let mut message = vec![0x5a; 100];
        Bounceback {
            request_size: 100,
            id: 1,
            ..Bounceback::default()
        }
        .write(&mut message);
        let (progress, read) = feed(&message);
        assert_eq!(read, 64);
        assert!(matches!(
            progress,
            Progress::Ready(Request::Exchange { first, ref bytes })
                if first.request_size == 100 && bytes.len() == 64
        ));
    }

    fn key(text: &str) -> Option<PermitKey> {
        Some(PermitKey::new(text.as_bytes()).expect("a key"))
    }

    fn header_with(permit_key: Option<PermitKey>) -> Vec<u8> {
        let mut message = Vec::new();
        TcpClientHeader {
            permit_key,
            ..TcpClientHeader::default()
        }
        .encode(&mut message);
        message.extend_from_slice(b"0123456789");
        message
    }

    #[test]
    fn who_knows_the_key_comes_in_and_nobody_else() {
        let keyed = || FirstMessageReader::new(key("open sesame"));
        let message = header_with(key("open sesame"));
        let (progress, read) = feed_to(keyed(), &message);
        assert!(matches!(progress, Progress::Ready(Request::Test { .. })));
        assert_eq!(message[read..], *b"0123456789", "no payload is read");
        for wrong in ["open sesamE", "open", "open sesame and more"] {
            let (progress, _) = feed_to(keyed(), &header_with(key(wrong)));
            assert_eq!(progress, Progress::WrongKey, "{wrong}");
        }
        let (progress, _) = feed_to(keyed(), &header_with(None));
        assert_eq!(progress, Progress::WrongKey, "without a key");
        let (progress, _) = feed_to(keyed(), b"0123456789");
        assert_eq!(progress, Progress::WrongKey, "without a header");
        let (progress, _) = feed(&header_with(key("open sesame")));
        assert_eq!(progress, Progress::WrongKey, "nobody asked");
    }

    #[test]
    fn a_key_of_impossible_length_is_a_wrong_one() {
        let mut message = header_with(key("abcd"));
        for length in [0, 3, 129, 0xffff_u16] {
            message[64..66].copy_from_slice(&length.to_be_bytes());
            let (progress, _) = feed_to(FirstMessageReader::new(key("abcd")), &message);
            assert_eq!(progress, Progress::WrongKey, "{length}");
        }
    }

    #[test]
    fn each_server_takes_its_own_families() {
        let cookie = *Cookie::from_random([7; 36]).bytes();
        let mut header = Vec::new();
        TcpClientHeader::default().encode(&mut header);
        let digits = b"0123456789".repeat(4);
        let of = |protocols| FirstMessageReader::default().for_protocols(protocols);
        for protocols in [Protocols::Iperf3, Protocols::Both] {
            let (progress, read) = feed_to(of(protocols), &cookie);
            assert!(matches!(progress, Progress::Ready(Request::Iperf3(_))));
            assert_eq!(read, cookie.len());
        }
        for message in [&header[..], &digits, &[0; 24]] {
            let (progress, _) = feed_to(of(Protocols::Iperf3), message);
            assert_eq!(progress, Progress::Refused(NO_IPERF3));
            for protocols in [Protocols::Iperf2, Protocols::Both] {
                let (progress, _) = feed_to(of(protocols), message);
                assert!(matches!(
                    progress,
                    Progress::Ready(Request::Test { .. } | Request::Headerless { .. })
                ));
            }
        }
        let (progress, _) = feed_to(of(Protocols::Iperf2), &cookie);
        assert_eq!(progress, Progress::Refused(NO_IPERF2));
    }

    #[test]
    fn a_server_of_datagrams_takes_control_connections_alone() {
        let of_datagrams = |controlled| {
            let reader = FirstMessageReader::default().for_protocols(Protocols::None);
            reader.controlled(controlled)
        };
        let (progress, read) = feed_to(of_datagrams(true), &PREAMBLE);
        let control = Progress::Ready(Request::Control);
        assert_eq!((progress, read), (control, PREAMBLE.len()));
        let (progress, _) = feed_to(of_datagrams(false), &PREAMBLE);
        assert_eq!(progress, Progress::Refused(NO_STREAMS));
        let cookie = *Cookie::from_random([7; 36]).bytes();
        for message in [
            &header_with(None)[..],
            &cookie,
            b"TAPE 0123456789",
            &[0; 24],
        ] {
            let (progress, _) = feed_to(of_datagrams(true), message);
            assert_eq!(progress, Progress::Refused(NO_STREAMS));
        }
    }

    #[test]
    fn any_bytes_come_to_a_decision() {
        for word in 0..=255_u8 {
            for reader in [
                FirstMessageReader::default(),
                FirstMessageReader::new(key("abcd")),
                FirstMessageReader::default().for_protocols(Protocols::Iperf3),
                FirstMessageReader::default().for_protocols(Protocols::Both),
                FirstMessageReader::default()
                    .for_protocols(Protocols::None)
                    .controlled(true),
            ] {
                let (progress, read) = feed_to(reader, &[word; 512]);
                assert!(!matches!(progress, Progress::Need(_)), "{word}");
                assert!(read <= 255 + 128);
            }
        }
    }
}
