//! A client's run: resolve, announce, connect, and hand over to the transport.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tapeline_base::{ExitCode, Family, Transport};
use tapeline_report::Notice;
use tapeline_sys::{ResolveError, ResolveFailure, resolve};

use super::{tcp_client, udp_client};
use crate::context::{Context, Interruption};
use crate::plan::ClientPlan;
use crate::reporter::ReporterHandle;

/// Runs a client's test to its end. Everything worth telling goes to `reporter`.
#[must_use]
pub fn run_client(
    plan: &ClientPlan,
    reporter: &ReporterHandle,
    interruption: &Interruption,
) -> ExitCode {
    let context = Context::new(reporter.clone(), interruption.clone());
    let target = match Target::resolve(plan) {
        Ok(target) => target,
        Err(notice) => {
            context.notice(notice);
            return ExitCode::Failure;
        }
    };
    let failed = match plan.transport {
        Transport::Tcp => tcp_client::run(plan, &target, &context),
        Transport::Udp => udp_client::run(plan, &target, &context),
    };
    if interruption.is_raised() {
        context.notice(Notice::Interrupted);
    }
    if failed {
        ExitCode::Failure
    } else {
        ExitCode::Success
    }
}

/// Where a client's flows go and come from.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Address with the first port.
    first: SocketAddr,
    /// Own address of the first flow, when bound.
    local: Option<SocketAddr>,
    last_port: u16,
}

impl Target {
    fn resolve(plan: &ClientPlan) -> Result<Self, Notice> {
        let first = look_up(&plan.host, plan.ports.0, plan.family)?;
        let local = match &plan.bind {
            None => None,
            Some(bind) => {
                let family = if first.is_ipv6() {
                    Family::V6
                } else {
                    Family::V4
                };
                let address = look_up(&bind.host, bind.port.unwrap_or(0), family)?;
                Some(address)
            }
        };
        Ok(Self {
            first,
            local,
            last_port: plan.ports.1,
        })
    }

    /// Remote address of flow `index` (from 0): ports count up through a range.
    pub(super) fn peer(&self, index: usize) -> SocketAddr {
        let mut peer = self.first;
        let range = usize::from(self.last_port.saturating_sub(self.first.port())) + 1;
        if range > 1 {
            let step = u16::try_from(index).unwrap_or(u16::MAX);
            peer.set_port(self.first.port().saturating_add(step));
        }
        peer
    }

    /// Own address of flow `index`: a given port counts up.
    pub(super) fn local(&self, index: usize) -> Option<SocketAddr> {
        let mut local = self.local?;
        if local.port() != 0 {
            let step = u16::try_from(index).unwrap_or(u16::MAX);
            local.set_port(local.port().saturating_add(step));
        }
        Some(local)
    }

    pub(super) fn bound(&self) -> Option<IpAddr> {
        self.local.map(|local| local.ip())
    }

    pub(super) fn is_ipv6(&self) -> bool {
        self.first.is_ipv6()
    }

    pub(super) fn first(&self) -> SocketAddr {
        self.first
    }
}

/// The address to use: IPv4 first unless IPv6 was asked for, as iperf 2 does.
///
/// # Errors
/// The condition that says why there is none.
pub(super) fn look_up(host: &str, port: u16, family: Family) -> Result<SocketAddr, Notice> {
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

/// A client's own listener for the connections that a dual test's server opens.
pub(super) fn expected_from(target: &Target) -> IpAddr {
    tapeline_sys::unmapped(target.first).ip()
}

/// Shared by both transports: context by reference count for worker callbacks.
pub(super) type SharedContext = Arc<Context>;
