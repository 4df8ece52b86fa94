//! Two hosts and the ways between them, as a situation has them.

use std::io;
use std::time::Duration;

use interop::{Bottleneck, Invocation, Namespace, NamespacePair, RelayedPair};
use relay::{Jitter, Link, Path, Policer, Selection};
use tapeline_base::SplitMix64;

use crate::situation::{Rate, Way};

/// Bytes of a full packet.
const PACKET: u64 = 1500;

/// Numbers by which a situation differs from run to run.
#[derive(Debug, Clone)]
pub(crate) struct Seed(SplitMix64);

impl Seed {
    /// The numbers of one run of a situation.
    pub(crate) fn new(name: &str, seed: u64) -> Self {
        // FNV-1a, so that situations with the same seed differ.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(SplitMix64::new(
            hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ))
    }

    /// The next factor, from 5/6 to 6/5.
    pub(crate) fn factor(&mut self) -> f64 {
        let unit = self.0.bits() as f64 / u64::MAX as f64;
        1.2_f64.powf(2.0 * unit - 1.0)
    }

    /// A way whose rates, times and queues are a little other ones.
    pub(crate) fn varied(&mut self, way: Way) -> Way {
        let [rate, queue, delay, loss] = [(); 4].map(|()| self.factor());
        let varied = |its: Rate| Rate {
            megabits: its.megabits * rate,
            queue: its.queue * queue,
        };
        Way {
            device: way.device.map(varied),
            link: way.link.map(varied),
            policer: way.policer.map(varied),
            delay: way.delay * delay,
            loss: way.loss * loss,
            ..way
        }
    }
}

/// The two hosts.
pub(crate) enum Network {
    Joined(NamespacePair),
    Relayed(RelayedPair),
}

impl Network {
    /// Two hosts with these ways from the client to the server and back.
    pub(crate) fn new(there: &Way, back: &Way, seed: &mut Seed) -> io::Result<Self> {
        if !there.needs_relay() && !back.needs_relay() {
            return NamespacePair::new().map(Self::Joined);
        }
        let [there, back] = [there, back].map(|way| path(way, seed.0.bits()));
        RelayedPair::new(there, back).map(Self::Relayed)
    }

    pub(crate) fn hosts(&self) -> &NamespacePair {
        match self {
            Self::Joined(pair) => pair,
            Self::Relayed(pair) => pair.hosts(),
        }
    }

    /// Limits the buffers that a host gives to TCP connections; 0 is no limit.
    pub(crate) fn limit(host: &Namespace, send: u32, receive: u32) -> io::Result<()> {
        for (name, most) in [("tcp_wmem", send), ("tcp_rmem", receive)] {
            if most == 0 {
                continue;
            }
            // The file belongs to the network of the process that opens it.
            let script = format!("echo 4096 {most} {most} > /proc/sys/net/ipv4/{name}");
            let words = ["netns", "exec", host.name(), "sh", "-c", &script];
            let finished = Invocation::for_executable("sh", "ip").args(words).run()?;
            if finished.code() != Some(0) {
                return Err(io::Error::other(finished.to_string()));
            }
        }
        Ok(())
    }

    /// Whether the relay was kept from its packets for so long that the queues in front of it ran
    /// over: then the way was another one than what was made.
    ///
    /// # Errors
    /// The devices cannot be asked.
    pub(crate) fn is_overrun(&self) -> io::Result<bool> {
        let Self::Relayed(pair) = self else {
            return Ok(false);
        };
        let hosts = pair.hosts();
        for host in [&hosts.client, &hosts.server] {
            let interface = interop::Namespace::INTERFACE;
            let shown = host.ip(&format!("-s -j link show dev {interface}"))?;
            let shown: serde_json::Value = serde_json::from_str(&shown)?;
            let dropped = shown[0]["stats64"]["tx"]["dropped"].as_u64();
            if dropped.ok_or_else(|| io::Error::other("no count of what was dropped"))? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Shapes the devices of both hosts, as long as what is returned lives.
    pub(crate) fn shape(&self, there: &Way, back: &Way) -> io::Result<Vec<Bottleneck<'_>>> {
        let hosts = self.hosts();
        let mut shaped = Vec::new();
        for (host, way) in [(&hosts.client, there), (&hosts.server, back)] {
            if let Some(Rate { megabits, queue }) = way.device {
                let bottleneck = Bottleneck::new(host, bits(megabits), queue.round() as u32)?;
                shaped.push(bottleneck);
            }
        }
        Ok(shaped)
    }
}

fn bits(megabits: f64) -> u64 {
    (megabits * 1e6) as u64
}

fn percent(share: f64) -> Selection {
    match share {
        share if share > 0.0 => Selection::Random {
            per_million: (share * 1e4) as u64,
        },
        _ => Selection::None,
    }
}

fn path(way: &Way, seed: u64) -> Path {
    let time = |milliseconds: f64| Duration::from_secs_f64(milliseconds / 1e3);
    let bytes = |its: Rate| ((its.megabits * its.queue * 125.0) as u64).max(2 * PACKET);
    Path {
        delay: time(way.delay),
        jitter: match way.jitter {
            jitter if jitter > 0.0 => Jitter::Uniform(time(jitter)),
            _ => Jitter::None,
        },
        policer: way.policer.map(|its| Policer {
            rate: bits(its.megabits),
            burst: bytes(its),
        }),
        link: way.link.map(|its| Link {
            rate: bits(its.megabits),
            queue: bytes(its),
        }),
        aggregation: time(way.aggregation),
        dropped: percent(way.loss),
        held: percent(way.overtaken),
        holding: Duration::from_millis(3),
        seed,
        ..Path::default()
    }
}

/// A way in words, for those who look at a verdict.
pub(crate) fn shown(way: &Way) -> String {
    let mut words = Vec::new();
    let mut rate = |name: &str, its: Option<Rate>| {
        if let Some(Rate { megabits, queue }) = its {
            words.push(format!("{name} {megabits:.2} Mbit/s {queue:.0} ms"));
        }
    };
    rate("device", way.device);
    rate("link", way.link);
    rate("policer", way.policer);
    for (name, value, unit) in [
        ("delay", way.delay, "ms"),
        ("jitter", way.jitter, "ms"),
        ("aggregation", way.aggregation, "ms"),
        ("loss", way.loss, "%"),
        ("overtaken", way.overtaken, "%"),
        ("filtered: one in", f64::from(way.filtered_one_in), ""),
    ] {
        if value > 0.0 {
            words.push(format!("{name} {value:.2} {unit}").trim_end().to_owned());
        }
    }
    match words.is_empty() {
        true => "cable".to_owned(),
        false => words.join(", "),
    }
}
