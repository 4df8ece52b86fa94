//! The test kit: real programs on real networks.
//!
//! ```text
//! Program ──► Invocation ──► Running ──► Finished ──► Transcript (rows, either side)
//!                 │             ▲
//!             Namespace ◄── NamespacePair ── shaping (tbf, htb) ── PacketFilter (counters)
//!                                  │     └── Capture (a third party's timestamps)
//!                             RelayedPair ── relay (known delay and faults, with a record)
//!                                  │
//!                              TestPath ── the paths of the methods, exact at the IP layer
//! ```
//!
//! [`SshHosts`] are several hosts on a bridge, each with an sshd, and one that orders; a [`Fleet`] has such hosts, a real
//! server, and all roles. A [`Page`] is a running `tapeline web`, asked by a [`Request`] or a [`Browser`].
//!
//! A [`Program`] is something that speaks iperf 2 or iperf3: tapeline under a name, or one of the peers.
//! Every process has a deadline and dies with its handle, every namespace is deleted with its
//! handle, and a test that cannot run says so through [`skip`], which the test command counts.

mod arrivals;
mod capture;
mod figures;
mod fleet;
mod flow_counters;
mod network;
mod output;
mod packet_filter;
mod port;
mod process;
mod processor_quota;
mod program;
mod quiet;
mod server;
mod skip;
mod vitals;
mod web;

pub use arrivals::Arrivals;
pub use capture::{Capture, Packet};
pub use figures::DatagramFigures;
pub use fleet::{Fleet, FleetOptions, FleetResult, HostTest, Node, host_tests};
pub use flow_counters::{CountedAt, CountedFlow, FlowCounters};
pub use network::{
    Bottleneck, Cable, FairQueues, Family, HostProcess, Namespace, NamespacePair, RelayedPair,
    RoutedPair, SlowLane, SshHost, SshHosts, Switch, SwitchedHost, TestPath, Transport, Way,
};
pub use output::{
    CountedStream, CsvRow, DatagramCounts, Delays, Histogram, Row, RowId, Transcript,
    counted_streams, parse_csv, parse_histograms,
};
pub use packet_filter::{PacketFilter, Places};
pub use port::{await_listening, free_port};
pub use process::{Finished, Invocation, Running, Usage, peak_memory};
pub use processor_quota::ProcessorQuota;
pub use program::{Program, installed, nats_server, prometheus, target_directory, use_tapeline};
pub use quiet::{in_a_quiet_moment, withheld_seconds};
pub use server::{Server, ServerSpec};
pub use skip::{SKIP_LOG, skip};
pub use tapeline_sys::raise_descriptor_limit;
pub use vitals::{Vitals, descendants};
pub use web::{Answer, Browser, Element, Page, PageOptions, Request};
