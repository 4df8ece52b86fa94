//! What documents say of a run in addition to its events.

use tapeline_base::Role;
use tapeline_dialect::{ClientPlan, Iperf3Client};
use tapeline_report::document::RunInfo;
use tapeline_report::flows::{FlowInfo, FlowsInfo};

use super::outputs::style;
use crate::identity;
use crate::plan::FlowsPlan;
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
    RunInfo {
        role: Role::Client,
        planned: Some(plan.planned_test()),
        ..server(presentation)
    }
}

/// Of a client of different flows.
pub(crate) fn flows(plan: &FlowsPlan, presentation: &Presentation) -> FlowsInfo {
    let flows = plan.flows.iter().map(|flow| FlowInfo {
        name: flow.name.clone(),
        options: flow.options.clone(),
        start: flow.start(),
        dscp: flow.plan.socket.tos.map_or(0, |tos| tos.dscp()),
        run_info: client(&flow.plan, presentation),
    });
    FlowsInfo {
        host: plan.host.clone(),
        flows: flows.collect(),
        run_info: RunInfo {
            role: Role::Client,
            ..server(presentation)
        },
    }
}

/// Of a client of iperf3's protocol.
pub(crate) fn iperf3_client(plan: &Iperf3Client, presentation: &Presentation) -> RunInfo {
    RunInfo {
        role: Role::Client,
        planned: Some(plan.planned_test()),
        ..server(presentation)
    }
}
