//! Where the names tapeline and iperf write the same thing differently: rates (`50M` is 50 · 10^6 to one
//! and 50 · 2^20 to the other), the port behind a host, names of code points.

use tapeline_base::{Endpoint, Tos, parse_amount, parse_bit_or_byte_rate, parse_decimal};
use tapeline_remote::GivenOption;

use super::model::{Form, FormJob};
use super::number::{Reader, respelled};
use crate::cli::order;
use crate::cli::spec::OptionId as Id;

/// A value of iperf's as tapeline has it.
pub(crate) fn from_iperf(id: Id, value: &str) -> String {
    match (id, rates_of(id)) {
        (_, Some(iperf)) => each_rate(value, iperf, parse_decimal),
        // iperf looks at the first letter.
        (Id::Format, None) => value.chars().take(1).collect(),
        (_, None) => value.to_owned(),
    }
}

/// A value of tapeline's as iperf has it; `None` where iperf's silence says it.
pub(crate) fn to_iperf(id: Id, value: &str) -> Option<String> {
    match (id, rates_of(id)) {
        (_, Some(iperf)) => Some(each_rate(value, parse_decimal, iperf)),
        (Id::Dscp, None) => {
            let named = value.starts_with(|first: char| first.is_ascii_alphabetic());
            let tos = Tos::parse(value).ok().filter(|_| named);
            Some(tos.map_or_else(|| value.to_owned(), |tos| tos.dscp().to_string()))
        }
        (Id::Interval, None) => (value.parse() != Ok(0.0)).then(|| value.to_owned()),
        (_, None) => Some(value.to_owned()),
    }
}

/// How iperf reads the rates of an option.
fn rates_of(id: Id) -> Option<Reader> {
    match id {
        Id::Bandwidth => Some(parse_amount),
        Id::FqRate | Id::FqRateStep | Id::Isochronous | Id::UdpL4sVideo => {
            Some(parse_bit_or_byte_rate)
        }
        _ => None,
    }
}

/// `RATE`, `RATE,RATE`, `FPS:RATE,RATE`.
fn each_rate(value: &str, from: Reader, to: Reader) -> String {
    let (head, rates) = match value.split_once(':') {
        Some((frames, rates)) => (format!("{frames}:"), rates),
        None => (String::new(), value),
    };
    let rates: Vec<String> = rates
        .split(',')
        .map(|rate| respelled(rate, from, to))
        .collect();
    format!("{head}{}", rates.join(","))
}

/// The form with the port in an option of its own.
pub(crate) fn with_port_apart(form: &Form) -> Form {
    let mut options = form.options().to_vec();
    let target = form.value(Id::Client).map(Endpoint::parse);
    if form.job() == FormJob::Client
        && let Some(target) = target
        && let (Some(port), None) = (target.port, target.device)
        && !form.has(Id::Port)
    {
        for given in &mut options {
            if order::find(&given.name).is_ok_and(|spec| spec.id == Id::Client) {
                given.value = Some(target.host.clone());
            }
        }
        options.push(GivenOption::new("port", &port));
    }
    Form::new(form.job(), options)
}
