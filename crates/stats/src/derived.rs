//! Metrics computed from other metrics (methodology, section 8).

use crate::moments::Moments;

/// Amount in progress by Little's law, L = λ·W: arrival rate per second times mean
/// delay in seconds. Bytes for a rate in bytes, packets for one in packets.
///
/// Valid for stationary averages only. A negative delay (clock error) gives a negative
/// result.
#[must_use]
pub fn little_in_progress(rate_per_second: f64, mean_delay_s: f64) -> f64 {
    rate_per_second * mean_delay_s
}

/// Packets in progress and their spread, as iperf 2 prints them for UDP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketsInProgress {
    /// λ times the mean delay.
    pub mean: f64,
    /// λ times the standard deviation of the delay.
    pub deviation: f64,
}

/// iperf 2's `inP` of UDP: the packet rate is rounded to a whole number first.
/// `delay` holds seconds.
#[must_use]
pub fn little_packets_in_progress(packets_per_second: f64, delay: &Moments) -> PacketsInProgress {
    let rate = packets_per_second.round();
    PacketsInProgress {
        mean: little_in_progress(rate, delay.mean),
        deviation: little_in_progress(rate, delay.stdev()),
    }
}

/// Network power: throughput over delay, in units of 1e6 bytes/s². Nothing when the
/// delay is zero or unknown; negative for a negative delay (clock error).
#[must_use]
pub fn network_power(bytes_per_second: f64, delay_s: f64) -> Option<f64> {
    (delay_s != 0.0 && delay_s.is_finite()).then(|| bytes_per_second / delay_s * 1e-6)
}

/// Responses per second while waiting for them: the reciprocal of the mean round trip.
/// Idle time between requests does not count. `round_trips` holds seconds; nothing
/// when there was none.
#[must_use]
pub fn responses_per_second(round_trips: &Moments) -> Option<f64> {
    let waited = round_trips.sum();
    (waited > 0.0).then(|| round_trips.count as f64 / waited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_ten_milliseconds_at_a_megabyte_per_second_holds_ten_kilobytes() {
        assert_eq!(little_in_progress(1e6, 0.010), 10_000.0);
    }

    #[test]
    fn packets_in_progress_round_the_rate_first() {
        let delay: Moments = [0.5, 1.5].into_iter().collect();
        let in_progress = little_packets_in_progress(10.4, &delay);
        assert_eq!(in_progress.mean, 10.0);
        assert!((in_progress.deviation - 7.071_068).abs() < 1e-5);
    }

    #[test]
    fn power_needs_a_delay() {
        assert_eq!(network_power(2e6, 0.5), Some(4.0));
        assert_eq!(network_power(2e6, 0.0), None);
        assert_eq!(network_power(2e6, f64::INFINITY), None);
        assert_eq!(network_power(2e6, -0.5), Some(-4.0));
    }

    #[test]
    fn responses_count_waiting_time_only() {
        let round_trips: Moments = [0.010, 0.030].into_iter().collect();
        assert!((responses_per_second(&round_trips).unwrap() - 50.0).abs() < 1e-9);
        assert_eq!(responses_per_second(&Moments::EMPTY), None);
    }
}
