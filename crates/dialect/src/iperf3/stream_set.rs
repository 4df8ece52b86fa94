//! The streams of a test at one end, from their connections to their ends.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tapeline_base::{FlowTag, Role, Transport};
use tapeline_engine::Stop;
use tapeline_report::{Connected, Event, Notice};
use tapeline_sys::{Waker, outgoing_device, reason};
use tapeline_wire::iperf3::stream_id;

use super::streams::{Ends, Link, Stream, StreamEnd, Sums, Traffic};
use super::tcp_streams::{receive_stream, send_stream};
use super::udp_streams::{receive_datagrams, send_datagrams};
use crate::run::context::Context;
use crate::run::flow_end::segment_format;
use crate::sampler::{GroupKind, ReporterHandle};

/// What both a client and a server know of a test's streams.
pub(crate) struct StreamSet {
    pub(crate) streams: Vec<Stream>,
    /// Ends them.
    pub(crate) stop: Stop,
    /// Those that have ended, by their numbers in results.
    pub(crate) ended: BTreeMap<i64, StreamEnd>,
    /// How they run, once they do.
    pub(crate) traffic: Option<Traffic>,
    /// The version of the peer's program, where it says so.
    pub(crate) peer_version: Option<String>,
    ends: (mpsc::Sender<StreamEnd>, mpsc::Receiver<StreamEnd>),
}

impl StreamSet {
    /// No stream yet; those to come follow `stop`.
    pub(crate) fn new(stop: Stop) -> Self {
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
    pub(crate) fn add(
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
        let (transport, segments) = match &link {
            Link::Tcp(conn) => (Transport::Tcp, segment_format(conn)),
            Link::Udp(_) => (Transport::Udp, None),
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
            segments,
            ..Connected::new(tag, transport, local, peer)
        })
    }

    /// Send and receive buffer of the first stream, bytes.
    pub(crate) fn buffers(&self) -> (u64, u64) {
        let first = self.streams.first();
        let buffers = first.map_or([Ok(0), Ok(0)], |stream| stream.link.buffers());
        let [send, receive] = buffers.map(|size| size.unwrap_or(0));
        (send, receive)
    }

    /// Groups for the sums of senders and of receivers.
    pub(crate) fn sums(&self, reporter: &ReporterHandle) -> Sums {
        let senders = self.streams.iter().filter(|stream| stream.sends).count();
        let receivers = self.streams.len() - senders;
        Sums {
            sent: reporter.open_group(GroupKind::Sum(Role::Client), senders),
            received: reporter.open_group(GroupKind::Sum(Role::Server), receivers),
        }
    }

    /// Starts all streams; `waker` is woken by their ends.
    pub(crate) fn run(&mut self, traffic: Traffic, waker: &Arc<Waker>) {
        let ends = Ends {
            sender: self.ends.0.clone(),
            waker: Arc::clone(waker),
        };
        for stream in &self.streams {
            run(&traffic, stream.clone(), &ends);
        }
        self.traffic = Some(traffic);
    }

    /// Whether the streams ran and all have ended.
    pub(crate) fn is_over(&self) -> bool {
        self.traffic.is_some() && self.ended.len() == self.streams.len()
    }

    /// Notes the streams that have ended.
    pub(crate) fn take_ends(&mut self) {
        while let Ok(end) = self.ends.1.try_recv() {
            self.ended.insert(end.stream.id, end);
        }
    }

    /// Waits for a stream to end, at most this long; returns whether one did.
    pub(crate) fn await_end(&mut self, limit: Duration) -> bool {
        let end = self.ends.1.recv_timeout(limit);
        end.map(|end| self.ended.insert(end.stream.id, end)).is_ok()
    }

    /// Waits for the ends of all streams that ran, for each at most this long.
    pub(crate) fn gather(&mut self, limit: Duration) {
        let expected = self.traffic.as_ref().map_or(0, |_| self.streams.len());
        while self.ended.len() < expected && self.await_end(limit) {}
    }
}

/// Starts a stream.
pub(crate) fn run(test: &Traffic, stream: Stream, ends: &Ends) {
    match (stream.link.clone(), stream.sends) {
        (Link::Tcp(conn), true) => send_stream(test, stream, conn, ends.clone()),
        (Link::Tcp(conn), false) => receive_stream(test, stream, conn, ends.clone()),
        (Link::Udp(socket), true) => {
            let own = test.clone();
            spawn(test, stream, ends, move |stream| {
                send_datagrams(&own, stream, socket)
            });
        }
        (Link::Udp(socket), false) => {
            let own = test.clone();
            spawn(test, stream, ends, move |stream| {
                receive_datagrams(&own, stream, &socket)
            });
        }
    }
}

/// Runs `body` on a thread of its own; a stream without one has failed.
fn spawn(
    test: &Traffic,
    stream: Stream,
    ends: &Ends,
    body: impl FnOnce(Stream) -> StreamEnd + Send + 'static,
) {
    let (sender, lost) = (ends.clone(), stream.clone());
    let spawned = std::thread::Builder::new()
        .name("udp".into())
        .spawn(move || sender.send(body(stream)));
    if let Err(error) = spawned {
        let what = format!("no thread for a stream: {}", reason(&error));
        test.context.notice(Notice::Text(what));
        ends.send(StreamEnd::lost(lost));
    }
}
