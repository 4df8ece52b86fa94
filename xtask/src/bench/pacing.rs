//! The gaps of a paced UDP flow, as a third party sees them.
//!
//! A packet socket at the receiver's interface notes the kernel's receive time of every datagram.
//! What the programs say of themselves is not asked: their averages look right while the gaps are
//! not.

use std::time::Duration;

use interop::{Capture, Family, Packet, Program, ServerSpec, Transport};

use super::contest::{Bar, Benchmark, Measure, Sample};
use super::path::Path;
use crate::shell::Result;

/// Payload of a datagram in bytes.
const PAYLOAD: f64 = 1470.0;
/// A gap below this part of the intended one counts as back to back.
const BACK_TO_BACK: f64 = 0.2;

const LOWER: Measure = Measure {
    name: "",
    unit: "",
    digits: 2,
    higher_is_better: false,
    rare: false,
    bar: None,
};
const MEASURES: [Measure; 5] = [
    Measure {
        name: "gap error p50",
        unit: "us",
        ..LOWER
    },
    Measure {
        name: "gap error p99",
        unit: "us",
        ..LOWER
    },
    Measure {
        name: "back-to-back share",
        unit: "%",
        digits: 3,
        rare: true,
        bar: Some(Bar::Below(0.25)),
        ..LOWER
    },
    Measure {
        name: "rate error",
        unit: "%",
        digits: 4,
        ..LOWER
    },
    Measure {
        name: "CPU of both ends",
        unit: "us/packet",
        ..LOWER
    },
];

/// A flow of so many Mbit/s over a path.
pub(crate) fn benchmark(path: Path<'_>, megabits: u32, seconds: f64) -> Benchmark<'_> {
    Benchmark {
        name: format!("UDP paced, {megabits} Mbit/s, {path}"),
        measures: &MEASURES,
        run: Box::new(move |program| run(program, path, megabits, seconds)),
    }
}

fn run(program: Program, path: Path<'_>, megabits: u32, seconds: f64) -> Result<Sample> {
    let failed = |error: std::io::Error| error.to_string();
    let mut server = path
        .serve(&ServerSpec::new(program, Transport::Udp, Family::V4))
        .map_err(failed)?;
    let before = server.process().usage().cpu;
    let (namespace, interface) = path.receiving();
    let capture = Capture::udp_to(namespace, interface, server.port()).map_err(failed)?;
    let client = path
        .client(program, &server)
        .args([
            "-b",
            &format!("{megabits}m"),
            "-l",
            "1470",
            "-t",
            &seconds.to_string(),
        ])
        .deadline(Duration::from_secs_f64(seconds + 20.0))
        .run()
        .map_err(failed)?;
    let cpu = client.usage.cpu + server.process().usage().cpu.saturating_sub(before);
    let packets = capture.finish().map_err(failed)?;
    let gaps = Gaps::of(&packets, f64::from(megabits) * 1e6)
        .ok_or_else(|| format!("{} packets captured\n{client}", packets.len()))?;
    Ok(vec![
        gaps.error(0.50) * 1e6,
        gaps.error(0.99) * 1e6,
        gaps.back_to_back() * 100.0,
        gaps.rate_error() * 100.0,
        cpu.as_secs_f64() * 1e6 / packets.len() as f64,
    ])
}

/// The times between datagrams, in seconds.
#[derive(Debug)]
struct Gaps {
    intended: f64,
    gaps: Vec<f64>,
}

impl Gaps {
    /// The gaps between the datagrams that carry data; nothing when there are hardly any.
    fn of(packets: &[Packet], bits_per_second: f64) -> Option<Self> {
        let times: Vec<u64> = packets
            .iter()
            // The end marker is sent when the test is over.
            .filter(|packet| packet.datagram_id().is_some_and(|id| id >= 0))
            .map(|packet| packet.time)
            .collect();
        let gaps: Vec<f64> = times
            .windows(2)
            .map(|pair| pair[1].saturating_sub(pair[0]) as f64 / 1e9)
            .collect();
        let intended = PAYLOAD * 8.0 / bits_per_second;
        (gaps.len() >= 10).then_some(Self { intended, gaps })
    }

    /// Quantile of the gaps' distance from the intended one.
    fn error(&self, quantile: f64) -> f64 {
        let mut errors: Vec<f64> = self
            .gaps
            .iter()
            .map(|gap| (gap - self.intended).abs())
            .collect();
        errors.sort_by(f64::total_cmp);
        errors[((errors.len() - 1) as f64 * quantile).round() as usize]
    }

    /// Share of the gaps that hardly exist.
    fn back_to_back(&self) -> f64 {
        let limit = self.intended * BACK_TO_BACK;
        let count = self.gaps.iter().filter(|gap| **gap < limit).count();
        count as f64 / self.gaps.len() as f64
    }

    /// How far the rate between first and last datagram is from the one asked for.
    fn rate_error(&self) -> f64 {
        let mean = self.gaps.iter().sum::<f64>() / self.gaps.len() as f64;
        (self.intended / mean - 1.0).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(microseconds: u64, id: i32) -> Packet {
        let mut bytes = vec![0; 28];
        bytes.extend(id.to_be_bytes());
        Packet {
            time: microseconds * 1000,
            length: 1512,
            bytes,
        }
    }

    #[test]
    fn gaps_are_judged_against_the_intended_rate() {
        // 11.76 Mbit/s is one datagram of 1470 bytes in 1 ms; one of them is 900 us late.
        let mut packets: Vec<Packet> = (0..100)
            .map(|n| packet(u64::from(n as u32) * 1000, n))
            .collect();
        packets[50].time += 900_000;
        packets.push(packet(99_001, -100));
        let gaps = Gaps::of(&packets, 11.76e6).expect("enough packets");
        assert_eq!(gaps.gaps.len(), 99);
        assert!((gaps.error(1.0) - 900e-6).abs() < 1e-9);
        assert!(gaps.error(0.5) < 1e-9);
        assert!((gaps.back_to_back() - 1.0 / 99.0).abs() < 1e-9);
        assert!(gaps.rate_error() < 1e-9);
        assert!(Gaps::of(&packets[..5], 1e6).is_none());
    }
}
