//! How far a mesh is: one line on a terminal, drawn in place.

use std::io::{self, IsTerminal, Stderr, Write};
use std::time::Duration;

use serde_json::json;
use tapeline_mesh::{Forecast, MeshPlan, Pair};

use super::event_stream::EventStream;
use crate::run::printer::speaks_utf8;

/// Takes the cursor to the beginning of its line, and empties that.
const ERASE: &str = "\r\u{1b}[2K";
/// Width of a terminal that does not say its own.
const WIDTH: usize = 80;

/// The line.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Standard error, if people look on.
    terminal: Option<Stderr>,
    stream: EventStream,
    /// What the stream was given last.
    said: String,
    width: usize,
}

impl Progress {
    pub(crate) fn new(stream: EventStream) -> Self {
        let errors = io::stderr();
        let size = terminal_size::terminal_size_of(&errors);
        Self {
            width: size.map_or(WIDTH, |(width, _)| usize::from(width.0)),
            terminal: errors.is_terminal().then_some(errors),
            stream,
            said: String::new(),
        }
    }

    /// Draws it anew.
    pub(crate) fn draw(&mut self, text: &str) {
        if self.said != text {
            text.clone_into(&mut self.said);
            self.stream.say("progress", &json!({ "text": text }));
        }
        if let Some(terminal) = &mut self.terminal {
            let shown: String = text.chars().take(self.width.saturating_sub(1)).collect();
            // Without standard error nobody reads it.
            let _ = write!(terminal, "{ERASE}{shown}").and_then(|()| terminal.flush());
        }
    }

    /// Draws how far the tests are, with `left` that wait or run.
    pub(crate) fn draw_tests(
        &mut self,
        plan: &MeshPlan,
        forecast: &Forecast,
        left: usize,
        running: impl Iterator<Item = Pair>,
    ) {
        if self.terminal.is_some() || self.stream.is_wanted() {
            let text = tests(plan, forecast, left, running, self.width);
            self.draw(&text);
        }
    }

    /// Takes it away.
    pub(crate) fn erase(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            let _ = write!(terminal, "{ERASE}").and_then(|()| terminal.flush());
        }
    }
}

/// `slot 7 of 10   fra1 → osl1  fra2 → ams1   eta 0:36`, with `left` tests that wait or run.
fn tests(
    plan: &MeshPlan,
    forecast: &Forecast,
    left: usize,
    running: impl Iterator<Item = Pair>,
    width: usize,
) -> String {
    let all = forecast.tests.max(1);
    let ended = all.saturating_sub(left);
    let slots = forecast.slots as usize;
    let slot = (ended * slots / all + 1).min(slots);
    let head = format!("slot {slot} of {slots} ");
    let eta = forecast.time.mul_f64(left.min(all) as f64 / all as f64);
    let eta = format!("   eta {}", minutes(eta));
    let mut pairs = String::new();
    let mut room = width.saturating_sub(head.chars().count() + eta.chars().count() + 4);
    for pair in running {
        let [from, to] = [pair.from, pair.to].map(|host| &plan.host(host).name);
        let arrow = if speaks_utf8() { "→" } else { "->" };
        let shown = format!("  {from} {arrow} {to}");
        let Some(left) = room.checked_sub(shown.chars().count()) else {
            pairs.push_str(" ...");
            break;
        };
        room = left;
        pairs.push_str(&shown);
    }
    head + &pairs + &eta
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use tapeline_mesh::{Host, HostId, Mode, Pattern, Via};

    use super::*;

    #[test]
    fn the_line_says_who_tests_and_fits() {
        let host = |number: usize| Host {
            name: format!("h{number}"),
            destination: format!("h{number}"),
            via: Via::Ssh,
            address: None,
            groups: Vec::new(),
        };
        let plan = MeshPlan {
            hosts: (0..6).map(host).collect(),
            shared: Vec::new(),
            pattern: Pattern::Full,
            seed: 0,
            test: Vec::new(),
            mode: Mode::InTurn,
        };
        let forecast = Forecast::new(&plan, Duration::from_secs(10)).expect("a forecast");
        let running = [(0, 5), (1, 4), (2, 3)].map(|(from, to)| Pair {
            from: HostId(from),
            to: HostId(to),
        });
        let line = |left, width| super::tests(&plan, &forecast, left, running.into_iter(), width);
        let line = |left, width| line(left, width).replace("->", "→");
        assert_eq!(
            line(12, 80),
            "slot 7 of 10   h0 → h5  h1 → h4  h2 → h3   eta 0:44"
        );
        assert_eq!(line(30, 45), "slot 1 of 10   h0 → h5 ...   eta 1:50");
        assert!(line(0, 80).starts_with("slot 10 of 10"));
    }
}
