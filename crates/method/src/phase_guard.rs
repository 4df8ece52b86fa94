//! What ends a phase before its time: a signal, or its time limit.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tapeline_base::MutexExt;
use tapeline_dialect::Interruption;

use crate::error::RunError;

/// Time between two looks at the clock and at the user's wish.
const POLL: Duration = Duration::from_millis(50);
/// A phase may take twice its planned time and so long.
const GRACE: Duration = Duration::from_secs(30);

/// The time limit of a phase.
pub(crate) fn time_limit(planned: Duration) -> Duration {
    planned.saturating_mul(2) + GRACE
}

/// Watches over the running phase, and ends what runs in it.
pub(crate) struct PhaseGuard<'a> {
    user: &'a Interruption,
    over: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    deadline: Option<Instant>,
    overran: bool,
    next: u64,
    running: Vec<(u64, Interruption)>,
}

impl<'a> PhaseGuard<'a> {
    pub(crate) fn new(user: &'a Interruption) -> Self {
        Self {
            user,
            over: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// Watches until [`end`](Self::end); on a thread of its own.
    pub(crate) fn watch(&self) {
        while !self.over.load(Ordering::Relaxed) {
            if self.user.is_raised_within(POLL) {
                // The wait has become no wait.
                std::thread::sleep(POLL);
            }
            let mut state = self.state.lock_unpoisoned();
            if state.deadline.is_some_and(|at| Instant::now() >= at) {
                state.overran = true;
            }
            if state.overran || self.user.is_raised() {
                state
                    .running
                    .iter()
                    .for_each(|(_, running)| running.interrupt());
            }
        }
    }

    /// Ends [`watch`](Self::watch).
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// A phase begins, of which so long is planned.
    pub(crate) fn begin(&self, planned: Duration) {
        let mut state = self.state.lock_unpoisoned();
        state.deadline = Some(Instant::now() + time_limit(planned));
    }

    /// The phase may go on.
    ///
    /// # Errors
    /// Why it may not.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        if self.user.is_raised() {
            return Err(RunError::Interrupted);
        }
        let state = self.state.lock_unpoisoned();
        let late = state.deadline.is_some_and(|at| Instant::now() >= at);
        if state.overran || late {
            return Err(RunError::Overran);
        }
        Ok(())
    }

    /// Waits.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(crate) fn wait(&self, span: Duration) -> Result<(), RunError> {
        let until = Instant::now() + span;
        loop {
            self.check()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(POLL));
        }
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.user.is_raised()
    }

    /// Something runs that this interruption ends, as long as the registration lives.
    pub(crate) fn register(&self, interruption: &Interruption) -> Registration<'_> {
        let mut state = self.state.lock_unpoisoned();
        state.next += 1;
        let number = state.next;
        state.running.push((number, interruption.clone()));
        Registration {
            state: &self.state,
            number,
        }
    }
}

/// Takes what runs off the list when dropped.
pub(crate) struct Registration<'a> {
    state: &'a Mutex<State>,
    number: u64,
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        let mut state = self.state.lock_unpoisoned();
        state.running.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_ends_what_runs_and_what_would_begin() {
        let user = Interruption::new().expect("an interruption");
        let guard = PhaseGuard::new(&user);
        let (kept, gone) = (
            Interruption::new().expect("an interruption"),
            Interruption::new().expect("an interruption"),
        );
        std::thread::scope(|scope| {
            scope.spawn(|| guard.watch());
            let registered = guard.register(&kept);
            drop(guard.register(&gone));
            assert_eq!(guard.check(), Ok(()));
            user.interrupt();
            assert!(kept.is_raised_within(Duration::from_secs(5)));
            assert_eq!(guard.check(), Err(RunError::Interrupted));
            drop(registered);
            guard.end();
        });
        assert!(!gone.is_raised());
    }

    #[test]
    fn the_time_limit_is_twice_the_plan_and_half_a_minute() {
        assert_eq!(time_limit(Duration::from_secs(5)), Duration::from_secs(40));
    }
}
