//! What `capacity` comes to: the maximum IP-layer capacity of each direction (RFC 9097).

use serde::Serialize;
use tapeline_base::FormatLetter;
use tapeline_stats::{CapacityMaximum, SubInterval, layer_rate};

use super::figure::{Chart, ChartKind, ChartSeries, CsvTable, Mark, Quantity, cell};
use super::page::{MethodHead, PageStyle};
use super::pass::Criterion;
use super::phase::Direction;
use super::result::MethodResult;
use crate::native::{digits, hanging, rate_words};

/// Bytes that Ethernet puts around a packet: header and FCS.
const ETHERNET: u64 = 18;
/// The same on the line, with preamble and gap.
const LINE: u64 = 38;
/// Round trips whose difference to the smallest is told as a queue, milliseconds.
const QUEUE_SHOWN: f64 = 1.0;

/// What `capacity` comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityResult {
    /// Length of the test of each direction, seconds.
    pub seconds: f64,
    /// To the server.
    pub up: Option<DirectionCapacity>,
    /// From the server.
    pub down: Option<DirectionCapacity>,
}

/// The capacity of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionCapacity {
    /// The largest rate of a sub-interval, and what went with it; `null` of a search that broke off.
    pub capacity: Option<Capacity>,
    /// The same rate with Ethernet headers and check sums.
    pub ethernet_bits_per_second: Option<f64>,
    /// The same on the line, with preambles and gaps.
    pub line_bits_per_second: Option<f64>,
    /// What a TCP connection of full segments can carry of it; `null` where their size is not known.
    pub tcp_payload_bits_per_second: Option<f64>,
    /// Data of a full TCP segment, bytes, and its packet.
    pub tcp_segment_bytes: Option<u32>,
    /// The packet of such a segment, with time stamps, bytes.
    pub tcp_packet_bytes: Option<u32>,
    /// IP packets of the load, bytes.
    pub packet_bytes: u32,
    /// With `--bimodal`: the maxima of the first sub-intervals and of the rest.
    pub bimodal: Option<Vec<Capacity>>,
    /// Every complete sub-interval.
    pub sub_intervals: Vec<CapacityInterval>,
    /// The row of the table of rates at the end; `null` where the sender did not report it.
    pub table_row_final: Option<u32>,
    /// When the search began to move by single rows; `null` where it never did.
    pub slow_mode_at_seconds: Option<f64>,
    /// The rate only rose in the last second: the capacity is larger.
    pub still_rising: bool,
    /// The load swung, and filled the path in no sub-interval all the time: the rate may be some percent
    /// off.
    pub approximate: bool,
    /// What kept the rate from rising: `network`, `sender_host`, `receiver_host`, `requested_rate`
    /// or `granted_rate`; `null` while it still rose.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("enum" = [
            "network", "sender_host", "receiver_host", "requested_rate", "granted_rate", null
        ]))
    )]
    pub limited_by: Option<&'static str>,
    /// Payload that was sent, bytes; `null` where the sender did not report it.
    pub sent_bytes: Option<u64>,
}

/// The largest rate of a sub-interval, and what went with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capacity {
    /// The rate.
    pub bits_per_second: f64,
    /// What is counted: `ip`.
    pub layer: &'static str,
    /// When the sub-interval began, since the first datagram.
    pub at_seconds: f64,
    /// Lost share of what was sent in it, percent.
    pub loss_percent: Option<f64>,
    /// Smallest round trip in it.
    pub rtt_min_ms: Option<f64>,
    /// Largest round trip in it.
    pub rtt_max_ms: Option<f64>,
    /// Smallest one-way delay of a report, above the smallest of the test.
    pub delay_variation_min_ms: Option<f64>,
    /// Mean of the same.
    pub delay_variation_mean_ms: Option<f64>,
    /// Largest of the same.
    pub delay_variation_max_ms: Option<f64>,
    /// Share of what arrived that came late, percent.
    pub reordered_percent: Option<f64>,
}

/// A sub-interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityInterval {
    /// Its beginning, since the first datagram.
    pub start_seconds: f64,
    /// Its actual length.
    pub seconds: f64,
    /// Distinct datagrams.
    pub datagrams: u64,
    /// Their payload.
    pub bytes: u64,
    /// Datagrams that the receiver's host dropped; `null` where it does not know.
    pub lost_receiver_host: Option<u64>,
    /// Its rate, and what went with it.
    #[serde(flatten)]
    pub capacity: Capacity,
}

impl Capacity {
    /// That of a sub-interval with so many bytes of headers for each datagram.
    #[must_use]
    pub fn of(interval: &SubInterval, headers: u64) -> Self {
        let millis = |seconds: f64| (seconds * 1e6).round() / 1e3;
        let trip = interval.round_trip;
        let delays = interval.delay_variation;
        let percent = |share: f64| (share * 1e5).round() / 1e3;
        Self {
            bits_per_second: interval.ip_rate(headers).round(),
            layer: "ip",
            at_seconds: (interval.start.as_secs_f64() * 1e3).round() / 1e3,
            loss_percent: interval.loss_ratio().map(percent),
            rtt_min_ms: trip.map(|(least, _)| millis(least.as_secs_f64())),
            rtt_max_ms: trip.map(|(_, most)| millis(most.as_secs_f64())),
            delay_variation_min_ms: delays.map(|(least, ..)| millis(least)),
            delay_variation_mean_ms: delays.map(|(_, mean, _)| millis(mean)),
            delay_variation_max_ms: delays.map(|(.., most)| millis(most)),
            reordered_percent: interval.reordered_ratio().map(percent),
        }
    }
}

impl CapacityInterval {
    /// A sub-interval with so many bytes of headers for each datagram.
    #[must_use]
    pub fn of(interval: &SubInterval, headers: u64) -> Self {
        Self {
            start_seconds: interval.start.as_secs_f64(),
            seconds: interval.length.as_secs_f64(),
            datagrams: interval.datagrams,
            bytes: interval.bytes,
            lost_receiver_host: interval.socket_drops,
            capacity: Capacity::of(interval, headers),
        }
    }
}

impl DirectionCapacity {
    /// Enters the maximum, and the same rate at the other layers.
    pub fn enter(&mut self, maximum: &CapacityMaximum, headers: u64) {
        let capacity = Capacity::of(&maximum.interval, headers);
        let packet = u64::from(self.packet_bytes);
        let layer = |overhead| layer_rate(capacity.bits_per_second, packet, overhead).round();
        self.ethernet_bits_per_second = Some(layer(ETHERNET));
        self.line_bits_per_second = Some(layer(LINE));
        if let Some((mtu, segment)) = self.tcp_packet_bytes.zip(self.tcp_segment_bytes) {
            let share = f64::from(segment) / f64::from(mtu.max(1));
            self.tcp_payload_bits_per_second = Some((capacity.bits_per_second * share).round());
        }
        self.capacity = Some(capacity);
    }

    /// What is left of a search that broke off: its sub-intervals, if there is one. The best of them is no
    /// maximum.
    #[must_use]
    pub fn broken_off(self) -> Option<Self> {
        let left = Self {
            capacity: None,
            ethernet_bits_per_second: None,
            line_bits_per_second: None,
            tcp_payload_bits_per_second: None,
            bimodal: None,
            still_rising: false,
            approximate: false,
            limited_by: None,
            ..self
        };
        (!left.sub_intervals.is_empty()).then_some(left)
    }

    fn is_host_limited(&self) -> bool {
        matches!(self.limited_by, Some("sender_host" | "receiver_host"))
    }

    /// The rate as a page has it, and what is to be known of it.
    fn words(
        &self,
        direction: Direction,
        seconds: f64,
        format: FormatLetter,
    ) -> Option<(String, String)> {
        let capacity = self.capacity.as_ref()?;
        let rate = rate_words(capacity.bits_per_second, format);
        let second = capacity.at_seconds.round() as u64 + 1;
        let mut said = format!("in second {second}");
        if let Some(loss) = capacity.loss_percent {
            said += &match loss {
                0.0 => ", nothing lost".to_owned(),
                loss => format!(", {} % lost", digits(loss)),
            };
        }
        let queue = self.queue_ms().filter(|queue| *queue >= QUEUE_SHOWN);
        if let Some(queue) = queue {
            let queue = digits(queue);
            said += &format!(" and {queue} ms of queue at that load");
        }
        if let Some((least, most)) = capacity.rtt_min_ms.zip(capacity.rtt_max_ms) {
            said += &format!("; RTT {} to {} ms", digits(least), digits(most));
        }
        let (sender, receiver) = direction.hosts();
        let remark = match self.limited_by {
            Some("sender_host") => format!("; at least that: {sender} could not send faster"),
            Some("receiver_host") => {
                format!("; at least that: {receiver} could not receive faster")
            }
            Some("requested_rate") => "; at least that: -b allowed no more".to_owned(),
            Some("granted_rate") => "; at least that: the server allowed no more".to_owned(),
            _ if self.still_rising => {
                let longer = (seconds * 2.0).ceil().max(20.0);
                format!("; still rising when the test ended: run it again with -t {longer}")
            }
            _ if self.approximate => {
                "; the load swung around that, and find-rate is more exact here".to_owned()
            }
            _ => String::new(),
        };
        Some((rate, said + &remark))
    }

    /// How much longer the longest round trip of the maximum was than the shortest of the test.
    fn queue_ms(&self) -> Option<f64> {
        let trips = self.sub_intervals.iter();
        let trips = trips.filter_map(|one| one.capacity.rtt_min_ms);
        let least = trips.reduce(f64::min)?;
        Some(self.capacity?.rtt_max_ms? - least)
    }
}

impl CapacityResult {
    /// The directions that were measured.
    fn directions(&self) -> impl Iterator<Item = (Direction, &DirectionCapacity)> {
        let both = [(Direction::Up, &self.up), (Direction::Down, &self.down)];
        both.into_iter()
            .filter_map(|(direction, one)| Some((direction, one.as_ref()?)))
    }

    fn rate(&self, direction: Direction) -> Option<f64> {
        let one = match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        };
        Some(one.as_ref()?.capacity?.bits_per_second)
    }

    /// The sentence about TCP.
    fn tcp_words(&self, format: FormatLetter) -> Option<String> {
        let rates: Vec<String> = self
            .directions()
            .filter_map(|(direction, one)| {
                let rate = one.tcp_payload_bits_per_second?;
                Some(format!("{} {direction}", rate_words(rate, format)))
            })
            .collect();
        let shares = self.directions();
        let mut shares =
            shares.filter_map(|(_, one)| one.tcp_segment_bytes.zip(one.tcp_packet_bytes));
        let (segment, mtu) = shares.next()?;
        (!rates.is_empty()).then(|| {
            let rates = rates.join(" and ");
            format!("TCP should reach {rates} ({segment} of every {mtu} bytes are data).")
        })
    }
}

const COLUMNS: [&str; 16] = [
    "direction",
    "start_seconds",
    "seconds",
    "datagrams",
    "bytes",
    "bits_per_second",
    "loss_percent",
    "rtt_min_ms",
    "rtt_max_ms",
    "delay_variation_min_ms",
    "delay_variation_mean_ms",
    "delay_variation_max_ms",
    "reordered_percent",
    "packet_bytes",
    "layer",
    "limited_by",
];

impl MethodResult for CapacityResult {
    const CRITERIA: &'static [Criterion] = &[
        Criterion::rate(Direction::Up),
        Criterion::rate(Direction::Down),
    ];

    fn page(&self, head: &MethodHead, style: &PageStyle) -> String {
        let each = match head.directions.len() {
            1 => "",
            _ => " each way",
        };
        let title = format!(
            "capacity of the path to {}, IP layer, RFC 9097, {} s{each}",
            head.target(),
            digits_of_seconds(self.seconds)
        );
        let mut lines = hanging("", &title, style.width);
        for direction in &head.directions {
            let one = match direction {
                Direction::Up => &self.up,
                Direction::Down => &self.down,
            };
            let words = one
                .as_ref()
                .and_then(|one| one.words(*direction, self.seconds, style.format));
            let (rate, said) = words.unwrap_or_else(|| ("-".to_owned(), head.missing().to_owned()));
            let first = format!("  {direction:<5} {rate:>12}   ");
            let first_width = first.len();
            lines.extend(hanging(&first, &said, style.width));
            if let Some([first, rest]) = one.as_ref().and_then(|one| one.bimodal.as_deref()) {
                let [first, rest] =
                    [first, rest].map(|one| rate_words(one.bits_per_second, style.format));
                let said = format!("bimodal: {first} at first, {rest} behind that");
                lines.extend(hanging(&" ".repeat(first_width), &said, style.width));
            }
        }
        let mut page = lines.join("\n");
        page.push('\n');
        if let Some(words) = self.tcp_words(style.format) {
            page += &style.paragraph(&words);
        }
        page
    }

    fn verdict(&self) -> String {
        let found: Vec<String> = self
            .directions()
            .filter_map(|(direction, one)| {
                let rate = rate_words(one.capacity?.bits_per_second, FormatLetter::BITS);
                let quality = match one.limited_by {
                    Some("network") if one.approximate => "about ",
                    Some("network") => "",
                    _ => "at least ",
                };
                Some(format!("{quality}{rate} {direction}"))
            })
            .collect();
        if found.is_empty() {
            return "The capacity was not measured.".to_owned();
        }
        format!("The path carries {} of IP packets.", found.join(" and "))
    }

    fn csv(&self) -> CsvTable {
        let mut table = CsvTable::new(&COLUMNS);
        for (direction, one) in self.directions() {
            for interval in &one.sub_intervals {
                let capacity = &interval.capacity;
                table.push(vec![
                    direction.to_string(),
                    format!("{:.3}", interval.start_seconds),
                    format!("{:.6}", interval.seconds),
                    interval.datagrams.to_string(),
                    interval.bytes.to_string(),
                    capacity.bits_per_second.to_string(),
                    cell(capacity.loss_percent),
                    cell(capacity.rtt_min_ms),
                    cell(capacity.rtt_max_ms),
                    cell(capacity.delay_variation_min_ms),
                    cell(capacity.delay_variation_mean_ms),
                    cell(capacity.delay_variation_max_ms),
                    cell(capacity.reordered_percent),
                    one.packet_bytes.to_string(),
                    capacity.layer.to_owned(),
                    cell(one.limited_by),
                ]);
            }
        }
        table
    }

    fn quantities(&self) -> Vec<Quantity> {
        let named = |direction: Direction| {
            let name = format!("capacity.{direction}");
            Quantity::new(name, self.rate(direction), "bits_per_second")
        };
        let directions = self.directions();
        directions.map(|(direction, _)| named(direction)).collect()
    }

    fn charts(&self) -> Vec<Chart> {
        let series = |value: fn(&Capacity) -> Option<f64>| -> Vec<ChartSeries> {
            let both = self.directions().map(|(direction, one)| ChartSeries {
                name: direction.to_string(),
                mark: Mark::Line,
                points: one
                    .sub_intervals
                    .iter()
                    .map(|interval| {
                        let middle = interval.start_seconds + interval.seconds / 2.0;
                        (middle, value(&interval.capacity))
                    })
                    .collect(),
            });
            both.collect()
        };
        let chart = |title: &str, kind, series| Chart {
            title: title.to_owned(),
            kind,
            abscissa: "seconds".to_owned(),
            series,
        };
        vec![
            chart(
                "Received at the IP layer",
                ChartKind::Rate,
                series(|one| Some(one.bits_per_second)),
            ),
            chart("Lost", ChartKind::Percent, series(|one| one.loss_percent)),
            chart(
                "Largest round trip",
                ChartKind::Ms,
                series(|one| one.rtt_max_ms),
            ),
        ]
    }

    fn criterion(&self, name: &str) -> Option<f64> {
        let rate = self.rate(Direction::named(name)?);
        rate.map(|rate| rate / 1e6)
    }

    fn host_limited(&self) -> bool {
        self.directions().any(|(_, one)| one.is_host_limited())
    }
}

/// Seconds as they were asked for: `10`, `7.5`.
fn digits_of_seconds(seconds: f64) -> String {
    format!("{}", (seconds * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn interval(second: u64, datagrams: u64, lost: i64) -> SubInterval {
        SubInterval {
            start: Duration::from_secs(second),
            length: Duration::from_secs(1),
            datagrams,
            bytes: datagrams * 1222,
            lost,
            reordered: 0,
            round_trip: Some((Duration::from_micros(20_100), Duration::from_micros(30_700))),
            delay_variation: Some((0.0, 0.005, 0.0106)),
            ..SubInterval::default()
        }
    }

    fn direction(interval: SubInterval) -> DirectionCapacity {
        let mut one = DirectionCapacity {
            packet_bytes: 1250,
            tcp_packet_bytes: Some(1500),
            tcp_segment_bytes: Some(1448),
            sub_intervals: vec![CapacityInterval::of(&interval, 28)],
            limited_by: Some("network"),
            ..DirectionCapacity::default()
        };
        let maximum = CapacityMaximum {
            ip_rate: interval.ip_rate(28),
            interval,
        };
        one.enter(&maximum, 28);
        one
    }

    fn head() -> MethodHead {
        MethodHead {
            method: "capacity",
            host: "192.0.2.10".into(),
            address: Some([192, 0, 2, 10].into()),
            directions: Direction::BOTH.to_vec(),
            ..MethodHead::default()
        }
    }

    fn result() -> CapacityResult {
        let mut down = direction(interval(8, 93_820, 0));
        down.limited_by = None;
        down.still_rising = true;
        down.tcp_payload_bits_per_second = None;
        CapacityResult {
            seconds: 10.0,
            up: Some(direction(interval(3, 5000, 214))),
            down: Some(down),
        }
    }

    #[test]
    fn the_page_of_the_specification() {
        let page = result().page(&head(), &PageStyle::default());
        assert_eq!(
            page,
            "\
capacity of the path to 192.0.2.10, IP layer, RFC 9097, 10 s each way
  up     50.0 Mbit/s   in second 4, 4.10 % lost and 10.6 ms of queue at that
                       load; RTT 20.1 to 30.7 ms
  down    938 Mbit/s   in second 9, nothing lost and 10.6 ms of queue at that
                       load; RTT 20.1 to 30.7 ms; still rising when the test
                       ended: run it again with -t 20
TCP should reach 48.3 Mbit/s up (1448 of every 1500 bytes are data).
"
        );
        let mut bimodal = result();
        let up = bimodal.up.as_mut().expect("measured");
        up.bimodal = Some(vec![up.capacity.expect("a maximum"); 2]);
        let page = bimodal.page(&head(), &PageStyle::default());
        let wanted = "bimodal: 50.0 Mbit/s at first, 50.0 Mbit/s behind that\n";
        assert!(page.contains(wanted), "{page}");
        assert!(page.lines().all(|line| line.len() <= 80), "{page}");
    }

    #[test]
    fn what_was_not_measured_says_so() {
        let mut result = result();
        result.down = None;
        let page = result.page(&head(), &PageStyle::default());
        assert!(
            page.contains("\n  down             -   not known with this peer\n"),
            "{page}"
        );
        let interrupted = MethodHead {
            interrupted: true,
            ..head()
        };
        let page = CapacityResult::default().page(&interrupted, &PageStyle::default());
        assert!(
            page.contains("\n  up               -   not measured\n"),
            "{page}"
        );
        assert_eq!(
            CapacityResult::default().verdict(),
            "The capacity was not measured."
        );
        assert_eq!(CapacityResult::default().quantities(), []);
    }

    #[test]
    fn a_host_is_never_the_capacity() {
        let mut result = result();
        let up = result.up.as_mut().expect("measured");
        up.limited_by = Some("sender_host");
        assert!(result.host_limited());
        let page = result.page(&head(), &PageStyle::default());
        let said = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains("at least that: this computer could not send faster"),
            "{page}"
        );
        assert_eq!(
            result.verdict(),
            "The path carries at least 50.0 Mbit/s up and at least 938 Mbit/s down of IP packets."
        );
    }

    #[test]
    fn a_load_that_swung_gives_an_approximate_rate() {
        let mut result = result();
        result.up.as_mut().expect("measured").approximate = true;
        let page = result.page(&head(), &PageStyle::default());
        let said = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("find-rate is more exact here"), "{page}");
        let verdict = result.verdict();
        assert!(
            verdict.starts_with("The path carries about 50.0 Mbit/s up"),
            "{verdict}"
        );
    }

    #[test]
    fn numbers_for_machines() {
        let result = result();
        let json = serde_json::to_value(&result).expect("JSON");
        let up = &json["up"];
        assert_eq!(up["capacity"]["bits_per_second"], 50_000_000.0);
        assert_eq!(up["capacity"]["layer"], "ip");
        assert_eq!(up["capacity"]["loss_percent"], 4.104);
        assert_eq!(up["ethernet_bits_per_second"], 50_720_000.0);
        assert_eq!(up["line_bits_per_second"], 51_520_000.0);
        assert_eq!(up["tcp_payload_bits_per_second"], 48_266_667.0);
        assert_eq!(up["sub_intervals"][0]["datagrams"], 5000);
        assert_eq!(up["table_row_final"], serde_json::Value::Null);
        let csv = result.csv();
        assert_eq!(csv.rows.len(), 2);
        assert_eq!(
            csv.rows[0][..6],
            ["up", "3.000", "1.000000", "5000", "6110000", "50000000"]
        );
        assert_eq!(result.criterion("up"), Some(50.0));
        assert_eq!(result.criterion("sideways"), None);
        let names = result.quantities().into_iter().map(|one| one.name);
        assert_eq!(names.collect::<Vec<_>>(), ["capacity.up", "capacity.down"]);
        assert_eq!(result.charts().len(), 3);
    }
}
