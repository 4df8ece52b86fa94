//! The grammar of connection lines.

use super::kind::{LineKind, Remark, Who};
use super::template::{matches, prefix};

/// Parses what follows the identifier. Fields: identifier, own address, device (empty
/// when not shown), port, peer's address, port, then each remark.
pub(crate) fn parse<'a>(who: Who, id: &'a str, rest: &'a str) -> Option<(LineKind, Vec<&'a str>)> {
    let mut fields = vec![id];
    let remarks = endpoints(rest, "connected", &mut fields)?;
    Some((LineKind::Connection(who, remarks), fields))
}

/// Parses the line of a connection that had no valid permit key. Fields as of a
/// connection, without identifier.
pub(crate) fn refused(line: &str) -> Option<(LineKind, Vec<&str>)> {
    let rest = line.strip_prefix("[drop] ")?;
    let rest = rest.strip_suffix(" (permit key fail)")?;
    let mut fields = Vec::new();
    let remarks = endpoints(rest, "connection", &mut fields)?;
    Some((LineKind::Refused(remarks), fields))
}

/// Both ends and the remarks behind them.
fn endpoints<'a>(rest: &'a str, verb: &str, fields: &mut Vec<&'a str>) -> Option<Vec<Remark>> {
    let mut remarks = Vec::new();
    let rest = prefix("local {text} port ", rest, fields)?;
    let local = fields.pop()?;
    let (address, device) = local.split_once('%').unwrap_or((local, ""));
    if !device.is_empty() {
        remarks.push(Remark::Device);
    }
    fields.extend([address, device]);
    let rest = prefix("{n} ", rest, fields)?.strip_prefix(verb)?;
    let mut rest = prefix(" with {text} port {n}", rest, fields)?;
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
    Some(remarks)
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
    (Remark::Clamp, "(clamp={n})"),
    (Remark::Prefetch, "(prefetch={n})"),
    (Remark::Isochronous, "(isoch)"),
    (Remark::Burst, "(burst-period={f2}s)"),
    // Built for fast sampling.
    (Remark::Burst, "(burst-period={f4}s)"),
    (Remark::FairQueue, "(fq)"),
    (Remark::EpochStart, "(epoch-start)"),
    (Remark::LinkLayer, "(l2mode)"),
    (Remark::L4s, "(l4s)"),
    (Remark::Quickack, "(qack)"),
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
