//! Recorded sessions, replayed through the state machines without a socket.

use std::path::Path;

use serde_json::Value;
use tapeline_wire::iperf3::{
    Cookie, ErrorCode, LENGTH_PREFIX, Parameters, Results, ServerError, State,
};

use super::client_control::{ClientControl, ClientStep, ControlFailure};
use super::server_control::{ServerControl, ServerStep};

/// Who sent a message of the control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Client,
    Server,
}

struct Session {
    name: String,
    messages: Vec<(From, String, Vec<u8>)>,
}

impl Session {
    fn load_all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/vectors");
        let mut sessions = Vec::new();
        for entry in std::fs::read_dir(folder).expect("the folder of vectors") {
            let path = entry.expect("an entry").path();
            let name = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            if name.starts_with("iperf3-") {
                let text = std::fs::read_to_string(&path).expect("readable");
                let json = serde_json::from_str(&text).expect("JSON");
                sessions.push(Self::new(name, &json));
            }
        }
        sessions.sort_by(|a, b| a.name.cmp(&b.name));
        sessions
    }

    fn new(name: String, json: &Value) -> Self {
        let control = json["messages"].as_array().expect("messages").iter();
        let control = control.filter(|message| message["transport"] == "tcp control");
        let messages = control.map(|message| {
            let from = match message["direction"].as_str().expect("a direction") {
                "client->server" => From::Client,
                _ => From::Server,
            };
            let hex = message["hex"].as_str().expect("bytes").as_bytes().chunks(2);
            let bytes = hex
                .map(|pair| {
                    let digits = std::str::from_utf8(pair).expect("text");
                    u8::from_str_radix(digits, 16).expect("hex")
                })
                .collect();
            let name = message["name"].as_str().expect("a name").to_owned();
            (from, name, bytes)
        });
        Self {
            name,
            messages: messages.collect(),
        }
    }

    fn sent_by(&self, from: From) -> Vec<u8> {
        let messages = self.messages.iter().filter(|message| message.0 == from);
        messages.flat_map(|message| message.2.clone()).collect()
    }

    fn named(&self, from: From, name: &str) -> Option<&[u8]> {
        let mut messages = self.messages.iter();
        messages.find_map(|(who, what, bytes)| {
            (*who == from && what == name).then_some(bytes.as_slice())
        })
    }

    fn parameters(&self) -> Option<Parameters> {
        let message = self.named(From::Client, "params")?;
        Some(Parameters::parse(&message[LENGTH_PREFIX..]).expect("parameters"))
    }

    fn results(&self, from: From) -> Option<Results> {
        let message = self.named(from, "results")?;
        Some(Results::parse(&message[LENGTH_PREFIX..]).expect("results"))
    }
}

/// What came out of a replay.
#[derive(Debug, Default)]
struct Outcome {
    sent: Vec<u8>,
    finished: bool,
    failure: Option<ControlFailure>,
    their_results: Option<Results>,
}

/// Plays the recorded server's bytes to our client.
fn play_client(session: &Session) -> Option<Outcome> {
    let cookie = session.named(From::Client, "cookie")?;
    let cookie = Cookie::parse(cookie.try_into().expect("37 bytes")).expect("a cookie");
    let mut control = ClientControl::new(cookie, session.parameters().unwrap_or_default());
    let mut outcome = Outcome::default();
    let drive = |control: &mut ClientControl, outcome: &mut Outcome| {
        while let Some(step) = control.next() {
            match step {
                ClientStep::Send(bytes) => outcome.sent.extend(bytes),
                ClientStep::GiveResults => {
                    control.results(&session.results(From::Client).expect("results"));
                }
                ClientStep::TheirResults(results) => outcome.their_results = Some(results),
                ClientStep::Finished => outcome.finished = true,
                ClientStep::Failed(failure) => outcome.failure = Some(failure),
                ClientStep::OpenStreams | ClientStep::Start | ClientStep::Run => {}
            }
        }
    };
    drive(&mut control, &mut outcome);
    for (from, name, bytes) in &session.messages {
        match (from, name.as_str()) {
            (From::Server, _) => {
                // Byte by byte: nothing may depend on how segments were cut.
                for byte in bytes {
                    control.received(&[*byte]);
                    drive(&mut control, &mut outcome);
                }
            }
            (From::Client, "state TEST_END") => control.stop(),
            (From::Client, "state CLIENT_TERMINATE") => control.interrupt(),
            (From::Client, _) => {}
        }
        drive(&mut control, &mut outcome);
    }
    control.closed();
    drive(&mut control, &mut outcome);
    Some(outcome)
}

/// Plays the recorded client's bytes to our server, which decides as the recorded one did.
fn play_server(session: &Session) -> Option<Outcome> {
    session.named(From::Client, "params")?;
    let mut control = ServerControl::new();
    let mut outcome = Outcome::default();
    let refusal = session.named(From::Server, "SERVER_ERROR");
    let refusal = refusal.and_then(|bytes| ServerError::parse(&bytes[1..]));
    let admits = session
        .named(From::Server, "state CREATE_STREAMS")
        .is_some();
    let runs = session.named(From::Server, "state TEST_START").is_some();
    let drive = |control: &mut ServerControl, outcome: &mut Outcome| {
        while let Some(step) = control.next() {
            match step {
                ServerStep::Send(bytes) => outcome.sent.extend(bytes),
                ServerStep::Parameters(parameters) => {
                    assert_eq!(Some(*parameters), session.parameters());
                    if admits {
                        control.admit();
                    } else if let Some(error) = refusal {
                        control.refuse(error.code, error.errno);
                    }
                    if runs {
                        control.streams_ready();
                    }
                }
                ServerStep::Run => {}
                ServerStep::Stop => control.stopped(),
                ServerStep::TheirResults(results) => {
                    outcome.their_results = Some(results);
                    control.results(&session.results(From::Server).expect("results"));
                }
                ServerStep::Finished => outcome.finished = true,
                ServerStep::Failed(failure) => outcome.failure = Some(failure),
            }
        }
    };
    drive(&mut control, &mut outcome);
    for (from, name, bytes) in &session.messages {
        if *from == From::Client && name != "cookie" {
            for byte in bytes {
                control.received(&[*byte]);
                drive(&mut control, &mut outcome);
            }
        }
    }
    control.closed();
    drive(&mut control, &mut outcome);
    Some(outcome)
}

/// Messages but for the digits of fractions in JSON.
fn assert_same_messages(session: &Session, from: From, sent: &[u8]) {
    let mut rest = sent;
    for (_, name, bytes) in session.messages.iter().filter(|message| message.0 == from) {
        if name == "state IPERF_DONE" && !ended_in_order(session) && rest.is_empty() {
            // Said by 3.22 to a connection that is closed already.
            continue;
        }
        let place = format!("{}: {name}", session.name);
        if name == "results" {
            let length = u32::from_be_bytes(*rest.first_chunk().expect(&place)) as usize;
            let (json, after) = rest[LENGTH_PREFIX..].split_at(length);
            let mut recorded = Vec::new();
            let results = Results::parse(&bytes[LENGTH_PREFIX..]).expect(&place);
            results.encode(&mut recorded);
            assert_eq!(json, &recorded[LENGTH_PREFIX..], "{place}");
            rest = after;
        } else {
            let (message, after) = rest.split_at_checked(bytes.len()).expect(&place);
            assert_eq!(message, bytes, "{place}");
            rest = after;
        }
    }
    assert_eq!(rest, [0; 0], "{}: more than was recorded", session.name);
}

fn ended_in_order(session: &Session) -> bool {
    session.named(From::Client, "state IPERF_DONE").is_some()
        && session
            .named(From::Server, "state DISPLAY_RESULTS")
            .is_some()
}

#[test]
fn our_client_says_what_the_recorded_one_said() {
    let mut played = 0;
    for session in Session::load_all() {
        let Some(outcome) = play_client(&session) else {
            continue;
        };
        played += 1;
        assert_eq!(
            outcome.finished,
            ended_in_order(&session),
            "{}",
            session.name
        );
        assert_eq!(
            outcome.their_results,
            session.results(From::Server),
            "{}",
            session.name
        );
        assert_same_messages(&session, From::Client, &outcome.sent);
    }
    assert!(played >= 45, "{played} sessions");
}

#[test]
fn our_server_says_what_the_recorded_one_said() {
    let mut played = 0;
    for session in Session::load_all() {
        let Some(outcome) = play_server(&session) else {
            continue;
        };
        played += 1;
        assert_eq!(
            outcome.finished,
            ended_in_order(&session),
            "{}",
            session.name
        );
        if ended_in_order(&session) {
            assert_same_messages(&session, From::Server, &outcome.sent);
        }
    }
    assert!(played >= 40, "{played} sessions");
}

#[test]
fn a_server_that_gives_up_is_heard_in_every_phase() {
    let sessions = Session::load_all();
    let session = sessions
        .iter()
        .find(|session| session.name == "iperf3-tcp")
        .expect("recorded");
    let heard = session.sent_by(From::Server);
    for cut in 0..heard.len() {
        let cookie = Cookie::from_random([3; 36]);
        let mut control = ClientControl::new(cookie, Parameters::default());
        control.received(&heard[..cut]);
        let mut failure = None;
        control.stop();
        let mut drain = |control: &mut ClientControl| {
            while let Some(step) = control.next() {
                match step {
                    ClientStep::Failed(reason) => failure = Some(reason),
                    ClientStep::GiveResults => {
                        control.results(&session.results(From::Client).expect("results"));
                    }
                    _ => {}
                }
            }
        };
        drain(&mut control);
        control.received(&[0xfe, 0, 0, 0, 27, 0, 0, 0, 0]);
        control.closed();
        drain(&mut control);
        // In the midst of a JSON message the error is part of it; the end is noticed all the same.
        let failure = failure.expect("a failure");
        let whole =
            matches!(&failure, ControlFailure::Refused(error) if error.code == ErrorCode(27));
        assert!(whole || cut > 5, "after {cut} bytes: {failure:?}");
    }
}

#[test]
fn states_out_of_turn_end_the_test() {
    for state in [State::TestStart, State::DisplayResults, State::TestEnd] {
        let mut control = ClientControl::new(Cookie::from_random([0; 36]), Parameters::default());
        control.received(&[state.byte()]);
        let failures: Vec<ClientStep> = std::iter::from_fn(|| control.next()).collect();
        let expected = ClientStep::Failed(ControlFailure::OutOfTurn(state));
        assert_eq!(failures.last(), Some(&expected));
    }
    let mut control = ServerControl::new();
    control.received(&[State::TestEnd.byte()]);
    let steps: Vec<ServerStep> = std::iter::from_fn(|| control.next()).collect();
    assert!(
        matches!(steps.last(), Some(ServerStep::Failed(_))),
        "{steps:?}"
    );
    assert!(
        steps.contains(&ServerStep::Send(vec![0xfe, 0, 0, 0, 110, 0, 0, 0, 0])),
        "{steps:?}"
    );
}
