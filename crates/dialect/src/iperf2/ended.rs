//! A UDP flow after its end: the report is given again to a client that asks again, late
//! data is ignored, and a new test from the same source is told from both. Pure: times and
//! datagrams in, answers out.

use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};
use tapeline_wire::iperf2::{DatagramStamp, ServerReport};

use super::udp_flow::FlowReader;
use crate::policy::Allowance;

/// How long the report of an ended flow can be asked for again.
const REPEATABLE: Duration = Duration::from_secs(3);
/// Silence after which nobody asks any more: longer than the 250 ms that our own clients
/// leave between two questions at the most (2.2.1: 10 ms).
const LAST_CALL: Duration = Duration::from_millis(350);
/// Time for repeated orders of a test that the server sent to die out.
const ORDERS_DIE: Duration = Duration::from_millis(500);

/// A report in the layout that the client reads.
#[derive(Clone, Debug)]
pub(super) struct ReportAnswer {
    pub(super) report: ServerReport,
    pub(super) narrow: bool,
}

impl ReportAnswer {
    /// The bytes, never more than the 128 that the oldest client has room for.
    pub(super) fn encode(&self, fin: DatagramStamp) -> Vec<u8> {
        if self.narrow {
            self.report.encode_12(fin).to_vec()
        } else {
            self.report.encode_16().to_vec()
        }
    }
}

/// What a datagram calls for after the end of its flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Afterwards {
    /// Nothing.
    Ignore,
    /// This datagram back.
    Answer(Vec<u8>),
    /// A new flow: it is the first of another test.
    Open,
}

/// What a datagram behind the end may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    /// A remainder of the flow: it was ours.
    Remainder,
    /// The first of another test, if it is newer than this stamp of the flow.
    Late(WallTime),
    /// More of a flow that was cut: it stays cut as long as its client sends.
    Cut,
}

/// What remains of a flow.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    report: Option<ReportAnswer>,
    /// How often it may be given.
    allowance: Allowance,
    behind: Behind,
    /// When it ended, or the end was asked for last.
    asked: MonoTime,
    until: MonoTime,
}

impl Ended {
    /// After receiving, up to a datagram stamped `newest`.
    pub(super) fn received(
        report: Option<ReportAnswer>,
        allowance: Allowance,
        newest: WallTime,
        now: MonoTime,
    ) -> Self {
        Self {
            report,
            allowance,
            behind: Behind::Late(newest),
            asked: now,
            until: now + REPEATABLE,
        }
    }

    /// The same flow, which has not ended by itself: what its client goes on to send is no new test.
    pub(super) fn cut(self) -> Self {
        Self {
            behind: Behind::Cut,
            ..self
        }
    }

    /// After sending: what arrives for some time are repetitions of the order.
    pub(super) fn sent(now: MonoTime) -> Self {
        Self {
            report: None,
            allowance: Allowance::default(),
            behind: Behind::Remainder,
            asked: now,
            until: now + ORDERS_DIE,
        }
    }

    /// Whether nothing more is to be done for it.
    pub(super) fn is_forgotten(&self, now: MonoTime) -> bool {
        now >= self.until
    }

    /// Whether its client has stopped asking, or never will ask.
    pub(super) fn is_quiet(&self, now: MonoTime) -> bool {
        self.report.is_none() || now.since(self.asked) >= LAST_CALL
    }

    /// Time since the end, or since it was asked for.
    pub(super) fn silent_for(&self, now: MonoTime) -> Duration {
        now.since(self.asked)
    }

    /// A datagram arrived from the flow's source.
    pub(super) fn receive(&mut self, datagram: &[u8], now: MonoTime) -> Afterwards {
        let stamp = DatagramStamp::read_16(datagram, true).unwrap_or_default();
        let sent = WallTime::from_wire(stamp.seconds, stamp.micros);
        match self.behind {
            Behind::Remainder => return Afterwards::Ignore,
            Behind::Late(newest) if sent > newest && FlowReader::begins(datagram) => {
                return Afterwards::Open;
            }
            Behind::Late(_) => {}
            Behind::Cut => self.until = now + REPEATABLE,
        }
        let narrow = DatagramStamp::read_12(datagram).unwrap_or_default();
        if !stamp.is_fin() && !narrow.is_fin() {
            return Afterwards::Ignore;
        }
        self.asked = now;
        self.until = now + REPEATABLE;
        self.allowance.earn(datagram.len() as u64);
        let report = self.report.as_ref().map(|report| report.encode(stamp));
        match report {
            Some(report) if self.allowance.spend(report.len()) => Afterwards::Answer(report),
            Some(_) | None => Afterwards::Ignore,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stamps::{Settings, StampForm, datagram_template};
    use super::*;
    use tapeline_wire::iperf2::UdpClientHeader;

    fn at(millis: u64) -> MonoTime {
        MonoTime::from_nanos(millis * 1_000_000)
    }

    fn datagram(id: i64, second: u32) -> Vec<u8> {
        let mut datagram = datagram_template(128, &Settings::Header(UdpClientHeader::default()));
        DatagramStamp {
            id,
            seconds: second,
            micros: 0,
        }
        .write_16(&mut datagram);
        datagram
    }

    fn ended() -> Ended {
        let report = ReportAnswer {
            report: ServerReport::default(),
            narrow: false,
        };
        Ended::received(
            Some(report),
            Allowance::Unlimited,
            WallTime::from_wire(100, 0),
            at(0),
        )
    }

    #[test]
    fn the_report_is_repeated_and_late_data_ignored() {
        let mut flow = ended();
        let mut again = vec![0; 16];
        StampForm::Wide.write_final(&mut again, 5, WallTime::from_wire(100, 7));
        for question in [datagram(-5, 100), again] {
            let answer = flow.receive(&question, at(400));
            assert!(matches!(answer, Afterwards::Answer(bytes) if bytes.len() == 128));
        }
        assert_eq!(flow.receive(&datagram(3, 99), at(401)), Afterwards::Ignore);
        assert_eq!(flow.receive(&datagram(3, 100), at(401)), Afterwards::Ignore);
        assert!(!flow.is_quiet(at(749)) && flow.is_quiet(at(750)));
        assert!(!flow.is_forgotten(at(3399)) && flow.is_forgotten(at(3400)));
    }

    #[test]
    fn a_new_test_from_the_same_source_opens() {
        assert_eq!(ended().receive(&datagram(1, 101), at(1)), Afterwards::Open);
        // Garbage never does.
        assert_eq!(ended().receive(&[], at(1)), Afterwards::Ignore);
        assert_eq!(ended().receive(&[0xff; 3], at(1)), Afterwards::Ignore);
    }

    /// Found by fuzzing: a number that no flow can begin with made the server forget the report.
    #[test]
    fn what_cannot_begin_a_flow_does_not_end_the_report() {
        let mut flow = ended();
        let absurd = datagram(1 << 40, 101);
        assert_eq!(flow.receive(&absurd, at(1)), Afterwards::Ignore);
        let answer = flow.receive(&datagram(-5, 100), at(2));
        assert!(matches!(answer, Afterwards::Answer(_)));
    }

    #[test]
    fn a_flow_that_was_cut_stays_cut_while_its_client_sends() {
        let mut flow = ended().cut();
        for second in 1..10 {
            let data = datagram(second, 100 + second as u32);
            let now = at(second as u64 * 1000);
            assert_eq!(flow.receive(&data, now), Afterwards::Ignore);
            assert!(!flow.is_forgotten(now + Duration::from_millis(2999)));
        }
        // Its report can be had all the same.
        let last = flow.receive(&datagram(-10, 110), at(9001));
        assert!(matches!(last, Afterwards::Answer(_)));
        assert!(flow.is_forgotten(at(12_001)));
    }

    #[test]
    fn repeated_orders_of_a_reverse_test_do_not_start_it_again() {
        let mut flow = Ended::sent(at(0));
        assert_eq!(flow.receive(&datagram(1, 500), at(1)), Afterwards::Ignore);
        assert!(flow.is_quiet(at(1)) && flow.is_forgotten(at(500)));
    }
}
