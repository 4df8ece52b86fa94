//! What one end counted: the JSON object of [`Message::Results`](super::Message::Results).

use serde::{Deserialize, Serialize};
use tapeline_base::Placement;

/// Flows that are listed, at most.
const MAX_FLOWS: usize = 64;
/// Warnings that are listed, at most.
const MAX_WARNINGS: usize = 64;
/// Delays that are distinguished of a flow, at most.
pub const MAX_DELAYS: usize = 16_384;
/// Slices of a flow's time, at most.
const MAX_SLICES: usize = 64;
/// Round trips that are sent one by one of all flows, at most.
pub const MAX_ROUND_TRIPS: usize = 4096;

/// Results of one end of a test. What an end does not know is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Results {
    /// Time that the test took at this end, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Processor time of the process in that time, percent of one processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<f64>,
    /// Of that, in the program's own code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_user_percent: Option<f64>,
    /// How far the real-time clock was adjusted, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_adjustment_ns: Option<i64>,
    /// What the host dropped.
    pub host: HostResult,
    /// The flows.
    pub flows: Vec<FlowResult>,
    /// What this end warns of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<WarningResult>,
}

/// Drops of the whole host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostResult {
    /// Datagrams for which a socket's receive buffer had no room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp_receive_drops: Option<u64>,
    /// Packets for which the queue behind the interrupt had no room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub softnet_drops: Option<u64>,
}

/// What the end that sends it does with a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// It sends.
    Send,
    /// It receives.
    #[default]
    Receive,
}

/// One direction of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowResult {
    /// The number that the server answered the flow's mark with; 0 where there is none.
    pub token: u32,
    /// Own port.
    pub local_port: u16,
    /// The peer's port, as this end sees it.
    pub remote_port: u16,
    /// Which way.
    pub direction: Way,
    /// It is a flow of datagrams.
    pub datagrams: bool,
    /// Payload.
    pub bytes: u64,
    /// Time from the flow's start to its end.
    pub seconds: f64,
    /// Datagrams sent, or distinct ones received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Datagrams that did not arrive (receivers; so are the next ten).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Datagrams that arrived again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
    /// Datagrams that arrived after a later one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordered: Option<u64>,
    /// Datagrams between the first later one and a late one, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering_extent: Option<u64>,
    /// Runs of consecutive losses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_runs: Option<u64>,
    /// Datagrams of the longest one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_loss_run: Option<u64>,
    /// Longest time without an arrival that neither the sender nor the mean distance accounts for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_outage_ns: Option<u64>,
    /// When it began, after the first arrival.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_outage_start_ns: Option<u64>,
    /// Jitter at the end (RFC 3550), milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<f64>,
    /// Mean of the running jitter, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter_mean_ms: Option<f64>,
    /// Datagrams that the flow's own socket dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_drops: Option<u64>,
    /// Arrival minus departure, as both were stamped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transit: Option<TransitResult>,
    /// What may have limited the flow at this end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsResult>,
    /// Where this end handled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementResult>,
    /// What TCP says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpResult>,
}

/// CPUs, memory node and interface queue of one end of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlacementResult {
    /// CPU on which the thread that moved the data ran last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Memory node of that CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
    /// CPU on which the system took in the flow's last packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incoming_cpu: Option<u32>,
    /// NAPI ID of the interface's queue through which that packet came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub napi_id: Option<u32>,
}

impl From<Placement> for PlacementResult {
    fn from(placement: Placement) -> Self {
        let Placement {
            cpu,
            numa_node,
            incoming_cpu,
            napi_id,
        } = placement;
        Self {
            cpu,
            numa_node,
            incoming_cpu,
            napi_id,
        }
    }
}

impl From<PlacementResult> for Placement {
    fn from(placement: PlacementResult) -> Self {
        let PlacementResult {
            cpu,
            numa_node,
            incoming_cpu,
            napi_id,
        } = placement;
        Self {
            cpu,
            numa_node,
            incoming_cpu,
            napi_id,
        }
    }
}

/// Arrival minus departure of datagrams, nanoseconds. The clocks' difference is in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransitResult {
    /// Datagrams.
    pub samples: u64,
    /// Smallest.
    pub min_ns: i64,
    /// Mean.
    pub mean_ns: i64,
    /// Largest.
    pub max_ns: i64,
    /// Standard deviation.
    pub deviation_ns: u64,
    /// The same slice by slice, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SliceResult>,
}

/// Datagrams that arrived in a part of a flow's time. Times are those of the receiver's clock, nanoseconds
/// since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SliceResult {
    /// First arrival.
    pub first_ns: i64,
    /// Last arrival.
    pub last_ns: i64,
    /// Smallest delay.
    pub min_ns: i64,
    /// Largest delay.
    pub max_ns: i64,
    /// Delays one by one, each as what it is longer than the smallest of them, with the datagrams that took
    /// so long.
    pub delays: Vec<(u64, u64)>,
}

/// What an end knows of a flow's limits. Shares are of the flow's time, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitsResult {
    /// Processor time of the thread that moved the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_busy: Option<f64>,
    /// Time in which that thread waited for a processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_waiting: Option<f64>,
    /// Time in which a quota of processor time held the process back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<f64>,
    /// The host's processor time that its hypervisor gave to others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stolen: Option<f64>,
    /// Intervals that were reported late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_reports: Option<u64>,
    /// Bits per second that were to be sent, or received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_asked: Option<f64>,
    /// Bits per second that it reached of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_reached: Option<f64>,
    /// Bits per second at which the system was to pace a TCP sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paced_asked: Option<f64>,
    /// Bits per second that it reached of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paced_reached: Option<f64>,
    /// Frames that left on a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames_sent: Option<u64>,
    /// Frames that missed their period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames_missed: Option<u64>,
    /// Time until the last of them was written, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_us: Option<u64>,
    /// Blocks or datagrams that a sender has written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<u64>,
    /// Segments with data that a TCP sender has sent, repeated ones too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<u64>,
    /// Repeated segments that the receiver had already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spurious: Option<u64>,
    /// Data was delivered as fast as a TCP sender wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_limited: Option<bool>,
    /// Smallest round-trip time of a TCP sender, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_rtt_us: Option<u32>,
    /// Its smoothed one at the end, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothed_rtt_us: Option<u32>,
    /// Time in which a sender waited for input, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_awaited_us: Option<u64>,
    /// Time in which a sender of datagrams waited for room in its host's queues, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_awaited_us: Option<u64>,
    /// Share of the receiver's window that a TCP sender used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_use: Option<f64>,
    /// Share of the send buffer that it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_use: Option<f64>,
    /// Sends of datagrams that found the host's queues full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congested_sends: Option<u64>,
    /// Sends of datagrams that were refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
    /// Datagrams or groups of them that the host's queues had no room for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_drops: Option<u64>,
    /// Datagrams left in groups.
    pub grouped: bool,
    /// Datagrams that a receiver knows to have been sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
    /// Datagrams that its socket dropped, perhaps of other flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_drops: Option<u64>,
    /// Other flows arrived on the same socket.
    pub shares_socket: bool,
    /// Datagrams came in groups.
    pub joined: bool,
    /// Packets that the host dropped before any socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog_drops: Option<u64>,
    /// Traffic that the socket's buffer can hold, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_depth_us: Option<u64>,
}

/// What TCP says of a flow at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TcpResult {
    /// Congestion control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<String>,
    /// Segments sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// Smoothed round-trip time, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<u64>,
    /// The same at the end of each interval; none where there were too many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interval_rtts_us: Vec<u32>,
    /// Congestion window, segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwnd_segments: Option<u32>,
    /// Payload of a segment, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment_bytes: Option<u32>,
    /// Time with something to send, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_us: Option<u64>,
    /// Of that, with a full receive window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_window_limited_us: Option<u64>,
    /// Of that, limited by the send buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer_limited_us: Option<u64>,
}

/// A warning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WarningResult {
    /// Its identifier.
    pub id: String,
    /// `note`, `warning` or `error`.
    pub severity: String,
    /// The sentence.
    pub text: String,
}

impl FlowResult {
    /// Leaves single delays and round trips out; returns how many slices and round trips there were.
    fn leave_singles_out(&mut self) -> usize {
        let transit = self.transit.as_mut();
        let slices = transit.map(|transit| std::mem::take(&mut transit.slices).len());
        let tcp = self.tcp.as_mut();
        let round_trips = tcp.map(|tcp| std::mem::take(&mut tcp.interval_rtts_us).len());
        slices.unwrap_or(0) + round_trips.unwrap_or(0)
    }
}

impl Results {
    /// The object as it is sent; flows and warnings beyond 64 are left out.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut cut = self.clone();
        cut.flows.truncate(MAX_FLOWS);
        cut.warnings.truncate(MAX_WARNINGS);
        // A structure of numbers and texts, written to memory, cannot fail.
        serde_json::to_string(&cut).unwrap_or_default()
    }

    /// The same in `max` bytes: single delays and round trips, and then flows at the end are left out
    /// until it fits.
    #[must_use]
    pub fn to_json_within(&self, max: usize) -> String {
        let mut cut = self.clone();
        cut.flows.truncate(MAX_FLOWS);
        loop {
            let object = cut.to_json();
            if object.len() <= max {
                return object;
            }
            let singles = cut.flows.iter_mut().map(FlowResult::leave_singles_out);
            if singles.sum::<usize>() == 0 && cut.flows.pop().is_none() {
                return object;
            }
        }
    }

    /// Reads a peer's object; what a peer may make too long is cut, and texts are fit to be shown.
    ///
    /// # Errors
    /// The reason, when it is no such object.
    pub fn parse(object: &str) -> Result<Self, String> {
        let mut results: Self = serde_json::from_str(object).map_err(|error| error.to_string())?;
        results.flows.truncate(MAX_FLOWS);
        results.warnings.truncate(MAX_WARNINGS);
        for warning in &mut results.warnings {
            for text in [&mut warning.id, &mut warning.severity, &mut warning.text] {
                *text = super::sentence::tame(text);
            }
        }
        for flow in &mut results.flows {
            if let Some(transit) = &mut flow.transit {
                transit.slices.truncate(MAX_SLICES);
                let mut left = MAX_DELAYS;
                for slice in &mut transit.slices {
                    slice.delays.truncate(left);
                    left -= slice.delays.len();
                }
            }
            if let Some(tcp) = &mut flow.tcp {
                tcp.interval_rtts_us.truncate(MAX_ROUND_TRIPS);
                if let Some(name) = &mut tcp.congestion_control {
                    *name = super::sentence::tame(name);
                }
            }
        }
        Ok(results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_absent_and_comes_back_so() {
        let results = Results {
            flows: vec![FlowResult {
                bytes: 7,
                direction: Way::Send,
                ..FlowResult::default()
            }],
            ..Results::default()
        };
        let object = results.to_json();
        assert!(
            !object.contains("null") && !object.contains("jitter"),
            "{object}"
        );
        assert!(object.contains(r#""direction":"send""#), "{object}");
        assert_eq!(Results::parse(&object), Ok(results));
        assert_eq!(Results::parse(r#"{"new":1}"#), Ok(Results::default()));
        assert!(Results::parse("7").is_err());
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let results = Results {
            flows: vec![FlowResult::default(); 10],
            ..Results::default()
        };
        let all = results.to_json();
        assert_eq!(results.to_json_within(all.len()), all);
        let mut long = results.clone();
        long.flows[0].tcp = Some(TcpResult {
            interval_rtts_us: vec![7; 2 * MAX_ROUND_TRIPS],
            ..TcpResult::default()
        });
        let read = Results::parse(&long.to_json()).expect("results");
        let tcp = read.flows[0].tcp.as_ref().expect("TCP");
        assert_eq!(tcp.interval_rtts_us.len(), MAX_ROUND_TRIPS);
        let short = long.to_json_within(2 * all.len());
        assert_eq!(Results::parse(&short).expect("results").flows.len(), 10);
        let cut = results.to_json_within(all.len() / 2);
        assert!(cut.len() <= all.len() / 2);
        let left = Results::parse(&cut).expect("results").flows.len();
        assert!((3..10).contains(&left), "{left}");
    }

    #[test]
    fn a_peer_cannot_make_it_long_or_move_the_cursor() {
        let warning = WarningResult {
            text: "\u{1b}[2Jgone".to_owned(),
            ..WarningResult::default()
        };
        let slice = SliceResult {
            delays: vec![(1, 1); MAX_DELAYS / 2 + 1],
            ..SliceResult::default()
        };
        let mut flows = vec![FlowResult::default(); MAX_FLOWS + 1];
        flows[0].transit = Some(TransitResult {
            slices: vec![slice; MAX_SLICES + 1],
            ..TransitResult::default()
        });
        let results = Results {
            flows,
            warnings: vec![warning],
            ..Results::default()
        };
        let sent = serde_json::to_string(&results).expect("JSON");
        let read = Results::parse(&sent).expect("results");
        assert_eq!(read.flows.len(), MAX_FLOWS);
        let transit = read.flows[0].transit.as_ref().expect("a transit");
        let lengths: Vec<usize> = transit
            .slices
            .iter()
            .map(|slice| slice.delays.len())
            .collect();
        assert_eq!(lengths.len(), MAX_SLICES);
        assert_eq!(lengths[..3], [MAX_DELAYS / 2 + 1, MAX_DELAYS / 2 - 1, 0]);
        assert_eq!(read.warnings[0].text, " [2Jgone");
    }
}
