//! How far a method is, on standard error: in place on a terminal, a line for each phase into a pipe.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tapeline_base::MutexExt;
use tapeline_method::PlannedPhase;
use tapeline_report::method::{PhaseRecord, PhaseState};

/// Time between two drawings.
const EVERY: Duration = Duration::from_millis(500);
/// Takes the cursor to the beginning of its line, and empties that.
const ERASE: &str = "\r\u{1b}[2K";

/// What is known of the phases.
#[derive(Debug)]
struct State {
    /// Planned seconds of all phases together.
    total: f64,
    /// Of those that have begun or were left out.
    begun: f64,
    /// Number of the run and how many there are at most.
    run: Option<(u32, u32)>,
    /// The running one: title, number and how many, planned seconds, when it began.
    running: Option<(String, (usize, usize), f64, Instant)>,
}

impl State {
    /// `phase 3 of 9: window sweep up, about 2 min left`.
    fn line(&self, now: Instant) -> Option<String> {
        let (title, (number, count), planned, began) = self.running.as_ref()?;
        let passed = now.saturating_duration_since(*began).as_secs_f64();
        let left = (planned - passed).max(0.0) + (self.total - self.begun).max(0.0);
        let run = self
            .run
            .map_or_else(String::new, |(run, most)| format!("run {run}/{most}, "));
        Some(format!(
            "{run}phase {number} of {count}: {title}, about {} left",
            span(left)
        ))
    }
}

/// `45 s`, `2 min 10 s`.
fn span(seconds: f64) -> String {
    let seconds = seconds.ceil().clamp(0.0, 1e9) as u64;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// What both the method's thread and the drawing one see.
#[derive(Debug)]
struct Shared {
    state: Mutex<(State, bool)>,
    over: Condvar,
}

/// The progress of a method; gone when dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    shared: Arc<Shared>,
    drawer: Option<JoinHandle<()>>,
    /// Nothing is shown: a view has the terminal.
    silent: bool,
}

impl Progress {
    /// Of a method with these phases.
    pub(crate) fn start(phases: &[PlannedPhase], run: Option<(u32, u32)>, silent: bool) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::new((
                State {
                    total: phases.iter().map(|phase| phase.seconds).sum(),
                    begun: 0.0,
                    run,
                    running: None,
                },
                false,
            )),
            over: Condvar::new(),
        });
        let draws = io::stderr().is_terminal()
            && std::env::var_os("TERM").is_none_or(|it| it != "dumb")
            && !silent;
        let its = Arc::clone(&shared);
        // Without a thread there is no line.
        let drawer = draws.then(|| {
            std::thread::Builder::new()
                .name("progress".into())
                .spawn(move || draw(&its))
                .ok()
        });
        Self {
            shared,
            drawer: drawer.flatten(),
            silent,
        }
    }

    /// A phase begins, ends, or is left out.
    pub(crate) fn phase(&self, phase: &PhaseRecord, place: (usize, usize)) {
        let mut state = self.shared.state.lock_unpoisoned();
        let (state, _) = &mut *state;
        match phase.state {
            PhaseState::Running => {
                state.begun += phase.planned_seconds;
                let title = phase.title();
                state.running = Some((title, place, phase.planned_seconds, Instant::now()));
                if self.drawer.is_none()
                    && !self.silent
                    && let Some(line) = state.line(Instant::now())
                {
                    say(&format!("{line}\n"));
                }
            }
            PhaseState::Skipped => {
                state.begun += phase.planned_seconds;
                state.running = None;
                if self.drawer.is_none() && !self.silent {
                    let (number, count) = place;
                    let reason = phase.reason.as_deref().unwrap_or_default();
                    let title = phase.title();
                    say(&format!(
                        "phase {number} of {count}: {title} skipped: {reason}\n"
                    ));
                }
            }
            PhaseState::Done | PhaseState::Failed | PhaseState::Interrupted => {
                state.running = None;
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.shared.state.lock_unpoisoned().1 = true;
        self.shared.over.notify_all();
        if let Some(drawer) = self.drawer.take() {
            let _ = drawer.join();
        }
    }
}

/// Draws the line until all is over, then erases it.
fn draw(shared: &Shared) {
    let mut state = shared.state.lock_unpoisoned();
    while !state.1 {
        let line = state.0.line(Instant::now()).unwrap_or_default();
        say(&format!("{ERASE}{line}"));
        let waited = shared.over.wait_timeout(state, EVERY);
        (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
    }
    say(ERASE);
}

/// A terminal that went away shows nothing.
fn say(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_which_phase_and_how_long() {
        let began = Instant::now();
        let mut state = State {
            total: 150.0,
            begun: 30.0,
            run: None,
            running: Some(("window sweep up".into(), (3, 9), 12.0, began)),
        };
        let line = state.line(began + Duration::from_secs(2));
        let wanted = "phase 3 of 9: window sweep up, about 2 min 10 s left";
        assert_eq!(line.as_deref(), Some(wanted));
        // A phase that takes longer than planned leaves the others their time.
        let late = state.line(began + Duration::from_secs(60));
        assert!(late.is_some_and(|line| line.ends_with("about 2 min left")));
        state.run = Some((2, 5));
        let line = state.line(began).unwrap_or_default();
        assert!(line.starts_with("run 2/5, phase 3 of 9"), "{line}");
        state.running = None;
        assert_eq!(state.line(began), None);
    }
}
