//! Whom a UDP server has told that it does not run a test: sources of which nothing else is known.

use std::collections::VecDeque;

use super::flow_table::FlowKey;

/// Sources that are remembered; the oldest one is forgotten for another.
const MOST: usize = 256;
/// Datagrams of a source that are answered.
const ANSWERED: u8 = 3;
/// Shortest datagram that is answered, bytes: it is longer than the answer.
const SHORTEST: usize = 60;

/// The sources, and how many of their datagrams were answered.
#[derive(Debug, Default)]
pub(super) struct UdpRefusals(VecDeque<(FlowKey, u8)>);

impl UdpRefusals {
    /// Whether a datagram of so many bytes from this source is answered.
    pub(super) fn tell(&mut self, key: FlowKey, length: usize) -> bool {
        if length < SHORTEST {
            return false;
        }
        if let Some((_, answered)) = self.0.iter_mut().find(|(known, _)| *known == key) {
            *answered = answered.saturating_add(1);
            return *answered <= ANSWERED;
        }
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back((key, 1));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    #[test]
    fn few_datagrams_of_a_source_are_answered_and_few_sources_are_remembered() {
        let key = |port| FlowKey {
            source: SocketAddr::from(([192, 0, 2, 1], port)),
            at: None,
        };
        let mut refusals = UdpRefusals::default();
        assert!(!refusals.tell(key(1), SHORTEST - 1));
        let told = (0..300).filter(|_| refusals.tell(key(1), SHORTEST));
        assert_eq!(told.count(), usize::from(ANSWERED));
        assert!(refusals.tell(key(2), 1470));
        for port in 3..1000 {
            assert!(refusals.tell(key(port), SHORTEST));
        }
        assert_eq!(refusals.0.len(), MOST);
    }
}
