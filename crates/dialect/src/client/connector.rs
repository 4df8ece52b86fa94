//! Opening a TCP client's connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime};
use tapeline_engine::{Pacer, Precision};
use tapeline_report::Notice;
use tapeline_sys::{SocketOptions, TcpConn};

use super::target::Target;
use crate::plan::{ClientPlan, RetryPlan};
use crate::run::context::Context;

/// Connections that are opened at the same time.
const CONNECTORS: usize = 16;

/// One connected flow, before its traffic.
pub(crate) struct Ready {
    pub(crate) tag: FlowTag,
    pub(crate) conn: Arc<TcpConn>,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    pub(crate) connect_time: Duration,
    /// When the connection was there: its first message may wait for other flows'.
    pub(crate) connected: MonoTime,
}

/// Opens connections.
pub(crate) struct Connector<'a> {
    pub(crate) plan: &'a ClientPlan,
    pub(crate) target: &'a Target,
    pub(crate) options: &'a SocketOptions,
    pub(crate) context: &'a Arc<Context>,
}

impl Connector<'_> {
    /// Connects every flow, several at a time, and hands each to `then` at once; those that
    /// cannot be had are logged and left out. The results are in the order of the flows.
    pub(crate) fn connect_all<T: Send>(
        &self,
        tags: &[FlowTag],
        then: impl Fn(Ready) -> T + Sync,
    ) -> Vec<T> {
        if let [tag] = tags {
            return self.connect(0, *tag).map(then).into_iter().collect();
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let mut own = Vec::new();
            while let index = next.fetch_add(1, Ordering::Relaxed)
                && let Some(tag) = tags.get(index)
            {
                own.extend(self.connect(index, *tag).map(|flow| (*tag, then(flow))));
            }
            own
        };
        let mut results: Vec<(FlowTag, T)> = std::thread::scope(|scope| {
            // As many as can be had, besides this thread.
            let workers: Vec<_> = (1..CONNECTORS.min(tags.len()))
                .map_while(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok())
                .collect();
            let mut results = work();
            for worker in workers {
                results.extend(worker.join().unwrap_or_default());
            }
            results
        });
        results.sort_by_key(|(tag, _)| *tag);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn connect(&self, index: usize, tag: FlowTag) -> Option<Ready> {
        let peer = self.target.peer(index);
        let mut local = self.target.local(index);
        let began = self.context.now();
        loop {
            let attempted = self.context.now();
            match TcpConn::connect_or_cancel(
                peer,
                local,
                self.options,
                Some(self.plan.connect_timeout),
                self.context.interruption.waker(),
            ) {
                Ok(connected) => {
                    let conn = Arc::new(connected.conn);
                    let local = conn.local_addr().ok()?;
                    return Some(Ready {
                        tag,
                        local,
                        peer: conn.peer_addr().unwrap_or(peer),
                        conn,
                        connect_time: connected.connect_time,
                        connected: self.context.now(),
                    });
                }
                Err(error) if error.operation == tapeline_sys::Operation::Bind => {
                    self.context.notice(Notice::BindFailed {
                        address: error.address.unwrap_or(peer),
                        reason: error.reason(),
                    });
                    // As iperf 2: go on from any address.
                    if self.plan.personality == crate::plan::Personality::Native || local.is_none()
                    {
                        return None;
                    }
                    local = None;
                }
                Err(_) if self.context.interruption.is_raised() => return None,
                Err(error) => {
                    let retry = self.retry_at(began);
                    self.context.notice(Notice::ConnectFailed {
                        tag,
                        peer,
                        reason: error.reason(),
                        after: self.context.now().since(attempted),
                        at: self.context.wall(),
                        retrying: retry.is_some(),
                    });
                    let Some(again) = retry else {
                        if self.plan.retry.is_some() {
                            self.context.notice(Notice::ConnectTimedOut {
                                tag,
                                after: self.context.now().since(began),
                                at: self.context.wall(),
                            });
                        }
                        return None;
                    };
                    let mut pacer = Pacer::new(Precision::Economical);
                    pacer.wait(again, self.context.stop())?;
                }
            }
        }
    }

    /// When to try again, if at all: the last time when the time for it is over.
    fn retry_at(&self, began: MonoTime) -> Option<MonoTime> {
        let RetryPlan { total, every } = self.plan.retry?;
        let now = self.context.now();
        (now.since(began) < total).then(|| (now + every).min(began + total))
    }
}
