//! Clients of a server that tell what they counted, tapeline and iperf3: its tests are not over before
//! those have told it, or do not come.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_report::Event;

/// Time from a flow's start within which its client opens the control connection.
const EXPECTED: Duration = Duration::from_secs(2);
/// Tests whose clients are expected, at most.
const MOST_EXPECTED: usize = 1024;

/// Who is waited for.
#[derive(Debug, Default)]
pub(super) struct AwaitedClients {
    /// Until when the client of a test may come; the oldest first.
    expected: VecDeque<MonoTime>,
    /// Number of the newest test.
    newest: u32,
    /// Clients that are here and have not told their results.
    present: usize,
    /// Tests of iperf3 that have begun and not ended.
    running: BTreeSet<u32>,
    /// This process is a client itself.
    is_client: bool,
}

impl AwaitedClients {
    /// Takes note of what is told at `now`.
    pub(super) fn hear(&mut self, event: &Event, now: MonoTime) {
        match event {
            Event::Connecting(banner) => self.is_client |= !banner.connect_back,
            Event::Connected(line) if line.peer_is_tapeline => {
                let newer = line.test.filter(|test| test.number > self.newest);
                if let Some(test) = newer
                    && self.expected.len() < MOST_EXPECTED
                {
                    self.newest = test.number;
                    self.expected.push_back(now + EXPECTED);
                }
            }
            Event::OtherEndFound(_) => {
                self.expected.pop_front();
                self.present += 1;
            }
            Event::OtherEnd(_) | Event::NoOtherEnd(_) => {
                self.present = self.present.saturating_sub(1);
            }
            Event::TestStart(start) => {
                self.running.insert(start.test);
            }
            Event::TestEnd(end) => {
                self.running.remove(&end.test);
            }
            _ => {}
        }
    }

    /// Whether somebody is waited for at `now`.
    pub(super) fn is_anybody(&mut self, now: MonoTime) -> bool {
        while self.expected.front().is_some_and(|until| *until <= now) {
            self.expected.pop_front();
        }
        let awaited = self.present > 0 || !self.running.is_empty() || !self.expected.is_empty();
        !self.is_client && awaited
    }

    /// When nobody is expected any more who has not come.
    pub(super) fn due(&self) -> Option<MonoTime> {
        self.expected.back().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tapeline_base::{FlowId, FlowTag};
    use tapeline_report::{ClientTest, Connected, OtherProgram};

    use super::*;

    fn flow(number: u32) -> Event {
        let tag = FlowTag {
            id: FlowId(number),
            reversed: false,
        };
        let address = SocketAddr::from(([10, 0, 0, 1], 5001));
        Event::Connected(Connected {
            peer_is_tapeline: true,
            test: Some(ClientTest {
                number,
                flows: None,
            }),
            ..Connected::new(tag, address, address)
        })
    }

    #[test]
    fn a_client_is_expected_once_for_a_test_and_not_for_ever() {
        let mut awaited = AwaitedClients::default();
        let now = MonoTime::ZERO;
        assert!(!awaited.is_anybody(now));
        awaited.hear(&flow(1), now);
        awaited.hear(&flow(1), now);
        assert!(awaited.is_anybody(now));
        awaited.hear(&Event::OtherEndFound(OtherProgram::default()), now);
        // As long as the client is here, however long.
        assert!(awaited.is_anybody(now + 100 * EXPECTED));
        awaited.hear(&Event::OtherEnd(Box::default()), now);
        assert!(!awaited.is_anybody(now));
        awaited.hear(&flow(2), now);
        assert_eq!(awaited.due(), Some(now + EXPECTED));
        assert!(!awaited.is_anybody(now + EXPECTED));
    }
}
