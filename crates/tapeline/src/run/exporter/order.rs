//! What a request for a probe orders.

use std::ffi::OsString;
use std::time::Duration;

use tapeline_method::MethodPlan;

use crate::http::Request;

/// What a request may say.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    /// What counts without it.
    pub(crate) default: &'static str,
}

/// All of it, in the order of `docs/metrics.md`.
#[rustfmt::skip]
pub(crate) const PARAMETERS: [Parameter; 10] = [
    parameter("target", "host of the server", "required"),
    parameter("module", "a method instead of one test: mtu, rfc6349, ... (see docs/methods.md)", "a test"),
    parameter("port", "port of the server", "5201; with peer=tapeline or module 5001"),
    parameter("period", "length of the test: 5s, 500ms, 1m30s", "5s; with module the method's"),
    parameter("reverse_mode", "true: the server sends", "false"),
    parameter("bitrate", "rate limit, bit/s: 100M, 1G", "none; over UDP 1M"),
    parameter("bind", "own address", "any"),
    parameter("peer", "protocol of the server: iperf3, or tapeline (iperf 2 too)", "iperf3; with module tapeline"),
    parameter("transport", "tcp, or udp (with peer=iperf3)", "tcp"),
    parameter("parallel", "streams, 1 to 16", "1"),
];

const fn parameter(name: &'static str, meaning: &'static str, default: &'static str) -> Parameter {
    Parameter {
        name,
        meaning,
        default,
    }
}

/// iperf3's port, and iperf 2's.
const PORTS: [u16; 2] = [5201, 5001];
/// Length of a test that is not said.
const PERIOD: Duration = Duration::from_secs(5);
const SHORTEST: Duration = Duration::from_millis(100);
/// How long who asks waits, unless it says; at least and at most.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const MIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_TIMEOUT: Duration = Duration::from_secs(300);
/// An answer comes so much before who asks has given up, if that is not a tenth of its timeout.
const MARGIN: Duration = Duration::from_millis(500);
/// Flows of a probe.
const MAX_FLOWS: u16 = 16;
/// Longest name of a host (RFC 1035), with a device behind it.
const LONGEST_NAME: usize = 300;

/// Whom a probe tests with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A server of iperf3's protocol.
    Iperf3,
    /// A tapeline, or a server of iperf 2's protocol.
    Tapeline,
}

/// A probe.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Order {
    pub(crate) target: String,
    pub(crate) port: u16,
    /// The method that is measured instead of a test.
    pub(crate) module: Option<&'static str>,
    peer: Peer,
    udp: bool,
    reverse: bool,
    flows: u16,
    /// As the command line has it, under either name.
    rate: Option<String>,
    /// Own address.
    bind: Option<String>,
    period: Duration,
    /// The length was said.
    period_is_given: bool,
    /// Time after which it is broken off.
    pub(crate) deadline: Duration,
}

impl Order {
    /// Reads the parameters of a request.
    ///
    /// # Errors
    /// A sentence about the one that cannot be obeyed, or is not known: a wrong name would order
    /// another test than was meant.
    pub(crate) fn read(request: &Request) -> Result<Self, String> {
        let known = |name: &str| PARAMETERS.iter().any(|known| known.name == name);
        if let Some((name, _)) = request.query.iter().find(|(name, _)| !known(name)) {
            let names = PARAMETERS.map(|known| known.name).join(", ");
            return Err(format!("unknown parameter '{name}' (known: {names})"));
        }
        let target = request
            .parameter("target")
            .ok_or("'target' parameter must be specified")?;
        check_host("target", target)?;
        let module = match request.parameter("module") {
            None => None,
            Some(name) => Some(method(name)?),
        };
        let peer = match request.parameter("peer") {
            None if module.is_some() => Peer::Tapeline,
            None | Some("iperf3") => Peer::Iperf3,
            Some("tapeline" | "iperf2") => Peer::Tapeline,
            Some(other) => return Err(format!("peer: '{other}' is none of iperf3, tapeline")),
        };
        let udp = match request.parameter("transport") {
            None => false,
            Some(_) if module.is_some() => {
                return Err("transport: a method chooses its own".to_owned());
            }
            Some("tcp") => false,
            // Only iperf3's server says over TCP that it wants to be tested.
            Some("udp") if peer == Peer::Iperf3 => true,
            Some("udp") => return Err("transport: udp needs peer=iperf3".to_owned()),
            Some(other) => return Err(format!("transport: '{other}' is none of tcp, udp")),
        };
        let port = match request.parameter("port") {
            None => PORTS[usize::from(peer == Peer::Tapeline)],
            Some(text) => match text.parse() {
                Ok(port @ 1..) => port,
                _ => return Err(format!("port: '{text}' is no port (1..65535)")),
            },
        };
        let flows = match request.parameter("parallel") {
            None => 1,
            Some(text) => match text.parse() {
                Ok(flows @ 1..=MAX_FLOWS) => flows,
                _ => return Err(format!("parallel: '{text}' is no number from 1 to 16")),
            },
        };
        let reverse = match request.parameter("reverse_mode") {
            None => false,
            Some(text) => truth(text)
                .ok_or_else(|| format!("reverse_mode: '{text}' is neither true nor false"))?,
        };
        let rate = request.parameter("bitrate");
        if let Some(text) = rate {
            check_rate(text, peer)?;
        }
        let bind = request.parameter("bind");
        if let Some(address) = bind {
            check_host("bind", address)?;
        }
        let timeout = request.timeout.unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT);
        if timeout < MIN_TIMEOUT {
            return Err("a scrape timeout is one second or more".to_owned());
        }
        let deadline = timeout - MARGIN.min(timeout / 10);
        let period = match request.parameter("period") {
            None => PERIOD,
            Some(text) => {
                duration(text).ok_or_else(|| format!("period: '{text}' is no duration (5s)"))?
            }
        };
        if period < SHORTEST {
            return Err("period: a test lasts 100ms or more".to_owned());
        }
        Ok(Self {
            target: target.to_owned(),
            port,
            module,
            peer,
            udp,
            reverse,
            flows,
            rate: rate.map(str::to_owned),
            bind: bind.map(str::to_owned),
            // It has to connect and to exchange results as well.
            period: period.min(deadline.mul_f64(0.9)),
            period_is_given: request.parameter("period").is_some(),
            deadline,
        })
    }

    /// The command line of the test.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let seconds = match self.peer {
            Peer::Iperf3 => self.period.as_secs().max(1).to_string(),
            Peer::Tapeline => self.period.as_secs_f64().to_string(),
        };
        let mut words: Vec<String> = Vec::new();
        let mut add = |new: &[&str]| words.extend(new.iter().map(|word| (*word).to_owned()));
        if let Some(word) = self.module {
            add(&[word, &self.target, "-p", &self.port.to_string()]);
            if self.peer == Peer::Iperf3 {
                add(&["--peer", "iperf3"]);
            }
            if self.period_is_given {
                add(&["-t", &seconds]);
            }
        } else {
            if self.peer == Peer::Iperf3 {
                add(&["--as", "iperf3"]);
            }
            add(&["-c", &self.target, "-p", &self.port.to_string()]);
            add(&["-t", &seconds, "-i", "1"]);
        }
        if self.udp {
            add(&["-u"]);
        }
        if self.reverse {
            add(&["-R"]);
        }
        if self.flows > 1 {
            add(&["-P", &self.flows.to_string()]);
        }
        if let Some(rate) = &self.rate {
            add(&["-b", rate]);
        }
        if let Some(address) = &self.bind {
            add(&["-B", address]);
        }
        words.into_iter().map(OsString::from).collect()
    }
}

/// The method of that name.
fn method(name: &str) -> Result<&'static str, String> {
    let words = || MethodPlan::WORDS.iter().map(|(word, _)| *word);
    words().find(|word| *word == name).ok_or_else(|| {
        let known: Vec<&str> = words().collect();
        format!("module: '{name}' is none of {}", known.join(", "))
    })
}

fn check_host(name: &str, host: &str) -> Result<(), String> {
    let strange = |letter: char| letter.is_whitespace() || letter.is_control();
    if host.len() > LONGEST_NAME || host.starts_with('-') || host.contains(strange) {
        return Err(format!("{name}: no name or address of a host"));
    }
    Ok(())
}

fn check_rate(text: &str, peer: Peer) -> Result<(), String> {
    let (rate, burst) = match text.split_once('/') {
        Some((rate, burst)) => (rate, Some(burst)),
        None => (text, None),
    };
    let burst_is_good = match burst {
        None => true,
        Some(count) => peer == Peer::Iperf3 && count.parse::<u16>().is_ok(),
    };
    if bits(rate).is_none() || !burst_is_good {
        return Err(format!(
            "bitrate: '{text}' is none (100M; with peer=iperf3 also 100M/10)"
        ));
    }
    Ok(())
}

/// Bits per second of `#[KMG]`.
fn bits(text: &str) -> Option<f64> {
    let (digits, factor) = match text.chars().last()? {
        'k' | 'K' => (&text[..text.len() - 1], 1e3),
        'm' | 'M' => (&text[..text.len() - 1], 1e6),
        'g' | 'G' => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    decimal(digits).map(|number| number * factor)
}

/// Digits with a point among them.
fn decimal(text: &str) -> Option<f64> {
    let plain = !text.is_empty() && text.chars().all(|l| l.is_ascii_digit() || l == '.');
    plain.then(|| text.parse().ok()).flatten()
}

/// A truth value as Go writes it.
fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// A duration as Go writes it: `1m30s`, `500ms`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let number = decimal(&rest[..digits])?;
        rest = &rest[digits..];
        let letters = rest
            .find(|letter: char| letter.is_ascii_digit() || letter == '.')
            .unwrap_or(rest.len());
        seconds += number
            * match &rest[..letters] {
                "ns" => 1e-9,
                "us" | "µs" | "μs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = &rest[letters..];
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(parameters: &[(&str, &str)], timeout: Option<f64>) -> Request {
        let pairs = parameters.iter();
        Request {
            path: "/probe".to_owned(),
            query: pairs
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                .collect(),
            timeout: timeout.map(Duration::from_secs_f64),
            ..Request::default()
        }
    }

    fn line(parameters: &[(&str, &str)]) -> String {
        let order = Order::read(&request(parameters, None)).expect("an order");
        let words: Vec<String> = order
            .words()
            .into_iter()
            .map(|word| word.into_string().expect("text"))
            .collect();
        words.join(" ")
    }

    #[test]
    fn the_known_parameters_are_iperf3s_options() {
        assert_eq!(
            line(&[("target", "h")]),
            "--as iperf3 -c h -p 5201 -t 5 -i 1"
        );
        assert_eq!(
            line(&[
                ("target", "2001:db8::1"),
                ("port", "5002"),
                ("period", "1m30s"),
                ("reverse_mode", "true"),
                ("bitrate", "100M/10"),
                ("bind", "192.0.2.9"),
                ("transport", "udp"),
                ("parallel", "4"),
            ]),
            // A test is over before who asks has given up.
            "--as iperf3 -c 2001:db8::1 -p 5002 -t 26 -i 1 -u -R -P 4 -b 100M/10 -B 192.0.2.9"
        );
    }

    #[test]
    fn every_parameter_is_documented() {
        let page = include_str!("../../../../../docs/metrics.md");
        for parameter in PARAMETERS {
            let row = format!("| `{}` |", parameter.name);
            assert!(page.contains(&row), "{row}");
        }
    }

    #[test]
    fn a_tapeline_is_asked_in_its_own_words() {
        assert_eq!(
            line(&[
                ("target", "h"),
                ("peer", "tapeline"),
                ("bitrate", "1.5M"),
                ("period", "250ms")
            ]),
            "-c h -p 5001 -t 0.25 -i 1 -b 1.5M"
        );
    }

    #[test]
    fn a_method_has_its_own_command_line() {
        for (word, _) in MethodPlan::WORDS {
            assert_eq!(
                line(&[("target", "h"), ("module", word)]),
                format!("{word} h -p 5001")
            );
            assert_eq!(
                line(&[
                    ("target", "h"),
                    ("module", word),
                    ("peer", "iperf3"),
                    ("period", "2s"),
                    ("reverse_mode", "1"),
                    ("bitrate", "5M")
                ]),
                format!("{word} h -p 5201 --peer iperf3 -t 2 -R -b 5M")
            );
            let udp = [("target", "h"), ("module", word), ("transport", "udp")];
            assert!(Order::read(&request(&udp, None)).is_err());
        }
    }

    #[test]
    fn a_probe_ends_before_its_reader_gives_up() {
        let order = |timeout: f64, period: &str| {
            let asked = request(&[("target", "h"), ("period", period)], Some(timeout));
            Order::read(&asked).expect("an order")
        };
        let short = order(1.0, "5s");
        assert_eq!(short.deadline, Duration::from_millis(900));
        assert_eq!(short.period, Duration::from_millis(810));
        assert_eq!(order(20.0, "5s").deadline, Duration::from_millis(19_500));
        assert_eq!(order(20.0, "5s").period, Duration::from_secs(5));
        assert_eq!(order(1e6, "1h").deadline, Duration::from_millis(299_500));
        let late = request(&[("target", "h")], Some(0.5));
        assert!(Order::read(&late).is_err());
    }

    #[test]
    fn what_cannot_be_obeyed_is_said() {
        for (name, value) in [
            ("target", "-s"),
            ("target", "a b"),
            ("target", "a\nb"),
            ("port", "0"),
            ("port", "x"),
            ("period", "5"),
            ("period", "5x"),
            ("period", "10ms"),
            ("period", "-5s"),
            ("reverse_mode", "yes"),
            ("bitrate", "fast"),
            ("bitrate", "1T"),
            ("bitrate", "1M/x"),
            ("bitrate", "-1M"),
            ("bitrate", "é"),
            ("bind", "-B"),
            ("peer", "netperf"),
            ("transport", "sctp"),
            ("parallel", "0"),
            ("parallel", "17"),
            ("module", "whatever"),
        ] {
            let parameters = [(name, value), ("target", "h")];
            let why = Order::read(&request(&parameters, None)).expect_err(value);
            assert!(why.contains(name) || name == "target", "{why}");
        }
        assert!(Order::read(&request(&[("target", "")], None)).is_err());
        let udp = [("target", "h"), ("peer", "tapeline"), ("transport", "udp")];
        assert!(Order::read(&request(&udp, None)).is_err());
    }

    #[test]
    fn durations_are_gos() {
        for (text, millis) in [
            ("5s", 5000),
            ("1.5s", 1500),
            ("1m30s", 90_000),
            ("500ms", 500),
        ] {
            assert_eq!(
                duration(text),
                Some(Duration::from_millis(millis)),
                "{text}"
            );
        }
        for text in ["5", "s", "1.2.3s", "5 s", "1e9s"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
