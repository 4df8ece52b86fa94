//! How the reporter waits for what it is told.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tapeline_base::{Clock, MonoTime};

/// Commands that come one by one, each within [`QUICK`] of a wait for it, before they are gathered.
const MANY: u32 = 32;
/// A wait for one of many.
const QUICK: Duration = Duration::from_micros(300);
/// What is gathered waits no longer.
const GATHERING: Duration = Duration::from_millis(2);
/// Commands in that time that are worth it.
const WORTH: u32 = 8;

/// Takes commands as they come. Where they come in a stream, as from a client that only connects, each would
/// wake this thread and send it to sleep again, which costs more than the command: then they are gathered.
pub(crate) struct Inbox<'a, T> {
    commands: &'a Receiver<T>,
    /// Waits in a row that ended soon; commands since the last pause, where they are gathered.
    state: Coming,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coming {
    Singly { quick: u32 },
    InStream { since: u32 },
}

impl<'a, T> Inbox<'a, T> {
    pub(crate) fn new(commands: &'a Receiver<T>) -> Self {
        Self {
            commands,
            state: Coming::Singly { quick: 0 },
        }
    }

    /// The next command, until `due` where that is given.
    ///
    /// # Errors
    /// `Timeout` at `due`; `Disconnected` when nobody is left to command anything.
    pub(crate) fn next(
        &mut self,
        due: Option<MonoTime>,
        clock: &impl Clock,
    ) -> Result<T, RecvTimeoutError> {
        if let Coming::InStream { since } = self.state {
            if let Ok(command) = self.commands.try_recv() {
                self.state = Coming::InStream { since: since + 1 };
                return Ok(command);
            }
            if since >= WORTH {
                let left = due.map_or(GATHERING, |due| due.since(clock.now()));
                std::thread::sleep(left.min(GATHERING));
                self.state = Coming::InStream { since: 0 };
            } else {
                self.state = Coming::Singly { quick: 0 };
            }
        }
        let asked = clock.now();
        let command = match due {
            None => self
                .commands
                .recv()
                .map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => self.commands.recv_timeout(due.since(asked)),
        }?;
        self.state = match self.state {
            Coming::InStream { since } => Coming::InStream { since: since + 1 },
            Coming::Singly { .. } if clock.now().since(asked) > QUICK => {
                Coming::Singly { quick: 0 }
            }
            Coming::Singly { quick } if quick < MANY => Coming::Singly { quick: quick + 1 },
            Coming::Singly { .. } => Coming::InStream { since: WORTH },
        };
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use tapeline_base::WallTime;
    use tapeline_sys::SystemClock;

    use super::*;

    fn say(sender: &Sender<()>, count: u32) {
        for _ in 0..count {
            sender.send(()).expect("a reader");
        }
    }

    /// By which every wait ends at once.
    struct Still;

    impl Clock for Still {
        fn now(&self) -> MonoTime {
            MonoTime::ZERO
        }

        fn wall(&self) -> WallTime {
            WallTime::default()
        }
    }

    #[test]
    fn a_stream_of_commands_is_gathered_until_it_dries_up() {
        let (sender, commands) = channel();
        let mut inbox = Inbox::new(&commands);
        let mut take = |count: u32| {
            say(&sender, count);
            for _ in 0..count {
                assert!(inbox.next(None, &Still).is_ok());
            }
            inbox.state
        };
        assert_eq!(take(MANY), Coming::Singly { quick: MANY });
        assert_eq!(take(1), Coming::InStream { since: WORTH });
        assert_eq!(take(3), Coming::InStream { since: WORTH + 3 });
        // Behind a pause, so few are not worth another one.
        inbox.state = Coming::InStream { since: WORTH - 1 };
        let nothing = inbox.next(Some(MonoTime::ZERO), &Still);
        assert!(matches!(nothing, Err(RecvTimeoutError::Timeout)));
        assert_eq!(inbox.state, Coming::Singly { quick: 0 });
        drop(sender);
        let end = inbox.next(None, &Still);
        assert!(matches!(end, Err(RecvTimeoutError::Disconnected)));
    }

    #[test]
    fn a_pause_does_not_outlast_what_is_due() {
        let (sender, commands) = channel();
        let mut inbox = Inbox::new(&commands);
        inbox.state = Coming::InStream { since: WORTH };
        let due = SystemClock.now() + Duration::from_micros(200);
        let nothing = inbox.next(Some(due), &SystemClock);
        assert!(matches!(nothing, Err(RecvTimeoutError::Timeout)));
        assert!(SystemClock.now() >= due);
        say(&sender, 1);
        assert!(inbox.next(Some(due), &SystemClock).is_ok());
    }
}
