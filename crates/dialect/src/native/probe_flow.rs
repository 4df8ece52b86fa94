//! The socket of a client's probe flow.

use std::num::NonZeroU64;
use std::time::Duration;

use tapeline_base::{MonoTime, Tos, WallTime};
use tapeline_sys::{ReceiveBatch, ReceiveFeatures, SocketOptions, UdpSocket, Wait};
use tapeline_wire::native::ProbeRequest;

use super::own_flow::OwnFlow;
use super::probing::Probing;

/// Replies that are fetched at once.
const REPLIES: usize = 16;

/// Probes on their way to the server and back.
#[derive(Debug)]
pub(super) struct ProbeFlow {
    pub(super) socket: UdpSocket,
    replies: ReceiveBatch,
    pub(super) probing: Probing,
}

impl ProbeFlow {
    /// To where `flow` goes, with the key that the server has given and the flows' type of service: probes
    /// wait in the same queues. `options` are those of the control connection. Nothing when there is no
    /// socket for it.
    pub(super) fn open(
        flow: &OwnFlow,
        options: &SocketOptions,
        key: NonZeroU64,
        class: Tos,
        now: MonoTime,
    ) -> Option<Self> {
        let mut local = flow.local;
        local.set_port(0);
        let options = marked(options, class);
        let opened = UdpSocket::connected(flow.peer, Some(local), &options).ok()?;
        // Where the system does not stamp arrivals, the time of reading stands in.
        opened.socket.request(ReceiveFeatures {
            timestamps: true,
            ..ReceiveFeatures::default()
        });
        Some(Self {
            socket: opened.socket,
            replies: ReceiveBatch::new(REPLIES, 2 * ProbeRequest::LENGTH),
            probing: Probing::new(key, class, now),
        })
    }

    /// Takes the replies that are there; `told` are the round trips under load.
    pub(super) fn receive(&mut self, mut told: impl FnMut(Duration)) {
        // An error is the path's answer to an earlier probe, which stays unanswered.
        if self.replies.receive(&self.socket, Wait::Never).is_ok() {
            for reply in self.replies.datagrams() {
                let round_trip = self.probing.received(reply.payload, reply.arrival);
                round_trip.into_iter().for_each(&mut told);
            }
        }
    }

    /// Sends the probe that is due, if one is.
    pub(super) fn send(&mut self, now: MonoTime, wall: WallTime, traffic: u64) {
        if let Some(probe) = self.probing.next(now, wall, traffic) {
            // One that does not leave counts as unanswered.
            let _ = self.socket.send_nonblocking(&probe);
        }
    }
}

/// Nobody slows down when a probe comes back with a congestion mark.
fn marked(options: &SocketOptions, class: Tos) -> SocketOptions {
    let class = Tos::from_dscp(class.dscp());
    SocketOptions {
        tos: Some(class).filter(|class| *class != Tos::default()),
        ..options.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_have_the_class_of_the_flows_and_no_congestion_marks() {
        let options = SocketOptions {
            device: Some("eth0".to_owned()),
            ..SocketOptions::default()
        };
        let probes = marked(&options, Tos(0xb9));
        assert_eq!(probes.tos, Some(Tos(0xb8)));
        assert_eq!(probes.device, options.device);
        assert_eq!(marked(&options, Tos(1)), options);
    }
}
