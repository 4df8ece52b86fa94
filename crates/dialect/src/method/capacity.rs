//! The method `capacity` at a server: a load that it receives, and one that it sends.

use std::time::Duration;

use tapeline_base::{BitRate, MonoTime};
use tapeline_engine::{Precision, Technique};
use tapeline_stats::{LoadRules, LoadSearch, LoadTable};
use tapeline_wire::native::{Done, Message, OrderEnd};

use super::flow::MethodFlow;
use super::job::{Job, failed};
use super::leash::SILENCE;
use super::load::{ReceiveLoad, SendLoad, receive_load, send_load};
use crate::policy::Grant;

/// Time between two reports: usual, least and most.
const FEEDBACK: Duration = Duration::from_millis(50);
const LEAST_FEEDBACK: Duration = Duration::from_millis(5);
const MOST_FEEDBACK: Duration = Duration::from_millis(250);
/// Time without a load after which its receiver gives it up.
const NO_LOAD: Duration = Duration::from_secs(3);
/// How often a report goes over the control connection too.
const OVER_TCP: Duration = Duration::from_secs(1);
/// Payload of a datagram: usual and least, bytes.
const LENGTH: u32 = 1222;
const SHORTEST: u32 = 48;

/// Receives the client's load.
pub(crate) fn receive(job: &Job, flow: &mut MethodFlow) -> Done {
    let began = job.context.now();
    let asked = job.parameters.feedback_ms;
    let feedback = asked.map_or(FEEDBACK, |ms| Duration::from_millis(ms.into()));
    let plan = ReceiveLoad {
        feedback: feedback.clamp(LEAST_FEEDBACK, MOST_FEEDBACK),
        until: began + job.terms.time,
        silence: NO_LOAD,
        bytes: job.terms.bytes.map(|bytes| bytes.get()),
    };
    let granted = Grant {
        time: None,
        bytes: None,
        rate: job.terms.bits_per_second.map(|rate| BitRate(rate.get())),
    };
    let too_fast = std::cell::Cell::new(false);
    let mut next = began + OVER_TCP;
    let received = receive_load(
        flow,
        &plan,
        &mut || too_fast.get() || job.stopped().is_some(),
        &mut |status| {
            let elapsed = Duration::from_nanos(status.elapsed);
            too_fast.set(granted.is_used_up(status.bytes, elapsed));
            let now = job.context.now();
            if now >= next {
                next = (next + OVER_TCP).max(now);
                job.link.say(Message::Status(*status));
            }
        },
    );
    if let Some(last) = received.last {
        job.link.say(Message::Status(last));
    }
    let sent = flow.sent();
    let fast = too_fast.get().then_some(OrderEnd::BytesUsedUp);
    Done {
        end: job.stopped().or(fast).unwrap_or(received.end),
        why: received.why,
        datagrams_sent: sent.datagrams,
        bytes_sent: sent.bytes,
        datagrams_received: received.last.map_or(0, |last| last.datagrams),
        socket_drops: received.socket_drops,
        ..Done::default()
    }
}

/// Sends a load to the client, whose reports steer it.
pub(crate) fn send(job: &Job, flow: &mut MethodFlow) -> Done {
    let parameters = &job.parameters;
    if parameters.type_c == Some(true) {
        return failed("this server does not know the search of type C");
    }
    let usual = LoadRules::default();
    let rules = LoadRules {
        errors: parameters.errors.map_or(usual.errors, u64::from),
        low_ms: parameters.low_ms.map_or(usual.low_ms, f64::from),
        upper_ms: parameters.upper_ms.map_or(usual.upper_ms, f64::from),
        slow_after: parameters.slow_after.unwrap_or(usual.slow_after).max(1),
        count_reordering: parameters.count_reordering.unwrap_or(false),
        one_way: parameters.one_way.unwrap_or(false),
        ..usual
    };
    let most = job.terms.bits_per_second.map(|rate| BitRate(rate.get()));
    let mut search = LoadSearch::new(LoadTable::up_to(most), rules);
    let now: MonoTime = job.context.now();
    let techniques = job.context.techniques;
    let longest = usize::from(u16::MAX - flow.headers());
    let plan = SendLoad {
        length: (parameters.length.unwrap_or(LENGTH).max(SHORTEST) as usize).min(longest),
        until: now + job.terms.time,
        bytes: job.terms.bytes.map(|bytes| bytes.get()),
        most,
        silence: SILENCE,
        precision: techniques.precision(Precision::Precise),
        segmentation: techniques.uses(Technique::UdpSegmentation),
    };
    let mut stopped = || job.stopped().is_some();
    let sent = send_load(flow, &plan, &mut search, &mut stopped, &mut |_| {});
    Done {
        end: job.stopped().unwrap_or(sent.end),
        why: sent.why,
        datagrams_sent: sent.datagrams,
        bytes_sent: sent.bytes,
        datagrams_received: sent.load.statuses,
        load: Some(sent.load),
        ..Done::default()
    }
}
