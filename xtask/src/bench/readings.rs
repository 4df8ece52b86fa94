//! Figures in what the programs print.

use interop::{RowId, Transcript};
use serde_json::Value;

/// What receivers got.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Received {
    pub(crate) bytes: f64,
    /// In which they got it.
    pub(crate) seconds: f64,
}

impl Received {
    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            seconds: self.seconds.max(other.seconds),
        }
    }

    /// The same bytes over the time of the whole run: each flow of many reports a time of its
    /// own, and they begin and end one after the other, so that the longest of them is less than
    /// the time in which the bytes were moved.
    pub(crate) fn within(self, run: f64) -> Self {
        let seconds = self.seconds.max(run);
        Self { seconds, ..self }
    }
}

/// Datagrams as a receiver counted them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Datagrams {
    pub(crate) received: f64,
    pub(crate) lost: f64,
    pub(crate) sent: f64,
    pub(crate) seconds: f64,
}

/// Requests and their round trips in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Exchanges {
    pub(crate) count: f64,
    pub(crate) seconds: f64,
    pub(crate) mean: f64,
    pub(crate) least: Option<f64>,
}

/// Flows that an iperf 2 server or client received: those against the connection's direction,
/// or the others.
pub(crate) fn iperf2_received(output: &str, reverse: bool) -> Option<Received> {
    let totals = Transcript::parse(output).totals();
    let flows = totals
        .iter()
        .filter(|row| matches!(row.id, RowId::Flow { reverse: is, .. } if is == reverse));
    flows
        .map(|row| Received {
            bytes: row.bytes as f64,
            seconds: row.interval.1 - row.interval.0,
        })
        .reduce(Received::and)
}

/// Whether so many flows have reported their rates; cheap, as it is asked for each piece of output.
pub(crate) fn has_rates(output: &str, flows: usize) -> bool {
    output.matches("its/sec").take(flows).count() == flows
}

/// UDP flows between an iperf 2 client and server, together.
pub(crate) fn iperf2_datagrams(client: &str, server: &str) -> Option<Datagrams> {
    let rows = Transcript::parse(server).totals();
    let counts: Option<Vec<_>> = rows.iter().map(|row| row.datagrams).collect();
    let counts = counts.filter(|counts| !counts.is_empty())?;
    let lost: u64 = counts.iter().map(|one| one.lost).sum();
    let total: u64 = counts.iter().map(|one| one.total).sum();
    let sent = Transcript::parse(client).sent;
    let sent = sent.iter().filter(|(id, _)| *id != RowId::Sum);
    let sent: u64 = sent.map(|(_, count)| count).sum();
    let spans = rows.iter().map(|row| row.interval.1 - row.interval.0);
    Some(Datagrams {
        received: total.saturating_sub(lost) as f64,
        lost: lost as f64,
        sent: if sent > 0 { sent } else { total } as f64,
        seconds: spans.fold(0.0, f64::max),
    })
}

/// iperf3's document, or what a run of it printed instead.
fn iperf3_end(output: &str) -> Option<Value> {
    let document: Value = serde_json::from_str(output).ok()?;
    document.get("end").cloned()
}

/// What the receivers of iperf3's streams got, in both directions.
pub(crate) fn iperf3_received(output: &str) -> Option<Received> {
    let end = iperf3_end(output)?;
    let part = |key: &str| {
        let sum = end.get(key)?;
        Some(Received {
            bytes: sum.get("bytes")?.as_f64()?,
            seconds: sum.get("seconds")?.as_f64()?,
        })
    };
    let back = part("sum_received_bidir_reverse").unwrap_or_default();
    part("sum_received").map(|there| there.and(back))
}

/// A UDP test of iperf3.
pub(crate) fn iperf3_datagrams(output: &str) -> Option<Datagrams> {
    let end = iperf3_end(output)?;
    let figure = |sum: &str, key: &str| end.get(sum)?.get(key)?.as_f64();
    let lost = figure("sum_received", "lost_packets")?;
    Some(Datagrams {
        received: figure("sum_received", "packets")? - lost,
        lost,
        sent: figure("sum_sent", "packets")?,
        seconds: figure("sum_received", "seconds")?,
    })
}

/// The row of a bounce-back: `28297=0.017/0.010/0.499/0.006 ms`.
pub(crate) fn iperf2_exchanges(output: &str) -> Option<Exchanges> {
    let line = output
        .lines()
        .rfind(|line| line.contains("RPS=") && line.contains("=") && line.contains(" sec "))?;
    let (begin, end) = line
        .split_whitespace()
        .find_map(|word| word.split_once('-'))
        .filter(|(begin, _)| begin.parse::<f64>().is_ok())?;
    let (count, delays) = line
        .split_whitespace()
        .find_map(|word| word.split_once('=').filter(|(_, rest)| rest.contains('/')))?;
    let mut delays = delays.split('/').map(str::parse::<f64>);
    let mean = delays.next()?.ok()? * 1000.0;
    let least = delays.next()?.ok()? * 1000.0;
    Some(Exchanges {
        count: count.parse().ok()?,
        seconds: end.parse::<f64>().ok()? - begin.parse::<f64>().ok()?,
        mean,
        least: Some(least),
    })
}

/// sockperf's latencies are halves of round trips.
pub(crate) fn sockperf_exchanges(output: &str) -> Option<Exchanges> {
    let valid = output
        .lines()
        .find(|line| line.contains("[Valid Duration]"))?;
    let number = |line: &str, key: &str| -> Option<f64> {
        let rest = line.split_once(key)?.1.trim_start();
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    let line_with = |key: &str| output.lines().find(|line| line.contains(key));
    Some(Exchanges {
        count: number(valid, "ReceivedMessages=")?,
        seconds: number(valid, "RunTime=")?,
        mean: 2.0 * number(line_with("avg-latency=")?, "avg-latency=")?,
        least: number(line_with("<MIN> observation")?, "<MIN> observation =")
            .map(|half| half * 2.0),
    })
}

/// qperf's latency is half a round trip, and all that it prints.
pub(crate) fn qperf_exchanges(output: &str, seconds: f64) -> Option<Exchanges> {
    let line = output.lines().find(|line| line.contains("latency"))?;
    let mut words = line.split_once('=')?.1.split_whitespace();
    let value: f64 = words.next()?.parse().ok()?;
    let unit = match words.next()? {
        "ns" => 1e-3,
        "us" => 1.0,
        "ms" => 1e3,
        _ => return None,
    };
    let mean = 2.0 * value * unit;
    Some(Exchanges {
        count: seconds * 1e6 / mean,
        seconds,
        mean,
        least: None,
    })
}

/// Connections that an iperf 2 client made: `(tot/err) = 54284/0`.
pub(crate) fn iperf2_connects(output: &str) -> Option<f64> {
    let counts = output.rsplit_once("(tot/err) = ")?.1;
    let (made, failed) = counts.split_whitespace().next()?.split_once('/')?;
    let [made, failed] = [made, failed].map(|count| count.parse::<f64>().ok());
    Some(made? - failed?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUPLEX: &str = "\
[ *1] 0.0000-0.5000 sec  523632640 Bytes  8347869561 bits/sec
[  1] 0.0000-0.6000 sec  616693824 Bytes  9678619743 bits/sec
[SUM] 0.0000-0.6000 sec  1140326464 Bytes  17896703029 bits/sec
";

    #[test]
    fn datagrams_of_several_flows_are_summed_up() {
        let client =
            "[  1] Sent 101 datagrams\n[  2] Sent 51 datagrams\n[SUM-2] Sent 152 datagrams\n";
        let server = "\
[  1] 0.00-1.00 sec  132300 Bytes  1058400 bits/sec   0.001 ms 10/100 (10%)
[  2] 0.00-1.10 sec  73500 Bytes  534545 bits/sec   0.001 ms 0/50 (0%)
[SUM] 0.00-1.10 sec  205800 Bytes  1496727 bits/sec   10/150 (6.7%)
";
        let both = iperf2_datagrams(client, server).expect("counts");
        assert_eq!((both.received, both.lost, both.sent), (140.0, 10.0, 152.0));
        assert_eq!(both.seconds, 1.1);
        assert!(iperf2_datagrams(client, "").is_none());
    }

    #[test]
    fn directions_of_iperf2_are_distinguished() {
        let received = |reverse| iperf2_received(DUPLEX, reverse).expect("a row");
        assert_eq!(received(true).bytes, 523_632_640.0);
        assert_eq!(received(false).bytes, 616_693_824.0);
        assert_eq!(received(true).and(received(false)).seconds, 0.6);
        assert_eq!(received(false).within(0.9).seconds, 0.9);
        assert_eq!(received(false).within(0.5).seconds, 0.6);
        assert_eq!(iperf2_received("", false), None);
        assert!(has_rates(DUPLEX, 3) && !has_rates(DUPLEX, 4));
    }

    #[test]
    fn documents_of_iperf3_are_read() {
        let tcp = r#"{"end": {"sum_received": {"bytes": 10, "seconds": 1.0},
                      "sum_received_bidir_reverse": {"bytes": 5, "seconds": 1.5}}}"#;
        let received = iperf3_received(tcp).expect("sums");
        assert_eq!((received.bytes, received.seconds), (15.0, 1.5));
        let udp = r#"{"end": {"sum_sent": {"packets": 330},
                      "sum_received": {"packets": 300, "lost_packets": 100, "seconds": 2.0}}}"#;
        let datagrams = iperf3_datagrams(udp).expect("sums");
        assert_eq!((datagrams.received, datagrams.sent), (200.0, 330.0));
        assert_eq!(iperf3_received("iperf3: error"), None);
    }

    #[test]
    fn round_trips_are_read_from_every_program() {
        let iperf2 = "[  1] 0.0000-0.5000 sec  5.40 MBytes  89.9 Mbits/sec    \
                      28297=0.017/0.010/0.499/0.006 ms    0   -(-)/-(-)    Tx=2.70 MByte RPS=57343";
        let exchanges = iperf2_exchanges(iperf2).expect("a row");
        assert_eq!((exchanges.count, exchanges.seconds), (28297.0, 0.5));
        assert!((exchanges.mean - 17.0).abs() < 1e-9);
        assert!((exchanges.least.expect("a minimum") - 10.0).abs() < 1e-9);
        let sockperf = "\
sockperf: [Valid Duration] RunTime=0.549 sec; SentMessages=46399; ReceivedMessages=46398
sockperf: ====> avg-latency=5.887 (std-dev=14.389)
sockperf: ---> <MIN> observation =    3.956
";
        let exchanges = sockperf_exchanges(sockperf).expect("figures");
        assert_eq!((exchanges.count, exchanges.seconds), (46398.0, 0.549));
        assert_eq!((exchanges.mean, exchanges.least), (11.774, Some(7.912)));
        let qperf = "tcp_lat:\n    latency  =  5 us\n";
        let exchanges = qperf_exchanges(qperf, 2.0).expect("a latency");
        assert_eq!((exchanges.mean, exchanges.count), (10.0, 200_000.0));
    }

    #[test]
    fn connects_are_those_that_did_not_fail() {
        let line = "[ CT] final connect times (min/avg/max/stdev) = 0.009/0.161/1.2/0.1 ms \
                    (tot/err) = 100/3\n";
        assert_eq!(iperf2_connects(line), Some(97.0));
    }
}
