//! Bottlenecks and slow lanes.

use std::io;

use crate::{Family, Namespace};

/// A token bucket that limits what leaves a namespace.
#[derive(Debug)]
pub struct Bottleneck<'a> {
    namespace: &'a Namespace,
    rate: u64,
}

impl<'a> Bottleneck<'a> {
    /// Limits to `rate` bits per second of Ethernet frames with a queue of `latency_ms`.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(namespace: &'a Namespace, rate: u64, latency_ms: u32) -> io::Result<Self> {
        // A burst of 20 ms reaches the rate also where the processor is away for a moment, and adds
        // less than 1 % to a test of three seconds.
        let burst = (rate / 8 / 50).max(32 * 1024);
        let interface = Namespace::INTERFACE;
        namespace.tc(&format!(
            "qdisc replace dev {interface} root tbf rate {rate}bit burst {burst} latency {latency_ms}ms"
        ))?;
        Ok(Self { namespace, rate })
    }

    /// Bits per second of TCP payload that fit, with full segments and timestamps: 1448 bytes of
    /// payload in a frame of 1514, or 1428 over IPv6.
    #[must_use]
    pub fn tcp_payload_rate(&self, family: Family) -> f64 {
        let payload = match family {
            Family::V4 => 1448.0,
            Family::V6 => 1428.0,
        };
        self.rate as f64 * payload / 1514.0
    }

    /// Packets that found the queue full.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn dropped(&self) -> io::Result<u64> {
        let interface = Namespace::INTERFACE;
        let shown = self
            .namespace
            .tc(&format!("-s qdisc show dev {interface} root"))?;
        let mut words = shown.split(|c: char| c.is_whitespace() || c == '(' || c == ',');
        words.find(|word| *word == "dropped");
        let count = words.next().and_then(|word| word.parse().ok());
        count.ok_or_else(|| io::Error::other(format!("no drop count in: {shown}")))
    }

    /// Bits per second of UDP payload that fit, with datagrams of 1470 bytes over IPv4 in frames
    /// of 1512.
    #[must_use]
    pub fn udp_payload_rate(&self) -> f64 {
        self.rate as f64 * 1470.0 / 1512.0
    }
}

impl Drop for Bottleneck<'_> {
    fn drop(&mut self) {
        remove_root(self.namespace);
    }
}

/// Two lanes out of a namespace: a fast one for everything and a slow one in which packets are
/// overtaken.
#[derive(Debug)]
pub struct SlowLane<'a> {
    namespace: &'a Namespace,
}

impl<'a> SlowLane<'a> {
    /// The class of the slow lane, for `meta priority set`.
    pub const CLASS: &'static str = "1:2";

    /// Makes the lanes; the slow one passes `rate` bits per second, one full packet at a time.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(namespace: &'a Namespace, rate: u64) -> io::Result<Self> {
        let device = format!("dev {}", Namespace::INTERFACE);
        let class = Self::CLASS;
        namespace.tc(&format!(
            "qdisc replace {device} root handle 1: htb default 1"
        ))?;
        namespace.tc(&format!(
            "class add {device} parent 1: classid 1:1 htb rate 10gbit"
        ))?;
        namespace.tc(&format!(
            "class add {device} parent 1: classid {class} htb rate {rate}bit burst 1600 cburst 1600"
        ))?;
        Ok(Self { namespace })
    }
}

impl Drop for SlowLane<'_> {
    fn drop(&mut self) {
        remove_root(self.namespace);
    }
}

/// A limit of what leaves a namespace with a short queue for each flow (`fq_codel`).
#[derive(Debug)]
pub struct FairQueues<'a> {
    namespace: &'a Namespace,
}

impl<'a> FairQueues<'a> {
    /// Limits to `rate` bits per second of Ethernet frames.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(namespace: &'a Namespace, rate: u64) -> io::Result<Self> {
        let fair = Self { namespace };
        let device = format!("dev {}", Namespace::INTERFACE);
        for line in [
            format!("qdisc replace {device} root handle 1: htb default 1"),
            format!("class add {device} parent 1: classid 1:1 htb rate {rate}bit"),
            format!("qdisc add {device} parent 1:1 handle 10: fq_codel"),
        ] {
            namespace.tc(&line)?;
        }
        Ok(fair)
    }
}

impl Drop for FairQueues<'_> {
    fn drop(&mut self) {
        remove_root(self.namespace);
    }
}

fn remove_root(namespace: &Namespace) {
    let _ = namespace.tc(&format!("qdisc del dev {} root", Namespace::INTERFACE));
}
