//! Names to addresses, with the resolver's reasons kept apart.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use tapeline_base::Family;

use crate::platform::resolver;

/// Why a name has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResolveFailure {
    /// There is no such name (`EAI_NONAME`).
    UnknownHost,
    /// The name exists but has no address of the wanted family (`EAI_NODATA`, `EAI_ADDRFAMILY`).
    NoAddress,
    /// No name server answered; trying again may help (`EAI_AGAIN`).
    TryAgain,
    /// A name server failed for good (`EAI_FAIL`).
    ServerFailure,
    /// The interface after `%` does not exist.
    UnknownZone,
    /// The text cannot be a host name.
    InvalidName,
    /// Anything else.
    Other,
}

/// A failed look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveError {
    /// The name asked for.
    pub host: String,
    /// The class of the failure.
    pub failure: ResolveFailure,
    /// The system's own text.
    pub text: String,
}

impl ResolveError {
    pub(crate) fn new(host: &str, failure: ResolveFailure, text: impl Into<String>) -> Self {
        Self {
            host: host.to_owned(),
            failure,
            text: text.into(),
        }
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.host, self.text)
    }
}

impl std::error::Error for ResolveError {}

/// The addresses of `host` with `port`, in the system's order of preference, never empty.
/// Literals are not looked up; a zone (`fe80::1%eth0`, name or index) is kept as the scope of the
/// address. May wait for name servers.
///
/// # Errors
/// [`ResolveError`] with the resolver's class and text.
pub fn resolve(host: &str, port: u16, family: Family) -> Result<Vec<SocketAddr>, ResolveError> {
    if host.is_empty() || host.contains('\0') {
        return Err(ResolveError::new(
            host,
            ResolveFailure::InvalidName,
            "Invalid host name",
        ));
    }
    let found = match literal(host, port)? {
        Some(address) => vec![address],
        None => resolver::look_up(host, port, family)?,
    };
    let of_family: Vec<SocketAddr> = found
        .into_iter()
        .filter(|address| match family {
            Family::Any => true,
            Family::V4 => address.is_ipv4(),
            Family::V6 => address.is_ipv6(),
        })
        .collect();
    if of_family.is_empty() {
        let text = "Address family for hostname not supported";
        return Err(ResolveError::new(host, ResolveFailure::NoAddress, text));
    }
    Ok(of_family)
}

/// `host` as a literal address, with or without zone or brackets.
fn literal(host: &str, port: u16) -> Result<Option<SocketAddr>, ResolveError> {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(Some(SocketAddr::new(address, port)));
    }
    let Some((address, zone)) = bare.split_once('%') else {
        return Ok(None);
    };
    let Ok(address) = address.parse::<Ipv6Addr>() else {
        return Ok(None);
    };
    let scope = zone
        .parse()
        .ok()
        .or_else(|| crate::platform::resolver::index_of(zone));
    match scope {
        Some(scope) => Ok(Some(SocketAddr::V6(SocketAddrV6::new(
            address, port, 0, scope,
        )))),
        None => {
            let text = format!("no such interface: {zone}");
            Err(ResolveError::new(host, ResolveFailure::UnknownZone, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_need_no_resolver() {
        let one =
            |host: &str, family| resolve(host, 5001, family).map(|found| found[0].to_string());
        assert_eq!(one("192.0.2.1", Family::Any).unwrap(), "192.0.2.1:5001");
        assert_eq!(
            one("2001:db8::1", Family::V6).unwrap(),
            "[2001:db8::1]:5001"
        );
        assert_eq!(
            one("[2001:db8::1]", Family::Any).unwrap(),
            "[2001:db8::1]:5001"
        );
        assert_eq!(one("fe80::1%7", Family::Any).unwrap(), "[fe80::1%7]:5001");
        let error = one("192.0.2.1", Family::V6).unwrap_err();
        assert_eq!(error.failure, ResolveFailure::NoAddress);
    }

    #[test]
    fn zones_are_interfaces_that_exist() {
        let error = resolve("fe80::1%no-such-if", 1, Family::Any).unwrap_err();
        assert_eq!(error.failure, ResolveFailure::UnknownZone);
        assert!(error.to_string().contains("no-such-if"));
    }

    #[test]
    fn the_local_host_resolves_in_each_family() {
        let v4 = resolve("localhost", 7, Family::V4).unwrap();
        assert!(
            v4.iter()
                .all(|address| address.ip().is_loopback() && address.port() == 7)
        );
        assert_eq!(v4.len(), 1, "one entry per address: {v4:?}");
    }

    #[test]
    fn impossible_names_fail_with_a_reason() {
        for name in ["", "a\0b"] {
            let error = resolve(name, 1, Family::Any).unwrap_err();
            assert_eq!(error.failure, ResolveFailure::InvalidName);
        }
        // Offline resolvers say "try again", online ones "unknown".
        let error = resolve("no-such-host.invalid", 1, Family::Any).unwrap_err();
        assert!(!error.text.is_empty());
        assert!(matches!(
            error.failure,
            ResolveFailure::UnknownHost | ResolveFailure::TryAgain | ResolveFailure::ServerFailure
        ));
    }
}
