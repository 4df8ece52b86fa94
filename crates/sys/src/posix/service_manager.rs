//! Messages to a service manager's socket, and to descriptors that were handed down.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

pub(crate) fn notify(name: &OsStr, state: &str) -> io::Result<()> {
    let address = match name.as_bytes() {
        [b'@', rest @ ..] => abstract_address(rest)?,
        _ => SocketAddr::from_pathname(name)?,
    };
    UnixDatagram::unbound()?
        .send_to_addr(state.as_bytes(), &address)
        .map(drop)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn abstract_address(name: &[u8]) -> io::Result<SocketAddr> {
    #[cfg(target_os = "android")]
    use std::os::android::net::SocketAddrExt;
    #[cfg(target_os = "linux")]
    use std::os::linux::net::SocketAddrExt;
    SocketAddr::from_abstract_name(name)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn abstract_address(_: &[u8]) -> io::Result<SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn write_line_end(number: u32) -> io::Result<()> {
    let path = format!("/dev/fd/{number}");
    OpenOptions::new().write(true).open(path)?.write_all(b"\n")
}
