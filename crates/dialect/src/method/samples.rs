//! The state of a server's TCP senders in a client's test, ten times a second.

use std::num::NonZeroU32;
use std::time::Duration;

use tapeline_base::whole_nanos;
use tapeline_sys::{TcpConn, TcpInfo};
use tapeline_wire::native::{Done, LoadParameters, Message, OrderEnd, Sample};

use super::job::{Job, LOOK};
use super::terms::{Task, Terms};
use crate::native::test_registry::TestName;

/// Time between two samples.
const PERIOD: Duration = Duration::from_millis(100);

/// Tells the client of its test until the order's time is over.
pub(crate) fn run(job: &Job, test: NonZeroU32) -> Done {
    let context = &job.context;
    let test = TestName {
        client: job.customer.peer.ip(),
        number: test,
    };
    let began = context.now();
    let until = began + job.terms.time;
    let unsent = unsent_ms(&job.terms, &job.parameters);
    let unsent = unsent.map(|millis| Duration::from_millis(millis.into()));
    let mut next = began;
    let end = loop {
        if let Some(end) = job.stopped() {
            break end;
        }
        let now = context.now();
        if now >= until {
            break OrderEnd::Complete;
        }
        if now >= next {
            next = (next + PERIOD).max(now);
            for (token, conn) in job.senders.of(test) {
                if let Some(time) = unsent {
                    // The client knows whether the system can do it.
                    let _ = conn.limit_unsent(time);
                }
                if let Some(info) = conn.tcp_info() {
                    let elapsed = whole_nanos(now.since(began));
                    job.link.say(Message::Sample(sample(elapsed, token, &info)));
                }
            }
        }
        let wait = next.min(until).since(context.now()).min(LOOK);
        std::thread::sleep(wait);
    };
    Done {
        end,
        ..Done::default()
    }
}

/// The time of unsent data that the senders keep to, milliseconds, where the client wants it and this system
/// can do it.
pub(crate) fn unsent_ms(terms: &Terms, parameters: &LoadParameters) -> Option<u32> {
    let can = TcpConn::LIMITS_UNSENT && matches!(terms.task, Task::Samples(_));
    parameters.unsent_ms.filter(|_| can)
}

fn sample(elapsed: u64, token: NonZeroU32, info: &TcpInfo) -> Sample {
    Sample {
        elapsed,
        token: Some(token),
        round_trip_us: info.rtt_us.map(u64::from),
        cwnd_bytes: info.cwnd_bytes(),
        bytes_sent: info.bytes_sent,
        bytes_retransmitted: info.bytes_retrans,
        bytes_acked: info.bytes_acked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsent_data_is_limited_where_samples_are_ordered_with_it() {
        let test = NonZeroU32::MIN;
        let terms = |task| Terms {
            task,
            time: Duration::from_secs(1),
            bytes: None,
            bits_per_second: None,
        };
        let wanted = LoadParameters {
            unsent_ms: Some(5),
            ..LoadParameters::default()
        };
        let can = Some(5).filter(|_| TcpConn::LIMITS_UNSENT);
        assert_eq!(unsent_ms(&terms(Task::Samples(test)), &wanted), can);
        let none = LoadParameters::default();
        assert_eq!(unsent_ms(&terms(Task::Samples(test)), &none), None);
        assert_eq!(unsent_ms(&terms(Task::MtuUp), &wanted), None);
    }
}
