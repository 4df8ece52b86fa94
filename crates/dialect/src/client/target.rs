//! Where a client's flows go and come from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use tapeline_base::Family;
use tapeline_engine::Stop;
use tapeline_report::Notice;
use tapeline_sys::SocketOptions;

use crate::native::client::ClientTest;
use crate::plan::{AddressSteps, ClientPlan, ClientWorkload};
use crate::run::address::{add_zone, look_up};
use crate::run::context::Context;

/// What recognises a server that is tapeline; `stop` ends the test's flows. Nothing where no header has
/// a place for the mark, or nobody could answer.
pub(crate) fn control_test(
    plan: &ClientPlan,
    context: &Arc<Context>,
    stop: &Stop,
) -> Option<ClientTest> {
    let streams = matches!(plan.workload, ClientWorkload::Stream(_));
    let marked = plan.control && streams && !plan.compatibility && !plan.l4s;
    let options = SocketOptions {
        device: plan.device.clone(),
        ..SocketOptions::default()
    };
    let alone = plan
        .bind
        .as_ref()
        .is_none_or(|bind| bind.group_source.is_none());
    let probes = plan.probe.then(|| plan.socket.tos.unwrap_or_default());
    let affinity = plan.affinity.peer;
    (marked && alone)
        .then(|| ClientTest::begin(context, options, stop, affinity, probes, plan.test_number))?
}

/// Where a client's flows go and come from.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Address with the first port.
    first: SocketAddr,
    /// Own address of the first flow, when bound.
    local: Option<SocketAddr>,
    steps: AddressSteps,
}

impl Target {
    pub(crate) fn resolve(plan: &ClientPlan) -> Result<Self, Notice> {
        let mut first = look_up(&plan.host, plan.ports.0, plan.family)?;
        let device = plan.device.as_deref();
        add_zone(&mut first, device)?;
        let local = match &plan.bind {
            None => None,
            Some(bind) => {
                let family = if first.is_ipv6() {
                    Family::V6
                } else {
                    Family::V4
                };
                let mut address = look_up(&bind.host, bind.port.unwrap_or(0), family)?;
                add_zone(&mut address, bind.device.as_deref().or(device))?;
                Some(address)
            }
        };
        let range = plan.ports.1 > plan.ports.0;
        Ok(Self {
            first,
            local,
            steps: AddressSteps {
                destination_port: plan.steps.destination_port || range,
                ..plan.steps
            },
        })
    }

    /// Remote address of flow `index` (from 0).
    pub(crate) fn peer(&self, index: usize) -> SocketAddr {
        let steps = &self.steps;
        step(
            self.first,
            index,
            steps.destination_address,
            steps.destination_port,
        )
    }

    /// Own address of flow `index`. A given port counts up where nothing else distinguishes the
    /// flows apart.
    pub(crate) fn local(&self, index: usize) -> Option<SocketAddr> {
        let local = self.local?;
        let port = local.port() != 0 && (self.steps.source_port || !self.shares_port());
        Some(step(local, index, self.steps.source_address, port))
    }

    /// Whether the flows have one port on our side: a given one, while something else counts up.
    pub(crate) fn shares_port(&self) -> bool {
        let steps = &self.steps;
        self.local.is_some_and(|local| local.port() != 0)
            && !steps.source_port
            && (steps.destination_address || steps.destination_port || steps.source_address)
    }

    /// Own address, when bound, with its zone.
    pub(crate) fn own(&self) -> Option<SocketAddr> {
        self.local
    }

    /// For flows next to the test: from any port, to the first one.
    pub(crate) fn for_load(&self) -> Self {
        let mut local = self.local;
        if let Some(local) = &mut local {
            local.set_port(0);
        }
        Self {
            first: self.first,
            local,
            steps: AddressSteps::default(),
        }
    }

    pub(crate) fn bound(&self) -> Option<IpAddr> {
        self.local.map(|local| local.ip())
    }

    pub(crate) fn is_ipv6(&self) -> bool {
        self.first.is_ipv6()
    }

    pub(crate) fn first(&self) -> SocketAddr {
        self.first
    }
}

/// `address` counted up by `index` in the wanted parts. At the end of the numbers it stays.
fn step(mut address: SocketAddr, index: usize, ip: bool, port: bool) -> SocketAddr {
    if ip {
        let step = u32::try_from(index).unwrap_or(u32::MAX);
        address.set_ip(match address.ip() {
            IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits().saturating_add(step)).into(),
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits().saturating_add(step.into())).into(),
        });
    }
    if port {
        let step = u16::try_from(index).unwrap_or(u16::MAX);
        address.set_port(address.port().saturating_add(step));
    }
    address
}

/// A client's own listener for the connections that a dual test's server opens.
pub(crate) fn expected_from(target: &Target) -> IpAddr {
    tapeline_sys::unmapped(target.first).ip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::BindPlan;
    use crate::plan::client::tests::client_plan;

    fn target(host: &str, bind: Option<(&str, u16)>, steps: AddressSteps) -> Target {
        let plan = ClientPlan {
            host: host.into(),
            bind: bind.map(|(host, port)| BindPlan {
                port: Some(port),
                ..BindPlan::address(host)
            }),
            steps,
            ..client_plan()
        };
        Target::resolve(&plan).expect("an address")
    }

    fn third(target: &Target) -> (String, Option<String>) {
        let local = target.local(2).map(|local| local.to_string());
        (target.peer(2).to_string(), local)
    }

    #[test]
    fn what_is_asked_to_count_up_does() {
        let none = AddressSteps::default();
        let to = |text: &str| Some(text.to_owned());
        let plain = target("192.0.2.1", Some(("127.0.0.1", 6000)), none);
        assert_eq!(
            third(&plain),
            ("192.0.2.1:5001".into(), to("127.0.0.1:6002"))
        );
        let destination = AddressSteps {
            destination_address: true,
            ..none
        };
        let stepped = target("192.0.2.254", Some(("127.0.0.1", 6000)), destination);
        assert_eq!(
            third(&stepped),
            ("192.0.3.0:5001".into(), to("127.0.0.1:6000"))
        );
        assert!(stepped.shares_port() && !plain.shares_port());
        let v6 = target("2001:db8::ffff", None, destination);
        assert_eq!(third(&v6), ("[2001:db8::1:1]:5001".into(), None));
        let ports = AddressSteps {
            destination_port: true,
            source_port: true,
            ..none
        };
        let stepped = target("::1", Some(("::1", 6000)), ports);
        assert_eq!(third(&stepped), ("[::1]:5003".into(), to("[::1]:6002")));
        let source = AddressSteps {
            source_address: true,
            ..none
        };
        let stepped = target("127.0.0.1", Some(("127.0.0.2", 0)), source);
        assert_eq!(
            third(&stepped),
            ("127.0.0.1:5001".into(), to("127.0.0.4:0"))
        );
    }

    #[test]
    fn link_local_hosts_get_the_zone_of_the_device() {
        let plan = ClientPlan {
            host: "fe80::1".into(),
            device: Some("7".into()),
            ..client_plan()
        };
        let target = Target::resolve(&plan).expect("an address");
        assert_eq!(target.first().to_string(), "[fe80::1%7]:5001");
        let plan = ClientPlan {
            device: Some("no-such-if".into()),
            ..plan
        };
        assert!(matches!(
            Target::resolve(&plan),
            Err(Notice::DeviceFailed { .. })
        ));
    }
}
