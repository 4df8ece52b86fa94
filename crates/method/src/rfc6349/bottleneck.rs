//! The rate of the bottleneck, and what follows from it.

use tapeline_report::method::Direction;
use tapeline_report::method::rfc6349::{Bottleneck, BottleneckSource, Ideal};
use tapeline_stats::rfc6349::{BottleneckLayer, IdealRate, RFC_HEADERS};

use super::path::PathFormat;
use super::plan::Rfc6349Plan;

/// Headers of a segment where the system does not say: IPv4 with time stamps, as Linux sends.
const USUAL_HEADERS: u32 = 52;
/// MTU where nothing says it.
const USUAL_MTU: u32 = 1500;

/// The rate of a bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BottleneckRate {
    pub(crate) bits_per_second: f64,
    pub(crate) layer: BottleneckLayer,
    pub(crate) source: BottleneckSource,
}

impl BottleneckRate {
    /// As it was given.
    pub(crate) fn given(plan: &Rfc6349Plan, direction: Direction) -> Option<Self> {
        let given = plan.bottleneck?;
        Some(Self {
            bits_per_second: given.rate(direction),
            layer: given.layer(),
            source: given.source(),
        })
    }

    /// As documents have it.
    pub(crate) fn record(self) -> Bottleneck {
        Bottleneck {
            bits_per_second: self.bits_per_second,
            layer: match self.layer {
                BottleneckLayer::Ip => "ip",
                BottleneckLayer::Ethernet { .. } | BottleneckLayer::Ppp => "line",
            },
            source: self.source,
        }
    }

    /// The greatest rate of TCP on the path.
    pub(crate) fn ideal(self, format: &PathFormat) -> (IdealRate, Ideal) {
        let mtu = format.mtu.unwrap_or(USUAL_MTU);
        let headers = format.headers.unwrap_or(USUAL_HEADERS);
        let of = |headers| IdealRate::new(self.bits_per_second, self.layer, mtu, headers);
        let ideal = of(headers);
        let record = Ideal {
            frames_per_second: ideal.packets_per_second,
            header_bytes: headers,
            bits_per_second: ideal.bits_per_second,
            bits_per_second_rfc: of(RFC_HEADERS).bits_per_second,
        };
        (ideal, record)
    }
}
