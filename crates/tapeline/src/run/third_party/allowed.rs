//! Whom the server of an ordered test lets in.

use std::net::IpAddr;

/// The networks that a test towards `target` can come from, where its client's host has these addresses.
pub(crate) fn allowed(own: impl IntoIterator<Item = String>, target: &str) -> Vec<String> {
    // On one host a test comes from a loopback address, if not always from that of the target.
    let loopback = match target.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) if address.is_loopback() => Some("127.0.0.0/8"),
        Ok(IpAddr::V6(address)) if address.is_loopback() => Some("::1"),
        _ => None,
    };
    own.into_iter().chain(loopback.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_one_host_loopback_is_let_in() {
        let networks = |target| allowed(["192.0.2.7".to_owned()], target);
        assert_eq!(networks("127.0.0.2"), ["192.0.2.7", "127.0.0.0/8"]);
        assert_eq!(networks("::1"), ["192.0.2.7", "::1"]);
        for target in ["192.0.2.9", "2001:db8::9", "db1"] {
            assert_eq!(networks(target), ["192.0.2.7"], "{target}");
        }
    }
}
