//! A host with what stands around it.

/// A host with what may stand around it: `HOST[:PORT][%DEV]`, `[V6]:PORT[%DEV]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// A name or an address, without brackets.
    pub host: String,
    /// Text behind the colon.
    pub port: Option<String>,
    /// The interface behind `%`.
    pub device: Option<String>,
}

impl Endpoint {
    /// Splits the text. The zone of an IPv6 link-local address stays part of the host.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (mut rest, mut device) = match text.rsplit_once('%') {
            Some((host, device)) if !host.is_empty() => (host, Some(device)),
            _ => (text, None),
        };
        if rest
            .parse()
            .is_ok_and(|address: std::net::Ipv6Addr| address.is_unicast_link_local())
        {
            (rest, device) = (text, None);
        }
        let (host, port) = if let Some(inner) = rest.strip_prefix('[') {
            match inner.split_once(']') {
                Some((host, "")) => (host, None),
                Some((host, tail)) => match tail.strip_prefix(':') {
                    Some(port) => (host, Some(port)),
                    None => (rest, None),
                },
                None => (rest, None),
            }
        } else {
            match rest.split_once(':') {
                Some((host, port)) if !port.contains(':') => (host, Some(port)),
                _ => (rest, None),
            }
        };
        Self {
            host: host.to_owned(),
            port: port.map(str::to_owned),
            device: device
                .filter(|device| !device.is_empty())
                .map(str::to_owned),
        }
    }
}

/// `HOST:PORT`, `[V6]:PORT`: as [`Endpoint::parse`] takes it apart.
#[must_use]
pub fn with_port(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port_are_put_together() {
        assert_eq!(with_port("::1", 5), "[::1]:5");
        assert_eq!(with_port("192.0.2.7", 5), "192.0.2.7:5");
    }

    #[test]
    fn endpoints_split_into_host_port_and_device() {
        let parts = |text| {
            let endpoint = Endpoint::parse(text);
            let or_none = |part: Option<String>| part.unwrap_or_else(|| "-".into());
            format!(
                "{} {} {}",
                endpoint.host,
                or_none(endpoint.port),
                or_none(endpoint.device)
            )
        };
        assert_eq!(parts("h"), "h - -");
        assert_eq!(parts("10.0.0.1:7"), "10.0.0.1 7 -");
        assert_eq!(parts("10.0.0.1:7%eth0"), "10.0.0.1 7 eth0");
        assert_eq!(parts("10.0.0.1%"), "10.0.0.1 - -");
        assert_eq!(parts("%lo"), "%lo - -");
        assert_eq!(parts("::1"), "::1 - -");
        assert_eq!(parts("[::1]"), "::1 - -");
        assert_eq!(parts("[::1]:7%lo"), "::1 7 lo");
        assert_eq!(parts("fe80::1%eth0"), "fe80::1%eth0 - -");
        assert_eq!(parts("[::1"), "[::1 - -");
    }
}
