//! What the packet filter counts of each flow.

use std::io;

use serde_json::Value;

use crate::Namespace;

/// Name of our table in the namespace; [`crate::PacketFilter`] has its own.
const TABLE: &str = "flows";

/// A packet filter that counts packets and bytes of each flow, with its DSCP.
///
/// Bytes are those of IP packets, headers included. What arrives is counted behind the faults of a
/// [`crate::PacketFilter`], so it is what programs can receive.
#[derive(Debug)]
pub struct FlowCounters<'a> {
    namespace: &'a Namespace,
}

/// Where packets are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedAt {
    /// As they come to this host's programs.
    Arrival,
    /// As they leave this host's programs, ahead of its queue.
    Departure,
}

/// Packets of one protocol between two ports, one way, with one DSCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedFlow {
    /// `tcp` or `udp`.
    pub protocol: String,
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// Packets.
    pub packets: u64,
    /// Bytes of IP packets.
    pub bytes: u64,
}

impl CountedFlow {
    /// Bytes without headers, where each packet has so many bytes of them.
    #[must_use]
    pub const fn payload(&self, headers: u64) -> u64 {
        self.bytes - self.packets * headers
    }
}

impl<'a> FlowCounters<'a> {
    /// Counts TCP and UDP over IPv4 in `namespace` from now on.
    ///
    /// # Errors
    /// The packet filter refuses the rules.
    pub fn new(namespace: &'a Namespace, at: CountedAt) -> io::Result<Self> {
        let hook = match at {
            CountedAt::Arrival => "input",
            CountedAt::Departure => "output",
        };
        namespace.nft(&format!(
            "table ip {TABLE} {{
                set seen {{
                    typeof ip protocol . th sport . th dport . ip dscp
                    size 65535
                    flags dynamic
                }}
                chain {TABLE} {{
                    type filter hook {hook} priority 0; policy accept;
                    meta l4proto {{ tcp, udp }} add @seen {{ ip protocol . th sport . th dport . ip dscp counter }}
                }}
            }}\n"
        ))?;
        Ok(Self { namespace })
    }

    /// The flows so far.
    ///
    /// # Errors
    /// The packet filter does not answer, or differently.
    pub fn flows(&self) -> io::Result<Vec<CountedFlow>> {
        let name = self.namespace.name();
        let finished = crate::Invocation::for_executable("nft", "ip")
            .args(["netns", "exec", name, "nft", "-j", "-n"])
            .args(["list", "set", "ip", TABLE, "seen"])
            .run()?;
        parse(&finished.stdout).ok_or_else(|| io::Error::other(finished.to_string()))
    }
}

impl Drop for FlowCounters<'_> {
    fn drop(&mut self) {
        let _ = self.namespace.nft(&format!("delete table ip {TABLE}\n"));
    }
}

/// Reads the set as nft shows it; an empty set has no elements.
fn parse(shown: &str) -> Option<Vec<CountedFlow>> {
    let shown: Value = serde_json::from_str(shown).ok()?;
    let set = shown["nftables"]
        .as_array()?
        .iter()
        .find_map(|item| item.get("set"))?;
    let Some(elements) = set.get("elem") else {
        return Some(Vec::new());
    };
    elements.as_array()?.iter().map(flow).collect()
}

fn flow(element: &Value) -> Option<CountedFlow> {
    let element = &element["elem"];
    let key = element["val"]["concat"].as_array()?;
    let number = |index: usize| u16::try_from(key.get(index)?.as_u64()?).ok();
    let protocol = match (key.first()?.as_str(), number(0)) {
        (Some(name), _) => name.to_owned(),
        (None, Some(6)) => "tcp".to_owned(),
        (None, _) => "udp".to_owned(),
    };
    let counter = &element["counter"];
    Some(CountedFlow {
        protocol,
        source_port: number(1)?,
        destination_port: number(2)?,
        dscp: u8::try_from(number(3)?).ok()?,
        packets: counter["packets"].as_u64()?,
        bytes: counter["bytes"].as_u64()?,
    })
}
