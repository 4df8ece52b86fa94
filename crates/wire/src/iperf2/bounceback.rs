//! Bounce-back: small requests and replies over one TCP connection.

use tapeline_base::Tos;

use super::error::DecodeError;
use super::field::{half, put, put_half, put_word, word};
use super::flags::{BouncebackFlags, Flags};
use super::limits::{BOUNCEBACK_HEADER, MAX_BOUNCEBACK, MAX_HOLD_MICROS, MIN_BOUNCEBACK};
use super::settings::{Ticks, Timestamp};
use crate::native::Mark;

/// A bounce-back request or reply (2.1 and later). The reply is the request with the
/// server's times filled in.
///
/// | Offset | Field |
/// |---|---|
/// | 0 | flag word, bounce-back alone |
/// | 4 | request size |
/// | 8 | id |
/// | 12, 14 | bounce-back flags, type of service |
/// | 16 | run time in 10 ms, 0 |
/// | 20, 28, 36 | client send, server receive, server send: seconds, microseconds |
/// | 44 | hold in microseconds |
/// | 48, 52 | round-trip and read time, never sent: fill; the mark of a tapeline's probe |
/// | 56 | fill |
/// | 60 | reply size (2.2; fill before) |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounceback {
    /// Bytes of a request, [`MIN_BOUNCEBACK`]..=[`MAX_BOUNCEBACK`]; fixed by the first.
    pub request_size: u32,
    /// Number of the request from 1, or of the period that it belongs to.
    pub id: u32,
    /// The peer should set `TCP_QUICKACK`.
    pub quickack: bool,
    /// The clocks are synchronised: the times give one-way delays.
    pub clock_synchronised: bool,
    /// The session ends: count, do not reply.
    pub stop: bool,
    /// Type of service for the server's packets.
    pub tos: Option<Tos>,
    /// Run time, 0 from 2.2.1.
    pub run_time: Ticks,
    /// Client's send time. 2.2.1 sends the time of the previous reply here, so take
    /// round-trip times from a local clock.
    pub client_send: Timestamp,
    /// When the server had read the request; only in a reply.
    pub server_receive: Option<Timestamp>,
    /// When the server sent the reply; only in a reply.
    pub server_send: Option<Timestamp>,
    /// Wanted delay between reading and replying in microseconds, at most
    /// [`MAX_HOLD_MICROS`]. 2.1.8 honours it, 2.2.1 does not.
    pub hold_micros: u32,
    /// Bytes of the reply where they differ from the request, in the same range.
    pub reply_size: Option<u32>,
    /// It is a probe on a connection of its own, of this run of a tapeline.
    pub mark: Option<Mark>,
}

impl Bounceback {
    /// Bytes of the header.
    pub const LENGTH: usize = BOUNCEBACK_HEADER;
    const RECEIVE_AT: usize = 28;
    const SEND_AT: usize = 36;
    const MARK_AT: usize = 48;
    const FILL: u8 = 0x5a;
    const ABSENT: Timestamp = Timestamp {
        seconds: u32::MAX,
        micros: u32::MAX,
    };

    /// Decodes the 64-byte header.
    ///
    /// # Errors
    /// [`DecodeError::MessageType`] without the bounce-back flag, [`DecodeError::BouncebackSize`] when a
    /// size is out of range.
    pub fn parse(bytes: &[u8; BOUNCEBACK_HEADER]) -> Result<Self, DecodeError> {
        let kind = word(bytes, 0);
        if Flags(kind) != Flags::BOUNCEBACK {
            return Err(DecodeError::MessageType(kind));
        }
        let flags = BouncebackFlags(half(bytes, 12));
        let reply_size = flags
            .contains(BouncebackFlags::REPLY_SIZE)
            .then(|| word(bytes, 60));
        let stamp = |at| Some(Timestamp::read(bytes, at)).filter(|time| *time != Self::ABSENT);
        Ok(Self {
            request_size: bounded_size(word(bytes, 4))?,
            id: word(bytes, 8),
            quickack: flags.contains(BouncebackFlags::QUICKACK),
            clock_synchronised: flags.contains(BouncebackFlags::CLOCK_SYNCED),
            stop: flags.contains(BouncebackFlags::STOP),
            tos: flags
                .contains(BouncebackFlags::TOS)
                .then(|| Tos(half(bytes, 14) as u8)),
            run_time: Ticks(word(bytes, 16)),
            client_send: Timestamp::read(bytes, 20),
            server_receive: stamp(Self::RECEIVE_AT),
            server_send: stamp(Self::SEND_AT),
            hold_micros: word(bytes, 44).min(MAX_HOLD_MICROS),
            reply_size: reply_size.map(bounded_size).transpose()?,
            mark: Mark::from_words(word(bytes, Self::MARK_AT), word(bytes, Self::MARK_AT + 4)),
        })
    }

    /// Writes the header over the front of a message filled with the payload pattern, as far as
    /// the message reaches.
    pub fn write(&self, message: &mut [u8]) {
        put_word(message, 0, Flags::BOUNCEBACK.0);
        put_word(message, 4, self.request_size);
        put_word(message, 8, self.id);
        put_half(message, 12, self.flags().0);
        put_half(message, 14, self.tos.map_or(0x5a5a, |tos| u16::from(tos.0)));
        put_word(message, 16, self.run_time.0);
        self.client_send.write(message, 20);
        self.server_receive
            .unwrap_or(Self::ABSENT)
            .write(message, Self::RECEIVE_AT);
        self.server_send
            .unwrap_or(Self::ABSENT)
            .write(message, Self::SEND_AT);
        put_word(message, 44, self.hold_micros);
        put(message, Self::MARK_AT, &[Self::FILL; 12]);
        if let Some((name, number)) = self.mark.map(Mark::to_words) {
            put_word(message, Self::MARK_AT, name);
            put_word(message, Self::MARK_AT + 4, number);
        }
        put_word(message, 60, self.reply_length());
    }

    /// Puts the server's times into a request, which makes it the reply.
    #[inline]
    pub fn stamp_reply(message: &mut [u8], received: Timestamp, sent: Timestamp) {
        received.write(message, Self::RECEIVE_AT);
        sent.write(message, Self::SEND_AT);
    }

    /// Bytes of the reply.
    #[must_use]
    pub fn reply_length(&self) -> u32 {
        self.reply_size.unwrap_or(self.request_size)
    }

    fn flags(&self) -> BouncebackFlags {
        BouncebackFlags::NONE
            .with_if(self.quickack, BouncebackFlags::QUICKACK)
            .with_if(self.clock_synchronised, BouncebackFlags::CLOCK_SYNCED)
            .with_if(self.stop, BouncebackFlags::STOP)
            .with_if(self.tos.is_some(), BouncebackFlags::TOS)
            .with_if(self.reply_size.is_some(), BouncebackFlags::REPLY_SIZE)
    }
}

fn bounded_size(size: u32) -> Result<u32, DecodeError> {
    if (MIN_BOUNCEBACK..=MAX_BOUNCEBACK).contains(&size) {
        Ok(size)
    } else {
        Err(DecodeError::BouncebackSize(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bounded() {
        let mut message = [0; BOUNCEBACK_HEADER];
        for (size, fits) in [
            (67, false),
            (68, true),
            (MAX_BOUNCEBACK, true),
            (u32::MAX, false),
        ] {
            let request = Bounceback {
                request_size: size,
                ..Bounceback::default()
            };
            request.write(&mut message);
            assert_eq!(Bounceback::parse(&message).is_ok(), fits, "request {size}");
            Bounceback {
                request_size: 100,
                reply_size: Some(size),
                ..request
            }
            .write(&mut message);
            assert_eq!(Bounceback::parse(&message).is_ok(), fits, "reply {size}");
        }
    }

    #[test]
    fn a_probe_has_the_bytes_of_the_specification() {
        let mark = Mark {
            version: 1,
            number: std::num::NonZeroU32::new(7).unwrap(),
        };
        let probe = Bounceback {
            request_size: 68,
            mark: Some(mark),
            ..Bounceback::default()
        };
        let mut message = [0; BOUNCEBACK_HEADER];
        probe.write(&mut message);
        assert_eq!(&message[48..60], b"TPL\x01\0\0\0\x07ZZZZ");
        assert_eq!(Bounceback::parse(&message), Ok(probe));
        Bounceback {
            mark: None,
            ..probe
        }
        .write(&mut message);
        assert_eq!(&message[48..60], b"ZZZZZZZZZZZZ");
        assert_eq!(Bounceback::parse(&message).unwrap().mark, None);
    }

    #[test]
    fn a_hold_is_cut_to_its_bound() {
        let mut message = [0; BOUNCEBACK_HEADER];
        Bounceback {
            request_size: 100,
            hold_micros: u32::MAX,
            ..Bounceback::default()
        }
        .write(&mut message);
        assert_eq!(
            Bounceback::parse(&message).unwrap().hold_micros,
            MAX_HOLD_MICROS
        );
    }

    #[test]
    fn an_unmarked_reply_size_is_not_believed() {
        let mut message = [0; BOUNCEBACK_HEADER];
        Bounceback {
            request_size: 100,
            ..Bounceback::default()
        }
        .write(&mut message);
        put_word(&mut message, 60, u32::MAX);
        assert_eq!(Bounceback::parse(&message).unwrap().reply_length(), 100);
    }

    #[test]
    fn a_stamped_request_is_a_reply() {
        let mut message = [0; 68];
        Bounceback {
            request_size: 68,
            stop: true,
            ..Bounceback::default()
        }
        .write(&mut message);
        let (received, sent) = (
            Timestamp {
                seconds: 5,
                micros: 6,
            },
            Timestamp {
                seconds: 5,
                micros: 9,
            },
        );
        Bounceback::stamp_reply(&mut message, received, sent);
        let reply = Bounceback::parse(message.first_chunk().unwrap()).unwrap();
        assert_eq!(
            (reply.server_receive, reply.server_send),
            (Some(received), Some(sent))
        );
        assert!(reply.stop && !reply.quickack);
    }
}
