//! `SIO_TCP_INFO`, version 0 (Windows 10 1703).

use std::mem::size_of;
use std::os::windows::io::AsRawSocket;
use std::ptr;

use socket2::Socket;
use windows_sys::Win32::Networking::WinSock::{SIO_TCP_INFO, TCP_INFO_v0, WSAIoctl};

use crate::tcp::TcpInfo;

pub(crate) fn read(socket: &Socket) -> Option<TcpInfo> {
    let version = 0_u32;
    let mut raw = TCP_INFO_v0::default();
    let mut returned = 0_u32;
    // SAFETY: the pointers and lengths describe live variables; no overlapped operation.
    let result = unsafe {
        WSAIoctl(
            socket.as_raw_socket() as usize,
            SIO_TCP_INFO,
            (&raw const version).cast(),
            size_of::<u32>() as u32,
            (&raw mut raw).cast(),
            size_of::<TCP_INFO_v0>() as u32,
            &raw mut returned,
            ptr::null_mut(),
            None,
        )
    };
    if result != 0 || (returned as usize) < size_of::<TCP_INFO_v0>() {
        return None;
    }
    Some(TcpInfo {
        rtt_us: Some(raw.RttUs),
        // All ones until the first sample.
        min_rtt_us: Some(raw.MinRttUs).filter(|micros| *micros != u32::MAX),
        snd_mss: Some(raw.Mss),
        snd_cwnd: raw.Cwnd.checked_div(raw.Mss),
        snd_wnd: Some(raw.SndWnd),
        rcv_wnd: Some(raw.RcvWnd),
        bytes_sent: Some(raw.BytesOut),
        bytes_received: Some(raw.BytesIn),
        bytes_retrans: Some(u64::from(raw.BytesRetrans)),
        ..TcpInfo::default()
    })
}
