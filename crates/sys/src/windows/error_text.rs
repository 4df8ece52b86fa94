//! Texts of errors in the words of `strerror(3)`: the system's own differ by its language.

use windows_sys::Win32::Networking::WinSock::{
    WSAEACCES, WSAEADDRINUSE, WSAEADDRNOTAVAIL, WSAEAFNOSUPPORT, WSAECONNABORTED, WSAECONNREFUSED,
    WSAECONNRESET, WSAEHOSTUNREACH, WSAEINVAL, WSAEMFILE, WSAEMSGSIZE, WSAENETDOWN, WSAENETUNREACH,
    WSAENOBUFS, WSAENOPROTOOPT, WSAENOTCONN, WSAETIMEDOUT,
};

pub(crate) fn of(code: i32) -> Option<&'static str> {
    Some(match code {
        WSAEACCES => "Permission denied",
        WSAEADDRINUSE => "Address already in use",
        WSAEADDRNOTAVAIL => "Cannot assign requested address",
        WSAEAFNOSUPPORT => "Address family not supported by protocol",
        WSAECONNABORTED => "Software caused connection abort",
        WSAECONNREFUSED => "Connection refused",
        WSAECONNRESET => "Connection reset by peer",
        WSAEHOSTUNREACH => "No route to host",
        WSAEINVAL => "Invalid argument",
        WSAEMFILE => "Too many open files",
        WSAEMSGSIZE => "Message too long",
        WSAENETDOWN => "Network is down",
        WSAENETUNREACH => "Network is unreachable",
        WSAENOBUFS => "No buffer space available",
        WSAENOPROTOOPT => "Protocol not available",
        WSAENOTCONN => "Transport endpoint is not connected",
        WSAETIMEDOUT => "Connection timed out",
        _ => return None,
    })
}
