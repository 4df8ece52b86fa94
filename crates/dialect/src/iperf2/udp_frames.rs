//! Datagrams and faults from below the sockets: `--tap-dev`, and `--l2checks` where the server
//! allows it.

use std::io;

use tapeline_report::Notice;
use tapeline_sys::{DeviceTap, LinkHeader, outgoing_device, reason};
use tapeline_wire::UdpPacket;

use super::flow_table::{Flow, FlowKey, FlowTable};
use super::incoming::Content;
use super::udp_server::UdpService;

/// Frames that are taken before the sockets have their turn again.
const MOST_FRAMES: usize = 1024;
/// Devices on which a service looks at frames at the same time.
const MOST_DEVICES: usize = 8;

/// Devices that are watched for faults.
#[derive(Debug, Default)]
pub(super) struct Watched {
    devices: Vec<(String, DeviceTap)>,
    /// A refusal has been told.
    refused: bool,
}

/// What frames are read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// They carry the flows.
    Data,
    /// Sockets carry the flows; frames show faults.
    Faults,
}

impl UdpService {
    /// Takes what has arrived on the device that carries the flows.
    pub(super) fn take_frames(&self, tap: &mut DeviceTap, flows: &mut FlowTable) -> io::Result<()> {
        self.read_frames(tap, flows, Purpose::Data)
    }

    /// Looks at what has arrived on the watched devices.
    pub(super) fn look_for_faults(&self, flows: &mut FlowTable) {
        let mut watched = std::mem::take(&mut flows.watched);
        watched.devices.retain_mut(|(device, tap)| {
            let read = self.read_frames(tap, flows, Purpose::Faults);
            if let Err(error) = &read {
                self.tell_unwatched(device, error);
            }
            read.is_ok()
        });
        flows.watched = watched;
    }

    /// Begins to watch the device of a flow that asks for it; returns whether it is watched.
    pub(super) fn watch(&self, flows: &mut FlowTable, key: FlowKey) -> bool {
        if !self.plan.l2_checks {
            return false;
        }
        let local = self.local_for(key);
        let Some(device) = outgoing_device(&local) else {
            return false;
        };
        let watched = &mut flows.watched;
        if watched.devices.iter().any(|(known, _)| *known == device) {
            return true;
        }
        if watched.devices.len() >= MOST_DEVICES || watched.refused {
            return false;
        }
        match DeviceTap::open(&device, local.port()) {
            Ok(tap) => {
                watched.devices.push((device, tap));
                true
            }
            Err(error) => {
                watched.refused = true;
                self.tell_unwatched(&device, &error);
                false
            }
        }
    }

    fn tell_unwatched(&self, device: &str, error: &io::Error) {
        self.context.notice(Notice::Text(format!(
            "no checks of the link layer on {device} (--l2checks): {}",
            reason(error)
        )));
    }

    fn read_frames(
        &self,
        tap: &mut DeviceTap,
        flows: &mut FlowTable,
        purpose: Purpose,
    ) -> io::Result<()> {
        let own = self.socket.local_addr()?;
        let mut touched = None;
        for _ in 0..MOST_FRAMES {
            let Some(frame) = tap.receive()? else {
                break;
            };
            let packet = match frame.link {
                LinkHeader::Ethernet => {
                    UdpPacket::from_ethernet(frame.bytes, frame.checksum_counts)
                }
                LinkHeader::None => UdpPacket::from_ip(frame.bytes, frame.checksum_counts),
            };
            let Some(packet) = packet.filter(|one| one.destination.port() == own.port()) else {
                continue;
            };
            let tells_address = purpose == Purpose::Data || own.ip().is_unspecified();
            let key = FlowKey {
                source: packet.source,
                at: tells_address.then(|| packet.destination.ip()),
            };
            if touched != Some(key) {
                flows.publish(touched);
                touched = Some(key);
            }
            if let Some(fault) = packet.fault {
                if let Some(Flow::Receiving(flow)) = flows.get_mut(key) {
                    flow.incoming.note_fault(fault);
                }
                continue;
            }
            if purpose == Purpose::Faults {
                continue;
            }
            let segment = frame.segment_size.unwrap_or(packet.payload.len()).max(1);
            let now = self.context.now();
            let contents = packet.payload.chunks(segment).map(|payload| Content {
                payload,
                arrival: frame.arrival,
                truncated: frame.truncated,
                tos: None,
                joined: frame.segment_size.is_some(),
                now,
            });
            self.take_guarded(flows, key, contents);
        }
        flows.publish(touched);
        Ok(())
    }
}
