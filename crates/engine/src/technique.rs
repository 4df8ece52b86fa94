//! Optimisations that can be left out, to show what each is worth.

use std::time::Duration;

use tapeline_sys::{ReceiveBatch, ReceiveFeatures, WaitMode};

use crate::pacing::Precision;

/// An optimisation with a switch. What it gains is in docs/dev/performance.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Technique {
    /// Several UDP datagrams leave with one call (`UDP_SEGMENT`).
    UdpSegmentation,
    /// Several UDP datagrams of a flow arrive joined (`UDP_GRO`).
    UdpCoalescing,
    /// Several UDP buffers are read with one call (`recvmmsg`).
    ReceiveBatch,
    /// A socket at which joined datagrams arrive is left alone for a moment when it is empty.
    ReceiveRest,
    /// The UDP receive buffer is as large as the system allows.
    ReceiveBuffer,
    /// The last microseconds before a datagram is due are spun away.
    PacingSpin,
    /// A TCP write repeats one chunk that stays in the nearest cache.
    RepeatedChunk,
    /// Many TCP flows share a few polling workers.
    PolledWorkers,
    /// TCP reads of tiny segments, and of what is not copied, wait for many at once
    /// (`SO_RCVLOWAT`).
    LowWaterMark,
    /// Messages that are expected at once are looked for, yielding in between, before sleeping.
    YieldSpin,
    /// TCP writes at a rate that are less than a millisecond apart leave together.
    PacingQuanta,
    /// Of several busy UDP flows at a server, each has a socket and a thread of its own.
    FlowSockets,
}

impl Technique {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::UdpSegmentation,
        Self::UdpCoalescing,
        Self::ReceiveBatch,
        Self::ReceiveRest,
        Self::ReceiveBuffer,
        Self::PacingSpin,
        Self::RepeatedChunk,
        Self::PolledWorkers,
        Self::LowWaterMark,
        Self::YieldSpin,
        Self::PacingQuanta,
        Self::FlowSockets,
    ];

    /// Its name, as users write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UdpSegmentation => "udp-segmentation",
            Self::UdpCoalescing => "udp-coalescing",
            Self::ReceiveBatch => "receive-batch",
            Self::ReceiveRest => "receive-rest",
            Self::ReceiveBuffer => "receive-buffer",
            Self::PacingSpin => "pacing-spin",
            Self::RepeatedChunk => "repeated-chunk",
            Self::PolledWorkers => "polled-workers",
            Self::LowWaterMark => "low-water-mark",
            Self::YieldSpin => "yield-spin",
            Self::PacingQuanta => "pacing-quanta",
            Self::FlowSockets => "flow-sockets",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|technique| technique.name() == name)
    }
}

/// The optimisations that a run may use: all, unless some are left out; and how it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Techniques {
    left_out: u32,
    wait: WaitMode,
}

impl Techniques {
    /// These without one.
    #[must_use]
    pub const fn without(self, technique: Technique) -> Self {
        Self {
            left_out: self.left_out | 1 << technique as u32,
            ..self
        }
    }

    /// These, waiting so for what arrives.
    #[must_use]
    pub const fn waiting(self, wait: WaitMode) -> Self {
        Self { wait, ..self }
    }

    /// What a flow's own thread does while nothing arrives.
    #[must_use]
    pub const fn wait(self) -> WaitMode {
        self.wait
    }

    /// Whether messages that are expected at once are looked for before sleeping.
    #[must_use]
    pub const fn yield_spins(self) -> bool {
        matches!(self.wait, WaitMode::Auto) && self.uses(Technique::YieldSpin)
    }

    /// Leaves out what `other` leaves out, too.
    pub const fn confine(&mut self, other: Self) {
        self.left_out |= other.left_out;
    }

    /// Whether one may be used.
    #[must_use]
    pub const fn uses(self, technique: Technique) -> bool {
        self.left_out & 1 << technique as u32 == 0
    }

    /// What a UDP receiver asks its socket for.
    #[must_use]
    pub const fn receive_features(self) -> ReceiveFeatures {
        ReceiveFeatures {
            coalescing: self.uses(Technique::UdpCoalescing),
            ..ReceiveFeatures::MEASURE
        }
    }

    /// What a UDP receiver reads with one call: up to `slots` buffers.
    #[must_use]
    pub fn receive_batch(self, slots: usize) -> ReceiveBatch {
        let single = !self.uses(Technique::ReceiveBatch);
        let batch = ReceiveBatch::coalescing(if single { 1 } else { slots }).waiting(self.wait);
        if self.uses(Technique::ReceiveRest) {
            batch
        } else {
            batch.without_rest()
        }
    }

    /// How a UDP sender that wants this precision waits for the time of a datagram.
    #[must_use]
    pub const fn precision(self, wanted: Precision) -> Precision {
        if self.uses(Technique::PacingSpin) {
            wanted
        } else {
            Precision::Economical
        }
    }

    /// Time whose writes a TCP sender at a rate puts together.
    #[must_use]
    pub const fn pacing_quantum(self) -> Duration {
        if self.uses(Technique::PacingQuanta) {
            Duration::from_millis(1)
        } else {
            Duration::ZERO
        }
    }

    /// Bytes that a TCP sender keeps in memory for writes of `block`, of which `chunk` suffice.
    #[must_use]
    pub const fn payload_length(self, block: usize, chunk: usize) -> usize {
        if block > chunk && self.uses(Technique::RepeatedChunk) {
            chunk
        } else {
            block
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_left_out_alone() {
        for technique in Technique::ALL {
            let rest = Techniques::default().without(technique);
            for other in Technique::ALL {
                assert!(Techniques::default().uses(other));
                assert_eq!(rest.uses(other), other != technique, "{technique:?}");
            }
            assert_eq!(Technique::named(technique.name()), Some(technique));
        }
        assert_eq!(Technique::named("udp"), None);
    }

    #[test]
    fn amounts_follow_the_switches() {
        let all = Techniques::default();
        assert_eq!(all.receive_features(), ReceiveFeatures::MEASURE);
        for wanted in [Precision::Precise, Precision::Economical] {
            assert_eq!(all.precision(wanted), wanted);
        }
        assert_eq!(all.pacing_quantum(), Duration::from_millis(1));
        let quanta = all.without(Technique::PacingQuanta);
        assert!(quanta.pacing_quantum().is_zero());
        assert_eq!([8, 100].map(|block| all.payload_length(block, 32)), [8, 32]);
        let [coalescing, spin, chunk] = [
            Technique::UdpCoalescing,
            Technique::PacingSpin,
            Technique::RepeatedChunk,
        ]
        .map(|technique| all.without(technique));
        assert!(!coalescing.receive_features().coalescing);
        assert_eq!(spin.precision(Precision::Precise), Precision::Economical);
        assert_eq!(chunk.payload_length(100, 32), 100);
    }
}
