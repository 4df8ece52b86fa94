//! What a server grants to clients that it does not know.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use tapeline_base::{BitRate, Bytes};

use super::methods::AllowedMethods;

/// Addresses with the same leading bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// Leading bits that count.
    length: u8,
}

impl Network {
    /// The addresses that share the first `length` bits of `address`; `None` when there are not so
    /// many.
    #[must_use]
    pub const fn new(address: IpAddr, length: u8) -> Option<Self> {
        let max = match address {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        };
        if length <= max {
            Some(Self { address, length })
        } else {
            None
        }
    }

    /// From an address, alone or with `/LENGTH` behind it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once('/') {
            Some((address, length)) => Self::new(address.parse().ok()?, length.parse().ok()?),
            None => {
                let address: IpAddr = text.parse().ok()?;
                Self::new(address, if address.is_ipv4() { 32 } else { 128 })
            }
        }
    }

    /// Whether an address belongs to it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let (own, other, width) = match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (u128::from(own.to_bits()), u128::from(other.to_bits()), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits(), 128),
            _ => return false,
        };
        // A shift by all bits has no result: every address belongs.
        let shift = u32::from(width - self.length);
        own.checked_shr(shift).unwrap_or(0) == other.checked_shr(shift).unwrap_or(0)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// Networks whose clients are known to be there, and to mean well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Networks(pub Vec<Network>);

impl Networks {
    /// No address.
    #[must_use]
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Every address.
    #[must_use]
    pub fn any() -> Self {
        let all = |address| Network { address, length: 0 };
        Self(vec![
            all(Ipv4Addr::UNSPECIFIED.into()),
            all(Ipv6Addr::UNSPECIFIED.into()),
        ])
    }

    /// Whether an address belongs to one of them.
    #[must_use]
    pub fn contain(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }
}

/// This host, its links, and networks that are not routed on the internet.
impl Default for Networks {
    fn default() -> Self {
        let own = [
            "127.0.0.0/8",
            "10.0.0.0/8",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "100.64.0.0/10",
            "169.254.0.0/16",
            "::1/128",
            "fc00::/7",
            "fe80::/10",
        ];
        Self(own.into_iter().filter_map(Network::parse).collect())
    }
}

/// What a server grants to foreign clients, those outside [`Limits::trusted`]. The others have as
/// much as the system has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Who is served at all, foreign or not.
    pub allowed: Networks,
    /// Who is not, although allowed.
    pub denied: Networks,
    /// Who is not foreign.
    pub trusted: Networks,
    /// Connections without a complete first message, in all.
    pub pending: usize,
    /// Of them, those of one source.
    pub pending_of_source: usize,
    /// UDP flows that are known of a socket, ended ones included until they are forgotten.
    pub max_unverified_flows: usize,
    /// Tests at the same time, in all.
    pub tests: u32,
    /// Of them, those of one source.
    pub tests_of_source: u32,
    /// Streams of a test.
    pub streams_of_test: u32,
    /// Streams of all tests at the same time.
    pub streams: u32,
    /// Longest test.
    pub longest: Duration,
    /// Payload of a test, in each direction; `None` without limit.
    pub bytes: Option<Bytes>,
    /// Rate of a test, in each direction; `None` without limit.
    pub rate: Option<BitRate>,
    /// Longest block or message that a client may order, bytes.
    pub block: u32,
    /// Lowest port of the client's that the server connects to on its order.
    pub lowest_port: u16,
    /// Rate of all answers together to unverified sources of datagrams.
    pub unverified_rate: BitRate,
    /// Methods that may be ordered.
    pub methods: AllowedMethods,
    /// Rate of the datagrams that the server sends for one; 0 for none.
    pub method_udp_rate: BitRate,
    /// Wrong keys that are looked at in a second, in all.
    pub keys: u32,
    /// Of them, those of one source; trusted sources are no exception.
    pub keys_of_source: u32,
    /// Refusals that are logged in a second; further ones are summed up.
    pub refusals_logged: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            allowed: Networks::any(),
            denied: Networks::none(),
            trusted: Networks::default(),
            pending: 1024,
            pending_of_source: 256,
            max_unverified_flows: 1024,
            tests: 64,
            tests_of_source: 16,
            streams_of_test: 128,
            streams: 1024,
            longest: Duration::from_secs(3600),
            bytes: None,
            rate: None,
            block: 4 << 20,
            lowest_port: 1024,
            unverified_rate: BitRate(10_000_000),
            methods: AllowedMethods::All,
            method_udp_rate: BitRate(100_000_000),
            keys: 100,
            keys_of_source: 10,
            refusals_logged: 10,
        }
    }
}

impl Limits {
    /// Whether an address is served at all.
    #[must_use]
    pub fn admit(&self, address: IpAddr) -> bool {
        self.allowed.contain(address) && !self.denied.contain(address)
    }
}

impl fmt::Display for Networks {
    /// As [`Network::parse`] reads them, with commas between them; `none` and `any` for those two.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        if *self == Self::any() {
            return f.write_str("any");
        }
        for (index, network) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{network}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_network_holds_what_shares_its_bits() {
        let network = Network::parse("172.16.0.0/12").expect("a network");
        assert!(network.contains(address("172.31.255.255")));
        assert!(network.contains(address("::ffff:172.16.0.1")));
        assert!(!network.contains(address("172.32.0.0")));
        assert!(!network.contains(address("fe80::1")));
        assert_eq!(network.to_string(), "172.16.0.0/12");
        let host = Network::parse("2001:db8::1").expect("a host");
        assert!(host.contains(address("2001:db8::1")) && !host.contains(address("2001:db8::2")));
        for nonsense in ["", "/8", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "host"] {
            assert_eq!(Network::parse(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn denial_comes_before_permission() {
        let networks = |text: &str| Networks(text.split(',').filter_map(Network::parse).collect());
        let limits = Limits {
            allowed: networks("192.0.2.0/24,2001:db8::/32"),
            denied: networks("192.0.2.128/25"),
            ..Limits::default()
        };
        assert!(limits.admit(address("192.0.2.1")) && limits.admit(address("2001:db8::1")));
        assert!(!limits.admit(address("192.0.2.200")) && !limits.admit(address("127.0.0.1")));
        assert!(Limits::default().admit(address("203.0.113.1")));
        assert_eq!(limits.allowed.to_string(), "192.0.2.0/24,2001:db8::/32");
        assert_eq!(Networks::any().to_string(), "any");
        assert_eq!(Networks::none().to_string(), "none");
    }

    #[test]
    fn private_networks_are_trusted_and_the_internet_is_not() {
        let trusted = Networks::default();
        for own in [
            "127.0.0.1",
            "10.1.2.3",
            "100.100.0.1",
            "::1",
            "fe80::1",
            "fd00::1",
        ] {
            assert!(trusted.contain(address(own)), "{own}");
        }
        for foreign in ["192.0.2.1", "8.8.8.8", "100.128.0.1", "2001:db8::1"] {
            assert!(!trusted.contain(address(foreign)), "{foreign}");
            assert!(Networks::any().contain(address(foreign)));
            assert!(!Networks::none().contain(address(foreign)));
        }
    }
}
