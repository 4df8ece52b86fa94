//! A UDP flow at a tenth of the bottleneck's rate: loss that does not depend on load.

use tapeline_base::{BitRate, Pace, Transport};
use tapeline_dialect::{ClientPlan, Iperf3Client, Limit};
use tapeline_report::document::Report;
use tapeline_report::method::Direction;
use tapeline_report::method::rfc6349::LightLoad;
use tapeline_wire::iperf3::Parameters;

use super::plan::LIGHT;
use crate::common::PeerKind;
use crate::error::RunError;
use crate::run::Run;

/// Payload of its datagrams, bytes.
const LENGTH: u32 = 200;
/// Most datagrams per second.
const MOST: f64 = 5000.0;
/// Headers of IPv4 and UDP.
const HEADERS: u32 = 28;
/// Its share of the bottleneck.
const SHARE: f64 = 0.1;

/// Payload rate of the flow on a path of this bottleneck.
fn payload_rate(bottleneck: f64) -> u64 {
    let per_second = (bottleneck * SHARE / f64::from(8 * (LENGTH + HEADERS))).clamp(1.0, MOST);
    (per_second * f64::from(8 * LENGTH)) as u64
}

/// Loss, percent, with the numbers of the flow.
pub(crate) fn measure(
    run: &mut Run<'_>,
    direction: Direction,
    bottleneck: f64,
) -> Result<(Option<f64>, LightLoad), RunError> {
    let rate = payload_rate(bottleneck);
    let report = match run.common().peer {
        PeerKind::Auto => {
            let plan = ClientPlan {
                limit: Limit::Time(LIGHT),
                length: Some(LENGTH),
                pace: Some(Pace::Bits(BitRate(rate))),
                ..run.client_plan(Transport::Udp, direction)
            };
            run.client_test(&plan, &mut |_| {})?
        }
        PeerKind::Iperf3 => {
            let plan = run.iperf3_plan(Transport::Udp, direction);
            let plan = Iperf3Client {
                parameters: Parameters {
                    time: LIGHT.as_secs() as u32,
                    length: Some(LENGTH),
                    rate,
                    ..plan.parameters
                },
                ..plan
            };
            run.client_test_iperf3(&plan, &mut |_| {})?
        }
    };
    Ok(lost(&report))
}

/// What the receiver counted; nothing is claimed without its report.
fn lost(report: &Report) -> (Option<f64>, LightLoad) {
    let Some(stream) = report.streams.first() else {
        return (None, LightLoad::default());
    };
    let mut light = LightLoad {
        bits_per_second: stream.receiver.end.bits_per_second,
        ..LightLoad::default()
    };
    let Some(udp) = &stream.receiver.udp else {
        return (None, light);
    };
    light.lost = udp.lost;
    light.packets = udp
        .packets
        .zip(udp.lost)
        .map(|(packets, lost)| packets + lost);
    light.jitter_ms = udp.jitter_ms;
    let percent = light
        .lost
        .zip(light.packets)
        .filter(|(_, packets)| *packets > 0);
    let percent = percent.map(|(lost, packets)| lost as f64 / packets as f64 * 100.0);
    (percent, light)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_at_the_ip_layer_and_no_more_than_5000_datagrams_a_second() {
        // 5 Mbit/s of packets of 228 bytes.
        assert_eq!(payload_rate(50e6) / 1600, 2741);
        assert_eq!(payload_rate(1e9), 5000 * 1600);
        assert_eq!(payload_rate(100.0), 1600);
    }
}
