//! Maximum IP-layer capacity (RFC 9097): the table of rates, the search "type B" of ITU-T
//! Y.1540 Annex B and TR-471, and the maximum over sub-intervals.
//!
//! ```text
//!  status of the receiver ─┬─► LoadSearch ──► row of the LoadTable ──► rate of the load
//!  (cumulative counts)     └─► SubIntervals ─► SubInterval ... ─► CapacityMaximum
//! ```
//!
//! The law and its constants are those of OB-UDPST 9.0 (`adjust_sending_rate`); the table is
//! that of RFC 9097, in rates of the IP layer.

use std::ops::Range;
use std::time::Duration;

use tapeline_base::BitRate;

/// Row at which the search leaves its fast mode for good: 1 Gbit/s.
const FAST_ROWS: usize = 1000;
/// Rows of 0.1 Gbit/s above that, up to 10 Gbit/s.
const TENTH_ROWS: usize = 90;
/// The last row: 100 Gbit/s.
const LAST_ROW: usize = FAST_ROWS + TENTH_ROWS + 90;
/// Share of a row's rate below which a sender does not keep it.
const KEPT_SHARE: f64 = 0.98;
/// Reports in a row of a sender that falls short, until the host is the limit.
const SHORT_REPORTS: u32 = 3;
/// Reports in a row of a host that does its part, until it was not the limit after all.
const KEPT_REPORTS: u32 = 10;
/// Datagrams that a report may be short of by its timing alone.
const SHORT_DATAGRAMS: f64 = 2.0;

/// The rates that a search may use, at the IP layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadTable {
    last: usize,
    /// No rate is above that.
    most: u64,
}

impl LoadTable {
    /// All rows whose rate is at most `limit`; without a limit 100 Gbit/s. A limit below row 0 is the
    /// only rate.
    #[must_use]
    pub fn up_to(limit: Option<BitRate>) -> Self {
        let last = match limit {
            None => LAST_ROW,
            Some(BitRate(limit)) => (1..=LAST_ROW)
                .take_while(|row| rate_of(*row) <= limit)
                .last()
                .unwrap_or(0),
        };
        Self {
            last,
            most: limit.map_or(u64::MAX, |limit| limit.0),
        }
    }

    /// The number of the last row.
    #[must_use]
    pub fn last(self) -> usize {
        self.last
    }

    /// The rate of a row; of the last one for all that are not in the table.
    #[must_use]
    pub fn rate(self, row: usize) -> BitRate {
        BitRate(rate_of(row.min(self.last)).min(self.most))
    }
}

/// Bits per second of a row.
fn rate_of(row: usize) -> u64 {
    let row = row as u64;
    let (fast, tenths) = (FAST_ROWS as u64, (FAST_ROWS + TENTH_ROWS) as u64);
    match row {
        0 => 500_000,
        row if row <= fast => row * 1_000_000,
        row if row <= tenths => 1_000_000_000 + (row - fast) * 100_000_000,
        row => 10_000_000_000 + (row - tenths) * 1_000_000_000,
    }
}

/// The constants of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadRules {
    /// Errors in a feedback interval up to which a report is good.
    pub errors: u64,
    /// Delay variation below which a report is good, milliseconds.
    pub low_ms: f64,
    /// Delay variation above which a report is bad, milliseconds.
    pub upper_ms: f64,
    /// Bad reports without a good one in fast mode until slow mode begins.
    pub slow_after: u32,
    /// Rows of a step in fast mode.
    pub fast_step: usize,
    /// Rows that are given up, once, where slow mode begins.
    pub fall_back: usize,
    /// Late and repeated datagrams are errors too, as RFC 9097 has it.
    pub count_reordering: bool,
    /// The mean one-way variation of the interval is the delay, not the sampled round trip.
    pub one_way: bool,
}

impl Default for LoadRules {
    /// OB-UDPST's.
    fn default() -> Self {
        Self {
            errors: 10,
            low_ms: 30.0,
            upper_ms: 90.0,
            slow_after: 3,
            fast_step: 10,
            fall_back: 30,
            count_reordering: false,
            one_way: false,
        }
    }
}

/// What a receiver of load has counted since its first datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadStatus {
    /// Time since the first datagram.
    pub elapsed: Duration,
    /// Distinct datagrams.
    pub datagrams: u64,
    /// Their payload, bytes.
    pub bytes: u64,
    /// Datagrams that are missing below the highest number.
    pub lost: u64,
    /// Distinct datagrams that came after a later one.
    pub reordered: u64,
    /// Datagrams that came again.
    pub duplicates: u64,
    /// The round trip sampled last, since the report before.
    pub round_trip: Option<Duration>,
    /// Mean one-way delay of the interval, above the smallest delay of the test.
    pub delay_variation: Option<Duration>,
    /// Of the lost ones, those for which the receiver's socket had no room; `None` where it does not
    /// know.
    pub socket_drops: Option<u64>,
}

impl LoadStatus {
    /// Errors of the path since an earlier report. Late ones fill gaps: a count that falls is no error.
    fn errors_since(&self, earlier: &Self, rules: &LoadRules) -> u64 {
        let lost = self.lost.saturating_sub(earlier.lost);
        let lost = lost.saturating_sub(self.drops_since(earlier));
        if !rules.count_reordering {
            return lost;
        }
        let late = self.reordered.saturating_sub(earlier.reordered);
        let again = self.duplicates.saturating_sub(earlier.duplicates);
        lost.saturating_add(late).saturating_add(again)
    }

    /// Drops of the receiver's socket since an earlier report, as far as they are known.
    fn drops_since(&self, earlier: &Self) -> u64 {
        let drops = self.socket_drops.unwrap_or(0);
        drops.saturating_sub(earlier.socket_drops.unwrap_or(0))
    }
}

/// The host that kept a search from going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostLimit {
    /// The sender did not keep the rate of its row.
    Sender,
    /// The receiver's socket had no room.
    Receiver,
}

/// The search: reports of the receiver in, the row of the load out.
#[derive(Clone, Debug)]
pub struct LoadSearch {
    table: LoadTable,
    rules: LoadRules,
    row: usize,
    /// Bad reports; only fast mode forgets them.
    bad: u32,
    last: LoadStatus,
    smallest_round_trip: Option<Duration>,
    slow_since: Option<Duration>,
    short_reports: u32,
    kept_reports: u32,
    /// Reports without drops of the receiver's socket, since the last one with some.
    dropless_reports: u32,
    host: Option<HostLimit>,
    /// When the row rose last, and when a report was bad last.
    rose_at: Option<Duration>,
    fell_at: Option<Duration>,
}

impl LoadSearch {
    /// A search from row 0 on.
    #[must_use]
    pub fn new(table: LoadTable, rules: LoadRules) -> Self {
        Self {
            table,
            rules,
            row: 0,
            bad: 0,
            last: LoadStatus::default(),
            smallest_round_trip: None,
            slow_since: None,
            short_reports: 0,
            kept_reports: 0,
            dropless_reports: 0,
            host: None,
            rose_at: None,
            fell_at: None,
        }
    }

    /// The row of the moment.
    #[must_use]
    pub fn row(&self) -> usize {
        self.row
    }

    /// Its rate, at the IP layer.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        self.table.rate(self.row)
    }

    /// When slow mode began, in the receiver's time.
    #[must_use]
    pub fn slow_since(&self) -> Option<Duration> {
        self.slow_since
    }

    /// The round trip that was sampled last.
    #[must_use]
    pub fn last_round_trip(&self) -> Option<Duration> {
        self.last.round_trip
    }

    /// The host that froze the row.
    #[must_use]
    pub fn host_limit(&self) -> Option<HostLimit> {
        self.host
    }

    /// Whether the row only rose in the last `span`: the test was too short to get to the
    /// capacity. Around the capacity bad reports lower it again and again.
    #[must_use]
    pub fn is_still_rising(&self, span: Duration) -> bool {
        let within = |at: Option<Duration>| at.is_some_and(|at| at + span > self.last.elapsed);
        self.host.is_none() && within(self.rose_at) && !within(self.fell_at)
    }

    /// Takes what the sender did since the last call: datagrams sent, and those that were due at
    /// the row's rate. A sender that falls short again and again freezes the row, until it has kept
    /// it for a while: that it was held up once is no limit.
    pub fn sent(&mut self, sent: u64, due: f64) {
        if sent as f64 + SHORT_DATAGRAMS < due * KEPT_SHARE {
            self.short_reports += 1;
            self.kept_reports = 0;
        } else {
            self.short_reports = 0;
            self.kept_reports += 1;
        }
        if self.host == Some(HostLimit::Sender) && self.kept_reports >= KEPT_REPORTS {
            self.host = None;
        }
        if self.short_reports >= SHORT_REPORTS {
            self.freeze(HostLimit::Sender);
        }
    }

    /// The row stays as it is: a host, not the path, is the limit.
    fn freeze(&mut self, host: HostLimit) {
        self.host.get_or_insert(host);
    }

    /// A receiver whose socket dropped something freezes the row, until it has dropped nothing for a
    /// while.
    fn dropped(&mut self, drops: u64) {
        if drops > 0 {
            self.dropless_reports = 0;
            self.freeze(HostLimit::Receiver);
        } else {
            self.dropless_reports += 1;
        }
        if self.host == Some(HostLimit::Receiver) && self.dropless_reports >= KEPT_REPORTS {
            self.host = None;
        }
    }

    /// Takes a report. Reports that are older than the last one change nothing.
    pub fn report(&mut self, status: &LoadStatus) {
        if status.elapsed <= self.last.elapsed && self.last != LoadStatus::default() {
            return;
        }
        self.dropped(status.drops_since(&self.last));
        let errors = status.errors_since(&self.last, &self.rules);
        let variation = if self.rules.one_way {
            status.delay_variation
        } else {
            status.round_trip.map(|sample| {
                let smallest = self
                    .smallest_round_trip
                    .map_or(sample, |least| least.min(sample));
                self.smallest_round_trip = Some(smallest);
                sample - smallest
            })
        };
        self.last = *status;
        self.judge(errors, variation.map(|time| time.as_secs_f64() * 1e3));
    }

    /// Takes one report's errors and its delay variation in milliseconds; without one the delay
    /// neither raises nor lowers the row.
    fn judge(&mut self, errors: u64, variation_ms: Option<f64>) {
        let (rules, before) = (self.rules, self.row);
        let variation = variation_ms.unwrap_or(rules.low_ms);
        if self.host.is_some() {
            return;
        }
        let fast = self.row < FAST_ROWS;
        if errors <= rules.errors && variation < rules.low_ms {
            if fast && self.bad < rules.slow_after {
                self.row = (self.row + rules.fast_step).min(FAST_ROWS);
                self.bad = 0;
            } else {
                self.row += 1;
            }
            self.row = self.row.min(self.table.last());
        } else if errors > rules.errors || variation > rules.upper_ms {
            self.bad = self.bad.saturating_add(1);
            let begins = self.bad == rules.slow_after;
            let back = if fast && begins { rules.fall_back } else { 1 };
            self.row = self.row.saturating_sub(back);
            if begins {
                self.slow_since = Some(self.last.elapsed);
            }
            self.fell_at = Some(self.last.elapsed);
            // Where the path holds the rate down, the sender does not hold it up.
            self.short_reports = 0;
        }
        if self.row > before {
            self.rose_at = Some(self.last.elapsed);
        }
    }
}

/// A sub-interval that begins later than by this part of the length has begun late.
const LATENESS: u32 = 200;

/// What arrived in one sub-interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SubInterval {
    /// Its beginning, since the first datagram.
    pub start: Duration,
    /// Its actual length.
    pub length: Duration,
    /// Distinct datagrams.
    pub datagrams: u64,
    /// Their payload, bytes.
    pub bytes: u64,
    /// Lost ones. Negative where more late ones came than were lost.
    pub lost: i64,
    /// Of these, dropped by the receiver's socket; `None` where it does not know.
    pub socket_drops: Option<u64>,
    /// Late ones.
    pub reordered: u64,
    /// Smallest and largest round trip that was sampled.
    pub round_trip: Option<(Duration, Duration)>,
    /// Smallest, mean and largest delay variation of its reports, seconds.
    pub delay_variation: Option<(f64, f64, f64)>,
}

impl SubInterval {
    /// Its rate at the IP layer with so many bytes of headers for each datagram (28 over IPv4,
    /// 48 over IPv6), bits per second.
    #[must_use]
    pub fn ip_rate(&self, headers: u64) -> f64 {
        let bytes = self.bytes + headers * self.datagrams;
        BitRate::over(bytes, self.length)
    }

    /// Share of what was sent that is lost, 0 to 1; unknown when nothing was sent.
    #[must_use]
    pub fn loss_ratio(&self) -> Option<f64> {
        let lost = self.lost.max(0) as f64;
        let sent = lost + self.datagrams as f64;
        (sent > 0.0).then(|| lost / sent)
    }

    /// Share of what arrived that came late.
    #[must_use]
    pub fn reordered_ratio(&self) -> Option<f64> {
        (self.datagrams > 0).then(|| self.reordered as f64 / self.datagrams as f64)
    }
}

impl SubInterval {
    /// This one and the one behind it.
    fn joined_with(&self, next: &Self) -> Self {
        let both = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        let trips = match (self.round_trip, next.round_trip) {
            (Some((least, most)), Some((other_least, other_most))) => {
                Some((least.min(other_least), most.max(other_most)))
            }
            (one, other) => one.or(other),
        };
        let variation = match (self.delay_variation, next.delay_variation) {
            (Some((least, mean, most)), Some((other_least, other_mean, other_most))) => {
                let (own, other) = (self.datagrams as f64, next.datagrams as f64);
                let mean = (mean * own + other_mean * other) / (own + other).max(1.0);
                Some((least.min(other_least), mean, most.max(other_most)))
            }
            (one, other) => one.or(other),
        };
        Self {
            start: self.start,
            length: self.length + next.length,
            datagrams: self.datagrams + next.datagrams,
            bytes: self.bytes + next.bytes,
            lost: self.lost + next.lost,
            socket_drops: both(self.socket_drops, next.socket_drops),
            reordered: self.reordered + next.reordered,
            round_trip: trips,
            delay_variation: variation,
        }
    }
}

/// Cuts the reports of a receiver into sub-intervals.
#[derive(Clone, Debug)]
pub struct SubIntervals {
    length: Duration,
    begun: LoadStatus,
    last: LoadStatus,
    round_trip: Option<(Duration, Duration)>,
    variations: (f64, f64, f64, u32),
    complete: Vec<SubInterval>,
}

impl SubIntervals {
    /// Sub-intervals of this length (1 s; at least 1 ms). Each ends with the first report behind
    /// its end, and its rate is that of its actual length.
    #[must_use]
    pub fn new(length: Duration) -> Self {
        Self {
            length: length.max(Duration::from_millis(1)),
            begun: LoadStatus::default(),
            last: LoadStatus::default(),
            round_trip: None,
            variations: (f64::INFINITY, 0.0, 0.0, 0),
            complete: Vec::new(),
        }
    }

    /// Takes a report; those that are older than the last one are left out. Returns the
    /// sub-interval that it completes.
    pub fn report(&mut self, status: &LoadStatus) -> Option<SubInterval> {
        if status.elapsed <= self.last.elapsed {
            return None;
        }
        if let Some(sample) = status.round_trip {
            let (least, most) = self.round_trip.unwrap_or((sample, sample));
            self.round_trip = Some((least.min(sample), most.max(sample)));
        }
        if let Some(sample) = status.delay_variation {
            let (least, sum, most, count) = self.variations;
            let sample = sample.as_secs_f64();
            self.variations = (least.min(sample), sum + sample, most.max(sample), count + 1);
        }
        self.last = *status;
        let number = u32::try_from(self.complete.len()).unwrap_or(u32::MAX);
        let end = self.length.saturating_mul(number.saturating_add(1));
        (status.elapsed >= end).then(|| self.complete())
    }

    /// Ends the running sub-interval; one that is shorter than half of the length is left out.
    pub fn finish(&mut self) {
        if self.last.elapsed.saturating_sub(self.begun.elapsed) * 2 >= self.length {
            self.complete();
        }
    }

    fn complete(&mut self) -> SubInterval {
        let (begun, last) = (self.begun, self.last);
        let (least, sum, most, count) = self.variations;
        let one = SubInterval {
            start: begun.elapsed,
            length: last.elapsed.saturating_sub(begun.elapsed),
            datagrams: last.datagrams.saturating_sub(begun.datagrams),
            bytes: last.bytes.saturating_sub(begun.bytes),
            lost: last
                .lost
                .cast_signed()
                .wrapping_sub(begun.lost.cast_signed()),
            socket_drops: last.socket_drops.map(|_| last.drops_since(&begun)),
            reordered: last.reordered.saturating_sub(begun.reordered),
            round_trip: self.round_trip,
            delay_variation: (count > 0).then(|| (least, sum / f64::from(count), most)),
        };
        self.begun = last;
        self.round_trip = None;
        self.variations = (f64::INFINITY, 0.0, 0.0, 0);
        self.complete.push(one);
        one
    }

    /// Time of the last report, since the first datagram.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.last.elapsed
    }

    /// The smallest round trip of all.
    #[must_use]
    pub fn smallest_round_trip(&self) -> Option<Duration> {
        let trips = self.complete.iter().filter_map(|one| one.round_trip);
        trips.map(|(least, _)| least).min()
    }

    /// All that are complete.
    #[must_use]
    pub fn all(&self) -> &[SubInterval] {
        &self.complete
    }

    /// A sub-interval by which a rate may be judged. Where arrivals stood still at its beginning, what was
    /// held back comes behind it, and the sub-interval is shorter by as much: it has no rate of its own, and
    /// is joined with those before it.
    fn judged(&self, at: usize) -> SubInterval {
        let tolerance = self.length / LATENESS;
        let is_late = |at: usize| {
            let number = u32::try_from(at).unwrap_or(u32::MAX);
            self.complete[at].start > self.length.saturating_mul(number) + tolerance
        };
        let mut joined = self.complete[at];
        for before in (0..at).rev() {
            let count = u32::try_from(at - before).unwrap_or(u32::MAX);
            let short = joined.length + tolerance < self.length.saturating_mul(count);
            if !(short && is_late(before + 1)) {
                break;
            }
            joined = self.complete[before].joined_with(&joined);
        }
        joined
    }

    /// The maximum over sub-intervals with these bytes of headers.
    #[must_use]
    pub fn maximum(&self, headers: u64) -> Option<CapacityMaximum> {
        self.maximum_of(0..self.complete.len(), headers)
    }

    fn maximum_of(&self, range: Range<usize>, headers: u64) -> Option<CapacityMaximum> {
        let rated = range.map(|at| {
            let interval = self.judged(at);
            CapacityMaximum {
                ip_rate: interval.ip_rate(headers),
                interval,
            }
        });
        // Of equals the first one.
        rated.rev().max_by(|a, b| a.ip_rate.total_cmp(&b.ip_rate))
    }

    /// The maxima of the first `count` sub-intervals and of the rest (TR-471's bimodal mode).
    #[must_use]
    pub fn bimodal(&self, count: usize, headers: u64) -> [Option<CapacityMaximum>; 2] {
        let all = self.complete.len();
        let count = count.min(all);
        [0..count, count..all].map(|part| self.maximum_of(part, headers))
    }
}

/// The largest rate of a sub-interval, or of several that a pause in the arrivals joins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapacityMaximum {
    /// At the IP layer, bits per second.
    pub ip_rate: f64,
    /// The sub-interval.
    pub interval: SubInterval,
}

/// A rate of the IP layer with `overhead` more bytes for each packet of `packet` bytes: 18 for
/// Ethernet (header and FCS), 38 for the line (with gap and preamble).
#[must_use]
pub fn layer_rate(ip_rate: f64, packet: u64, overhead: u64) -> f64 {
    ip_rate * (packet + overhead) as f64 / packet.max(1) as f64
}

#[cfg(test)]
mod tests;
