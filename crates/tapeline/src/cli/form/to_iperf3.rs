//! A form as iperf3 writes it.

use tapeline_base::{Endpoint, Pace, Tos, parse_amount, parse_pace, parse_rate, parse_seconds};
use tapeline_remote::GivenOption;

use super::model::{Form, FormJob};
use super::number::spelled;
use super::spelling::{Spelling, shown, sound};
use super::translation::with_port_apart;
use crate::cli::iperf3::options::{self, Id as To};
use crate::cli::iperf3::quantity;
use crate::cli::spec::{OptionId as Id, OptionSpec};

/// tapeline's port, which iperf3 has to be told.
const PORT: &str = "5001";
/// tapeline's rate of UDP, which iperf3 has to be told.
const UDP_RATE: &str = "1M";

/// The options in tapeline's order.
///
/// # Errors
/// The first one that iperf3 does not have.
pub(crate) fn spellings(form: &Form) -> Result<Vec<Spelling>, String> {
    let form = with_defaults(&with_port_apart(form));
    let streams = form.value(Id::Parallel).and_then(|text| text.parse().ok());
    let mut spellings = Vec::new();
    for (spec, given) in form.rows()? {
        sound(spec, given)?;
        let value = given.value.as_deref().unwrap_or_default();
        for (id, value) in translated(spec, value, streams.unwrap_or(1))? {
            let row = options::row_of(id);
            spellings.push(Spelling::of_iperf3(row, value));
        }
    }
    Ok(spellings)
}

/// What the two programs assume differently is said.
fn with_defaults(form: &Form) -> Form {
    let mut options = form.options().to_vec();
    if form.job() == FormJob::Client {
        if !form.has(Id::Port) && form.value(Id::Peer) != Some("iperf3") {
            options.push(GivenOption::new("port", PORT));
        }
        if form.has(Id::Udp) && !form.has(Id::Bandwidth) {
            options.push(GivenOption::new("bandwidth", UDP_RATE));
        }
    }
    Form::new(form.job(), options)
}

type Translated = Vec<(To, Option<String>)>;

fn translated(spec: &OptionSpec, value: &str, streams: u64) -> Result<Translated, String> {
    let none = |what: &str| Err(format!("iperf3 has no {}{what}", shown(spec)));
    let unread = || format!("{}: iperf3 cannot take '{value}'", shown(spec));
    let bytes = |text: &str| parse_amount(text).ok()?.strict(text).ok();
    let of_iperf3 = |text: &str| quantity::size(text).ok().map(|size| size as u64);
    let size = |times: u64| {
        let bytes = bytes(value).ok_or_else(unread)?.saturating_mul(times);
        Ok::<_, String>(spelled(value, bytes, of_iperf3))
    };
    let rate = |bits: u64| {
        let of_iperf3 = |text: &str| quantity::rate(text).ok().map(|rate| rate as u64);
        spelled(value, bits, of_iperf3)
    };
    let number = || {
        let number: Option<u64> = value.parse().ok();
        number.map(|number| number.to_string()).ok_or_else(unread)
    };
    let one = |id: To, value: String| Ok(vec![(id, Some(value))]);
    let switch = |id: To| Ok(vec![(id, None)]);
    match spec.id {
        Id::Client => one(To::Client, Endpoint::parse(value).host),
        Id::Udp => switch(To::Udp),
        Id::V4 => switch(To::Version4),
        Id::V6 | Id::Ipv6Domain => switch(To::Version6),
        Id::Port if value.contains('-') => none(" with a range"),
        Id::Port => one(To::Port, number()?),
        Id::Bind => {
            let own = Endpoint::parse(value);
            let port = own.port.map(|port| (To::ClientPort, Some(port)));
            let address = (To::Bind, Some(own.host));
            Ok(std::iter::once(address).chain(port).collect())
        }
        Id::Time => {
            let seconds = parse_seconds(value).map_err(|_| unread())?.max(0.0);
            if seconds.fract() != 0.0 {
                return none(" of fractions: it counts whole seconds");
            }
            one(To::Time, seconds.to_string())
        }
        Id::Num => one(To::Bytes, size(streams)?),
        Id::Bandwidth if value.contains(',') => none(" that varies"),
        Id::Bandwidth => match parse_pace(value) {
            Ok(Pace::Bits(bits)) => one(To::Bitrate, rate(bits.0)),
            Ok(_) => none(" in packets per second"),
            Err(_) => Err(unread()),
        },
        Id::Len if value.trim_start().starts_with('<') => none(" with a chain"),
        Id::Len => one(To::Length, size(1)?),
        Id::Parallel => one(To::Parallel, number()?),
        Id::Interval if value.starts_with(['f', 'F']) => none(" of frames"),
        Id::Interval => {
            let _ = parse_seconds(value).map_err(|_| unread())?;
            one(To::Interval, value.to_owned())
        }
        Id::ConnectTimeout => {
            let seconds = parse_seconds(value).map_err(|_| unread())?;
            one(To::ConnectTimeout, (seconds * 1e3).round().to_string())
        }
        Id::Reverse => switch(To::Reverse),
        Id::FullDuplex => switch(To::Bidir),
        Id::Window => one(To::Window, size(1)?),
        Id::Mss => {
            let bytes = bytes(value).ok_or_else(unread)?;
            one(To::SegmentSize, bytes.to_string())
        }
        Id::NoDelay => switch(To::NoDelay),
        Id::Tos | Id::Dscp if value.eq_ignore_ascii_case("none") => Ok(Vec::new()),
        Id::Tos => {
            let tos = Tos::parse(value).map_err(|_| unread())?;
            let of_iperf3 =
                |text: &str| quantity::any_base(text).and_then(|tos| tos.try_into().ok());
            one(To::Tos, spelled(value, tos.0.into(), of_iperf3))
        }
        Id::Dscp => {
            let code = value.parse::<u8>().ok().map(Tos::from_dscp);
            let tos = code.or_else(|| Tos::parse(value).ok()).ok_or_else(unread)?;
            match quantity::dscp(value) == Some(tos.0) {
                true => one(To::Dscp, value.to_owned()),
                false => one(To::Tos, tos.0.to_string()),
            }
        }
        Id::TcpCongestion | Id::TcpCca => one(To::Congestion, value.to_owned()),
        Id::FqRate => {
            let bits = parse_rate(value).map_err(|_| unread())?;
            one(To::FairQueueRate, rate(bits.0))
        }
        Id::ZeroCopy => switch(To::ZeroCopy),
        Id::Omit => one(To::Omit, number()?),
        Id::Format if matches!(value, "k" | "m" | "g" | "t" | "K" | "M" | "G" | "T") => {
            one(To::Format, value.to_owned())
        }
        Id::Format => none(&format!(" {value}")),
        // Which port it is has been said.
        Id::Peer => Ok(Vec::new()),
        _ => none(""),
    }
}
