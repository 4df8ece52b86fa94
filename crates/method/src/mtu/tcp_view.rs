//! What TCP knows of the path: its segment size, and the MTU that it believes in.

use std::time::Duration;

use tapeline_base::{Bytes, Transport};
use tapeline_dialect::Limit;
use tapeline_report::method::{Direction, MtuResult};
use tapeline_report::{Event, Measure, TcpState};

use crate::common::PeerKind;
use crate::error::RunError;
use crate::run::Run;

/// Payload of the test: enough for segments of any size to be lost, and for the system to notice.
const PAYLOAD: u64 = 1 << 20;
/// Whole seconds of an iperf3 test that ends by its amount.
const NO_LIMIT: u32 = 0;
/// Rows: what the test is looked at by.
const INTERVAL: Duration = Duration::from_millis(100);

/// Sends 1 MiB and reads the state of the connection at its end.
pub(crate) fn measure(run: &mut Run<'_>, result: &mut MtuResult) -> Result<(), RunError> {
    let mut state: Option<TcpState> = None;
    let mut observe = |event: &Event| {
        if let Event::Row(row) = event
            && let Measure::TcpSend(send) = &row.measure
        {
            state = send.state.or(state);
        }
    };
    if run.common().peer == PeerKind::Iperf3 {
        let mut plan = run.iperf3_plan(Transport::Tcp, Direction::Up);
        plan.parameters.bytes = PAYLOAD;
        plan.parameters.time = NO_LIMIT;
        plan.interval = Some(INTERVAL);
        run.client_test_iperf3(&plan, &mut observe)?;
    } else {
        let mut plan = run.client_plan(Transport::Tcp, Direction::Up);
        plan.limit = Limit::Bytes(Bytes(PAYLOAD));
        plan.interval = Some(INTERVAL);
        plan.probe = false;
        run.client_test(&plan, &mut observe)?;
    }
    if let (Some(up), Some(state)) = (&mut result.up, state) {
        up.mss_bytes = state.mss;
        up.tcp_path_mtu_bytes = state.path_mtu;
    }
    Ok(())
}
