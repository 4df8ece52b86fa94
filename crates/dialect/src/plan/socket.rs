//! Addresses and socket options of a test.

use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{BitRate, Tos};
use tapeline_engine::HeldWindow;
use tapeline_sys::StreamProtocol;

/// Socket options asked for by the user; `None` leaves the system's choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketPlan {
    /// `-w`, bytes: send buffer of a client, receive buffer of a server.
    pub window: Option<u64>,
    /// What carries streams (`-m` under the name iperf3).
    pub protocol: StreamProtocol,
    /// `-M`, bytes.
    pub segment_size: Option<u32>,
    /// `-m`: show the segment size.
    pub show_segment_size: bool,
    /// `-N`.
    pub nodelay: bool,
    /// `-S` or `--dscp`.
    pub tos: Option<Tos>,
    /// The TOS came from `-S` (the banner words differ).
    pub tos_by_user: bool,
    /// `-Z`.
    pub congestion: Option<String>,
    /// `-T`.
    pub ttl: Option<u8>,
    /// `--tcp-quickack`: acknowledge at once (TCP_QUICKACK before reads).
    pub quickack: bool,
    /// `--skip-rx-copy`: received TCP payload stays in the kernel (MSG_TRUNC).
    pub skip_receive_copy: bool,
    /// `--zero-copy`: sent TCP payload is not copied into the kernel (splice).
    pub zero_copy: bool,
    /// `--tcp-rx-window-clamp`, bytes (TCP_WINDOW_CLAMP).
    pub window_clamp: Option<u32>,
    /// A window that this end's TCP senders keep by themselves.
    pub held_window: Option<HeldWindow>,
    /// `--tcp-tx-delay` (TCP_TX_DELAY).
    pub transmit_delay: Option<Duration>,
    /// `--tcp-write-prefetch`, bytes: unsent data above this stops writes
    /// (TCP_NOTSENT_LOWAT).
    pub write_prefetch: Option<u32>,
    /// `--local-only`: only hosts on attached networks (SO_DONTROUTE).
    pub local_only: bool,
    /// Datagrams are never fragmented; only the outgoing interface bounds their length.
    pub unfragmented: bool,
    /// `--fq-rate` and its steps (SO_MAX_PACING_RATE).
    pub fair_queue: Option<FairQueuePlan>,
}

/// Pacing by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairQueuePlan {
    /// Rate at the start.
    pub rate: BitRate,
    /// `--fq-rate-step` and its interval: what is added to the rate, and how often.
    pub step: Option<(BitRate, Duration)>,
}

/// The CPUs that a test runs on, where any were chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AffinityPlan {
    /// For all threads of this end.
    pub own: Option<u32>,
    /// For the peer's threads that serve one stream of the test each.
    pub peer: Option<u32>,
}

/// Own address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindPlan {
    /// Address or name.
    pub host: String,
    /// Source port of the first flow; later flows count up.
    pub port: Option<u16>,
    /// Device (`%dev`), servers only.
    pub device: Option<String>,
    /// `-H`: the only source that a multicast group is joined for, servers only.
    pub group_source: Option<IpAddr>,
}

impl BindPlan {
    /// An address or name alone.
    #[must_use]
    pub fn address(host: &str) -> Self {
        Self {
            host: host.into(),
            port: None,
            device: None,
            group_source: None,
        }
    }
}

/// What counts up from one parallel flow to the next: flow k has the address or port of the
/// first one plus k.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressSteps {
    /// `--incr-dstip`.
    pub destination_address: bool,
    /// `--incr-dstport`, and port ranges.
    pub destination_port: bool,
    /// `--incr-srcip`.
    pub source_address: bool,
    /// `--incr-srcport`.
    pub source_port: bool,
}
