//! The test kit: real programs on real networks.
//!
//! ```text
//! Program ──► Invocation ──► Running ──► Finished ──► Transcript (rows, either side)
//!                 │             ▲
//!             Namespace ◄── NamespacePair ── shaping (tbf, htb) ── PacketFilter (counters)
//!                                  │     └── Capture (a third party's timestamps)
//!                             RelayedPair ── relay (known delay and faults, with a record)
//! ```
//!
//! A [`Program`] is something that speaks iperf 2 or iperf3: tapeline under a name, or one of the peers.
//! Every process has a deadline and dies with its handle, every namespace is deleted with its
//! handle, and a test that cannot run says so through [`skip`], which the test command counts.

mod arrivals;
mod capture;
mod csv;
mod figures;
mod histogram;
mod listening;
mod namespace;
mod native;
mod packet_filter;
mod port;
mod process;
mod processor_quota;
mod program;
mod prometheus;
mod quiet;
mod server;
mod shaping;
mod skip;
mod transcript;

pub use arrivals::Arrivals;
pub use capture::{Capture, Packet};
pub use csv::{CsvRow, parse_csv};
pub use figures::DatagramFigures;
pub use histogram::{Histogram, parse_histograms};
pub use listening::await_listening;
pub use namespace::{Namespace, NamespacePair, RelayedPair};
pub use native::{NativeRow, parse_native};
pub use packet_filter::{PacketFilter, Places};
pub use port::free_port;
pub use process::{Finished, Invocation, Running, Usage};
pub use processor_quota::ProcessorQuota;
pub use program::{Program, use_tapeline};
pub use prometheus::prometheus;
pub use quiet::{in_a_quiet_moment, withheld_seconds};
pub use server::{Family, Server, ServerSpec, Transport};
pub use shaping::{Bottleneck, FairQueues, SlowLane};
pub use skip::{SKIP_LOG, skip};
pub use tapeline_sys::raise_descriptor_limit;
pub use transcript::{DatagramCounts, Delays, Row, RowId, Transcript};
