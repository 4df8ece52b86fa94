//! The end of a UDP flow: the client asks with its final datagram until the server's
//! report arrives. Pure: times in, actions out.

use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_wire::iperf2::ServerReport;

/// First wait for the report, as iperf 2 (wire document 7.4); later ones grow by half.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_millis(250);
/// Time after which the report counts as lost; iperf 2's 200 waits of 10 ms.
const GIVE_UP: Duration = Duration::from_secs(2);

/// The same once the user has interrupted the run.
const HURRIED: Duration = Duration::from_millis(250);

/// What the client does next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ClosingStep {
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
pub(super) struct Closing {
    deadline: MonoTime,
    wait: Duration,
    next_send: MonoTime,
    tries: u32,
    report: Option<Box<ServerReport>>,
    hurried: bool,
}

impl Closing {
    pub(super) fn new(now: MonoTime) -> Self {
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
    pub(super) fn hurry(&mut self, now: MonoTime) {
        if !self.hurried {
            self.hurried = true;
            self.deadline = self.deadline.min(now + HURRIED);
        }
    }

    /// A datagram arrived. Anything but a report is ignored: late data, the early
    /// acknowledgement of 2.0.13, echoes.
    pub(super) fn received(&mut self, datagram: &[u8]) {
        if self.report.is_none() {
            self.report = ServerReport::accept(datagram).map(Box::new);
        }
    }

    pub(super) fn next(&mut self, now: MonoTime) -> ClosingStep {
        if let Some(report) = &self.report {
            return ClosingStep::Reported(report.clone());
        }
        if now >= self.deadline {
            return ClosingStep::Unanswered { tries: self.tries };
        }
        if now >= self.next_send {
            self.tries += 1;
            self.next_send = now + self.wait;
            self.wait = (self.wait * 3 / 2).min(LONGEST_WAIT);
            return ClosingStep::Send {
                full: self.tries == 1,
            };
        }
        ClosingStep::Wait(self.next_send.min(self.deadline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(mut closing: Closing, report_after: Option<u32>) -> (u32, MonoTime, bool) {
        let mut now = MonoTime::ZERO;
        let mut sends = 0;
        loop {
            match closing.next(now) {
                ClosingStep::Send { full } => {
                    assert_eq!(full, sends == 0);
                    sends += 1;
                    if Some(sends) == report_after {
                        closing.received(&[1; 40]);
                        closing.received(&ServerReport::default().encode_16());
                    }
                }
                ClosingStep::Wait(until) => {
                    assert!(until > now);
                    now = until;
                }
                ClosingStep::Reported(_) => return (sends, now, true),
                ClosingStep::Unanswered { tries } => {
                    assert_eq!(tries, sends);
                    return (sends, now, false);
                }
            }
        }
    }

    #[test]
    fn a_report_ends_it_at_once() {
        let (sends, _, reported) = drive(Closing::new(MonoTime::ZERO), Some(1));
        assert_eq!((sends, reported), (1, true));
        let (sends, _, reported) = drive(Closing::new(MonoTime::ZERO), Some(4));
        assert_eq!((sends, reported), (4, true));
    }

    #[test]
    fn an_interrupt_shortens_it_once() {
        let at = |millis: u64| MonoTime::ZERO + Duration::from_millis(millis);
        let mut closing = Closing::new(at(0));
        closing.hurry(at(100));
        closing.hurry(at(200));
        assert!(!matches!(
            closing.next(at(349)),
            ClosingStep::Unanswered { .. }
        ));
        assert!(matches!(
            closing.next(at(350)),
            ClosingStep::Unanswered { .. }
        ));
        let mut late = Closing::new(at(0));
        late.hurry(at(1900));
        assert!(matches!(
            late.next(at(2000)),
            ClosingStep::Unanswered { .. }
        ));
    }

    #[test]
    fn silence_ends_it_after_two_seconds_and_few_datagrams() {
        let (sends, end, reported) = drive(Closing::new(MonoTime::ZERO), None);
        assert!(!reported);
        assert_eq!(end, MonoTime::ZERO + GIVE_UP);
        assert!((9..25).contains(&sends), "{sends}");
    }
}
