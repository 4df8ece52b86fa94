//! Congestion control for L4S (RFC 9330): a scalable response to ECN marks.
//!
//! After the published descriptions of Prague (draft-briscoe-iccrg-prague-congestion-control)
//! and DCTCP (RFC 8257): the marked share of each round is averaged into `alpha`, and a
//! round with a mark reduces the window by `alpha / 2`. Between marks the window grows by a
//! packet in each reference round trip of 25 ms, however short the real one is, so that flows
//! share a link alike. A loss halves the window. A path that clears or mangles the ECN bits
//! gets not-ECT datagrams and the response to loss alone (RFC 9331, section 4.3).
//!
//! Pure: times and counts in, rate, window and size out.

use std::time::Duration;

use tapeline_base::MonoTime;

/// Round trip for which the growth of the window is meant.
const REFERENCE_ROUND: Duration = Duration::from_millis(25);
/// Weight of a round in the averaged share of marks (RFC 8257: g).
const GAIN: f64 = 1.0 / 16.0;
/// Weight of a sample in the smoothed round trip (RFC 6298).
const SMOOTHING: f64 = 1.0 / 8.0;
/// Rounds without congestion from which on the window looks for free capacity: each further
/// round doubles its growth, up to a share of itself.
const QUIET_ROUNDS: u32 = 8;
const LARGEST_STEP: f64 = 1.0 / 16.0;
/// What a loss leaves of the window.
const AFTER_LOSS: f64 = 0.5;
/// Windows per round trip of the pacing rate: while it still doubles, and later.
const STARTING_PACE: f64 = 2.0;
/// Packets of the first window.
const INITIAL_WINDOW: f64 = 10.0;
/// Packets of the smallest window.
const SMALLEST_WINDOW: f64 = 2.0;
/// Lowest rate, and that of the beginning, bytes per second.
const LOWEST_RATE: f64 = 12_500.0;
/// Smallest datagram, bytes.
const SMALLEST_PACKET: f64 = 150.0;
/// Packets that a reference round trip should hold: at low rates they are small instead of
/// few.
const PACKETS_PER_ROUND: f64 = 2.0;
/// Longest time without an acknowledgement.
const SILENCE: Duration = Duration::from_secs(1);
/// Round trip that is taken for absurd.
const LONGEST_ROUND: Duration = Duration::from_secs(60);

/// What the receiver of an L4S flow has seen in all, as an acknowledgement reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct L4sFeedback {
    /// Round trip of the datagram that is acknowledged; `None` when it cannot be known.
    pub round_trip: Option<Duration>,
    /// Datagrams received, modulo 2^32.
    pub received: u32,
    /// Of these, marked with congestion experienced.
    pub marked: u32,
    /// Datagrams lost so far; late ones are taken back.
    pub lost: u32,
    /// The datagrams arrive without the ECN bits that they were sent with.
    pub ecn_error: bool,
}

/// The ECN bits of an L4S sender's datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum L4sMark {
    /// ECT(1): the network may mark them.
    Ect1,
    /// Not-ECT: the path does not carry the bits.
    NotEct,
}

/// State of the controller of one flow.
#[derive(Clone, Debug)]
pub struct Prague {
    /// Bounds of the rate, bytes per second.
    rates: (f64, f64),
    /// Longest datagram, bytes.
    longest: f64,
    /// Bytes that may be on the way.
    window: f64,
    /// The window doubles each round until the first sign of congestion.
    starting: bool,
    /// Smoothed round trip, seconds.
    round_trip: Option<f64>,
    /// Averaged share of marked datagrams.
    alpha: f64,
    mark: L4sMark,
    last: L4sFeedback,
    /// The running round: when it ends, and the counts at its beginning.
    round: (MonoTime, L4sFeedback),
    /// Rounds since the last congestion.
    quiet: u32,
    /// No second response to the congestion of one round.
    responded_until: MonoTime,
    /// The window before the response to a loss, and the losses then: they may prove to be
    /// late datagrams.
    before_loss: Option<(f64, u32)>,
    last_received: MonoTime,
}

impl Prague {
    /// A controller for datagrams of at most `longest` bytes, with at most `fastest` bytes
    /// per second; `None` is as fast as the network.
    #[must_use]
    pub fn new(longest: u32, fastest: Option<f64>, now: MonoTime) -> Self {
        let longest = f64::from(longest).max(1.0);
        Self {
            rates: (LOWEST_RATE, fastest.unwrap_or(f64::MAX).max(1.0)),
            longest,
            window: INITIAL_WINDOW * longest,
            starting: true,
            round_trip: None,
            alpha: 1.0,
            mark: L4sMark::Ect1,
            last: L4sFeedback::default(),
            round: (now, L4sFeedback::default()),
            quiet: 0,
            responded_until: now,
            before_loss: None,
            last_received: now,
        }
    }

    /// Takes an acknowledgement at `now`; `sent` datagrams have left so far. One that is older
    /// than the newest, or reports more than was sent, is ignored.
    pub fn acknowledged(&mut self, feedback: &L4sFeedback, sent: u32, now: MonoTime) {
        let acked = feedback.received.wrapping_sub(self.last.received);
        let accounted = feedback.received.wrapping_add(feedback.lost);
        let plausible = acked <= sent.wrapping_sub(self.last.received)
            && sent.wrapping_sub(accounted) <= u32::MAX / 2
            && feedback.marked.wrapping_sub(self.last.marked) <= acked;
        if acked == 0 || !plausible {
            return;
        }
        self.last_received = now;
        // A window that the data does not fill must not grow unproved.
        let filled = f64::from(self.in_flight(sent)) * f64::from(self.packet_size());
        let is_used = filled * 2.0 >= self.window;
        self.take_round_trip(feedback.round_trip);
        let marked = feedback.marked.wrapping_sub(self.last.marked);
        let newly_lost = feedback.lost.wrapping_sub(self.last.lost) as i32;
        self.last = *feedback;
        if feedback.ecn_error {
            self.mark = L4sMark::NotEct;
        }
        if newly_lost < 0 {
            self.undo_loss();
        }
        if newly_lost > 0 {
            self.respond_to_loss(newly_lost as u32, now);
        }
        if marked > 0 && self.mark == L4sMark::Ect1 {
            self.respond_to_marks(now);
        }
        if is_used {
            self.grow(acked - marked, now);
        }
        self.end_round(now);
        self.bound();
    }

    fn take_round_trip(&mut self, sample: Option<Duration>) {
        let Some(sample) = sample.filter(|sample| *sample <= LONGEST_ROUND) else {
            return;
        };
        let sample = sample.as_secs_f64().max(1e-6);
        self.round_trip = Some(match self.round_trip {
            None => sample,
            Some(smoothed) => smoothed + (sample - smoothed) * SMOOTHING,
        });
    }

    /// Smoothed round trip.
    fn round_trip(&self) -> Duration {
        self.round_trip
            .map_or(REFERENCE_ROUND, Duration::from_secs_f64)
    }

    /// Averages the marks of a round that has ended.
    fn end_round(&mut self, now: MonoTime) {
        let (end, begun) = self.round;
        if now < end {
            return;
        }
        let received = self.last.received.wrapping_sub(begun.received);
        let marked = self.last.marked.wrapping_sub(begun.marked);
        if received > 0 && !self.starting {
            let share = f64::from(marked) / f64::from(received);
            self.alpha += (share - self.alpha) * GAIN;
        }
        self.quiet += 1;
        self.round = (now + self.round_trip().max(REFERENCE_ROUND), self.last);
    }

    fn may_respond(&mut self, now: MonoTime) -> bool {
        self.quiet = 0;
        if now < self.responded_until {
            return false;
        }
        self.responded_until = now + self.round_trip();
        true
    }

    fn respond_to_marks(&mut self, now: MonoTime) {
        if self.may_respond(now) {
            if std::mem::take(&mut self.starting) {
                // The first mark says that the pipe is full, not by how much it is overfull.
                self.alpha = 1.0;
            }
            self.window *= 1.0 - self.alpha / 2.0;
        }
    }

    fn respond_to_loss(&mut self, newly_lost: u32, now: MonoTime) {
        if self.may_respond(now) {
            let before = self.last.lost.wrapping_sub(newly_lost);
            self.before_loss = Some((self.window, before));
            self.starting = false;
            self.window *= AFTER_LOSS;
        }
    }

    /// All that was missing has come after all.
    fn undo_loss(&mut self) {
        if let Some((window, lost)) = self.before_loss
            && self.last.lost.wrapping_sub(lost) as i32 <= 0
        {
            self.window = self.window.max(window);
            self.before_loss = None;
        }
    }

    /// Lets the window grow by what arrived without a mark.
    fn grow(&mut self, unmarked: u32, now: MonoTime) {
        let packet = f64::from(self.packet_size());
        let unmarked = f64::from(unmarked);
        if self.starting {
            self.window += unmarked * packet;
            return;
        }
        if now < self.responded_until && self.mark == L4sMark::NotEct {
            return;
        }
        // A packet in each reference round trip: of a shorter one the square share, since there
        // are more of them and each is worth more.
        let share = self.round_trip().as_secs_f64() / REFERENCE_ROUND.as_secs_f64();
        let share = share.min(1.0);
        let doubled = 2_f64.powi(self.quiet.saturating_sub(QUIET_ROUNDS).min(32) as i32);
        let step = (doubled * packet)
            .min(self.window * LARGEST_STEP)
            .max(packet);
        self.window += unmarked * packet * step / self.window * share * share;
    }

    fn bound(&mut self) {
        let round_trip = self.round_trip().as_secs_f64();
        // Room for delayed acknowledgements on top of what the wanted rate keeps on the way.
        let max = self.rates.1 * (round_trip + 0.010) + SMALLEST_WINDOW * self.longest;
        let least = SMALLEST_WINDOW * SMALLEST_PACKET.min(self.longest);
        self.window = self.window.clamp(least, max.max(least));
    }

    /// How long nothing may be received while datagrams are on the way.
    #[must_use]
    pub fn silent_at(&self) -> MonoTime {
        self.last_received + SILENCE
    }

    /// Nothing was received for so long: begins anew with the smallest window. Returns how many
    /// datagrams count as on the way from now on: none.
    pub fn silence(&mut self, now: MonoTime) {
        self.last_received = now;
        self.starting = false;
        self.window = SMALLEST_WINDOW * SMALLEST_PACKET.min(self.longest);
        self.responded_until = now;
    }

    /// Bytes per second at which datagrams may leave.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let Some(round_trip) = self.round_trip else {
            return self.rates.0.min(self.rates.1);
        };
        let pace = if self.starting { STARTING_PACE } else { 1.0 };
        (self.window * pace / round_trip).clamp(self.rates.0.min(self.rates.1), self.rates.1)
    }

    /// Datagrams that may be on the way.
    #[must_use]
    pub fn window_packets(&self) -> u32 {
        (self.window / f64::from(self.packet_size()))
            .ceil()
            .max(SMALLEST_WINDOW) as u32
    }

    /// Length of a datagram, bytes: short ones at low rates, so that the response to marks
    /// stays fine.
    #[must_use]
    pub fn packet_size(&self) -> u32 {
        let fitting = self.rate() * REFERENCE_ROUND.as_secs_f64() / PACKETS_PER_ROUND;
        fitting.max(SMALLEST_PACKET).min(self.longest).floor() as u32
    }

    /// ECN bits of the datagrams.
    #[must_use]
    pub fn mark(&self) -> L4sMark {
        self.mark
    }

    /// Datagrams of `sent` that are on the way as far as is known.
    #[must_use]
    pub fn in_flight(&self, sent: u32) -> u32 {
        let accounted = self.last.received.wrapping_add(self.last.lost);
        let flight = sent.wrapping_sub(accounted);
        if flight > u32::MAX / 2 { 0 } else { flight }
    }
}

#[cfg(test)]
mod tests;
