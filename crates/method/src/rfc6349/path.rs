//! How a path cuts TCP's data: its MTU and the headers of each segment.

use tapeline_base::{Bytes, Transport};
use tapeline_dialect::{ClientPlan, Iperf3Client, Limit};
use tapeline_report::method::Direction;
use tapeline_report::{Event, Measure};
use tapeline_stats::rfc6349::tcp_headers;
use tapeline_wire::iperf3::Parameters;

use crate::common::PeerKind;
use crate::error::RunError;
use crate::run::Run;

/// Payload of the transfer that looks.
pub(crate) const PROBE_BYTES: u64 = 1 << 20;

/// How a path cuts TCP's data.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PathFormat {
    /// Largest packet, bytes.
    pub(crate) mtu: Option<u32>,
    /// It was found byte by byte.
    pub(crate) exact: bool,
    /// Bytes of the headers of a segment.
    pub(crate) headers: Option<u32>,
    /// Bytes of payload of a segment of this end.
    pub(crate) segment: Option<u32>,
    /// Largest packet of the route, as this end's TCP believes.
    pub(crate) route: Option<u32>,
}

impl PathFormat {
    /// Takes what a transfer says of it.
    fn observe(&mut self, event: &Event) {
        match event {
            Event::Connected(line) => {
                if let Some(segments) = line.segments {
                    let headers = tcp_headers(line.peer.is_ipv6(), segments.timestamps);
                    self.headers = Some(headers);
                    self.segment = Some(segments.payload);
                    self.mtu = self.mtu.or(Some(segments.payload + headers));
                }
            }
            Event::Row(row) => {
                if let Measure::TcpSend(send) = &row.measure
                    && let Some(mtu) = send.state.and_then(|state| state.path_mtu)
                {
                    self.route = Some(mtu);
                    // The route's may be larger than what the peer takes.
                    let cut = send.state.and_then(|state| state.mss).zip(self.headers);
                    let cut = cut.map_or(mtu, |(payload, headers)| payload + headers);
                    self.mtu = Some(mtu.min(cut));
                }
            }
            _ => {}
        }
    }
}

/// Looks at a short transfer.
pub(crate) fn by_segments(run: &mut Run<'_>, direction: Direction) -> Result<PathFormat, RunError> {
    let mut format = PathFormat::default();
    let mut observe = |event: &Event| format.observe(event);
    match run.common().peer {
        PeerKind::Auto => {
            let plan = ClientPlan {
                limit: Limit::Bytes(Bytes(PROBE_BYTES)),
                probe: false,
                ..run.client_plan(Transport::Tcp, direction)
            };
            run.client_test(&plan, &mut observe)?;
        }
        PeerKind::Iperf3 => {
            let plan = run.iperf3_plan(Transport::Tcp, direction);
            let plan = Iperf3Client {
                parameters: Parameters {
                    time: 0,
                    bytes: PROBE_BYTES,
                    ..plan.parameters
                },
                ..plan
            };
            run.client_test_iperf3(&plan, &mut observe)?;
        }
    }
    Ok(format)
}
