//! Under which address a host is tested, and whom its server lets in.

use std::net::IpAddr;

use tapeline_mesh::Host;
use tapeline_remote::Hello;

use crate::run::third_party::allowed;

/// The address of a host that a partner tests towards: the one that was said, else its first that the partner
/// can have a route to.
pub(crate) fn target(host: &Host, its: &Hello, partner: &Hello) -> Option<String> {
    if let Some(address) = &host.address {
        return Some(address.clone());
    }
    let partners: Vec<IpAddr> = usable(partner).collect();
    let reachable = |address: &IpAddr| {
        let has_family = partners
            .iter()
            .any(|its| its.is_ipv4() == address.is_ipv4());
        // What both have, as a bridge of containers, leads each of them to itself.
        has_family && !partners.contains(address)
    };
    usable(its)
        .find(reachable)
        .map(|address| address.to_string())
}

/// The networks that a test of `sender` towards `target` can come from.
pub(crate) fn sources(sender: &Host, its: &Hello, target: &str) -> Vec<String> {
    let mut sources: Vec<String> = usable(its).map(|address| address.to_string()).collect();
    let named = sender
        .address
        .as_deref()
        .and_then(|address| address.parse::<IpAddr>().ok());
    let named = named.map(|address| address.to_string());
    sources.extend(named.filter(|address| !sources.contains(address)));
    allowed(sources, target)
}

/// The addresses that others can reach without naming a device.
fn usable(hello: &Hello) -> impl Iterator<Item = IpAddr> {
    let parsed = hello
        .addresses
        .iter()
        .filter_map(|address| address.parse().ok());
    parsed.filter(|address| match address {
        IpAddr::V4(address) => !address.is_link_local() && !address.is_loopback(),
        IpAddr::V6(address) => !address.is_unicast_link_local() && !address.is_loopback(),
    })
}

#[cfg(test)]
mod tests {
    use tapeline_mesh::Via;

    use super::*;

    fn hello(addresses: &[&str]) -> Hello {
        Hello {
            version: "0.1.0".to_owned(),
            v: 1,
            system: "Linux".to_owned(),
            addresses: addresses
                .iter()
                .map(|address| (*address).to_owned())
                .collect(),
            cpus: 1,
            time: 0.0,
        }
    }

    fn host(address: Option<&str>) -> Host {
        Host {
            name: "a".to_owned(),
            destination: "a".to_owned(),
            via: Via::Ssh,
            address: address.map(str::to_owned),
            groups: Vec::new(),
        }
    }

    #[test]
    fn the_first_address_that_both_have_a_family_for_is_taken() {
        let its = hello(&["fe80::1", "172.17.0.1", "192.0.2.7", "2001:db8::7"]);
        let four = hello(&["172.17.0.1", "192.0.2.9"]);
        let six = hello(&["2001:db8::9"]);
        let found = |partner| target(&host(None), &its, partner);
        assert_eq!(found(&four).as_deref(), Some("192.0.2.7"));
        assert_eq!(found(&six).as_deref(), Some("2001:db8::7"));
        assert_eq!(found(&hello(&["fe80::2"])), None);
        let named = target(&host(Some("db1.example")), &its, &four);
        assert_eq!(named.as_deref(), Some("db1.example"));
    }

    #[test]
    fn the_senders_addresses_are_let_in() {
        let its = hello(&["192.0.2.7", "fe80::1"]);
        assert_eq!(
            sources(&host(Some("192.0.2.7")), &its, "192.0.2.9"),
            ["192.0.2.7"]
        );
        assert_eq!(
            sources(&host(Some("10.0.0.1")), &its, "h"),
            ["192.0.2.7", "10.0.0.1"]
        );
        assert_eq!(
            sources(&host(None), &its, "127.0.0.2"),
            ["192.0.2.7", "127.0.0.0/8"]
        );
    }
}
