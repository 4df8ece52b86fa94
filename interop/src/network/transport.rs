//! What a test runs over: transport and address family.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What carries the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// A TCP connection.
    Tcp,
    /// UDP datagrams.
    Udp,
}

impl Transport {
    /// The options that select it.
    #[must_use]
    pub const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Tcp => &[],
            Self::Udp => &["-u"],
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

/// Address family of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// The options that select it.
    #[must_use]
    pub const fn options(self) -> &'static [&'static str] {
        match self {
            Self::V4 => &[],
            Self::V6 => &["-V"],
        }
    }

    /// The loopback address.
    #[must_use]
    pub const fn loopback(self) -> IpAddr {
        match self {
            Self::V4 => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Self::V6 => IpAddr::V6(Ipv6Addr::LOCALHOST),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "v4",
            Self::V6 => "v6",
        })
    }
}
