//! The test paths of the methods: known rate, queue and delay each way, exact at the IP layer.

use std::io;
use std::time::Duration;

use relay::Record;

use crate::{Namespace, NamespacePair, RelayedPair};

/// What a token bucket on a TUN device counts: a TUN device has no Ethernet header, so these are
/// bytes of IP packets.
const BURST: u32 = 16 * 1024;
/// Bytes from which on a queue is deep.
const DEEP: u32 = 256 * 1024;
/// The largest IP packet of the paths, and what a policer's queue holds.
const PACKET: u32 = 1500;

/// One direction of a [`TestPath`]: a token bucket on the sending host's device, then a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// Bits per second of IP packets; no limit where 0.
    pub rate: u64,
    /// Bytes that may leave at once after a pause.
    pub burst: u32,
    /// Bytes of IP packets that wait; what finds the queue full is dropped.
    pub queue: u32,
    /// Constant time on the way.
    pub delay: Duration,
    /// Bytes that a packet counts as at least.
    pub least: u32,
}

impl Way {
    /// 50 Mbit/s, 64 KiB of queue (10.49 ms), 10 ms.
    pub const P1: Self = Self::shaped(50_000_000, 64 * 1024, Duration::from_millis(10));
    /// 100 Mbit/s, 1 MiB of queue (83.9 ms), 10 ms.
    pub const P2: Self = Self::shaped(100_000_000, 1024 * 1024, Duration::from_millis(10));
    /// 10 Mbit/s, 1 MiB of queue (838.9 ms), 10 ms.
    pub const P3: Self = Self::shaped(10_000_000, 1024 * 1024, Duration::from_millis(10));
    /// 1 Mbit/s, 32 KiB of queue (262 ms), 25 ms.
    pub const P4: Self = Self::shaped(1_000_000, 32 * 1024, Duration::from_millis(25));

    /// A rate with a queue of `queue` bytes in front of it, and a delay.
    #[must_use]
    pub const fn shaped(rate: u64, queue: u32, delay: Duration) -> Self {
        Self {
            rate,
            burst: BURST,
            queue,
            delay,
            least: 0,
        }
    }

    /// A delay and no limit.
    #[must_use]
    pub const fn free(delay: Duration) -> Self {
        Self::shaped(0, 0, delay)
    }

    /// A policer: a token bucket whose queue holds one packet, so that what comes above the rate and
    /// the burst is dropped. A burst of 15,000 to 30,000 bytes is customary.
    #[must_use]
    pub const fn policed(rate: u64, burst: u32, delay: Duration) -> Self {
        Self {
            rate,
            burst,
            queue: PACKET,
            delay,
            least: 0,
        }
    }

    /// A limit of packets whatever their length, up to 1500 bytes: each counts as a full one. So many
    /// may leave at once after a pause, and as many wait.
    #[must_use]
    pub const fn packets(per_second: u64, burst: u32, delay: Duration) -> Self {
        Self {
            rate: per_second * PACKET as u64 * 8,
            burst: burst * PACKET,
            queue: burst * PACKET,
            delay,
            least: PACKET,
        }
    }

    /// The same with another delay.
    #[must_use]
    pub const fn with_delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Time that a full queue takes to leave.
    #[must_use]
    pub fn queue_time(&self) -> Duration {
        match self.rate {
            0 => Duration::ZERO,
            rate => Duration::from_secs_f64(f64::from(self.queue) * 8.0 / rate as f64),
        }
    }

    /// Bits per second of payload that fit, with so many bytes of payload in a packet of `packet`
    /// bytes: 1448 of 1500 for TCP over IPv4 with timestamps.
    #[must_use]
    pub fn payload_rate(&self, payload: u32, packet: u32) -> f64 {
        self.rate as f64 * f64::from(payload) / f64::from(packet)
    }

    fn shape(&self, namespace: &Namespace) -> io::Result<()> {
        let device = Namespace::INTERFACE;
        let Self {
            rate,
            burst,
            queue,
            least,
            ..
        } = self;
        if *rate == 0 {
            // Without one there is nothing to delete.
            let _ = namespace.tc(&format!("qdisc del dev {device} root"));
            return Ok(());
        }
        let bucket = format!("tbf rate {rate}bit burst {burst} limit {queue} mpu {least}");
        namespace.tc(&format!(
            "qdisc replace dev {device} root handle 1: {bucket}"
        ))?;
        if *least > 0 {
            // A queue of bytes counts the bytes that there are.
            let packets = queue / least;
            namespace.tc(&format!(
                "qdisc replace dev {device} parent 1:1 pfifo limit {packets}"
            ))?;
        }
        Ok(())
    }
}

/// A client's and a server's host, joined by TUN devices and a relay: `up` leads from the client to
/// the server, `down` back.
///
/// Every packet is one segment already where it leaves its host, so packet filters count and drop
/// segments at both ends. Keep loads at or below 200 Mbit/s: the relay shares the processors.
#[derive(Debug)]
pub struct TestPath {
    pair: RelayedPair,
}

impl TestPath {
    /// Makes the path.
    ///
    /// # Errors
    /// The system refuses, which usually means missing privileges or tools.
    pub fn new(up: Way, down: Way) -> io::Result<Self> {
        Self::with(up, down, relay::Path::default(), relay::Path::default())
    }

    /// Makes the path with a relay that does more than delay: jitter, loss, reordering. The delays
    /// are those of the ways.
    ///
    /// # Errors
    /// As [`TestPath::new`].
    pub fn with(up: Way, down: Way, there: relay::Path, back: relay::Path) -> io::Result<Self> {
        let delayed = |path: relay::Path, way: &Way| relay::Path {
            delay: way.delay,
            ..path
        };
        let pair = RelayedPair::new(delayed(there, &up), delayed(back, &down))?;
        let path = Self { pair };
        for host in [&path.hosts().client, &path.hosts().server] {
            host.ip(&format!(
                "link set dev {} gso_max_segs 1",
                Namespace::INTERFACE
            ))?;
        }
        path.shape(&up, &down)?;
        Ok(path)
    }

    /// Makes the path with its deep queues in the relay, behind the sending hosts. A host's own TCP keeps the
    /// queue of its device short (TCP small queues: two segments of each flow here), so a deep queue
    /// that TCP is to fill stands behind it, as in a modem.
    ///
    /// # Errors
    /// As [`TestPath::new`].
    pub fn queued(up: Way, down: Way) -> io::Result<Self> {
        let behind = |way: Way| {
            if way.queue < DEEP {
                return (way, relay::Path::default());
            }
            let link = relay::Link {
                rate: way.rate,
                queue: way.queue.into(),
            };
            let path = relay::Path {
                link: Some(link),
                ..relay::Path::default()
            };
            (Way::free(way.delay), path)
        };
        let ((up, there), (down, back)) = (behind(up), behind(down));
        Self::with(up, down, there, back)
    }

    /// Changes rates and queues, also in the middle of a test; the delays stay.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn shape(&self, up: &Way, down: &Way) -> io::Result<()> {
        up.shape(&self.hosts().client)?;
        down.shape(&self.hosts().server)
    }

    /// The two hosts.
    #[must_use]
    pub const fn hosts(&self) -> &NamespacePair {
        self.pair.hosts()
    }

    /// Ends the relay and returns what passed it.
    ///
    /// # Errors
    /// The relay had failed.
    pub fn finish(self) -> io::Result<Record> {
        self.pair.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_take_the_times_that_the_paths_are_known_for() {
        let times = [Way::P1, Way::P2, Way::P3, Way::P4].map(|way| way.queue_time().as_micros());
        assert_eq!(times, [10_485, 83_886, 838_860, 262_144]);
        let payload = Way::P1.payload_rate(1448, 1500);
        assert!((payload / 1e6 - 48.27).abs() < 0.01, "{payload}");
    }
}
