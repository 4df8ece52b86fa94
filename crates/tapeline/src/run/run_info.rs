//! What documents say of a run in addition to its events.

use std::time::Duration;

use tapeline_base::{Role, Transport};
use tapeline_dialect::{Arrangement, ClientPlan, ClientWorkload, Iperf3Client, Limit};
use tapeline_report::document::{PlannedLimit, PlannedTest, RunInfo, TestShape, Workload};
use tapeline_wire::iperf3::{Direction, Parameters, Protocol};

use super::outputs::style;
use crate::identity;
use crate::presentation::Presentation;

/// Of a server.
pub(crate) fn server(presentation: &Presentation) -> RunInfo {
    RunInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: identity::command(
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()),
        ),
        role: Role::Server,
        planned: None,
        style: style(presentation, false),
    }
}

/// Of a client of iperf 2's protocol.
pub(crate) fn client(plan: &ClientPlan, presentation: &Presentation) -> RunInfo {
    let (direction, workload) = match plan.workload {
        ClientWorkload::Stream(arrangement) => (
            match arrangement {
                Arrangement::Forward => TestShape::Forward,
                Arrangement::Reverse => TestShape::Reverse,
                Arrangement::FullDuplex
                | Arrangement::Dual { .. }
                | Arrangement::Tradeoff { .. } => TestShape::Bidirectional,
            },
            Workload::Stream,
        ),
        ClientWorkload::RequestResponse(_) => (TestShape::Bidirectional, Workload::RequestResponse),
        ClientWorkload::ConnectOnly { .. } => (TestShape::Forward, Workload::ConnectOnly),
    };
    RunInfo {
        role: Role::Client,
        planned: Some(PlannedTest {
            host: plan.host.clone(),
            transport: match plan.transport {
                Transport::Tcp => "tcp",
                Transport::Udp => "udp",
            },
            direction,
            workload,
            limit: match plan.limit {
                Limit::Time(time) => PlannedLimit::Time(time),
                Limit::Bytes(bytes) => PlannedLimit::Bytes(bytes.0),
                Limit::Never => PlannedLimit::Never,
            },
            omit: Duration::ZERO,
            streams: plan.parallel,
            interval: plan.interval,
        }),
        ..server(presentation)
    }
}

/// Of a client of iperf3's protocol.
pub(crate) fn iperf3_client(plan: &Iperf3Client, presentation: &Presentation) -> RunInfo {
    let parameters = &plan.parameters;
    RunInfo {
        role: Role::Client,
        planned: Some(PlannedTest {
            host: plan.host.clone(),
            transport: match parameters.protocol {
                Protocol::Tcp => "tcp",
                Protocol::Udp => "udp",
                Protocol::Sctp => "sctp",
            },
            direction: match parameters.direction {
                Direction::Forward => TestShape::Forward,
                Direction::Reverse => TestShape::Reverse,
                Direction::Bidirectional => TestShape::Bidirectional,
            },
            workload: Workload::Stream,
            limit: iperf3_limit(parameters),
            omit: Duration::from_secs(parameters.omit.into()),
            streams: parameters.parallel as usize,
            interval: plan.interval,
        }),
        ..server(presentation)
    }
}

fn iperf3_limit(parameters: &Parameters) -> PlannedLimit {
    match parameters {
        Parameters { bytes: 1.., .. } => PlannedLimit::Bytes(parameters.bytes),
        Parameters { blocks: 1.., .. } => {
            let length = parameters.length.unwrap_or(0);
            PlannedLimit::Bytes(parameters.blocks.saturating_mul(length.into()))
        }
        Parameters { time: 0, .. } => PlannedLimit::Never,
        Parameters { time, .. } => PlannedLimit::Time(Duration::from_secs((*time).into())),
    }
}
