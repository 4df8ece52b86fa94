//! The client of a test, on another host or in another process.

use std::sync::Mutex;

use serde_json::Value;
use tapeline_base::{ExitCode, MutexExt};
use tapeline_remote::{Body, Class, GivenOption, Order, Orders, Session};

use super::shown_forms::ShownForms;

/// Whether the test is to end, and what ends it.
#[derive(Debug, Default)]
pub(crate) struct Ending(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    is_wanted: bool,
    running: Option<(Orders, u64)>,
}

impl Ending {
    /// Asks the test to end in order, now or when it begins.
    pub(crate) fn ask(&self) {
        let mut state = self.0.lock_unpoisoned();
        state.is_wanted = true;
        if let Some((orders, which)) = &state.running {
            // A session that has gone has ended its test.
            let _ = orders.order(Order::Stop { which: *which });
        }
    }

    /// It was asked for.
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.lock_unpoisoned().is_wanted
    }

    fn begin(&self, orders: &Orders, which: u64) {
        self.0.lock_unpoisoned().running = Some((orders.clone(), which));
        if self.is_wanted() {
            self.ask();
        }
    }
}

/// How a test ended.
pub(crate) struct Outcome {
    pub(crate) code: ExitCode,
    /// What went wrong outside the test, in one sentence.
    pub(crate) fault: Option<String>,
    /// The lines of its `--json-stream`, if they were wanted.
    pub(crate) stream: Vec<u8>,
}

/// Runs a test and shows what is rendered of it; `keeps` collects its stream.
pub(crate) fn run(
    session: Session,
    options: Vec<GivenOption>,
    shown: &mut ShownForms,
    ending: &Ending,
    keeps: bool,
) -> Outcome {
    let mut outcome = Outcome {
        code: ExitCode::Failure,
        fault: None,
        stream: Vec::new(),
    };
    let order = session.order(Order::Run {
        options,
        live: true,
        class: Class::Exclusive,
    });
    let Ok(id) = order else {
        outcome.fault = Some(session.lost().to_string());
        return outcome;
    };
    ending.begin(session.orders(), id);
    for reply in session.replies() {
        if reply.id != Some(id) {
            continue;
        }
        match reply.body {
            Body::Event { event } if event["event"] == "rendered" => {
                let is_read = shown.show(&event["data"]);
                if !is_read {
                    ending.ask();
                }
            }
            Body::Event { event } if keeps => keep(&event, &mut outcome.stream),
            Body::End { code, .. } => {
                outcome.code = code.map_or(ExitCode::Failure, exit_code);
                session.close();
                return outcome;
            }
            Body::Error { error } => {
                if error.id == "usage" {
                    outcome.code = ExitCode::Usage;
                }
                outcome.fault = Some(error.text);
                session.close();
                return outcome;
            }
            _ => {}
        }
    }
    outcome.fault = Some(session.lost().to_string());
    outcome
}

fn keep(event: &Value, stream: &mut Vec<u8>) {
    stream.extend(event.to_string().into_bytes());
    stream.push(b'\n');
}

fn exit_code(code: i32) -> ExitCode {
    let known = [
        ExitCode::Success,
        ExitCode::Usage,
        ExitCode::Limited,
        ExitCode::Missed,
        ExitCode::Undecided,
    ];
    let same = known.into_iter().find(|one| i32::from(one.code()) == code);
    same.unwrap_or(ExitCode::Failure)
}
