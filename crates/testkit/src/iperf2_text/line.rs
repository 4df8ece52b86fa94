//! Names the kind of a line.

use super::complaint::{COMPLAINTS, FLOW_COMPLAINTS, complaint};
use super::kind::{LineKind, Who};
use super::row::ROWS;
use super::setting::setting;
use super::template::{matches, prefix};
use super::{connection, histogram};
use tapeline_report::Build;
use tapeline_report::iperf2::Header;

/// Names the kind of a line (without its newline). `None` for a line that this build of iperf 2.2.1
/// does not print, or whose layout differs from its layout by as little as a blank.
#[must_use]
pub fn classify(line: &str, build: Build) -> Option<LineKind> {
    parse(line, build).map(|(kind, _)| kind)
}

/// The kind of a line and its variable parts in their order, blanks around removed.
/// Rows begin with the identifier (`1`, `*1`, `key(1)`, `FD1`, `SUM`, `SUM-2`), start and
/// end.
#[must_use]
pub fn parse(line: &str, build: Build) -> Option<(LineKind, Vec<&str>)> {
    if line == RULE {
        return Some((LineKind::Rule, Vec::new()));
    }
    if let Some(header) = Header::ALL
        .into_iter()
        .find(|header| header.text(build) == line)
    {
        return Some((LineKind::Header(header), Vec::new()));
    }
    who(line)
        .and_then(|(who, id, rest)| of_flow(who, id, rest, build))
        .or_else(|| connection::refused(line))
        .or_else(|| connect_times(line))
        .or_else(|| setting(line))
        .or_else(|| complaint(line, COMPLAINTS))
        .or_else(|| csv(line))
}

const RULE: &str = "------------------------------------------------------------";

/// `[  1] ` and its relatives: what it names, the text in the brackets, what follows.
fn who(line: &str) -> Option<(Who, &str, &str)> {
    let (inside, rest) = line.strip_prefix('[')?.split_once("] ")?;
    let name = inside.trim_start();
    let aligned = inside.len() >= 3 && (inside.len() == 3 || inside.len() == name.len());
    let who = if inside == "SUM" {
        Who::Sum
    } else if inside.strip_prefix("SUM-").is_some_and(is_number) {
        Who::CountedSum
    } else if inside.strip_prefix("FD").is_some_and(is_number) {
        Who::Duplex
    } else if aligned {
        flow(name)?
    } else {
        return None;
    };
    Some((who, name, rest))
}

/// `1`, `*1`, and with a permit key `key(1)`, `key(*1)`.
fn flow(name: &str) -> Option<Who> {
    let number = match name
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('))
    {
        Some((key, number)) if !key.is_empty() => number,
        Some(_) => return None,
        None => name,
    };
    match number.strip_prefix('*') {
        Some(number) => is_number(number).then_some(Who::Reversed),
        None => is_number(number).then_some(Who::Flow),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Lines that begin with an identifier.
fn of_flow<'a>(
    who: Who,
    id: &'a str,
    rest: &'a str,
    build: Build,
) -> Option<(LineKind, Vec<&'a str>)> {
    let mut fields = vec![id];
    if rest.starts_with("local ") {
        return connection::parse(who, id, rest);
    }
    if let Some(more) = matches("Sent {n} datagrams", rest) {
        fields.extend(more);
        return Some((LineKind::Sent(who), fields));
    }
    let remark = find(BEHIND_IDENTIFIER, rest).or_else(|| complaint(rest, FLOW_COMPLAINTS));
    if let Some((kind, more)) = remark {
        fields.extend(more);
        return Some((kind, fields));
    }
    of_interval(who, rest, fields, build)
}

/// Lines that go on with an interval.
fn of_interval<'a>(
    who: Who,
    rest: &'a str,
    mut fields: Vec<&'a str>,
    build: Build,
) -> Option<(LineKind, Vec<&'a str>)> {
    let interval = match build {
        Build::Plain => "{f2}-{f2} sec ",
        Build::FastSampling => "{f4}-{f4} sec ",
    };
    let rest = prefix(interval, rest, &mut fields)?;
    if let Some((kind, more)) = histogram::parse(rest).or_else(|| find(BEHIND_INTERVAL, rest)) {
        fields.extend(more);
        return Some((kind, fields));
    }
    for late in [
        " {n} datagrams received out-of-order",
        " {n} datagrams  received out-of-order",
    ] {
        if let Some(more) = matches(late, rest) {
            fields.extend(more);
            return Some((LineKind::OutOfOrder(who), fields));
        }
    }
    let rest = prefix(" {T}  {R}", rest, &mut fields)?;
    ROWS.iter().find_map(|(columns, template)| {
        let more = matches(template, rest)?;
        let mut fields = fields.clone();
        fields.extend(more);
        Some((LineKind::Row(who, *columns), fields))
    })
}

fn find<'a>(table: &[(LineKind, &str)], line: &'a str) -> Option<(LineKind, Vec<&'a str>)> {
    table.iter().find_map(|(kind, template)| {
        let fields = matches(template, line)?;
        Some((kind.clone(), fields))
    })
}

/// What follows an identifier, rows and connections apart.
const BEHIND_IDENTIFIER: &[(LineKind, &str)] = &[
    (LineKind::ServerReport, "Server Report:"),
    (
        LineKind::ClientDelay,
        "Client traffic to start in {n} seconds at {text} current time is {date}",
    ),
    (
        LineKind::ServerDelay,
        "Server receiving to start in {n} seconds at {date}",
    ),
    (
        LineKind::StartPassed,
        "WARNING: --txstart-time ({n}.{n})  is before now {date}",
    ),
    (
        LineKind::ClockCheck,
        "Clock sync check (ms): RTT/Half=({f3}/{f3}) OWD-send/ack/asym=({f3}/{f3}/{f3})",
    ),
    (
        LineKind::ScheduleErrors,
        "Isoch schedule errors (mean/min/max/stdev) = {f3}/{f3}/{f3}/{f3} ms",
    ),
    (LineKind::Markov, "Markov chain: {text} transitions: {n}"),
    (LineKind::MarkovNode, "{n}={text}  {n}/{n}({f1}%)"),
];

/// What follows an identifier, an interval, and one blank.
const BEHIND_INTERVAL: &[(LineKind, &str)] = &[
    (
        LineKind::OneWay,
        " OWD (ms) Cnt={n} TX={f3}/{f3}/{f3}/{f3} RX={f3}/{f3}/{f3}/{f3} \
         Asymmetry={f3}/{f3}/{f3}/{f3}",
    ),
    (LineKind::ClockErrors, " Clock sync error count = {n}"),
    (
        LineKind::LinkErrors,
        "  L2 processing detected errors, total(length/checksum/unknown) = {n}({n}/{n}/{n})",
    ),
];

fn connect_times(line: &str) -> Option<(LineKind, Vec<&str>)> {
    [
        "[ CT] final connect times (min/avg/max) = {f3}/{f3}/{f3} ms (tot/err) = {n}/{n}",
        "[ CT] final connect times (min/avg/max/stdev) = {f3}/{f3}/{f3}/{f3} ms (tot/err) = {n}/{n}",
    ]
    .iter()
    .find_map(|template| matches(template, line))
    .map(|fields| (LineKind::ConnectTimes, fields))
}

/// CSV lines are named by their number of columns.
fn csv(line: &str) -> Option<(LineKind, Vec<&str>)> {
    let fields: Vec<&str> = line.split(',').collect();
    if line.starts_with("time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,") {
        return Some((LineKind::CsvHeader(fields.len()), fields));
    }
    let date = fields[0];
    let date = match date.split_once(':') {
        Some((zone, date)) if zone.len() == 5 => date.split_once('.')?.0,
        Some(_) => return None,
        None => date,
    };
    let dated = date.len() == 14 && date.bytes().all(|byte| byte.is_ascii_digit());
    (dated && fields.len() >= 9).then_some((LineKind::CsvRow(fields.len()), fields))
}
