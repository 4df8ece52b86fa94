//! Reading iperf 2's text output, of a client or of a server.

use std::fmt;

/// Whose figures a row shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowId {
    /// One flow; `reverse` when the data flow against the connection's direction.
    Flow {
        /// Its number in that process.
        id: u32,
        /// Shown as `*`.
        reverse: bool,
    },
    /// Several flows.
    Sum,
    /// Both directions of one connection (enhanced full duplex).
    FullDuplex,
}

impl RowId {
    /// Reads what stands between the brackets.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.starts_with("SUM") {
            return Some(Self::Sum);
        }
        if text.starts_with("FD") {
            return Some(Self::FullDuplex);
        }
        let (reverse, digits) = match text.strip_prefix('*') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        digits.parse().ok().map(|id| Self::Flow { id, reverse })
    }
}

/// Datagrams that a receiver counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Never arrived.
    pub lost: u64,
    /// Sent, as the receiver infers it.
    pub total: u64,
}

/// Delays in milliseconds, as a row shows them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delays {
    /// Their mean.
    pub mean: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// Their standard deviation.
    pub deviation: f64,
}

impl Delays {
    /// Whether they can be of one and the same set of values.
    #[must_use]
    pub fn are_consistent(&self) -> bool {
        self.least <= self.mean && self.mean <= self.most && self.deviation >= 0.0
    }
}

/// One row of figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Whose.
    pub id: RowId,
    /// Begin and end in seconds.
    pub interval: (f64, f64),
    /// Payload bytes: exact with `-f b`, rounded to three digits otherwise.
    pub bytes: u64,
    /// Bits per second.
    pub rate: f64,
    /// Loss figures, on rows of a UDP receiver.
    pub datagrams: Option<DatagramCounts>,
    /// The first delays of the row: one-way delay, burst latency, write times or round trips.
    pub delays: Option<Delays>,
    /// How many earlier flows of the process had the same number: old versions use it again.
    pub reuse: usize,
}

impl Row {
    fn is_of(&self, other: &Self) -> bool {
        (self.id, self.reuse) == (other.id, other.reuse)
    }
}

/// The figures in the output of one program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    /// Rows of intervals and totals, in order, without those of server reports.
    pub rows: Vec<Row>,
    /// Rows of server reports that a UDP client received.
    pub server_reports: Vec<Row>,
    /// `Sent N datagrams` lines.
    pub sent: Vec<(RowId, u64)>,
    /// `N datagrams received out-of-order` lines.
    pub out_of_order: Vec<(RowId, u64)>,
    /// Number of `connected with` lines.
    pub connections: usize,
}

impl Transcript {
    /// Reads an output; lines of other forms are left out.
    #[must_use]
    pub fn parse(output: &str) -> Self {
        let mut transcript = Self::default();
        let mut report_of = None;
        // Numbers with a new connection and no row since.
        let mut reconnected = Vec::new();
        // A line that is still being written has no end yet.
        let complete = output.rfind('\n').map_or("", |end| &output[..end]);
        for line in complete.lines() {
            let Some((id, text)) = bracketed(line) else {
                continue;
            };
            if let Some(mut row) = row(id, text) {
                row.reuse = transcript.reuse(&row, reconnected.contains(&id));
                reconnected.retain(|other| *other != id);
                if report_of.take_if(|of| same_flow(*of, id)).is_some() {
                    transcript.server_reports.push(row);
                } else {
                    transcript.rows.push(row);
                }
            } else if text.starts_with("Server Report:") {
                report_of = Some(id);
            } else if let Some(count) = text.strip_prefix("Sent ") {
                transcript
                    .sent
                    .extend(leading_number(count).map(|count| (id, count)));
            } else if let Some((_, text)) = text
                .split_once(" sec  ")
                .filter(|_| text.contains("out-of-order"))
            {
                transcript
                    .out_of_order
                    .extend(leading_number(text).map(|count| (id, count)));
            } else if text.starts_with("local ") && text.contains(" connected with ") {
                transcript.connections += 1;
                reconnected.push(id);
            }
        }
        transcript
    }

    /// Counts a row's predecessors under the same number. A row belongs to a new flow when a new
    /// connection has that number, the row begins at 0 and others have been before.
    fn reuse(&self, row: &Row, connected: bool) -> usize {
        match self.rows.iter().rev().find(|other| other.id == row.id) {
            Some(before) => before.reuse + usize::from(connected && row.interval.0 == 0.0),
            None => 0,
        }
    }

    /// The last row of each flow, which is its total when the flow has ended.
    #[must_use]
    pub fn totals(&self) -> Vec<Row> {
        let mut totals: Vec<Row> = Vec::new();
        for row in &self.rows {
            if !matches!(row.id, RowId::Flow { .. }) {
                continue;
            }
            match totals.iter_mut().find(|total| total.is_of(row)) {
                Some(total) => *total = row.clone(),
                None => totals.push(row.clone()),
            }
        }
        totals
    }

    /// The rows of a flow before its total.
    #[must_use]
    pub fn intervals(&self, total: &Row) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| row.is_of(total)).collect();
        rows.pop();
        rows
    }

    /// The last row that sums flows.
    #[must_use]
    pub fn sum(&self) -> Option<&Row> {
        self.rows.iter().rev().find(|row| row.id == RowId::Sum)
    }

    /// Sum of the out-of-order lines of single flows.
    #[must_use]
    pub fn out_of_order_total(&self) -> u64 {
        let flows = self.out_of_order.iter();
        flows
            .filter(|(id, _)| matches!(id, RowId::Flow { .. }))
            .map(|(_, count)| count)
            .sum()
    }
}

/// Server reports carry the plain number of a reversed flow.
fn same_flow(report: RowId, row: RowId) -> bool {
    match (report, row) {
        (RowId::Flow { id: a, .. }, RowId::Flow { id: b, .. }) => a == b,
        _ => false,
    }
}

fn bracketed(line: &str) -> Option<(RowId, &str)> {
    let (id, text) = line.strip_prefix('[')?.split_once(']')?;
    Some((RowId::parse(id)?, text.trim_start()))
}

fn leading_number(text: &str) -> Option<u64> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

fn row(id: RowId, text: &str) -> Option<Row> {
    let (interval, figures) = text.split_once(" sec ")?;
    let (begin, end) = interval.split_once('-')?;
    let interval = (begin.trim().parse().ok()?, end.trim().parse().ok()?);
    let mut words = figures.split_whitespace();
    let bytes = scaled(words.next()?, words.next()?.strip_suffix("Bytes")?, 1024.0)?;
    let (rate, unit) = (words.next()?, words.next()?.strip_suffix("/sec")?);
    let rate = match unit.strip_suffix("bits") {
        Some(prefix) => scaled(rate, prefix, 1000.0)?,
        None => scaled(rate, unit.strip_suffix("Bytes")?, 1024.0)? * 8.0,
    };
    Some(Row {
        id,
        interval,
        bytes: bytes.round() as u64,
        rate,
        datagrams: datagrams(figures),
        delays: delays(figures),
        reuse: 0,
    })
}

fn scaled(number: &str, prefix: &str, base: f64) -> Option<f64> {
    let power = ["", "K", "M", "G", "T", "P"]
        .iter()
        .position(|p| *p == prefix)?;
    let number: f64 = number.parse().ok()?;
    Some(number * base.powi(i32::try_from(power).ok()?))
}

/// Finds `lost/total (percentage%)`.
fn datagrams(figures: &str) -> Option<DatagramCounts> {
    let (before, _) = figures.split_once("%)")?;
    let (counts, _) = before.rsplit_once('(')?;
    let (lost, total) = counts.rsplit_once('/')?;
    Some(DatagramCounts {
        lost: lost.split_whitespace().next_back()?.parse().ok()?,
        total: total.trim().parse().ok()?,
    })
}

/// Finds `mean/least/most/deviation ms`.
fn delays(figures: &str) -> Option<Delays> {
    let mut words = figures.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if words.peek() != Some(&"ms") {
            continue;
        }
        // Round trips follow their count.
        let word = word.rsplit('=').next().unwrap_or(word);
        let numbers: Vec<f64> = word.split('/').filter_map(|n| n.parse().ok()).collect();
        if let [mean, least, most, deviation] = numbers[..] {
            return Some(Delays {
                mean,
                least,
                most,
                deviation,
            });
        }
    }
    None
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (begin, end) = self.interval;
        write!(
            f,
            "{:?} {begin}-{end} {} bytes {} bit/s",
            self.id, self.bytes, self.rate
        )?;
        if let Some(DatagramCounts { lost, total }) = self.datagrams {
            write!(f, " {lost}/{total}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(id: u32, reverse: bool) -> RowId {
        RowId::Flow { id, reverse }
    }

    #[test]
    fn exact_and_scaled_rows_are_read() {
        let output = "\
[  1] local 10.0.0.1 port 2 connected with 10.0.0.2 port 3
[ ID] Interval       Transfer     Bandwidth
[  1] 0.00-1.00 sec  25034816 Bytes  198834789 bits/sec
[ *2] 0.00-2.00 sec  1.50 MBytes  6.29 Mbits/sec
[SUM] 0.00-2.00 sec  1.50 KBytes  10.0 KBytes/sec
";
        let transcript = Transcript::parse(output);
        assert_eq!(transcript.connections, 1);
        let rows = &transcript.rows;
        assert_eq!((rows[0].id, rows[0].bytes), (flow(1, false), 25_034_816));
        assert_eq!((rows[1].id, rows[1].bytes), (flow(2, true), 1_572_864));
        assert_eq!(
            (rows[2].id, rows[2].bytes, rows[2].rate),
            (RowId::Sum, 1536, 81920.0)
        );
    }

    #[test]
    fn datagram_figures_reports_and_late_lines_are_read() {
        let output = "\
[  1] 0.00-0.50 sec  316050 Bytes  5022207 bits/sec
[  1] Sent 216 datagrams
[  1] Server Report:
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.00-0.50 sec  313110 Bytes  5021668 bits/sec   0.000 ms    2/  215 (0.93%)
[  1] 0.00-0.50 sec  3 datagrams received out-of-order
[  1] 0.00-0.5";
        let transcript = Transcript::parse(output);
        assert_eq!(transcript.rows.len(), 1);
        assert_eq!(transcript.sent, [(flow(1, false), 216)]);
        assert_eq!(transcript.out_of_order_total(), 3);
        let counts = DatagramCounts {
            lost: 2,
            total: 215,
        };
        assert_eq!(transcript.server_reports[0].datagrams, Some(counts));
    }

    #[test]
    fn enhanced_rows_are_read() {
        let output = "\
[  1] 0.00-2.02 sec   260 KBytes  1.05 Mbits/sec   0.003 ms 0/181 (0%) 0.015/0.007/0.050/0.005 ms 89 pps 89/0(0) pkts 0/0/0 8760
[  1] 0.00-2.01 sec  3.77 GBytes  16.1 Gbits/sec  30911/0         3      827K(585)/1674K(1184)/317(201) us  6354912
";
        let rows = Transcript::parse(output).rows;
        assert_eq!(
            rows[0].datagrams,
            Some(DatagramCounts {
                lost: 0,
                total: 181
            })
        );
        assert_eq!(rows[1].datagrams, None);
        let delays = Delays {
            mean: 0.015,
            least: 0.007,
            most: 0.05,
            deviation: 0.005,
        };
        assert_eq!((rows[0].delays, rows[1].delays), (Some(delays), None));
    }

    #[test]
    fn delays_are_found_wherever_they_stand() {
        let output = "\
[  1] 0.00-2.00 sec  24.0 MBytes   101 Mbits/sec  0.199/0.063/9.215/0.716 ms (192/131072) 2.43 KByte 63276  245=45:1:1:9:3:1:1:184
[  1] 0.00-2.01 sec  3.91 KBytes  15.9 Kbits/sec    20=0.025/0.014/0.164/0.034 ms    0   -(-)/-(-)    Tx=1.95 KByte Rx=1.95 KByte  RPS=39526
[  1] 0.00-2.02 sec  24.0 MBytes  99.5 Mbits/sec  193/0        0      0K(0)/398K(282)/38(2) us      327417  0.070/0.025/1.121/0.141 ms (192)
";
        let rows = Transcript::parse(output).rows;
        let means = rows.iter().map(|row| row.delays.map(|delays| delays.mean));
        assert_eq!(
            means.collect::<Vec<_>>(),
            [Some(0.199), Some(0.025), Some(0.07)]
        );
        assert!(
            rows.iter()
                .filter_map(|row| row.delays)
                .all(|delays| delays.are_consistent())
        );
    }

    #[test]
    fn the_last_row_of_a_flow_is_its_total() {
        let output = "\
[  1] 0.00-1.00 sec  100 Bytes  800 bits/sec
[  1] 1.00-2.00 sec  200 Bytes  1600 bits/sec
[  1] 0.00-2.00 sec  300 Bytes  1200 bits/sec
";
        let transcript = Transcript::parse(output);
        assert_eq!(transcript.totals().len(), 1);
        assert_eq!(transcript.totals()[0].bytes, 300);
        assert_eq!(transcript.intervals(&transcript.totals()[0]).len(), 2);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_flow() {
        let output = "\
[  4] local 127.0.0.1 port 5001 connected with 127.0.0.1 port 54578
[  4] 0.0000-0.5000 sec  100 Bytes  2761227123 bits/sec
[  4] 0.0000-0.6000 sec  110 Bytes  2761227123 bits/sec
[  4] local 127.0.0.1 port 38040 connected with 127.0.0.1 port 5002
[  4] 0.0000-0.5000 sec  200 Bytes  2761227123 bits/sec
[  4] 0.0000-0.6000 sec  220 Bytes  2761227123 bits/sec
";
        let totals = Transcript::parse(output).totals();
        let bytes: Vec<u64> = totals.iter().map(|row| row.bytes).collect();
        assert_eq!(bytes, [110, 220]);
    }
}
