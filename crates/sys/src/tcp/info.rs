//! What the kernel reports about a TCP connection.

/// A sample of a connection's state. A field that the platform or the running kernel does
/// not report is `None`, never 0.
///
/// Linux: `getsockopt(TCP_INFO)`, fields by the length that the kernel returned
/// (`struct tcp_info` in `linux/tcp.h`). FreeBSD: its `TCP_INFO` subset; macOS:
/// `TCP_CONNECTION_INFO`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// State number of the kernel (Linux: 1 = established).
    pub state: Option<u8>,
    /// Whether segments have the time stamp option.
    pub timestamps: Option<bool>,
    /// Smoothed round-trip time, microseconds.
    pub rtt_us: Option<u32>,
    /// Mean deviation of the round-trip time, microseconds.
    pub rttvar_us: Option<u32>,
    /// Smallest round-trip time seen, microseconds.
    pub min_rtt_us: Option<u32>,
    /// Retransmission timeout, microseconds.
    pub rto_us: Option<u32>,
    /// Congestion window, segments.
    pub snd_cwnd: Option<u32>,
    /// Slow-start threshold, segments.
    pub snd_ssthresh: Option<u32>,
    /// Sending segment size, bytes.
    pub snd_mss: Option<u32>,
    /// Segment size estimated for the incoming direction, bytes.
    pub rcv_mss: Option<u32>,
    /// Segment size that was advertised to the peer, bytes.
    pub advmss: Option<u32>,
    /// Path maximum transmission unit, bytes.
    pub pmtu: Option<u32>,
    /// Segments sent and not yet acknowledged.
    pub unacked: Option<u32>,
    /// Segments selectively acknowledged.
    pub sacked: Option<u32>,
    /// Segments presumed lost.
    pub lost: Option<u32>,
    /// Segments retransmitted and not yet acknowledged.
    pub retrans: Option<u32>,
    /// Segments retransmitted since the connection began.
    pub total_retrans: Option<u32>,
    /// Receiver-side estimate of the round-trip time, microseconds.
    pub rcv_rtt_us: Option<u32>,
    /// Receive window autotuning target, bytes.
    pub rcv_space: Option<u32>,
    /// Current pacing rate, bytes per second; `u64::MAX` means unlimited. Linux 3.15.
    pub pacing_rate: Option<u64>,
    /// Upper bound of the pacing rate, bytes per second. Linux 3.15.
    pub max_pacing_rate: Option<u64>,
    /// Bytes acknowledged by the peer; may count the SYN. Linux 4.1.
    pub bytes_acked: Option<u64>,
    /// Bytes received in order. Linux 4.1.
    pub bytes_received: Option<u64>,
    /// Segments sent, with and without data. Linux 4.2.
    pub segs_out: Option<u32>,
    /// Segments received, with and without data. Linux 4.2.
    pub segs_in: Option<u32>,
    /// Bytes written but not yet sent. Linux 4.6.
    pub notsent_bytes: Option<u32>,
    /// Segments received that carried data. Linux 4.6.
    pub data_segs_in: Option<u32>,
    /// Segments sent that carried data. Linux 4.6.
    pub data_segs_out: Option<u32>,
    /// The kernel's delivery-rate estimate, bytes per second. Linux 4.9.
    pub delivery_rate: Option<u64>,
    /// Whether that estimate was limited by the application. Linux 4.9.
    pub delivery_rate_app_limited: Option<bool>,
    /// Time with data outstanding, microseconds. Linux 4.10.
    pub busy_time_us: Option<u64>,
    /// Time limited by the peer's receive window, microseconds. Linux 4.10.
    pub rwnd_limited_us: Option<u64>,
    /// Time limited by the own send buffer, microseconds. Linux 4.10.
    pub sndbuf_limited_us: Option<u64>,
    /// Segments delivered. Linux 4.18.
    pub delivered: Option<u32>,
    /// Segments delivered and acknowledged with a congestion mark. Linux 4.18.
    pub delivered_ce: Option<u32>,
    /// Bytes sent, including retransmissions. Linux 4.19.
    pub bytes_sent: Option<u64>,
    /// Bytes retransmitted. Linux 4.19.
    pub bytes_retrans: Option<u64>,
    /// Duplicates that the peer reported (spurious retransmissions). Linux 4.19.
    pub dsack_dups: Option<u32>,
    /// Reordering events seen. Linux 4.19.
    pub reord_seen: Option<u32>,
    /// Segments received out of order. Linux 5.4.
    pub rcv_ooopack: Option<u32>,
    /// The peer's advertised window, bytes. Linux 5.4.
    pub snd_wnd: Option<u32>,
    /// The own advertised window, bytes. Linux 6.2.
    pub rcv_wnd: Option<u32>,
}

impl TcpInfo {
    /// Segments in flight: unacked - sacked - lost + retrans, the kernel's own formula.
    #[must_use]
    pub fn in_flight(&self) -> Option<u32> {
        let left = self.sacked?.saturating_add(self.lost?);
        let out = self.unacked?.saturating_add(self.retrans?);
        Some(out.saturating_sub(left))
    }

    /// Congestion window in bytes.
    #[must_use]
    pub fn cwnd_bytes(&self) -> Option<u64> {
        Some(u64::from(self.snd_cwnd?) * u64::from(self.snd_mss?))
    }

    /// Bytes in flight.
    #[must_use]
    pub fn in_flight_bytes(&self) -> Option<u64> {
        Some(u64::from(self.in_flight()?) * u64::from(self.snd_mss?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flight_follows_the_kernel_formula_and_needs_every_part() {
        let mut info = TcpInfo {
            unacked: Some(10),
            sacked: Some(3),
            lost: Some(2),
            retrans: Some(1),
            snd_mss: Some(1448),
            snd_cwnd: Some(20),
            ..TcpInfo::default()
        };
        assert_eq!(info.in_flight(), Some(6));
        assert_eq!(info.in_flight_bytes(), Some(6 * 1448));
        assert_eq!(info.cwnd_bytes(), Some(28_960));
        info.lost = None;
        assert_eq!(info.in_flight(), None);
    }
}
