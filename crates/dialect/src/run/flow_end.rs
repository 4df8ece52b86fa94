//! What is reported of a flow beside its numbers: its segments, and why it ended before its time.

use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Transport};
use tapeline_engine::{Cause, Ending, FailedOperation};
use tapeline_report::{Notice, SegmentFormat, TrafficOperation};
use tapeline_sys::{TcpConn, reason};

use super::context::Context;

/// Share of a processor above which a traffic thread counts as its limit.
const SATURATED: f64 = 0.9;
/// Shortest flow whose processor share means something.
const SATURATION_SPAN: Duration = Duration::from_millis(500);

/// How a connection cuts its data into segments.
pub(crate) fn segment_format(conn: &TcpConn) -> Option<SegmentFormat> {
    let info = conn.tcp_info()?;
    Some(SegmentFormat {
        payload: info.snd_mss?,
        timestamps: info.timestamps?,
    })
}

/// Says in words that a flow used its processor up and why it ended, when that is worth a word;
/// returns whether it failed.
pub(crate) fn report_ending(
    context: &Context,
    tag: FlowTag,
    transport: Transport,
    start: MonoTime,
    ending: &Ending,
) -> bool {
    log_saturation(context, tag, start, ending);
    log_cause(context, tag, transport, ending)
}

pub(crate) fn log_saturation(context: &Context, tag: FlowTag, start: MonoTime, ending: &Ending) {
    let span = ending.at.since(start);
    if let Some(thread) = ending.thread
        && !thread.shared
        && span > SATURATION_SPAN
    {
        let share = thread.time.used.as_secs_f64() / span.as_secs_f64();
        if share > SATURATED {
            context.notice(Notice::CpuSaturated { tag, share });
        }
    }
}

pub(crate) fn log_cause(
    context: &Context,
    tag: FlowTag,
    transport: Transport,
    ending: &Ending,
) -> bool {
    match &ending.cause {
        Cause::Complete | Cause::Stopped => false,
        Cause::Vanished(silent_for) => {
            context.notice(Notice::PeerVanished {
                tag,
                silent_for: *silent_for,
            });
            true
        }
        Cause::Worker(error) => {
            context.notice(Notice::Text(format!("stream {}: {error}", tag.id)));
            true
        }
        Cause::Failed(FailedOperation::Content, error) => {
            let words = format!("stream {}: reading the payload: {}", tag.id, reason(error));
            context.notice(Notice::Text(words));
            true
        }
        Cause::Failed(operation, error) => {
            context.notice(Notice::TrafficFailed {
                tag,
                operation: match operation {
                    FailedOperation::Send | FailedOperation::Content => TrafficOperation::Write,
                    FailedOperation::Receive => TrafficOperation::Receive,
                    FailedOperation::Shutdown => TrafficOperation::Shutdown,
                },
                transport,
                reason: reason(error),
            });
            true
        }
    }
}
