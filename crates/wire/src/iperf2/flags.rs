//! The flag words of client headers, reports and bounce-back messages.

use std::ops::{BitOr, BitOrAssign};

/// Defines a set of flags over an unsigned word.
macro_rules! flag_set {
    ($(#[$meta:meta])* $name:ident($word:ty) { $($(#[$doc:meta])* $flag:ident = $value:expr;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(pub $word);

        impl $name {
            /// No flag.
            pub const NONE: Self = Self(0);
            $($(#[$doc])* pub const $flag: Self = Self($value);)*

            /// Whether every flag of `other` is set.
            #[must_use]
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Whether at least one flag of `other` is set.
            #[must_use]
            pub const fn intersects(self, other: Self) -> bool {
                self.0 & other.0 != 0
            }

            /// `self` plus `other` if `condition` holds.
            #[must_use]
            pub const fn with_if(self, condition: bool, other: Self) -> Self {
                if condition { Self(self.0 | other.0) } else { self }
            }
        }

        impl BitOr for $name {
            type Output = Self;
            fn bitor(self, rhs: Self) -> Self {
                Self(self.0 | rhs.0)
            }
        }

        impl BitOrAssign for $name {
            fn bitor_assign(&mut self, rhs: Self) {
                *self = *self | rhs;
            }
        }
    };
}

flag_set! {
    /// The flag word: the first word of a TCP stream, the word at offset 16 of a UDP
    /// datagram or report (12 with peers up to 2.0.5).
    Flags(u32) {
        /// A legacy dual or tradeoff test if there is no transfer id and no
        /// [`Flags::VERSION2`]; in a UDP report: the report is filled.
        VERSION1 = 0x8000_0000;
        /// An extended header follows; in a UDP report: transit times are meaningful.
        EXTEND = 0x4000_0000;
        /// UDP: the upper flags are to be honoured.
        UDP_TESTS = 0x2000_0000;
        /// TCP: a permit key follows.
        KEY_CHECK = 0x1000_0000;
        /// UDP: datagram ids have 64 bits; in a report: upper halves are present.
        SEQUENCE_64 = 0x0800_0000;
        /// The client runs reverse or full-duplex, or asks for the acknowledgement.
        VERSION2 = 0x0400_0000;
        /// The client blocks until it gets the acknowledgement.
        PEER_DETECT = 0x0200_0000;
        /// The connection is a bounce-back session.
        BOUNCEBACK = 0x0080_0000;
        /// UDP: the short trip-times header; no other flag stands next to it.
        SMALL_TRIP_TIMES = 0x0002_0000;
        /// Bits 1 to 8 hold the header length.
        LENGTH = 0x0001_0000;
        /// With [`Flags::VERSION1`]: dual (both directions at once), not tradeoff.
        RUN_NOW = 0x0000_0001;
    }
}

impl Flags {
    /// Every flag that may stand in a server report.
    pub const REPORT: Self = Self(Self::VERSION1.0 | Self::EXTEND.0 | Self::SEQUENCE_64.0);
    const LENGTH_SHIFT: u32 = 1;
    const LENGTH_MASK: u32 = 0x0000_01fe;

    /// The header length in bytes, 0..=255, if the word carries one.
    #[must_use]
    pub const fn header_length(self) -> Option<usize> {
        if self.contains(Self::LENGTH) {
            Some(((self.0 & Self::LENGTH_MASK) >> Self::LENGTH_SHIFT) as usize)
        } else {
            None
        }
    }

    /// The same flags with a header length, cut to 255.
    #[must_use]
    pub const fn with_header_length(self, length: usize) -> Self {
        let length = if length > 255 { 255 } else { length as u32 };
        Self((self.0 & !Self::LENGTH_MASK) | Self::LENGTH.0 | (length << Self::LENGTH_SHIFT))
    }
}

flag_set! {
    /// The upper flags of the extended header.
    UpperFlags(u16) {
        /// Isochronous traffic.
        ISOCHRONOUS = 0x0001;
        /// UDP: IPv6 is in effect for the layer 2 checks.
        L2_IPV6 = 0x0002;
        /// UDP: the receiver shall verify layer 2 lengths.
        L2_LENGTH_CHECK = 0x0004;
        /// UDP: no final exchange.
        NO_UDP_FIN = 0x0008;
        /// The client's clock is synchronised, one-way delays are wanted.
        TRIP_TIMES = 0x0010;
        /// UDP: isochronous settings are present.
        ISOCHRONOUS_SETTINGS = 0x0040;
        /// UDP: the rate counts packets per second. Never sent by 2.2.1.
        UNITS_PPS = 0x0080;
        /// Defined, never sent by 2.2.1.
        BANDWIDTH_SET = 0x0100;
        /// A fair-queue pacing rate is present.
        FQ_RATE_SET = 0x0200;
        /// The server sends.
        REVERSE = 0x0400;
        /// Both ends send over the same socket.
        FULL_DUPLEX = 0x0800;
        /// The start timestamp is an absolute start time.
        EPOCH_START = 0x1000;
        /// TCP: periodic bursts.
        PERIODIC_BURST = 0x2000;
        /// UDP: L4S traffic (the same bit as [`UpperFlags::PERIODIC_BURST`]).
        UDP_L4S = 0x2000;
        /// TCP: a value for `TCP_NOTSENT_LOWAT` is present.
        WRITE_PREFETCH = 0x4000;
        /// TCP: the receiver should set `TCP_QUICKACK` before each read.
        TCP_QUICKACK = 0x8000;
    }
}

flag_set! {
    /// The lower flags of the extended header.
    LowerFlags(u16) {
        /// TCP: the name of a congestion control is present.
        CONGESTION_CONTROL = 0x8000;
        /// TCP: the barrier field is valid (2.2.1).
        BARRIER_TIME = 0x4000;
    }
}

flag_set! {
    /// The flags of a bounce-back message.
    BouncebackFlags(u16) {
        /// The receiver should set `TCP_QUICKACK`.
        QUICKACK = 0x8000;
        /// The clocks are synchronised.
        CLOCK_SYNCED = 0x4000;
        /// The type-of-service field is valid.
        TOS = 0x2000;
        /// The session ends: count the message, do not reply.
        STOP = 0x1000;
        /// The reply-size field is valid.
        REPLY_SIZE = 0x0800;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_shares_the_word() {
        let plain = Flags::EXTEND.with_header_length(64);
        assert_eq!(plain, Flags(0x4001_0080));
        assert_eq!(plain.header_length(), Some(64));
        assert_eq!(Flags(0x4000_0080).header_length(), None);
        assert_eq!(Flags(0xc001_0081).header_length(), Some(64));
        assert_eq!(
            Flags::NONE.with_header_length(300).header_length(),
            Some(255)
        );
    }

    #[test]
    fn containing_means_all_of_them() {
        let both = UpperFlags::REVERSE | UpperFlags::TRIP_TIMES;
        assert!(both.contains(UpperFlags::REVERSE));
        assert!(!UpperFlags::REVERSE.contains(both));
        assert!(UpperFlags::REVERSE.intersects(both));
    }
}
