//! Readers of values that are common to several options.

use tapeline_base::parse_amount;

/// C's `atoi`: leading blanks, a sign, digits; everything else is ignored, no digits are 0.
/// Values beyond 32 bits stop at the limit.
pub(crate) fn atoi(text: &str) -> i32 {
    let text = text.trim_start();
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let value = digits
        .bytes()
        .take_while(u8::is_ascii_digit)
        .fold(0i64, |value, digit| {
            (value * 10 + i64::from(digit - b'0')).min(1 << 40)
        });
    let signed = if negative { -value } else { value };
    i32::try_from(signed).unwrap_or(if negative { i32::MIN } else { i32::MAX })
}

/// iperf 2's byte counts: number and suffix, truncated toward zero, the rest ignored.
/// `None` when the text does not start with a number.
pub(crate) fn lenient_amount(text: &str) -> Option<i64> {
    parse_amount(text).ok().map(|amount| amount.value as i64)
}

/// A host with what may stand around it: `HOST[:PORT][%DEV]`, `[V6]:PORT[%DEV]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) host: String,
    /// Text behind the colon.
    pub(crate) port: Option<String>,
    pub(crate) device: Option<String>,
}

impl Endpoint {
    /// Splits the text. The zone of an IPv6 link-local address stays part of the host.
    pub(crate) fn parse(text: &str) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_c_does() {
        for (text, value) in [
            ("5", 5),
            (" -7x", -7),
            ("abc", 0),
            ("", 0),
            ("+3", 3),
            ("99999999999", i32::MAX),
        ] {
            assert_eq!(atoi(text), value, "{text}");
        }
        assert_eq!(atoi("-99999999999999999999"), i32::MIN);
    }

    #[test]
    fn amounts_ignore_what_follows() {
        assert_eq!(lenient_amount("1MB"), Some(1 << 20));
        assert_eq!(lenient_amount("10x"), Some(10));
        assert_eq!(lenient_amount("-0.5k"), Some(-500));
        assert_eq!(lenient_amount("abc"), None);
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
