//! Names, zones and devices: from what a user types to an address.

use std::net::SocketAddr;

use tapeline_base::Family;
use tapeline_report::Notice;
use tapeline_sys::{ResolveError, ResolveFailure, interface_index, needs_zone, resolve};

/// Gives an address that means nothing without its interface (`fe80::1`) the one of `%device`.
pub(crate) fn add_zone(address: &mut SocketAddr, device: Option<&str>) -> Result<(), Notice> {
    if let (SocketAddr::V6(v6), Some(device)) = (address, device)
        && v6.scope_id() == 0
        && needs_zone((*v6.ip()).into())
    {
        v6.set_scope_id(device_index(device)?);
    }
    Ok(())
}

/// The index of a device that must exist.
pub(crate) fn device_index(device: &str) -> Result<u32, Notice> {
    interface_index(device).ok_or_else(|| Notice::DeviceFailed {
        device: device.to_owned(),
        reason: "No such device".into(),
    })
}

/// The address to use: IPv4 first unless IPv6 was asked for, as iperf 2 does.
///
/// # Errors
/// The condition that says why there is none.
pub fn look_up(host: &str, port: u16, family: Family) -> Result<SocketAddr, Notice> {
    let unresolvable = |error: &ResolveError| Notice::Unresolvable {
        host: host.to_owned(),
        reason: resolver_words(error, family),
    };
    let addresses = resolve(host, port, family).map_err(|error| unresolvable(&error))?;
    let preferred = addresses
        .iter()
        .find(|a| family != Family::Any || a.is_ipv4());
    Ok(*preferred.unwrap_or(&addresses[0]))
}

/// iperf 2's words for resolver failures.
fn resolver_words(error: &ResolveError, family: Family) -> String {
    match error.failure {
        ResolveFailure::NoAddress if family == Family::V6 => "no IPv6 address".into(),
        ResolveFailure::NoAddress => "No address associated with name".into(),
        ResolveFailure::UnknownHost => "Unknown host".into(),
        ResolveFailure::TryAgain => "Host name lookup failure".into(),
        ResolveFailure::ServerFailure => "Unknown server error".into(),
        ResolveFailure::UnknownZone | ResolveFailure::InvalidName | ResolveFailure::Other => {
            error.text.clone()
        }
    }
}

/// The same host, another port. Keeps the scope of a link-local address.
pub(crate) fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}
