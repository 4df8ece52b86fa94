//! The page: tables of 80 columns, and what they mean.

use std::fmt::Write as _;

use tapeline_stats::rfc6349::Metric;

use super::super::page::{MethodHead, PageStyle};
use super::super::phase::Direction;
use super::findings::verdict;
use super::result::{
    BottleneckSource, DirectionResult, Headline, Rfc6349Result, RunPhase, TransferRun,
};

/// Where the columns of both directions end, and where the words behind them begin.
const UP_ENDS: usize = 28;
const DOWN_ENDS: usize = 38;
const WORDS: usize = 41;
/// Columns of the longest bar.
const BAR: usize = 12;
/// Shortest run that the RFC asks for, seconds.
const LONG_ENOUGH: f64 = 30.0;

/// The page.
pub(crate) fn page(result: &Rfc6349Result, head: &MethodHead, style: &PageStyle) -> String {
    let mut page = heading(result, head, style);
    if result.measured().next().is_none() {
        page.push_str(&format!("\n{}\n", head.missing()));
        return page;
    }
    page.push('\n');
    page.push_str(&path_table(result, head));
    for (direction, of) in result.measured() {
        if !of.runs.is_empty() {
            page.push('\n');
            page.push_str(&run_table(direction, of));
        }
    }
    page.push('\n');
    page.push_str(&metric_table(result, head));
    page.push_str(&remarks(result, head, style));
    page.push('\n');
    for paragraph in verdict(result).lines() {
        page.push_str(&style.paragraph(paragraph));
    }
    page
}

fn heading(result: &Rfc6349Result, head: &MethodHead, style: &PageStyle) -> String {
    let mut line = format!("rfc6349 to {}", head.target());
    match &result.congestion_control {
        Some(name) => line.push_str(&format!(", TCP {name}")),
        None => line.push_str(", TCP"),
    }
    if let Some(seconds) = result.run_seconds {
        line.push_str(&format!(", {seconds} s runs"));
        if seconds < LONG_ENOUGH {
            line.push_str(" (RFC 6349: 30 s or more)");
        }
    }
    style.paragraph(&line)
}

/// Four digits, at most two decimals: what two runs of one path may differ in.
fn four(value: f64) -> String {
    let decimals = match value.abs() {
        small if small < 99.995 => 2,
        middle if middle < 999.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// One decimal below 100.
fn three(value: f64) -> String {
    let decimals = usize::from(value.abs() < 99.95);
    format!("{value:.decimals$}")
}

/// A unit with its factor.
type Scale = (f64, &'static str);

fn rate_scale(largest: f64) -> Scale {
    match largest {
        high if high >= 1e10 => (1e9, "Gbit/s"),
        low if low < 1e5 => (1e3, "kbit/s"),
        _ => (1e6, "Mbit/s"),
    }
}

fn size_scale(largest: f64) -> Scale {
    if largest >= 9.995e6 {
        (1e6, "MB")
    } else {
        (1e3, "kB")
    }
}

/// Lines of a table whose columns are the directions.
struct Table<'a> {
    result: &'a Rfc6349Result,
    text: String,
    missing: &'static str,
}

impl Table<'_> {
    /// A line; `words` follow what is known.
    fn line(&mut self, label: &str, of: impl Fn(&DirectionResult) -> Option<String>, words: &str) {
        let cells = Direction::BOTH.map(|direction| {
            let measured = self.result.direction(direction)?;
            Some(of(measured))
        });
        let known = cells.iter().flatten().any(Option::is_some);
        if !known {
            let _ = writeln!(self.text, "{label:<24}{}", self.missing);
            return;
        }
        let cell = |cell: &Option<Option<String>>| match cell {
            None => String::new(),
            Some(None) => "-".to_owned(),
            Some(Some(value)) => value.clone(),
        };
        let [up, down] = [cell(&cells[0]), cell(&cells[1])];
        let label_width = UP_ENDS - 8;
        let up_width = 8;
        let down_width = DOWN_ENDS - UP_ENDS;
        let mut line = format!("{label:<label_width$}{up:>up_width$}{down:>down_width$}");
        if !words.is_empty() {
            line = format!("{line:<WORDS$}{words}");
        }
        if cells.iter().flatten().any(Option::is_none) && words.len() + WORDS < 54 {
            line.push_str(&format!(" (-: {})", self.missing));
        }
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }
}

fn path_table(result: &Rfc6349Result, head: &MethodHead) -> String {
    let mut table = Table {
        result,
        text: String::new(),
        missing: head.missing(),
    };
    let title = |direction: Direction| result.direction(direction).map_or("", |_| direction.word());
    let (up, down) = (title(Direction::Up), title(Direction::Down));
    let line = format!("{up:>UP_ENDS$}{down:>width$}", width = DOWN_ENDS - UP_ENDS);
    table.text.push_str(line.trim_end());
    table.text.push('\n');
    let exact = result.measured().all(|(_, of)| of.path_mtu_exact);
    let mtu = if exact {
        "bytes"
    } else {
        "bytes, by TCP's segments"
    };
    table.line(
        "path MTU",
        |of| of.path_mtu_bytes.map(|mtu| mtu.to_string()),
        mtu,
    );
    match &result.rtt {
        None => {
            let _ = writeln!(table.text, "{:<24}{}", "round trip, idle", head.missing());
        }
        Some(rtt) => {
            let ends = match (&result.up, &result.down) {
                (Some(_), Some(_)) => (UP_ENDS + DOWN_ENDS) / 2 + 1,
                (Some(_), None) => UP_ENDS,
                (None, _) => DOWN_ENDS,
            };
            let label_width = ends - 8;
            let line = format!(
                "{:<label_width$}{:>8}",
                "round trip, idle",
                four(rtt.baseline_ms)
            );
            let words = format!(
                "ms (median {}, {} {})",
                four(rtt.p50_ms),
                rtt.probes,
                rtt.source.words()
            );
            let _ = writeln!(table.text, "{line:<WORDS$}{words}");
        }
    }
    let largest = |of: fn(&DirectionResult) -> Option<f64>| {
        let values = result.measured().filter_map(|(_, one)| of(one));
        values.fold(0.0, f64::max)
    };
    let bottleneck = |of: &DirectionResult| Some(of.bottleneck.as_ref()?.bits_per_second);
    let (factor, unit) = rate_scale(largest(bottleneck));
    let words = bottleneck_words(result, unit);
    table.line(
        "bottleneck",
        |of| Some(four(bottleneck(of)? / factor)),
        &words,
    );
    if result.measured().all(|(_, of)| of.bottleneck.is_none()) {
        return table.text;
    }
    let product = |of: &DirectionResult| Some(of.minimum_window_bytes? as f64);
    let (factor, unit) = size_scale(largest(product));
    let words = format!("{unit} must be in flight to fill the path");
    table.line(
        "bandwidth x delay",
        |of| Some(four(product(of)? / factor)),
        &words,
    );
    let ideal = |of: &DirectionResult| Some(of.ideal.as_ref()?.bits_per_second);
    let (factor, unit) = rate_scale(largest(ideal));
    let words = format!("{unit}{}", ideal_words(result));
    table.line(
        "ideal TCP rate",
        |of| Some(four(ideal(of)? / factor)),
        &words,
    );
    if result
        .measured()
        .any(|(_, of)| of.light_load_loss_percent.is_some())
    {
        let loss = |of: &DirectionResult| of.light_load_loss_percent.map(loss);
        table.line("loss at light load", loss, "% of datagrams");
    }
    table.text
}

/// A share of lost packets: a loss is never rounded to none.
fn loss(percent: f64) -> String {
    match percent {
        0.0 => "0".to_owned(),
        tiny if tiny < 0.0095 => format!("{tiny:.3}"),
        small => format!("{small:.2}"),
    }
}

fn bottleneck_words(result: &Rfc6349Result, unit: &str) -> String {
    let known = result.measured().find_map(|(_, of)| of.bottleneck.as_ref());
    let words = known.map(|bottleneck| match bottleneck.source {
        BottleneckSource::Measured => "IP layer, measured by UDP",
        BottleneckSource::Cir => "IP layer, by --cir",
        BottleneckSource::LineRate => "on the line, by --line-rate",
        BottleneckSource::UdpTrials => "IP layer, UDP trials",
    });
    match words {
        Some(words) => format!("{unit}, {words}"),
        None => unit.to_owned(),
    }
}

/// How much of a packet is data, where both directions agree.
fn ideal_words(result: &Rfc6349Result) -> String {
    let mut sizes = result.measured().filter_map(|(_, of)| {
        let mtu = of.path_mtu_bytes?;
        Some((mtu, of.ideal.as_ref()?.header_bytes))
    });
    let first = sizes.next();
    match first {
        Some((mtu, headers)) if sizes.all(|other| Some(other) == first) => {
            format!(" ({} of {mtu} bytes are data)", mtu.saturating_sub(headers))
        }
        _ => String::new(),
    }
}

fn run_table(direction: Direction, of: &DirectionResult) -> String {
    let mut text = String::new();
    let rates = of
        .runs
        .iter()
        .flat_map(|run| [Some(run.bits_per_second), run.expected_bits_per_second]);
    let largest = rates.flatten().fold(0.0, f64::max);
    let (factor, unit) = rate_scale(largest);
    let title = format!("{direction}, {unit}, ms");
    let _ = writeln!(
        text,
        "{title:<20}{:>12}{:>9}{:>9}{:>8}{:>8}",
        "window", "expected", "measured", "RTT", "resent"
    );
    for run in &of.runs {
        let rate = |rate: f64| {
            let value = rate / factor;
            if value < 9.95 {
                four(value)
            } else {
                three(value)
            }
        };
        let dash = || "-".to_owned();
        let bar = if largest > 0.0 {
            (run.bits_per_second / largest * BAR as f64).round() as usize
        } else {
            0
        };
        let line = format!(
            "{:<20}{:>12}{:>9}{:>9}{:>8}{:>8}  {}",
            run_label(run),
            window(run),
            run.expected_bits_per_second.map_or_else(dash, rate),
            rate(run.bits_per_second),
            run.rtt_mean_ms.map_or_else(dash, three),
            run.retransmitted_segments
                .map_or_else(dash, |segments| segments.to_string()),
            "#".repeat(bar.min(BAR)),
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn run_label(run: &TransferRun) -> String {
    match (run.phase, run.window_percent) {
        (RunPhase::Window, Some(percent)) => format!("{percent:>5.0} % of BDP"),
        (RunPhase::Window, None) => "   given window".to_owned(),
        (RunPhase::Full | RunPhase::Simultaneous, _) => "   system's own".to_owned(),
        (RunPhase::Algorithm, _) => {
            let name: String = run
                .congestion_control
                .as_deref()
                .unwrap_or("other")
                .chars()
                .take(16)
                .collect();
            format!("   {name}")
        }
        (RunPhase::Connections, _) => format!("   {} connections", run.connections),
    }
}

fn window(run: &TransferRun) -> String {
    let kilo = |bytes: u64| {
        let bytes = bytes as f64;
        let (factor, unit) = size_scale(bytes);
        format!("{:.1} {unit}", bytes / factor)
    };
    match (run.window_asked_bytes, run.window_used_bytes) {
        (Some(asked), _) => kilo(asked),
        (None, Some(used)) => format!("({})", kilo(used)),
        (None, None) => "-".to_owned(),
    }
}

/// The metrics, of each direction alone and of both at once, and how they come out.
fn metric_table(result: &Rfc6349Result, head: &MethodHead) -> String {
    let both = result.simultaneous.as_ref();
    let mut text = String::new();
    let title = |direction: Direction| result.direction(direction).map_or("", |_| direction.word());
    let _ = writeln!(
        text,
        "{:<20}{:>8}{:>10}{:>15}{:>9}",
        "",
        title(Direction::Up),
        title(Direction::Down),
        if both.is_some() { "both at once" } else { "" },
        "pass",
    );
    for metric in Metric::ALL {
        let cell =
            |of: Option<Headline>| of.map_or_else(String::new, |of| metric_cell(metric, of, true));
        let alone =
            Direction::BOTH.map(|direction| result.direction(direction).map(|of| of.headline));
        let at_once = |run: Option<&TransferRun>| {
            run.map_or_else(
                || "-".to_owned(),
                |run| metric_cell(metric, run.headline(), false),
            )
        };
        let at_once = both.map_or_else(String::new, |both| {
            format!(
                "{:>7}{:>7}",
                at_once(both.up.as_ref()),
                at_once(both.down.as_ref())
            )
        });
        let asked = head.pass.iter().find(|pass| pass.name == metric.name());
        let limit = asked.map_or(metric.default_limit(), |pass| pass.limit);
        let worse = result.worse(metric);
        let outcome = match worse {
            Some(value) if metric.passes(value, limit) => "PASS",
            Some(_) => "FAIL",
            None => "-",
        };
        let (name, sign, unit) = match metric {
            Metric::TransferTimeRatio => ("transfer time ratio", "<=", ""),
            Metric::Efficiency => ("TCP efficiency", ">=", " %"),
            Metric::BufferDelay => ("buffer delay", "<=", " %"),
        };
        let limit = format!("{sign} {limit}{unit}");
        let line = format!(
            "{name:<20}{:>8}{:>10}{at_once:>15}{limit:>11}   {outcome}",
            cell(alone[0]),
            cell(alone[1]),
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn metric_cell(metric: Metric, of: Headline, unit: bool) -> String {
    let Some(value) = of.of(metric) else {
        return "-".to_owned();
    };
    let percent = if unit { " %" } else { "" };
    match metric {
        Metric::TransferTimeRatio => format!("{value:.2}"),
        // Rounded to 100, a loss would be hidden.
        Metric::Efficiency if value > 99.99 && value < 100.0 => format!("99.99{percent}"),
        Metric::Efficiency => format!("{value:.2}{percent}"),
        Metric::BufferDelay => format!("{:.0}{percent}", value.max(0.0)),
    }
}

/// What a reader has to know of the numbers above.
fn remarks(result: &Rfc6349Result, head: &MethodHead, style: &PageStyle) -> String {
    let mut remarks = Vec::new();
    let unknown: Vec<&str> = Metric::ALL
        .into_iter()
        .filter(|metric| result.worse(*metric).is_none())
        .map(|metric| match metric {
            Metric::TransferTimeRatio => "ratio",
            Metric::Efficiency => "efficiency",
            Metric::BufferDelay => "buffer delay",
        })
        .collect();
    if !unknown.is_empty() {
        remarks.push(format!("-: {}", head.missing()));
    }
    let sources = result.measured().filter_map(|(direction, of)| {
        let source = of.full()?.rtt_source?;
        (source == super::RoundTripSource::TcpConnect).then_some(direction)
    });
    let approximate: Vec<&str> = sources.map(Direction::word).collect();
    if !approximate.is_empty() {
        remarks.push(format!(
            "buffer delay {}: approximate, by TCP connects beside the transfer",
            approximate.join(" and ")
        ));
    }
    for (direction, of) in result.measured() {
        let Some(run) = of.full() else { continue };
        let (Some(own), Some(probe)) = (run.buffer_delay_percent, run.buffer_delay_probe_percent)
        else {
            continue;
        };
        // Half of the larger one, and more than noise of an idle path.
        if (own - probe).abs() > 10.0_f64.max(own.max(probe) / 2.0) {
            remarks.push(format!(
                "{direction}: probes beside the transfer saw {:.0} %, its own segments {:.0} %: queues \
                 here are kept apart by connection",
                probe.max(0.0),
                own.max(0.0)
            ));
        }
    }
    remarks
        .into_iter()
        .map(|remark| style.paragraph(&remark))
        .collect()
}
