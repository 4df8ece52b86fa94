//! `TCP_INFO`, read as a prefix whose length the running kernel decides.

use std::mem::{offset_of, size_of_val};

use socket2::Socket;

use super::sockopt::{self, Plain};
use crate::tcp::TcpInfo;

/// `struct tcp_info` of `linux/tcp.h` up to Linux 6.2; kernels only ever append.
#[derive(Clone, Copy)]
#[repr(C)]
struct Kernel {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    window_scales: u8,
    /// Bit field: application-limited (1), fast-open failure (2).
    rate_flags: u8,
    rto: u32,
    ato: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent: u32,
    last_ack_sent: u32,
    last_data_recv: u32,
    last_ack_recv: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
    rcv_wnd: u32,
    rehash: u32,
}

// SAFETY: integers only, and every field lies on its natural boundary without gaps.
unsafe impl Plain for Kernel {}

/// The bit of an application-limited delivery rate; bit fields fill bytes from the end that
/// the machine's byte order begins with.
const APP_LIMITED: u8 = if cfg!(target_endian = "big") {
    0x80
} else {
    0x01
};

/// `TCPI_OPT_TIMESTAMPS`.
const TIMESTAMPS: u8 = 1;

pub(crate) fn read(socket: &Socket) -> Option<TcpInfo> {
    let (raw, length) = sockopt::get::<Kernel>(socket, libc::IPPROTO_TCP, libc::TCP_INFO).ok()?;
    Some(decode(&raw, length))
}

/// The fields that lie within the first `length` bytes.
fn decode(raw: &Kernel, length: usize) -> TcpInfo {
    macro_rules! reported {
        ($field:ident) => {
            (offset_of!(Kernel, $field) + size_of_val(&raw.$field) <= length).then_some(raw.$field)
        };
    }
    let delivery_rate = reported!(delivery_rate);
    TcpInfo {
        state: reported!(state),
        timestamps: reported!(options).map(|options| options & TIMESTAMPS != 0),
        rtt_us: reported!(rtt),
        rttvar_us: reported!(rttvar),
        // All ones until the first sample.
        min_rtt_us: reported!(min_rtt).filter(|micros| *micros != u32::MAX),
        rto_us: reported!(rto),
        snd_cwnd: reported!(snd_cwnd),
        snd_ssthresh: reported!(snd_ssthresh),
        snd_mss: reported!(snd_mss),
        rcv_mss: reported!(rcv_mss),
        advmss: reported!(advmss),
        pmtu: reported!(pmtu),
        unacked: reported!(unacked),
        sacked: reported!(sacked),
        lost: reported!(lost),
        retrans: reported!(retrans),
        total_retrans: reported!(total_retrans),
        rcv_rtt_us: reported!(rcv_rtt),
        rcv_space: reported!(rcv_space),
        pacing_rate: reported!(pacing_rate),
        max_pacing_rate: reported!(max_pacing_rate),
        bytes_acked: reported!(bytes_acked),
        bytes_received: reported!(bytes_received),
        segs_out: reported!(segs_out),
        segs_in: reported!(segs_in),
        notsent_bytes: reported!(notsent_bytes),
        data_segs_in: reported!(data_segs_in),
        data_segs_out: reported!(data_segs_out),
        delivery_rate,
        delivery_rate_app_limited: delivery_rate.map(|_| raw.rate_flags & APP_LIMITED != 0),
        busy_time_us: reported!(busy_time),
        rwnd_limited_us: reported!(rwnd_limited),
        sndbuf_limited_us: reported!(sndbuf_limited),
        delivered: reported!(delivered),
        delivered_ce: reported!(delivered_ce),
        bytes_sent: reported!(bytes_sent),
        bytes_retrans: reported!(bytes_retrans),
        dsack_dups: reported!(dsack_dups),
        reord_seen: reported!(reord_seen),
        rcv_ooopack: reported!(rcv_ooopack),
        snd_wnd: reported!(snd_wnd),
        rcv_wnd: reported!(rcv_wnd),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!(offset_of!(Kernel, rto), 8);
        assert_eq!(offset_of!(Kernel, total_retrans), 100);
        assert_eq!(offset_of!(Kernel, pacing_rate), 104);
        assert_eq!(offset_of!(Kernel, delivery_rate), 160);
        assert_eq!(offset_of!(Kernel, snd_wnd), 228);
        assert_eq!(
            offset_of!(Kernel, rcv_ooopack),
            offset_of!(libc::tcp_info, tcpi_rcv_ooopack)
        );
        assert_eq!(
            offset_of!(Kernel, rehash),
            offset_of!(libc::tcp_info, tcpi_rehash)
        );
    }

    #[test]
    fn fields_beyond_the_returned_length_are_absent() {
        // SAFETY: all-zero is a valid value of plain data.
        let mut raw: Kernel = unsafe { std::mem::zeroed() };
        raw.min_rtt = u32::MAX;
        raw.rate_flags = APP_LIMITED;
        let old = decode(&raw, 104);
        assert_eq!(old.total_retrans, Some(0));
        assert_eq!(
            (old.pacing_rate, old.delivery_rate_app_limited),
            (None, None)
        );
        let new = decode(&raw, size_of::<Kernel>());
        assert_eq!(new.delivery_rate_app_limited, Some(true));
        assert_eq!((new.min_rtt_us, new.rcv_wnd), (None, Some(0)));
        // A field that is only half there is absent.
        assert_eq!(decode(&raw, 107).pacing_rate, None);
    }
}
