//! The grammar of connection lines.

use super::line::{LineKind, Remark, Who};
use super::template::{matches, prefix};

/// Parses what follows the identifier. Fields: identifier, own address, device (empty
/// when not shown), port, peer's address, port, then each remark.
pub(super) fn parse<'a>(who: Who, id: &'a str, rest: &'a str) -> Option<(LineKind, Vec<&'a str>)> {
    let mut fields = vec![id];
    let mut remarks = Vec::new();
    let rest = prefix("local {text} port ", rest, &mut fields)?;
    let local = fields.pop()?;
    let (address, device) = local.split_once('%').unwrap_or((local, ""));
    if !device.is_empty() {
        remarks.push(Remark::Device);
    }
    fields.extend([address, device]);
    let mut rest = prefix("{n} connected with {text} port {n}", rest, &mut fields)?;
    while !rest.is_empty() {
        let body = rest.strip_prefix(' ')?;
        let length = if body.starts_with('(') {
            body.find(')')? + 1
        } else {
            body.len()
        };
        let (remark, behind) = body.split_at(length);
        remarks.push(kind(remark)?);
        fields.push(remark);
        rest = behind;
    }
    Some((LineKind::Connection(who, remarks), fields))
}

fn kind(remark: &str) -> Option<Remark> {
    REMARKS
        .iter()
        .find_map(|(kind, template)| matches(template, remark).map(|_| *kind))
        .or_else(|| is_name(remark).then_some(Remark::Congestion))
}

/// `(reno)`: the name of a congestion control.
fn is_name(remark: &str) -> bool {
    remark
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'))
        .is_some_and(|name| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        })
}

const REMARKS: &[(Remark, &str)] = &[
    (Remark::Reverse, "(reverse)"),
    (Remark::FullDuplex, "(full-duplex)"),
    (
        Remark::RequestResponse,
        "(bb w/quickack req/reply/hold={n}/{n}/{n})",
    ),
    (Remark::RequestResponse, "(bb req/reply/hold={n}/{n}/{n})"),
    (Remark::NoUdpFin, "(no-udp-fin)"),
    (Remark::TripTimes, "(trip-times)"),
    (Remark::TosTransmit, "(tos tx=0x{h},dscp={n},ecn={n})"),
    (Remark::TosReceive, "(tos rx=0x{h},dscp={n},ecn={n})"),
    (
        Remark::TosBoth,
        "(tos rx/tx=0x{h},dscp={n},ecn={n}/0x{h},dscp={n},ecn={n})",
    ),
    (
        Remark::TosBoth,
        "(tos rx/tx=0x{h},dscp={n},ecn={n}, /0x{h},dscp={n},ecn={n})",
    ),
    (Remark::Peer, "(peer {text})"),
    (Remark::Initial, "(icwnd/mss/irtt={n}/{n}/{n})"),
    (Remark::ConnectTime, "(ct={f2:4} ms)"),
    (Remark::Date, "on {date}"),
];
