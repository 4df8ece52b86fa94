//! What a client's test is, in two lines.

use tapeline_base::Transport;

use super::run::ClientRun;
use crate::calendar::Calendar;
use crate::model::{PeerKind, TestDirection, TestLimit};
use crate::native::number::{rate, seconds, size};
use crate::native::setup;
use crate::render::tame;
use crate::style::Style;

/// A phrase, and how soon it goes where a line is too narrow: the highest rank first, 0 never.
type Phrase = (u8, String);

/// The first line, and whether the date stands in it.
pub(crate) fn first(run: &ClientRun, style: &Style, calendar: &Calendar, width: usize) -> String {
    with_date(first_phrases(run, style), run, calendar, width).0
}

/// The second line, and further ones with `-e`.
pub(crate) fn second(
    run: &ClientRun,
    style: &Style,
    calendar: &Calendar,
    width: usize,
) -> Vec<String> {
    let (_, dated) = with_date(first_phrases(run, style), run, calendar, width);
    let mut phrases = Vec::new();
    if let Some(line) = &run.line {
        let word = match run.direction() {
            TestDirection::Reverse => "to",
            TestDirection::Forward | TestDirection::Bidirectional => "from",
        };
        let address = setup::shown_address(line.local.ip(), style);
        let device = line.device.as_ref();
        let device = device.map_or(String::new(), |device| format!(" ({device})"));
        phrases.push((0, format!("{word} {address}{device}")));
        phrases.extend((2..).zip(setup::initial(line)));
    }
    phrases.push((1, format!("server is {}", server(run))));
    phrases.extend(date(run, calendar).filter(|_| !dated).map(|date| (1, date)));
    let mut lines = vec![fitted(phrases, width)];
    if style.enhanced {
        let banner = run.banner.as_ref();
        let mut more = banner.map_or(Vec::new(), |banner| setup::special_traffic(banner, true));
        let line = run.line.as_ref();
        more.extend(line.map_or(Vec::new(), setup::connection_details));
        if !more.is_empty() {
            lines.push(crate::native::table::wrap(&more, width, 0));
        }
    }
    lines
}

/// The program at the other end, with its version where that is known.
pub(crate) fn server(run: &ClientRun) -> String {
    if let Some(server) = &run.server {
        return format!("{} {}", tame(&server.program), tame(&server.version));
    }
    let version = run.line.as_ref().and_then(|line| line.peer_version.clone());
    match (run.peer_kind(), version) {
        (PeerKind::Iperf2, Some(version)) => format!("iperf {}", tame(&version)),
        (kind, _) => kind.name().to_owned(),
    }
}

fn first_phrases(run: &ClientRun, style: &Style) -> Vec<Phrase> {
    let (host, port) = run.target().unwrap_or(("the server", 0));
    let host = match style.hide_addresses {
        true => "(hidden)".to_owned(),
        false => tame(host),
    };
    let transport = setup::name(run.transport());
    let head = match run.direction() {
        TestDirection::Forward => format!("{transport} to {host} port {port}"),
        TestDirection::Reverse => format!("{transport} from {host} port {port} (reverse)"),
        TestDirection::Bidirectional => format!("{transport} to and from {host} port {port}"),
    };
    let mut phrases = vec![(0, head), (0, amount(run, style))];
    if run.transport() == Transport::Udp {
        let length = run
            .start
            .as_ref()
            .map(|start| u64::from(start.block_length));
        let length = length.or(run.banner.as_ref().map(|banner| banner.write_length));
        phrases.extend(length.map(|length| (2, format!("{length}-byte datagrams"))));
    }
    let asked = run
        .banner
        .as_ref()
        .and_then(|banner| banner.congestion.as_ref());
    let line = run.line.as_ref();
    let congestion = line.and_then(|line| line.congestion.as_ref());
    let congestion = congestion.or(asked.map(|asked| &asked.name));
    phrases.extend(congestion.map(|name| (2, tame(name))));
    phrases.extend(run.runs.clone().map(|runs| (1, runs)));
    if let Some(banner) = &run.banner {
        let special = setup::special_traffic(banner, false).into_iter();
        phrases.extend(
            special
                .filter(|_| !style.enhanced)
                .map(|phrase| (3, phrase)),
        );
    }
    phrases
}

/// `4 streams for 5 s at 100 Mbit/s each`.
fn amount(run: &ClientRun, style: &Style) -> String {
    let (streams, plural, each) = match run.streams() {
        1 => (1, "", ""),
        several => (several, "s", " each"),
    };
    let long = match run.limit() {
        Some(TestLimit::Time(time)) if time.is_zero() => " until interrupted".to_owned(),
        Some(TestLimit::Time(time)) => format!(" for {} s", seconds(time.as_secs_f64())),
        Some(TestLimit::Bytes(bytes)) => format!(" of {}", size(bytes, style.format)),
        Some(TestLimit::Blocks(blocks)) => format!(" of {blocks} blocks"),
        None => String::new(),
    };
    let rate = run.rate().map(|bits| rate(bits as f64, style.format));
    let rate = rate.map_or(String::new(), |rate| format!(" at {rate}{each}"));
    format!("{streams} stream{plural}{long}{rate}")
}

fn date(run: &ClientRun, calendar: &Calendar) -> Option<String> {
    let connected = run.line.as_ref().and_then(|line| line.at);
    let greeted = run.control.as_ref().map(|control| control.at);
    connected.or(greeted).map(|at| calendar.bare_date(at))
}

/// The line with the date, where all phrases and the date fit, and whether it has the date.
fn with_date(
    phrases: Vec<Phrase>,
    run: &ClientRun,
    calendar: &Calendar,
    width: usize,
) -> (String, bool) {
    let whole = join(&phrases);
    if let Some(date) = date(run, calendar)
        && whole.chars().count() + 2 + date.len() <= width
    {
        return (format!("{whole}, {date}"), true);
    }
    (fitted(phrases, width), false)
}

/// Phrases without those that do not fit.
fn fitted(mut phrases: Vec<Phrase>, width: usize) -> String {
    loop {
        let line = join(&phrases);
        let worst = (0..phrases.len()).max_by_key(|at| (phrases[*at].0, *at));
        match worst {
            Some(worst) if line.chars().count() > width && phrases[worst].0 > 0 => {
                phrases.remove(worst);
            }
            _ => return line,
        }
    }
}

fn join(phrases: &[Phrase]) -> String {
    let words: Vec<&str> = phrases.iter().map(|(_, words)| words.as_str()).collect();
    words.join(", ")
}
