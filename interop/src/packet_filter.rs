//! Exact packet faults, with counters of them.

use std::io;

use crate::Namespace;

/// Name of our table in the namespace.
const TABLE: &str = "faults";

/// A packet filter table of named counters and rules in a namespace.
///
/// Faults are periodic (`numgen inc`), so that a test can assert numbers: a rule that takes the
/// places `from..=to` out of every `period` packets it sees does so exactly.
#[derive(Debug)]
pub struct PacketFilter<'a> {
    namespace: &'a Namespace,
}

/// The packets a fault hits: the places `from..=to` of every `period`, counted from 0.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// Length of the cycle.
    pub period: u32,
    /// First place hit.
    pub from: u32,
    /// Last place hit.
    pub to: u32,
}

impl Places {
    /// One place in every `period` packets.
    #[must_use]
    pub const fn one(period: u32, place: u32) -> Self {
        Self {
            period,
            from: place,
            to: place,
        }
    }
}

impl<'a> PacketFilter<'a> {
    /// Counts UDP datagrams to `port` on arrival as `seen` and drops some, counted as `dropped`.
    ///
    /// # Errors
    /// The packet filter refuses the rules.
    pub fn drop_arriving(namespace: &'a Namespace, port: u16, places: Places) -> io::Result<Self> {
        let select = places.select();
        Self::install(
            namespace,
            "type filter hook prerouting priority -300",
            &["seen", "dropped"],
            &[
                format!("udp dport {port} counter name seen"),
                format!("udp dport {port} {select} counter name dropped drop"),
            ],
        )
    }

    /// Counts UDP datagrams to `port` on their way out as `seen` and doubles some on their way to
    /// `peer`, counted as `doubled`.
    ///
    /// # Errors
    /// As [`PacketFilter::drop_arriving`].
    pub fn double_leaving(
        namespace: &'a Namespace,
        port: u16,
        places: Places,
        peer: std::net::IpAddr,
    ) -> io::Result<Self> {
        let select = places.select();
        let interface = Namespace::INTERFACE;
        Self::install(
            namespace,
            "type filter hook postrouting priority 300",
            &["seen", "doubled"],
            &[
                format!("udp dport {port} counter name seen"),
                format!(
                    "udp dport {port} {select} counter name doubled dup to {peer} device \"{interface}\""
                ),
            ],
        )
    }

    /// Sends some UDP datagrams to `port` through the slow lane of a [`crate::SlowLane`], counted
    /// as `slowed`.
    ///
    /// # Errors
    /// As [`PacketFilter::drop_arriving`].
    pub fn slow_leaving(namespace: &'a Namespace, port: u16, places: Places) -> io::Result<Self> {
        let select = places.select();
        let class = crate::SlowLane::CLASS;
        Self::install(
            namespace,
            "type filter hook postrouting priority 0",
            &["slowed"],
            &[format!(
                "udp dport {port} {select} counter name slowed meta priority set \"{class}\""
            )],
        )
    }

    /// Counts TCP segments and UDP datagrams on arrival as `seen` and drops the last one of every
    /// `period`, counted as `dropped`. Segments are packets where the other host sends them so, as on
    /// a [`crate::TestPath`].
    ///
    /// # Errors
    /// As [`PacketFilter::drop_arriving`].
    pub fn drop_every(namespace: &'a Namespace, period: u32) -> io::Result<Self> {
        let select = Places::one(period, period.saturating_sub(1)).select();
        let kind = "meta l4proto { tcp, udp }";
        Self::install(
            namespace,
            "type filter hook prerouting priority -300",
            &["seen", "dropped"],
            &[
                format!("{kind} counter name seen"),
                format!("{kind} {select} counter name dropped drop"),
            ],
        )
    }

    /// Drops everything on arrival that matches an expression of nft, such as
    /// `udp length > 1410`, counted as `dropped`.
    ///
    /// # Errors
    /// As [`PacketFilter::drop_arriving`].
    pub fn drop_matching(namespace: &'a Namespace, expression: &str) -> io::Result<Self> {
        Self::install(
            namespace,
            "type filter hook prerouting priority -300",
            &["dropped"],
            &[format!("{expression} counter name dropped drop")],
        )
    }

    /// Drops every TCP segment to or from `port` from now on, counted as `dropped`.
    ///
    /// # Errors
    /// As [`PacketFilter::drop_arriving`].
    pub fn black_hole(namespace: &'a Namespace, port: u16) -> io::Result<Self> {
        Self::install(
            namespace,
            "type filter hook prerouting priority -300",
            &["dropped"],
            &[
                format!("tcp dport {port} counter name dropped drop"),
                format!("tcp sport {port} counter name dropped drop"),
            ],
        )
    }

    /// Drops everything over IPv4 that arrives from now on, counted as `dropped`.
    ///
    /// # Errors
    /// As [`PacketFilter::drop_arriving`].
    pub fn cut(namespace: &'a Namespace) -> io::Result<Self> {
        Self::install(
            namespace,
            "type filter hook prerouting priority -300",
            &["dropped"],
            &["counter name dropped drop".to_owned()],
        )
    }

    fn install(
        namespace: &'a Namespace,
        hook: &str,
        counters: &[&str],
        rules: &[String],
    ) -> io::Result<Self> {
        let counters: String = counters
            .iter()
            .map(|name| format!("counter {name} {{ }}\n"))
            .collect();
        let rules = rules.join("\n");
        // `dup` needs the ip family.
        namespace.nft(&format!(
            "table ip {TABLE} {{\n{counters}chain {TABLE} {{\n{hook}; policy accept;\n{rules}\n}}\n}}\n"
        ))?;
        Ok(Self { namespace })
    }

    /// Packets that a counter has counted.
    ///
    /// # Errors
    /// There is no such counter.
    pub fn packets(&self, counter: &str) -> io::Result<u64> {
        let name = self.namespace.name();
        let finished = crate::Invocation::for_executable("ip", "ip")
            .args([
                "netns", "exec", name, "nft", "list", "counter", "ip", TABLE, counter,
            ])
            .run()?;
        let mut words = finished.stdout.split_whitespace();
        words.find(|word| *word == "packets");
        let packets = words.next().and_then(|word| word.parse().ok());
        packets.ok_or_else(|| io::Error::other(format!("no packet count in: {finished}")))
    }
}

impl Places {
    fn select(self) -> String {
        let Self { period, from, to } = self;
        if from == to {
            format!("numgen inc mod {period} {from}")
        } else {
            format!("numgen inc mod {period} {from}-{to}")
        }
    }
}

impl Drop for PacketFilter<'_> {
    fn drop(&mut self) {
        let _ = self.namespace.nft(&format!("delete table ip {TABLE}\n"));
    }
}
