//! The state of the TCP senders of a server that is tapeline too, while they send.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use tapeline_dialect::{MethodSession, Order, Sample, SessionEvent};

use crate::run::Run;

/// Time of an order beyond the run itself.
const AROUND: Duration = Duration::from_secs(15);
/// Time for the last of them.
const DONE: Duration = Duration::from_secs(3);

/// The samples of a run: of which test, and when they began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    pub(crate) test: NonZeroU32,
    pub(crate) began: Instant,
}

impl Sampling {
    /// Has the server's senders of a test sampled that is about to begin; `None` of a server that
    /// does not.
    pub(crate) fn begin(run: &mut Run<'_>, length: Duration) -> Option<Self> {
        let test = MethodSession::test_number();
        let order = Order::samples(test, length + AROUND);
        run.session()?.order(&order).ok()?;
        Some(Self {
            test,
            began: Instant::now(),
        })
    }

    /// The samples of the test, which has ended.
    pub(crate) fn end(run: &mut Run<'_>) -> Vec<Sample> {
        let Some(session) = run.session() else {
            return Vec::new();
        };
        session.end_order("the test is over");
        let mut samples = Vec::new();
        while let Ok(Some(event)) = session.next_event(DONE) {
            match event {
                SessionEvent::Sample(sample) => samples.push(sample),
                SessionEvent::Done(_) => break,
                SessionEvent::Status(_) => {}
            }
        }
        samples
    }
}
