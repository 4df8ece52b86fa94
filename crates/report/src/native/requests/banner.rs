//! What a test of requests is, in two lines.

use super::run::RequestsRun;
use crate::model::{Connected, RequestPlan};
use crate::native::number::{digits, millis, whole_size};
use crate::native::setup;
use crate::render::tame;
use crate::style::Style;

/// The first line; nothing before it is known what is requested.
pub(crate) fn first(run: &RequestsRun, style: &Style, width: usize) -> Option<String> {
    let banner = run.banner.as_ref()?;
    let host = if style.hide_addresses {
        "(hidden)".to_owned()
    } else {
        tame(&banner.host)
    };
    let transport = setup::name(banner.transport);
    let port = banner.port;
    let mut phrases = match &banner.request_response {
        Some(plan) => {
            let head = format!("{transport} requests to {host} port {port}: ");
            let mut phrases = requests(plan);
            phrases[0].insert_str(0, &head);
            phrases
        }
        None => vec![format!("{transport} to {host} port {port}: connect only")],
    };
    if banner.flows > 1 {
        phrases.push(format!("{} streams", banner.flows));
    }
    if banner.load_flows > 0 {
        phrases.push(setup::working_load(banner));
    }
    phrases.extend(run.runs.clone());
    Some(fitted(&phrases, width))
}

/// `100 B sent`, `100 B back`, `10 each second`.
fn requests(plan: &RequestPlan) -> Vec<String> {
    let hold = match plan.hold_micros {
        0 => String::new(),
        hold => format!(" after {} ms", digits(f64::from(hold) / 1e3)),
    };
    let length = |bytes: u32| whole_size(u64::from(bytes));
    vec![
        format!("{} sent", length(plan.request)),
        format!("{} back{hold}", length(plan.response)),
        match plan.burst {
            None => "back to back".to_owned(),
            Some((number, period)) if period.as_secs_f64() == 1.0 => {
                format!("{number} each second")
            }
            Some((number, period)) => format!("{number} every {} s", period.as_secs_f64()),
        },
    ]
}

/// The second line; nothing before there is a connection.
pub(crate) fn second(run: &RequestsRun, style: &Style, width: usize) -> Option<String> {
    let line = run.connected.as_ref()?;
    let address = setup::shown_address(line.local.ip(), style);
    let device = line.device.as_ref();
    let device = device.map_or(String::new(), |device| format!(" ({device})"));
    let mut phrases = vec![format!("from {address}{device}")];
    let is_one = run.connects.is_none() && !run.is_connect_only();
    let time = line.connect_time.filter(|_| is_one);
    let time = time.map(|time| time.as_secs_f64());
    phrases.extend(time.map(|time| format!("connected in {} ms", millis(time))));
    phrases.extend(program(run, line).map(|name| format!("server is {name}")));
    Some(fitted(&phrases, width))
}

/// Phrases of one connection, with the stream's number where there are several.
pub(crate) fn connection(run: &RequestsRun, line: &Connected) -> Vec<String> {
    let banner = run.banner.as_ref();
    let is_one = run.streams() == 1 && banner.is_none_or(|banner| banner.load_flows == 0);
    let mut phrases = setup::initial(line);
    // The second line has that of the only connection.
    let connect_time = line
        .connect_time
        .filter(|_| !is_one || run.is_connect_only());
    phrases.extend(setup::connection_details(&Connected {
        connect_time,
        ..line.clone()
    }));
    if !is_one && let Some(first) = phrases.first_mut() {
        first.insert_str(0, &format!("stream {}: ", line.tag.id));
    }
    phrases
}

fn program(run: &RequestsRun, line: &Connected) -> Option<String> {
    match &run.server {
        Some(server) => Some(format!(
            "{} {}",
            tame(&server.program),
            tame(&server.version)
        )),
        None if line.peer_is_tapeline => Some("tapeline".to_owned()),
        None => {
            let version = line.peer_version.as_ref();
            version.map(|version| format!("iperf {}", tame(version)))
        }
    }
}

/// As many phrases as fit in a line.
fn fitted(phrases: &[String], width: usize) -> String {
    let mut line = String::new();
    for phrase in phrases {
        let gap = if line.is_empty() { "" } else { ", " };
        if !line.is_empty() && line.chars().count() + 2 + phrase.chars().count() > width {
            break;
        }
        line.push_str(gap);
        line.push_str(phrase);
    }
    line
}
