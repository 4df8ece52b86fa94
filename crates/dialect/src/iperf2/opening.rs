//! The first message on a TCP connection to a server: told apart byte by byte, without
//! reading a byte of payload.

use tapeline_wire::iperf2::{Bounceback, FirstWord, TcpClientHeader, limits};

/// What a connection turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Request {
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
    /// Request and response; the first bytes of the first request are here.
    Exchange {
        /// Parsed first request.
        first: Bounceback,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

/// How far the first message is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Progress {
    /// So many bytes more, no more than that.
    Need(usize),
    /// Complete.
    Ready(Request),
    /// Not acceptable; the sentence says why.
    Refused(&'static str),
}

/// Collects the first message.
#[derive(Clone, Debug, Default)]
pub(super) struct Opening {
    bytes: Vec<u8>,
}

impl Opening {
    /// Whether nothing has arrived yet.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes received bytes, at most as many as were asked for.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Progress {
        self.bytes.extend_from_slice(bytes);
        self.progress()
    }

    /// What is needed now.
    pub(super) fn progress(&self) -> Progress {
        let Some(first) = self.bytes.first_chunk::<4>() else {
            return Progress::Need(4 - self.bytes.len());
        };
        match FirstWord::inspect(first) {
            FirstWord::Headerless => Progress::Ready(Request::Headerless {
                read: self.bytes.len() as u64,
                threads: 1,
            }),
            FirstWord::Bounceback => self.bounceback(),
            FirstWord::Header { length, key } => self.header(length, key),
        }
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
            return Progress::Ready(Request::Headerless {
                read: self.bytes.len() as u64,
                threads: 1,
            });
        }
        if key {
            // Without a key of our own any key is refused, as the reference does.
            return Progress::Refused("permit key given, but this server asks for none");
        }
        match TcpClientHeader::parse(&self.bytes) {
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
        let mut opening = Opening::default();
        let mut at = 0;
        loop {
            match opening.progress() {
                Progress::Need(n) => {
                    if at + n > message.len() {
                        return (Progress::Need(n), at);
                    }
                    // One byte at a time must do as well.
                    opening.push(&message[at..=at]);
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

    #[test]
    fn any_bytes_come_to_a_decision() {
        for word in 0..=255_u8 {
            let (progress, read) = feed(&[word; 512]);
            assert!(!matches!(progress, Progress::Need(_)), "{word}");
            assert!(read <= 255 + 4);
        }
    }
}
