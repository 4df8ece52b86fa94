//! FreeBSD's `TCP_INFO` subset (`netinet/tcp.h`). Its window is in bytes.

use socket2::Socket;

use super::sockopt::{self, Plain};
use crate::tcp_info::TcpInfo;

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Raw(libc::tcp_info);

// SAFETY: integers only.
unsafe impl Plain for Raw {}

pub(crate) fn read(socket: &Socket) -> Option<TcpInfo> {
    let (Raw(raw), _) = sockopt::get::<Raw>(socket, libc::IPPROTO_TCP, libc::TCP_INFO).ok()?;
    Some(TcpInfo {
        state: Some(raw.tcpi_state),
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
