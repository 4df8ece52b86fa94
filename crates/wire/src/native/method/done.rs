//! How an order ended, and what came of it at the server: a JSON object.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::native::sentence::tame;

/// Changes of the rate that are listed, at most.
pub const MAX_ROWS: usize = 4096;

/// Why an order ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderEnd {
    /// It was done, or its time was over.
    #[default]
    Complete,
    /// The client did not show the key from any port.
    NotOpened,
    /// Nothing of the client arrived for a second.
    NoFeedback,
    /// The bytes that were granted are used up.
    BytesUsedUp,
    /// The client ended it.
    Stopped,
    /// The server was stopped.
    ServerStopped,
    /// A socket failed; the text says why.
    Failed,
    /// A reason that this version does not know.
    #[serde(other)]
    Other,
}

/// How an order ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Done {
    /// Why.
    pub end: OrderEnd,
    /// More of it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How long it took, nanoseconds.
    pub elapsed_ns: u64,
    /// Datagrams that the server sent.
    pub datagrams_sent: u64,
    /// Their payload, bytes.
    pub bytes_sent: u64,
    /// Datagrams of the client that the server took.
    pub datagrams_received: u64,
    /// Probes of 1200 bytes that arrived: `mtu` up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controls_received: Option<u64>,
    /// Datagrams that the server's socket had no room for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_drops: Option<u64>,
    /// `mtu` down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_mtu: Option<PathMtuDone>,
    /// `capacity` down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadDone>,
}

impl Done {
    /// What may be shown of what a peer says, and no more than there is room for.
    pub(crate) fn tamed(mut self) -> Self {
        self.why = self.why.as_deref().map(tame);
        if let Some(path) = &mut self.path_mtu {
            path.error = path.error.as_deref().map(tame);
            path.icmp = tame(&path.icmp);
            path.fragments = tame(&path.fragments);
        }
        if let Some(load) = &mut self.load {
            load.rows.truncate(MAX_ROWS);
        }
        self
    }
}

/// What the server found out of the path to the client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathMtuDone {
    /// The largest IP packet that arrives, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    /// It is that to the byte.
    pub exact: bool,
    /// It is at least so large, where more is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u32>,
    /// Why nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The server itself refused to send a packet, as too long for its interface.
    pub refused_here: bool,
    /// MTU of the server's interface towards the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface_mtu_bytes: Option<u32>,
    /// Segment size that the server's TCP sends with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss_bytes: Option<u32>,
    /// The MTU that the server's system believes in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_path_mtu_bytes: Option<u32>,
    /// A larger size passed, a smaller one did not, again and again.
    pub size_dependent_loss: bool,
    /// What classical discovery would have told; empty where it was not tried.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub icmp: String,
    /// The MTU in the message that came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_mtu_bytes: Option<u32>,
    /// Who sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp_from: Option<IpAddr>,
    /// Whether fragments arrive; empty where it was not tried.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fragments: String,
    /// Probes that were sent.
    pub probes_sent: u64,
    /// Probes that were answered.
    pub probes_answered: u64,
    /// Of the probes that any path carries: sent.
    pub controls_sent: u64,
    /// Of them: answered.
    pub controls_answered: u64,
    /// The longest round trip of the first probes, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip_ns: Option<u64>,
}

/// What the server did as the sender of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadDone {
    /// The row of the table at the end.
    pub row_final: u32,
    /// When the rate began to move slowly, nanoseconds since the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_mode_at_ns: Option<u64>,
    /// Statuses that arrived.
    pub statuses: u64,
    /// The server could not send as fast as it was to.
    pub sender_limited: bool,
    /// When the rate changed, and to which row.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<RowChange>,
}

/// A change of the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowChange(
    /// When, milliseconds since the beginning.
    pub u32,
    /// The row from then on.
    pub u32,
);
