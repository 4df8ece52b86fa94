//! The streams of a test at one end, from their connections to their ends.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tapeline_base::{FlowTag, Role};
use tapeline_engine::Stop;
use tapeline_report::{Connected, Event};
use tapeline_sys::{Waker, outgoing_device};
use tapeline_wire::iperf3::stream_id;

use super::stream_end::{Ends, StreamEnd};
use super::streams::{Link, Stream, Sums, Traffic};
use crate::context::Context;
use crate::reporter::{GroupKind, ReporterHandle};

/// What both a client and a server know of a test's streams.
pub(super) struct StreamSet {
    pub(super) streams: Vec<Stream>,
    /// Ends them.
    pub(super) stop: Stop,
    /// Those that have ended, by their numbers in results.
    pub(super) ended: BTreeMap<i64, StreamEnd>,
    /// How they run, once they do.
    pub(super) traffic: Option<Traffic>,
    /// The version of the other end's program, where it says so.
    pub(super) peer_version: Option<String>,
    ends: (mpsc::Sender<StreamEnd>, mpsc::Receiver<StreamEnd>),
}

impl StreamSet {
    /// No stream yet; those to come follow `stop`.
    pub(super) fn new(stop: Stop) -> Self {
        Self {
            streams: Vec::new(),
            stop,
            ended: BTreeMap::new(),
            traffic: None,
            peer_version: None,
            ends: mpsc::channel(),
        }
    }

    /// Takes a stream between `local` and `peer`; returns its line.
    pub(super) fn add(
        &mut self,
        context: &Context,
        sends: bool,
        link: Link,
        (local, peer): (SocketAddr, SocketAddr),
    ) -> Event {
        let tag = FlowTag {
            id: context.next_id(),
            reversed: false,
        };
        self.streams.push(Stream {
            tag,
            id: stream_id(self.streams.len()),
            sends,
            local,
            peer,
            link,
        });
        Event::Connected(Connected {
            device: outgoing_device(&local),
            at: Some(context.wall()),
            peer_version: self.peer_version.clone(),
            ..Connected::new(tag, local, peer)
        })
    }

    /// Send and receive buffer of the first stream, bytes.
    pub(super) fn buffers(&self) -> (u64, u64) {
        let (send, receive) = match self.streams.first().map(|stream| &stream.link) {
            Some(Link::Tcp(conn)) => (conn.send_buffer(), conn.receive_buffer()),
            Some(Link::Udp(socket)) => (socket.send_buffer(), socket.receive_buffer()),
            None => (Ok(0), Ok(0)),
        };
        (send.unwrap_or(0), receive.unwrap_or(0))
    }

    /// Groups for the sums of senders and of receivers.
    pub(super) fn sums(&self, reporter: &ReporterHandle) -> Sums {
        let senders = self.streams.iter().filter(|stream| stream.sends).count();
        let receivers = self.streams.len() - senders;
        Sums {
            sent: reporter.open_group(GroupKind::Sum(Role::Client), senders),
            received: reporter.open_group(GroupKind::Sum(Role::Server), receivers),
        }
    }

    /// Starts all streams; `waker` is woken by their ends.
    pub(super) fn run(&mut self, traffic: Traffic, waker: &Arc<Waker>) {
        let ends = Ends {
            tell: self.ends.0.clone(),
            waker: Arc::clone(waker),
        };
        for stream in &self.streams {
            traffic.run(stream.clone(), &ends);
        }
        self.traffic = Some(traffic);
    }

    /// Whether the streams ran and all have ended.
    pub(super) fn is_over(&self) -> bool {
        self.traffic.is_some() && self.ended.len() == self.streams.len()
    }

    /// Notes the streams that have ended.
    pub(super) fn take_ends(&mut self) {
        while let Ok(end) = self.ends.1.try_recv() {
            self.ended.insert(end.stream.id, end);
        }
    }

    /// Waits for a stream to end, at most this long; returns whether one did.
    pub(super) fn await_end(&mut self, limit: Duration) -> bool {
        let end = self.ends.1.recv_timeout(limit);
        end.map(|end| self.ended.insert(end.stream.id, end)).is_ok()
    }

    /// Waits for the ends of all streams that ran, for each at most this long.
    pub(super) fn gather(&mut self, limit: Duration) {
        let expected = self.traffic.as_ref().map_or(0, |_| self.streams.len());
        while self.ended.len() < expected && self.await_end(limit) {}
    }
}
