//! The end of a UDP flow. Pure: times and datagrams in, actions and answers out.
//!
//! The client asks with its final datagram until the server's report arrives. The server gives the report
//! again to a client that asks again, ignores late data, and distinguishes a new test from the same source from both.

use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};
use tapeline_wire::iperf2::{DatagramStamp, ServerReport};

use super::udp_reader::FlowReader;
use crate::policy::AmplificationLimit;

/// First wait for the report, as iperf 2 (wire document 7.4); later ones grow by half.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_millis(250);
/// Time after which the report counts as lost; iperf 2's 200 waits of 10 ms.
const GIVE_UP: Duration = Duration::from_secs(2);
/// The same once the user has interrupted the run.
const HURRIED: Duration = Duration::from_millis(250);

/// What the client does next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ClientFinStep {
    /// Send the final datagram, in full the first time. Repetitions carry number and time
    /// only: a 2.2.1 server answers a repetition by writing its report over the
    /// datagram just received, and the report begins behind these 16 bytes.
    Send {
        /// In full.
        full: bool,
    },
    /// Wait for a datagram until this time.
    Wait(MonoTime),
    /// The report is here.
    Reported(Box<ServerReport>),
    /// No report came.
    Unanswered {
        /// Times asked.
        tries: u32,
    },
}

/// The client's side.
#[derive(Debug)]
pub(crate) struct ClientFin {
    deadline: MonoTime,
    wait: Duration,
    next_send: MonoTime,
    tries: u32,
    report: Option<Box<ServerReport>>,
    hurried: bool,
}

impl ClientFin {
    pub(crate) fn new(now: MonoTime) -> Self {
        Self {
            deadline: now + GIVE_UP,
            wait: FIRST_WAIT,
            next_send: now,
            tries: 0,
            report: None,
            hurried: false,
        }
    }

    /// The user does not want to wait: what comes at once is taken, no more.
    pub(crate) fn hurry(&mut self, now: MonoTime) {
        if !self.hurried {
            self.hurried = true;
            self.deadline = self.deadline.min(now + HURRIED);
        }
    }

    /// A datagram arrived. Anything but a report is ignored: late data, the early
    /// acknowledgement of 2.0.13, echoes.
    pub(crate) fn received(&mut self, datagram: &[u8]) {
        if self.report.is_none() {
            self.report = ServerReport::accept(datagram).map(Box::new);
        }
    }

    pub(crate) fn next(&mut self, now: MonoTime) -> ClientFinStep {
        if let Some(report) = &self.report {
            return ClientFinStep::Reported(report.clone());
        }
        if now >= self.deadline {
            return ClientFinStep::Unanswered { tries: self.tries };
        }
        if now >= self.next_send {
            self.tries += 1;
            self.next_send = now + self.wait;
            self.wait = (self.wait * 3 / 2).min(LONGEST_WAIT);
            return ClientFinStep::Send {
                full: self.tries == 1,
            };
        }
        ClientFinStep::Wait(self.next_send.min(self.deadline))
    }
}

/// How long the report of an ended flow can be asked for again.
const REPEATABLE: Duration = Duration::from_secs(3);
/// Silence after which nobody asks any more: longer than the 250 ms that our own clients
/// leave between two questions at the most (2.2.1: 10 ms).
const LAST_CALL: Duration = Duration::from_millis(350);
/// Time for repeated orders of a test that the server sent to die out.
const ORDERS_DIE: Duration = Duration::from_millis(500);

/// A report in the layout that the client reads.
#[derive(Clone, Debug)]
pub(crate) struct ReportAnswer {
    pub(crate) report: ServerReport,
    pub(crate) narrow: bool,
}

impl ReportAnswer {
    /// The bytes, never more than the 128 that the oldest client has room for.
    pub(crate) fn encode(&self, fin: DatagramStamp) -> Vec<u8> {
        if self.narrow {
            self.report.encode_12(fin).to_vec()
        } else {
            self.report.encode_16().to_vec()
        }
    }
}

/// What a datagram calls for after the end of its flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AfterFin {
    /// Nothing.
    Ignore,
    /// This datagram back.
    Answer(Vec<u8>),
    /// A new flow: it is the first of another test.
    Open,
}

/// What a datagram behind the end may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LateDatagram {
    /// A remainder of the flow: it was ours.
    Remainder,
    /// The first of another test, if it is newer than this stamp of the flow.
    Late(WallTime),
    /// More of a flow that was cut: it stays cut as long as its client sends.
    Cut,
}

/// What remains of a flow.
#[derive(Clone, Debug)]
pub(crate) struct ServerFin {
    report: Option<ReportAnswer>,
    /// How often it may be given.
    amplification: AmplificationLimit,
    late: LateDatagram,
    /// When it ended, or the end was asked for last.
    asked: MonoTime,
    until: MonoTime,
}

impl ServerFin {
    /// After receiving, up to a datagram stamped `newest`.
    pub(crate) fn received(
        report: Option<ReportAnswer>,
        amplification: AmplificationLimit,
        newest: WallTime,
        now: MonoTime,
    ) -> Self {
        Self {
            report,
            amplification,
            late: LateDatagram::Late(newest),
            asked: now,
            until: now + REPEATABLE,
        }
    }

    /// The same flow, which has not ended by itself: what its client goes on to send is no new test.
    pub(crate) fn cut(self) -> Self {
        Self {
            late: LateDatagram::Cut,
            ..self
        }
    }

    /// After sending: what arrives for some time are repetitions of the order.
    pub(crate) fn sent(now: MonoTime) -> Self {
        Self {
            report: None,
            amplification: AmplificationLimit::default(),
            late: LateDatagram::Remainder,
            asked: now,
            until: now + ORDERS_DIE,
        }
    }

    /// Whether nothing more is to be done for it.
    pub(crate) fn is_forgotten(&self, now: MonoTime) -> bool {
        now >= self.until
    }

    /// Whether its client has stopped asking, or never will ask.
    pub(crate) fn is_quiet(&self, now: MonoTime) -> bool {
        self.report.is_none() || now.since(self.asked) >= LAST_CALL
    }

    /// Time since the end, or since it was asked for.
    pub(crate) fn silent_for(&self, now: MonoTime) -> Duration {
        now.since(self.asked)
    }

    /// A datagram arrived from the flow's source.
    pub(crate) fn receive(&mut self, datagram: &[u8], now: MonoTime) -> AfterFin {
        let stamp = DatagramStamp::read_16(datagram, true).unwrap_or_default();
        let sent = WallTime::from_wire(stamp.seconds, stamp.micros);
        match self.late {
            LateDatagram::Remainder => return AfterFin::Ignore,
            LateDatagram::Late(newest) if sent > newest && FlowReader::begins(datagram) => {
                return AfterFin::Open;
            }
            LateDatagram::Late(_) => {}
            LateDatagram::Cut => self.until = now + REPEATABLE,
        }
        let narrow = DatagramStamp::read_12(datagram).unwrap_or_default();
        if !stamp.is_fin() && !narrow.is_fin() {
            return AfterFin::Ignore;
        }
        self.asked = now;
        self.until = now + REPEATABLE;
        self.amplification.earn(datagram.len() as u64);
        let report = self.report.as_ref().map(|report| report.encode(stamp));
        match report {
            Some(report) if self.amplification.spend(report.len()) => AfterFin::Answer(report),
            Some(_) | None => AfterFin::Ignore,
        }
    }
}

#[cfg(test)]
mod tests {
    use tapeline_wire::iperf2::UdpClientHeader;

    use super::*;
    use crate::iperf2::stamps::{Settings, StampForm, datagram_template};

    fn drive(mut fin: ClientFin, report_after: Option<u32>) -> (u32, MonoTime, bool) {
        let mut now = MonoTime::ZERO;
        let mut sends = 0;
        loop {
            match fin.next(now) {
                ClientFinStep::Send { full } => {
                    assert_eq!(full, sends == 0);
                    sends += 1;
                    if Some(sends) == report_after {
                        fin.received(&[1; 40]);
                        fin.received(&ServerReport::default().encode_16());
                    }
                }
                ClientFinStep::Wait(until) => {
                    assert!(until > now);
                    now = until;
                }
                ClientFinStep::Reported(_) => return (sends, now, true),
                ClientFinStep::Unanswered { tries } => {
                    assert_eq!(tries, sends);
                    return (sends, now, false);
                }
            }
        }
    }

    #[test]
    fn a_report_ends_it_at_once() {
        let (sends, _, reported) = drive(ClientFin::new(MonoTime::ZERO), Some(1));
        assert_eq!((sends, reported), (1, true));
        let (sends, _, reported) = drive(ClientFin::new(MonoTime::ZERO), Some(4));
        assert_eq!((sends, reported), (4, true));
    }

    #[test]
    fn an_interrupt_shortens_it_once() {
        let at = |millis: u64| MonoTime::ZERO + Duration::from_millis(millis);
        let mut fin = ClientFin::new(at(0));
        fin.hurry(at(100));
        fin.hurry(at(200));
        assert!(!matches!(
            fin.next(at(349)),
            ClientFinStep::Unanswered { .. }
        ));
        assert!(matches!(
            fin.next(at(350)),
            ClientFinStep::Unanswered { .. }
        ));
        let mut late = ClientFin::new(at(0));
        late.hurry(at(1900));
        assert!(matches!(
            late.next(at(2000)),
            ClientFinStep::Unanswered { .. }
        ));
    }

    #[test]
    fn silence_ends_it_after_two_seconds_and_few_datagrams() {
        let (sends, end, reported) = drive(ClientFin::new(MonoTime::ZERO), None);
        assert!(!reported);
        assert_eq!(end, MonoTime::ZERO + GIVE_UP);
        assert!((9..25).contains(&sends), "{sends}");
    }

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

    fn ended() -> ServerFin {
        let report = ReportAnswer {
            report: ServerReport::default(),
            narrow: false,
        };
        ServerFin::received(
            Some(report),
            AmplificationLimit::Unlimited,
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
            assert!(matches!(answer, AfterFin::Answer(bytes) if bytes.len() == 128));
        }
        assert_eq!(flow.receive(&datagram(3, 99), at(401)), AfterFin::Ignore);
        assert_eq!(flow.receive(&datagram(3, 100), at(401)), AfterFin::Ignore);
        assert!(!flow.is_quiet(at(749)) && flow.is_quiet(at(750)));
        assert!(!flow.is_forgotten(at(3399)) && flow.is_forgotten(at(3400)));
    }

    #[test]
    fn a_new_test_from_the_same_source_opens() {
        assert_eq!(ended().receive(&datagram(1, 101), at(1)), AfterFin::Open);
        // Garbage never does.
        assert_eq!(ended().receive(&[], at(1)), AfterFin::Ignore);
        assert_eq!(ended().receive(&[0xff; 3], at(1)), AfterFin::Ignore);
    }

    /// Found by fuzzing: a number that no flow can begin with made the server forget the report.
    #[test]
    fn what_cannot_begin_a_flow_does_not_end_the_report() {
        let mut flow = ended();
        let absurd = datagram(1 << 40, 101);
        assert_eq!(flow.receive(&absurd, at(1)), AfterFin::Ignore);
        let answer = flow.receive(&datagram(-5, 100), at(2));
        assert!(matches!(answer, AfterFin::Answer(_)));
    }

    #[test]
    fn a_flow_that_was_cut_stays_cut_while_its_client_sends() {
        let mut flow = ended().cut();
        for second in 1..10 {
            let data = datagram(second, 100 + second as u32);
            let now = at(second as u64 * 1000);
            assert_eq!(flow.receive(&data, now), AfterFin::Ignore);
            assert!(!flow.is_forgotten(now + Duration::from_millis(2999)));
        }
        // Its report can be had all the same.
        let last = flow.receive(&datagram(-10, 110), at(9001));
        assert!(matches!(last, AfterFin::Answer(_)));
        assert!(flow.is_forgotten(at(12_001)));
    }

    #[test]
    fn repeated_orders_of_a_reverse_test_do_not_start_it_again() {
        let mut flow = ServerFin::sent(at(0));
        assert_eq!(flow.receive(&datagram(1, 500), at(1)), AfterFin::Ignore);
        assert!(flow.is_quiet(at(1)) && flow.is_forgotten(at(500)));
    }
}
