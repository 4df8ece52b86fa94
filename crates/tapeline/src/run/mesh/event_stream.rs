//! What happens in a mesh, a line of JSON each (`--json-stream`), with its time, as of an ordinary test:
//!
//! | `event` | `data` |
//! |---|---|
//! | `start` | the hosts' names, and how many cells there will be |
//! | `progress` | how far it is, in words |
//! | `cell` | what came of a test: a cell of `tapeline-mesh/1` without its report |
//! | `saved`, `unsaved` | what was kept in the history, or why not |

use std::io::{self, Write};

use serde::Serialize;
use tapeline_base::Clock;
use tapeline_report::document::event_line;
use tapeline_sys::SystemClock;

/// Writes the lines, if they are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventStream {
    is_wanted: bool,
}

impl EventStream {
    pub(crate) const fn new(is_wanted: bool) -> Self {
        Self { is_wanted }
    }

    /// Whether somebody reads them.
    pub(crate) const fn is_wanted(self) -> bool {
        self.is_wanted
    }

    /// Says that something happened.
    pub(crate) fn say(self, event: &str, data: &impl Serialize) {
        if self.is_wanted {
            let line = event_line(event, SystemClock.wall(), data);
            let mut output = io::stdout().lock();
            // Whoever reads no more has the result in the other forms.
            let _ = output
                .write_all(line.as_bytes())
                .and_then(|()| output.flush());
        }
    }
}
