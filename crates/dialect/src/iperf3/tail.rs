//! Losses behind the last datagram that a client received.
//!
//! A client that receives keeps the time: when it stops, the server does not know yet. Datagrams
//! that still arrive are beyond the test, and the first of them shows what was lost before it.
//! Where none arrives, whatever the server sent behind the last one is lost.

use std::collections::BTreeMap;

use tapeline_base::FlowTag;
use tapeline_wire::iperf3::{CounterWidth, DatagramHeader, Results, limits};

use super::stream_end::StreamEnd;
use super::streams::{Link, Stream};

/// The first number beyond the test, by stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Beyond(BTreeMap<i64, u64>);

impl Beyond {
    /// Reads what has come to a stream that has ended.
    pub(super) fn read(&mut self, stream: &Stream, width: CounterWidth) {
        let Link::Udp(socket) = &stream.link else {
            return;
        };
        let mut buffer = vec![0; limits::MAX_UDP_LENGTH as usize];
        // Joined datagrams are in order: the first says enough.
        while let Ok(length) = socket.recv_nonblocking(&mut buffer) {
            if let Some(header) = DatagramHeader::read(&buffer[..length], width) {
                self.note(stream.id, header.number);
            }
        }
    }

    fn note(&mut self, stream: i64, number: u64) {
        let first = self.0.entry(stream).or_insert(number);
        *first = number.min(*first);
    }

    /// What was lost behind the last datagram of each receiver.
    pub(super) fn lost(
        &self,
        results: &Results,
        own: &BTreeMap<i64, StreamEnd>,
    ) -> Vec<(FlowTag, u64)> {
        let theirs = results.streams.iter();
        let lost = theirs.filter_map(|theirs| {
            let end = own.get(&theirs.id).filter(|end| !end.stream.sends)?;
            let sent = u64::try_from(theirs.packets).ok()?;
            let lost = self.lost_behind(theirs.id, end.packets, sent);
            (lost > 0).then_some((end.stream.tag, lost))
        });
        lost.collect()
    }

    fn lost_behind(&self, stream: i64, highest: u64, sent: u64) -> u64 {
        let last = match self.0.get(&stream) {
            Some(first) => first.saturating_sub(1),
            None => sent,
        };
        last.min(sent).saturating_sub(highest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_shows_what_is_missing() {
        let mut beyond = Beyond::default();
        assert_eq!(beyond.lost_behind(1, 90, 100), 10, "nothing more came");
        beyond.note(1, 97);
        beyond.note(1, 96);
        assert_eq!(beyond.lost_behind(1, 90, 100), 5, "91 to 95");
        beyond.note(1, 91);
        assert_eq!(beyond.lost_behind(1, 90, 100), 0, "a late one is here");
        assert_eq!(beyond.lost_behind(1, 90, 80), 0, "no server sent less");
    }
}
