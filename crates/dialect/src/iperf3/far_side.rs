//! The other end's results, as rows beside our own.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_report::{
    CpuUse, Endpoints, Measure, PeerOutput, Row, Span, TcpReceive, TcpSend, TestEnd, UdpReceive,
    UdpSend,
};
use tapeline_wire::iperf3::{Results, ServerOutput, StreamResults};

use super::streams::StreamEnd;

/// Enters the other end's results into the end of a test.
pub(super) fn tell(results: &Results, own: &BTreeMap<i64, StreamEnd>, end: &mut TestEnd) {
    end.peer_cpu = Some(CpuUse {
        total: results.cpu_total,
        user: results.cpu_user,
        system: results.cpu_system,
    });
    end.peer_output = results.server_output.as_ref().map(|output| match output {
        ServerOutput::Text(text) => PeerOutput::Text(text.clone()),
        ServerOutput::Json(json) => PeerOutput::Json(json.clone()),
    });
    let known = results.streams.iter().filter_map(|stream| {
        let own = own.get(&stream.id)?.total.as_ref()?;
        Some(far_row(stream, own))
    });
    end.peer_totals = known.collect();
}

/// What the other end of a stream counted.
fn far_row(stream: &StreamResults, own: &Row) -> Row {
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
                // A receiver does not know of losses behind the last datagram that it got.
                let received = packets.saturating_sub(lost);
                let total = packets.max(sent.writes);
                Measure::UdpReceive(UdpReceive {
                    received,
                    total,
                    lost: total - received,
                    jitter: Some(stream.jitter),
                    ..UdpReceive::default()
                })
            }
            _ => Measure::TcpReceive(TcpReceive::default()),
        },
        ..own.clone()
    }
}
