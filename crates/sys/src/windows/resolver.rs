//! Names of hosts, through the standard library. Those of interfaces are not looked up here; zones are
//! given as numbers.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use tapeline_base::Family;
use windows_sys::Win32::Networking::WinSock::{
    WSAHOST_NOT_FOUND, WSANO_DATA, WSANO_RECOVERY, WSATRY_AGAIN,
};

use crate::error::reason;
use crate::resolve::{ResolveError, ResolveFailure};

/// All addresses of `host`, one entry each. The caller picks those of the wanted family.
pub(crate) fn look_up(
    host: &str,
    port: u16,
    _family: Family,
) -> Result<Vec<SocketAddr>, ResolveError> {
    let found = (host, port)
        .to_socket_addrs()
        .map_err(|error| failure(host, &error))?;
    let mut unique = Vec::new();
    for address in found {
        if !unique.contains(&address) {
            unique.push(address);
        }
    }
    Ok(unique)
}

fn failure(host: &str, error: &io::Error) -> ResolveError {
    let kind = match error.raw_os_error() {
        Some(WSAHOST_NOT_FOUND) => ResolveFailure::UnknownHost,
        Some(WSATRY_AGAIN) => ResolveFailure::TryAgain,
        Some(WSANO_RECOVERY) => ResolveFailure::ServerFailure,
        Some(WSANO_DATA) => ResolveFailure::NoAddress,
        _ => ResolveFailure::Other,
    };
    ResolveError::new(host, kind, reason(error))
}

pub(crate) fn name_of(_address: IpAddr) -> Option<String> {
    None
}

pub(crate) fn interfaces() -> Vec<(String, IpAddr)> {
    Vec::new()
}

pub(crate) fn index_of(_name: &str) -> Option<u32> {
    None
}

pub(crate) fn mtu_of(_name: &str) -> Option<u32> {
    None
}
