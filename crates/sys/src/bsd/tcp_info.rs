//! What the kernel reports about a TCP connection, if it does.

pub(crate) use info::read;

/// macOS's `TCP_CONNECTION_INFO` (`netinet/tcp.h`). Times are in milliseconds, windows in bytes.
#[cfg(target_vendor = "apple")]
mod info {
    use socket2::Socket;

    use super::super::sockopt::{self, Plain};
    use crate::tcp::TcpInfo;

    #[derive(Clone, Copy)]
    #[repr(transparent)]
    struct Raw(libc::tcp_connection_info);

    /// `TCPCI_OPT_TIMESTAMPS`.
    const TIMESTAMPS: u32 = 1;

    // SAFETY: integers and padding only.
    unsafe impl Plain for Raw {}

    pub(crate) fn read(socket: &Socket) -> Option<TcpInfo> {
        let option = libc::TCP_CONNECTION_INFO;
        let (Raw(raw), _) = sockopt::get::<Raw>(socket, libc::IPPROTO_TCP, option).ok()?;
        let micros = |millis: u32| Some(millis.saturating_mul(1000));
        Some(TcpInfo {
            state: Some(raw.tcpi_state),
            timestamps: Some(raw.tcpi_options & TIMESTAMPS != 0),
            rtt_us: micros(raw.tcpi_srtt),
            rttvar_us: micros(raw.tcpi_rttvar),
            rto_us: micros(raw.tcpi_rto),
            snd_cwnd: raw.tcpi_snd_cwnd.checked_div(raw.tcpi_maxseg),
            snd_ssthresh: raw.tcpi_snd_ssthresh.checked_div(raw.tcpi_maxseg),
            snd_mss: Some(raw.tcpi_maxseg),
            bytes_received: Some(raw.tcpi_rxbytes),
            bytes_sent: Some(raw.tcpi_txbytes),
            bytes_retrans: Some(raw.tcpi_txretransmitbytes),
            snd_wnd: Some(raw.tcpi_snd_wnd),
            rcv_wnd: Some(raw.tcpi_rcv_wnd),
            ..TcpInfo::default()
        })
    }
}

/// FreeBSD's `TCP_INFO` subset (`netinet/tcp.h`). Its window is in bytes.
#[cfg(target_os = "freebsd")]
mod info {
    use socket2::Socket;

    use super::super::sockopt::{self, Plain};
    use crate::tcp::TcpInfo;

    #[derive(Clone, Copy)]
    #[repr(transparent)]
    struct Raw(libc::tcp_info);

    /// `TCPI_OPT_TIMESTAMPS`.
    const TIMESTAMPS: u8 = 1;

    // SAFETY: integers only.
    unsafe impl Plain for Raw {}

    pub(crate) fn read(socket: &Socket) -> Option<TcpInfo> {
        let (Raw(raw), _) = sockopt::get::<Raw>(socket, libc::IPPROTO_TCP, libc::TCP_INFO).ok()?;
        Some(TcpInfo {
            state: Some(raw.tcpi_state),
            timestamps: Some(raw.tcpi_options & TIMESTAMPS != 0),
            rtt_us: Some(raw.tcpi_rtt),
            rttvar_us: Some(raw.tcpi_rttvar),
            rto_us: Some(raw.tcpi_rto),
            snd_cwnd: raw.tcpi_snd_cwnd.checked_div(raw.tcpi_snd_mss),
            snd_ssthresh: raw.tcpi_snd_ssthresh.checked_div(raw.tcpi_snd_mss),
            snd_mss: Some(raw.tcpi_snd_mss),
            rcv_mss: Some(raw.tcpi_rcv_mss),
            total_retrans: Some(raw.tcpi_snd_rexmitpack),
            rcv_space: Some(raw.tcpi_rcv_space),
            rcv_ooopack: Some(raw.tcpi_rcv_ooopack),
            snd_wnd: Some(raw.tcpi_snd_wnd),
            ..TcpInfo::default()
        })
    }
}

/// Systems that report nothing about a connection.
#[cfg(not(any(target_vendor = "apple", target_os = "freebsd")))]
mod info {
    use socket2::Socket;

    use crate::tcp::TcpInfo;

    pub(crate) fn read(_socket: &Socket) -> Option<TcpInfo> {
        None
    }
}
