//! macOS's `TCP_CONNECTION_INFO` (`netinet/tcp.h`). Times are in milliseconds, windows in bytes.

use socket2::Socket;

use super::sockopt::{self, Plain};
use crate::tcp_info::TcpInfo;

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Raw(libc::tcp_connection_info);

// SAFETY: integers and padding only.
unsafe impl Plain for Raw {}

pub(crate) fn read(socket: &Socket) -> Option<TcpInfo> {
    let option = libc::TCP_CONNECTION_INFO;
    let (Raw(raw), _) = sockopt::get::<Raw>(socket, libc::IPPROTO_TCP, option).ok()?;
    let micros = |millis: u32| Some(millis.saturating_mul(1000));
    Some(TcpInfo {
        state: Some(raw.tcpi_state),
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
