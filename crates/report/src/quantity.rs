//! The numbers of a run that can be compared: where each is in its document, its unit, what is
//! better, and how it is compared.

use serde_json::Value;

/// What is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// How two of a quantity are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// By their ratio, in percent.
    Ratio,
    /// By their difference, in the unit of the quantity.
    Difference,
}

/// What a number is of, which decides in which unit it is shown and typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Bits per second.
    Rate,
    /// Milliseconds.
    Millis,
    /// Percent.
    Percent,
    /// So many each second.
    PerSecond,
    /// Seconds for 10^9 bytes.
    SecondsPerGigabyte,
    /// So many for 10^9 bytes.
    PerGigabyte,
}

impl Dimension {
    /// Its unit in documents, where numbers have no multiple.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Rate => "bit/s",
            Self::Millis => "ms",
            Self::Percent => "%",
            Self::PerSecond => "/s",
            Self::SecondsPerGigabyte => "s/GB",
            Self::PerGigabyte => "/GB",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct QuantityInfo {
    /// Its name.
    pub name: &'static str,
    /// What it is of.
    pub dimension: Dimension,
    /// What is better.
    pub better: Better,
    /// How two are compared.
    pub scale: Scale,
    /// Where it is in a document.
    pub place: &'static str,
    /// Reads it.
    read: Reader,
}

/// A number, and the end that counted where that could be either.
type Counted = (f64, Option<&'static str>);

#[derive(Clone, Copy, Debug)]
enum Reader {
    /// Of each direction; with the end that counted.
    Direction(fn(&Part<'_>) -> Option<Counted>),
    /// Of the whole test.
    Test(fn(&Value) -> Option<f64>),
}

/// A number of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Which one: a name of [`QUANTITIES`].
    pub quantity: &'static str,
    /// `forward`, `reverse`, `round_trip`, or empty where it is of the whole test.
    pub direction: &'static str,
    /// The number.
    pub value: f64,
    /// Which end counted, where that could be either.
    pub counted_by: Option<&'static str>,
}

/// One direction of a document.
struct Part<'a> {
    sum: &'a Value,
    streams: Vec<&'a Value>,
}

impl Part<'_> {
    fn end(&self, end: &str, member: &str) -> Option<f64> {
        self.sum[end][member].as_f64()
    }

    /// The mean of all samples of a delay; unknown where that of one stream is.
    fn mean(&self, delay: &str) -> Option<f64> {
        let (mut sum, mut samples) = (0.0, 0.0);
        for stream in &self.streams {
            let weight = stream[delay]["samples"].as_f64()?;
            sum += stream[delay]["mean_ms"].as_f64()? * weight;
            samples += weight;
        }
        (samples > 0.0).then(|| sum / samples)
    }

    /// A member of a delay, of one stream only: percentiles have no sum.
    fn only(&self, delay: &str, member: &str) -> Option<f64> {
        match self.streams[..] {
            [stream] => stream[delay][member].as_f64(),
            _ => None,
        }
    }

    /// A share of the datagrams that arrived, and of those that were lost too.
    fn share(&self, member: &str, of_lost: bool) -> Option<f64> {
        let lost = if of_lost {
            self.end("receiver", "lost")?
        } else {
            0.0
        };
        let all = self.end("receiver", "packets")? + lost;
        (all > 0.0).then_some(100.0 * self.end("receiver", member)? / all)
    }
}

const DIRECTIONS: [&str; 3] = ["forward", "reverse", "round_trip"];

const fn row(
    name: &'static str,
    dimension: Dimension,
    better: Better,
    scale: Scale,
    place: &'static str,
    read: Reader,
) -> QuantityInfo {
    QuantityInfo {
        name,
        dimension,
        better,
        scale,
        place,
        read,
    }
}

/// A number of each direction.
macro_rules! direction {
    ($read:expr) => {
        Reader::Direction(|part| {
            let read: fn(&Part<'_>) -> Option<f64> = $read;
            read(part).map(|value| (value, None))
        })
    };
}

use Better::{Higher, Lower};
use Dimension::{Millis, PerGigabyte, PerSecond, Percent, Rate, SecondsPerGigabyte};
use Scale::{Difference, Ratio};

/// The table, in the order in which quantities are shown.
pub const QUANTITIES: &[QuantityInfo] = &[
    row(
        "rate",
        Rate,
        Higher,
        Ratio,
        "sum.directions[].receiver.bits_per_second, else the sender's",
        Reader::Direction(|part| {
            let received = part.end("receiver", "bits_per_second");
            let sent = part.end("sender", "bits_per_second");
            let of = |rate: Option<f64>, end| rate.map(|rate| (rate, Some(end)));
            of(received, "receiver").or(of(sent, "sender"))
        }),
    ),
    row(
        "sent_rate",
        Rate,
        Higher,
        Ratio,
        "sum.directions[].sender.bits_per_second",
        direction!(|part| part.end("sender", "bits_per_second")),
    ),
    row(
        "trips_per_second",
        PerSecond,
        Higher,
        Ratio,
        "streams[].requests.per_second, together",
        direction!(|part| {
            let each = part.streams.iter();
            each.map(|stream| stream["requests"]["per_second"].as_f64())
                .sum()
        }),
    ),
    row(
        "rtt",
        Millis,
        Lower,
        Ratio,
        "streams[].rtt.mean_ms",
        direction!(|part| part.mean("rtt")),
    ),
    row(
        "rtt_p95",
        Millis,
        Lower,
        Ratio,
        "streams[0].rtt.p95_ms of one stream",
        direction!(|part| part.only("rtt", "p95_ms")),
    ),
    row(
        "rtt_p99",
        Millis,
        Lower,
        Ratio,
        "streams[0].rtt.p99_ms of one stream",
        direction!(|part| part.only("rtt", "p99_ms")),
    ),
    row(
        "loaded_rtt",
        Millis,
        Lower,
        Ratio,
        "latency_under_load.loaded.p50_ms",
        Reader::Test(|document| document["latency_under_load"]["loaded"]["p50_ms"].as_f64()),
    ),
    row(
        "latency_increase",
        Millis,
        Lower,
        Difference,
        "latency_under_load.increase_ms",
        Reader::Test(|document| document["latency_under_load"]["increase_ms"].as_f64()),
    ),
    row(
        "one_way_delay",
        Millis,
        Lower,
        Ratio,
        "streams[].one_way_delay.mean_ms",
        direction!(|part| part.mean("one_way_delay")),
    ),
    row(
        "jitter",
        Millis,
        Lower,
        Ratio,
        "sum.directions[].receiver.jitter_mean_ms, else jitter_ms",
        direction!(|part| {
            let mean = part.end("receiver", "jitter_mean_ms");
            mean.or_else(|| part.end("receiver", "jitter_ms"))
        }),
    ),
    row(
        "lost_percent",
        Percent,
        Lower,
        Difference,
        "sum.directions[].receiver.lost_percent",
        direction!(|part| part.end("receiver", "lost_percent")),
    ),
    row(
        "lost_network_percent",
        Percent,
        Lower,
        Difference,
        "sum.directions[].receiver.lost_network of all datagrams",
        direction!(|part| part.share("lost_network", true)),
    ),
    row(
        "reordered_percent",
        Percent,
        Lower,
        Difference,
        "sum.directions[].receiver.reordered of packets",
        direction!(|part| part.share("reordered", false)),
    ),
    row(
        "retransmits_per_gigabyte",
        PerGigabyte,
        Lower,
        Difference,
        "sum.directions[].sender.retransmits for 10^9 of its bytes",
        direction!(|part| {
            let bytes = part.end("sender", "bytes").filter(|bytes| *bytes > 0.0)?;
            Some(part.end("sender", "retransmits")? / bytes * 1e9)
        }),
    ),
    row(
        "longest_outage",
        Millis,
        Lower,
        Difference,
        "sum.directions[].receiver.longest_gap_ms",
        direction!(|part| part.end("receiver", "longest_gap_ms")),
    ),
    row(
        "connect_time",
        Millis,
        Lower,
        Ratio,
        "connect_times.mean_ms, else the mean of streams[].connect_ms",
        Reader::Test(|document| {
            let mean = document["connect_times"]["mean_ms"].as_f64();
            mean.or_else(|| {
                let streams = document["streams"].as_array()?;
                let known: Option<Vec<f64>> = streams
                    .iter()
                    .map(|stream| stream["connect_ms"].as_f64())
                    .collect();
                let known = known.filter(|known| !known.is_empty())?;
                Some(known.iter().sum::<f64>() / known.len() as f64)
            })
        }),
    ),
    row(
        "sender_cpu_per_gigabyte",
        SecondsPerGigabyte,
        Lower,
        Ratio,
        "sum.directions[].sender.cpu_seconds_per_gigabyte",
        direction!(|part| part.end("sender", "cpu_seconds_per_gigabyte")),
    ),
    row(
        "receiver_cpu_per_gigabyte",
        SecondsPerGigabyte,
        Lower,
        Ratio,
        "sum.directions[].receiver.cpu_seconds_per_gigabyte",
        direction!(|part| part.end("receiver", "cpu_seconds_per_gigabyte")),
    ),
];

impl QuantityInfo {
    /// The row of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        QUANTITIES.iter().find(|info| info.name == name)
    }
}

/// All numbers that a document knows, in the order of the table.
#[must_use]
pub fn measurements(document: &Value) -> Vec<Measurement> {
    let sums = list(&document["sum"]["directions"]);
    let streams = list(&document["streams"]);
    let parts = DIRECTIONS.into_iter().filter_map(|direction| {
        let is = |value: &&Value| value["direction"] == direction;
        let sum = sums.iter().find(is)?;
        let streams = streams.iter().filter(is).collect();
        Some((direction, Part { sum, streams }))
    });
    let parts: Vec<(&'static str, Part<'_>)> = parts.collect();
    let mut found = Vec::new();
    for info in QUANTITIES {
        let mut add = |direction, value: f64, counted_by| {
            if value.is_finite() {
                found.push(Measurement {
                    quantity: info.name,
                    direction,
                    value,
                    counted_by,
                });
            }
        };
        match info.read {
            Reader::Test(read) => {
                if let Some(value) = read(document) {
                    add("", value, None);
                }
            }
            Reader::Direction(read) => {
                for (direction, part) in &parts {
                    // Round trips have a rate of requests; it says what their times say.
                    let rate = info.dimension == Rate && *direction == "round_trip";
                    if let Some((value, counted_by)) = read(part).filter(|_| !rate) {
                        add(direction, value, counted_by);
                    }
                }
            }
        }
    }
    found
}

/// The members of an array; nothing else has any.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::tests::report_of_rate;

    fn value(document: &Value, quantity: &str) -> Option<f64> {
        let found = measurements(document);
        found
            .iter()
            .find(|one| one.quantity == quantity)
            .map(|one| one.value)
    }

    #[test]
    fn a_documents_numbers_are_found() {
        let document = serde_json::to_value(report_of_rate(5e6)).expect("a document");
        let found = measurements(&document);
        let rate = found
            .iter()
            .find(|one| one.quantity == "rate")
            .expect("a rate");
        assert_eq!((rate.value, rate.direction), (5e6, "forward"));
        assert_eq!(value(&document, "jitter"), None);
    }

    #[test]
    fn shares_means_and_what_is_of_one_stream() {
        let stream = |mean: f64, samples: u32| {
            json!({"direction": "forward", "connect_ms": mean,
                "rtt": {"mean_ms": mean, "samples": samples, "p95_ms": 9.0}})
        };
        let document = json!({
            "streams": [stream(1.0, 1), stream(4.0, 2)],
            "sum": {"directions": [{"direction": "forward",
                "sender": {"bytes": 2_000_000_000_u64, "retransmits": 5, "bits_per_second": 8e6},
                "receiver": {"packets": 90, "lost": 10, "lost_network": 5, "reordered": 9}}]},
        });
        assert_eq!(value(&document, "rtt"), Some(3.0));
        assert_eq!(value(&document, "rtt_p95"), None);
        assert_eq!(value(&document, "connect_time"), Some(2.5));
        assert_eq!(value(&document, "retransmits_per_gigabyte"), Some(2.5));
        assert_eq!(value(&document, "lost_network_percent"), Some(5.0));
        assert_eq!(value(&document, "reordered_percent"), Some(10.0));
        let rate = measurements(&document)[0];
        assert_eq!((rate.value, rate.counted_by), (8e6, Some("sender")));
    }

    #[test]
    fn names_are_unique() {
        for info in QUANTITIES {
            let same = QUANTITIES.iter().filter(|other| other.name == info.name);
            assert_eq!(same.count(), 1, "{}", info.name);
        }
    }
}
