//! Receive slots filled by one system call per datagram.

use std::io;
use std::net::SocketAddr;

use socket2::Socket;
use tapeline_base::WallTime;

use super::clock::wall_nanos;
use super::receive_one::receive_one;
use crate::address::to_ip;
use crate::udp::Datagram;

#[derive(Clone, Copy, Debug)]
struct Slot {
    length: usize,
    source: SocketAddr,
    received_at: i64,
    truncated: bool,
}

/// Slots and their memory, allocated once.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    payload: Vec<u8>,
    slot_size: usize,
    capacity: usize,
}

impl Slots {
    pub(crate) fn new(slots: usize, slot_size: usize) -> Self {
        Self {
            slots: Vec::with_capacity(slots),
            payload: vec![0; slots * slot_size],
            slot_size,
            capacity: slots,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
    }

    /// Waits (if `blocking`) for the first datagram only, as `recvmmsg(MSG_WAITFORONE)` does.
    /// An error after the first datagram is left to the next call.
    pub(crate) fn fill(
        &mut self,
        socket: &Socket,
        blocking: bool,
        max: usize,
    ) -> io::Result<usize> {
        let max = max.clamp(1, self.capacity);
        while self.slots.len() < max {
            let start = self.slots.len() * self.slot_size;
            let buffer = &mut self.payload[start..start + self.slot_size];
            let wait = blocking && self.slots.is_empty();
            match receive_one(socket, buffer, wait) {
                Ok(one) => self.slots.push(Slot {
                    length: one.length.min(self.slot_size),
                    source: to_ip(&one.source)?,
                    received_at: wall_nanos(),
                    truncated: one.truncated,
                }),
                Err(error) if self.slots.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(self.slots.len())
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// No supported system but Linux counts drops per socket.
    pub(crate) fn drops(&self) -> u32 {
        0
    }

    /// A filled slot; `index` is below [`Slots::len`].
    pub(crate) fn datagram(&self, index: usize) -> Datagram<'_> {
        let slot = &self.slots[index];
        let start = index * self.slot_size;
        Datagram {
            payload: &self.payload[start..start + slot.length],
            source: slot.source,
            segment_size: None,
            arrival: WallTime::from_nanos(slot.received_at),
            truncated: slot.truncated,
            tos: None,
            destination: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::SocketOptions;
    use crate::udp::UdpSocket;

    #[test]
    fn the_twin_receives_what_has_arrived_and_no_more() {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let receiver = UdpSocket::bind(local, &SocketOptions::default())
            .unwrap()
            .socket;
        let peer = receiver.local_addr().unwrap();
        let sender = UdpSocket::connected(peer, None, &SocketOptions::default())
            .unwrap()
            .socket;
        for number in 0..5_u8 {
            sender
                .send(&vec![number; 10 + usize::from(number)])
                .unwrap();
        }
        let mut slots = Slots::new(3, 12);
        assert_eq!(slots.fill(receiver.inner(), true, 3).unwrap(), 3);
        for index in 0..3 {
            let datagram = slots.datagram(index);
            assert_eq!(datagram.payload, vec![index as u8; 10 + index]);
            assert_eq!(datagram.source, sender.local_addr().unwrap());
            assert!(!datagram.truncated);
        }
        slots.clear();
        assert_eq!(slots.fill(receiver.inner(), true, 3).unwrap(), 2);
        assert!(slots.datagram(0).truncated, "13 bytes do not fit 12");
        assert_eq!(slots.datagram(0).payload, [3; 12]);
        slots.clear();
        let empty = slots.fill(receiver.inner(), false, 3).unwrap_err();
        assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
        assert_eq!((slots.len(), slots.drops()), (0, 0));
    }
}
