//! The peer's results, as rows next to our own.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_base::Placement;
use tapeline_report::{
    CpuUse, Endpoints, Measure, PeerOutput, Row, Span, TcpReceive, TcpSend, TestEnd, UdpReceive,
    UdpSend,
};
use tapeline_wire::iperf3::{Results, ServerOutput, StreamResults};

use super::streams::StreamEnd;
use super::test_setup::shown_version;

/// Enters the peer's results into the end of a test; `omits` where its start does not count.
pub(crate) fn report(
    results: &Results,
    own: &BTreeMap<i64, StreamEnd>,
    omits: bool,
    end: &mut TestEnd,
) {
    end.peer_cpu = Some(CpuUse {
        total: results.cpu_total,
        user: results.cpu_user,
        system: results.cpu_system,
    });
    end.peer_output = results.server_output.as_ref().map(|output| match output {
        ServerOutput::Text(text) => PeerOutput::Text(text.clone()),
        ServerOutput::Json(json) => PeerOutput::Json(json.clone()),
    });
    end.peer_tapeline = results.tapeline.as_deref().map(shown_version);
    let known = results.streams.iter().filter_map(|stream| {
        let own = own.get(&stream.id)?.total.as_ref()?;
        Some(peer_row(stream, own, omits))
    });
    end.peer_totals = known.collect();
}

/// What the peer counted of a stream.
fn peer_row(stream: &StreamResults, own: &Row, omits: bool) -> Row {
    let seconds = stream.end_time.filter(|end| end.is_finite() && *end > 0.0);
    let end = seconds.and_then(|end| Duration::try_from_secs_f64(end).ok());
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let packets = count(
        stream
            .packets
            .saturating_sub(stream.omitted_packets.unwrap_or(0)),
    );
    let lost = count(
        stream
            .errors
            .saturating_sub(stream.omitted_errors.unwrap_or(0)),
    );
    Row {
        span: Span {
            start: Duration::ZERO,
            end: end.unwrap_or(own.span.length()),
        },
        bytes: stream.bytes,
        // It does not say where it handled the stream.
        placement: Placement::default(),
        endpoints: own.endpoints.map(|ends| Endpoints {
            local_sends: !ends.local_sends,
            ..ends
        }),
        measure: match &own.measure {
            Measure::TcpReceive(_) => Measure::TcpSend(TcpSend {
                retransmits: stream.retransmits,
                ..TcpSend::default()
            }),
            Measure::UdpReceive(_) => Measure::UdpSend(UdpSend {
                writes: packets,
                ..UdpSend::default()
            }),
            Measure::UdpSend(sent) => {
                // A receiver does not know of losses behind the last datagram that it got. Each
                // end leaves out a start of its own, so that their counts differ without a loss.
                let unseen = if omits {
                    0
                } else {
                    sent.writes.saturating_sub(packets)
                };
                // Versions before 3.14 count what was left out.
                let counted = if omits && stream.omitted_packets.is_none() {
                    sent.writes
                } else {
                    packets
                };
                let total = counted + unseen;
                let lost = (lost + unseen).min(total);
                Measure::UdpReceive(UdpReceive {
                    received: total - lost,
                    total,
                    lost,
                    jitter: Some(stream.jitter),
                    ..UdpReceive::default()
                })
            }
            _ => Measure::TcpReceive(TcpReceive::default()),
        },
        ..own.clone()
    }
}

#[cfg(test)]
mod tests {
    use tapeline_base::{FlowId, FlowTag, WallTime};
    use tapeline_report::{Phase, Subject};

    use super::*;

    /// What a receiver that counted so many datagrams is reported to have seen of 100 sent ones.
    fn seen(packets: i64, errors: i64, omitted: Option<(i64, i64)>, omits: bool) -> [u64; 3] {
        let own = Row {
            subject: Subject::Flow(FlowTag {
                id: FlowId(1),
                reversed: false,
            }),
            phase: Phase::Total,
            span: Span::default(),
            ended: WallTime::default(),
            bytes: 0,
            endpoints: None,
            trip_times: false,
            placement: Placement::default(),
            measure: Measure::UdpSend(UdpSend {
                writes: 100,
                ..UdpSend::default()
            }),
        };
        let stream = StreamResults {
            errors,
            omitted_errors: omitted.map(|(errors, _)| errors),
            packets,
            omitted_packets: omitted.map(|(_, packets)| packets),
            ..StreamResults::default()
        };
        match peer_row(&stream, &own, omits).measure {
            Measure::UdpReceive(receive) => [receive.received, receive.lost, receive.total],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn datagrams_behind_the_last_that_arrived_are_lost() {
        assert_eq!(seen(97, 2, None, false), [95, 5, 100]);
    }

    #[test]
    fn starts_that_both_ends_leave_out_for_themselves_are_no_loss() {
        assert_eq!(seen(149, 3, Some((1, 50)), true), [97, 2, 99]);
        assert_eq!(seen(151, 3, Some((1, 50)), true), [99, 2, 101]);
    }

    #[test]
    fn old_receivers_count_what_was_left_out() {
        assert_eq!(seen(149, 0, None, true), [100, 0, 100]);
    }
}
