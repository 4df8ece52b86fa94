//! Recorded sessions, replayed through the state machines without a socket.

use std::collections::HashSet;

use tapeline_testkit::captures::{End, Session, seeds};
use tapeline_wire::iperf3::{
    Cookie, ErrorCode, LENGTH_PREFIX, Parameters, Results, ServerError, State,
};

use crate::fuzz::iperf3_control;
use crate::iperf3::client_control::{ClientControl, ClientStep, ControlFailure};
use crate::iperf3::server_control::{ServerControl, ServerStep};

fn recorded_parameters(session: &Session) -> Option<Parameters> {
    let message = session.named(End::Client, "params")?;
    Some(Parameters::parse(&message[LENGTH_PREFIX..]).expect("parameters"))
}

fn recorded_results(session: &Session, from: End) -> Option<Results> {
    let message = session.named(from, "results")?;
    Some(Results::parse(&message[LENGTH_PREFIX..]).expect("results"))
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
    let cookie = session.named(End::Client, "cookie")?;
    let cookie = Cookie::parse(cookie.try_into().expect("37 bytes")).expect("a cookie");
    let mut control = ClientControl::new(cookie, recorded_parameters(session).unwrap_or_default());
    let mut outcome = Outcome::default();
    let drive = |control: &mut ClientControl, outcome: &mut Outcome| {
        while let Some(step) = control.next() {
            match step {
                ClientStep::Send(bytes) => outcome.sent.extend(bytes),
                ClientStep::GiveResults => {
                    control.results(&recorded_results(session, End::Client).expect("results"));
                }
                ClientStep::TheirResults(results) => outcome.their_results = Some(results),
                ClientStep::Finished => outcome.finished = true,
                ClientStep::Failed(failure) => outcome.failure = Some(failure),
                ClientStep::OpenStreams | ClientStep::Start | ClientStep::Run => {}
            }
        }
    };
    drive(&mut control, &mut outcome);
    for message in session.control() {
        match (message.from, message.name.as_str()) {
            (End::Server, _) => {
                // Byte by byte: nothing may depend on how segments were cut.
                for byte in &message.bytes {
                    control.received(&[*byte]);
                    drive(&mut control, &mut outcome);
                }
            }
            (End::Client, "state TEST_END") => control.stop(),
            (End::Client, "state CLIENT_TERMINATE") => control.interrupt(),
            (End::Client, _) => {}
        }
        drive(&mut control, &mut outcome);
    }
    control.closed();
    drive(&mut control, &mut outcome);
    Some(outcome)
}

/// Plays the recorded client's bytes to our server, which decides as the recorded one did.
fn play_server(session: &Session) -> Option<Outcome> {
    session.named(End::Client, "params")?;
    let mut control = ServerControl::new();
    let mut outcome = Outcome::default();
    let refusal = session.named(End::Server, "SERVER_ERROR");
    let refusal = refusal.and_then(|bytes| ServerError::parse(&bytes[1..]));
    let admits = session.named(End::Server, "state CREATE_STREAMS").is_some();
    let runs = session.named(End::Server, "state TEST_START").is_some();
    let drive = |control: &mut ServerControl, outcome: &mut Outcome| {
        while let Some(step) = control.next() {
            match step {
                ServerStep::Send(bytes) => outcome.sent.extend(bytes),
                ServerStep::Parameters(parameters) => {
                    assert_eq!(Some(*parameters), recorded_parameters(session));
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
                    control.results(&recorded_results(session, End::Server).expect("results"));
                }
                ServerStep::Finished => outcome.finished = true,
                ServerStep::Failed(failure) => outcome.failure = Some(failure),
            }
        }
    };
    drive(&mut control, &mut outcome);
    for message in session.control() {
        if message.from == End::Client && message.name != "cookie" {
            for byte in &message.bytes {
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
fn assert_same_messages(session: &Session, from: End, sent: &[u8]) {
    let mut rest = sent;
    for message in session.control().filter(|message| message.from == from) {
        let (name, bytes) = (&message.name, &message.bytes);
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
    session.named(End::Client, "state IPERF_DONE").is_some()
        && session
            .named(End::Server, "state DISPLAY_RESULTS")
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
            recorded_results(&session, End::Server),
            "{}",
            session.name
        );
        assert_same_messages(&session, End::Client, &outcome.sent);
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
            assert_same_messages(&session, End::Server, &outcome.sent);
        }
    }
    assert!(played >= 40, "{played} sessions");
}

#[test]
fn a_server_that_gives_up_is_noticed_in_every_phase() {
    let session = Session::load("iperf3-tcp");
    let sent = session.sent_by(End::Server);
    for cut in 0..sent.len() {
        let cookie = Cookie::from_random([3; 36]);
        let mut control = ClientControl::new(cookie, Parameters::default());
        control.received(&sent[..cut]);
        let mut failure = None;
        control.stop();
        let mut drain = |control: &mut ClientControl| {
            while let Some(step) = control.next() {
                match step {
                    ClientStep::Failed(reason) => failure = Some(reason),
                    ClientStep::GiveResults => {
                        control.results(&recorded_results(&session, End::Client).expect("results"));
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
fn a_server_reads_no_results_that_no_client_sends() {
    let session = Session::load("iperf3-tcp");
    let mut control = ServerControl::new();
    let mut sent = Vec::new();
    let mut drive = |control: &mut ServerControl| {
        while let Some(step) = control.next() {
            match step {
                ServerStep::Parameters(_) => {
                    control.admit();
                    control.streams_ready();
                }
                ServerStep::Stop => control.stopped(),
                ServerStep::Send(bytes) => sent.extend(bytes),
                ServerStep::Failed(failure) => return Some(failure),
                _ => {}
            }
        }
        None
    };
    control.received(session.named(End::Client, "params").expect("recorded"));
    control.received(&[State::TestEnd.byte()]);
    assert_eq!(drive(&mut control), None);
    control.received(&[0, 0x20, 0, 0]);
    let failure = drive(&mut control);
    assert!(
        matches!(failure, Some(ControlFailure::Unexpected(_))),
        "{failure:?}"
    );
    assert!(
        sent.ends_with(&[0xfe, 0, 0, 0, 117, 0, 0, 0, 0]),
        "{sent:?}"
    );
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
/// How the recorded bytes arrive as seeds: cut by the first byte, admitted, never interrupted.
const AS_RECORDED: [u8; iperf3_control::HEAD] = [1, 3 << 5];

#[test]
fn every_kind_of_recorded_session_is_a_seed() {
    let mut known = HashSet::new();
    for session in Session::load_all() {
        for (target, from) in [
            ("iperf3_client", End::Server),
            ("iperf3_server", End::Client),
        ] {
            let sent = session.sent_by(from);
            let arrives = match from {
                End::Client => sent.get(Cookie::LENGTH..).unwrap_or_default(),
                End::Server => &sent,
            };
            let seed = [&AS_RECORDED, arrives].concat();
            if known.insert((target, seed.clone())) {
                let name = session.name.trim_start_matches("iperf3-");
                seeds::expect(target, name, &seed);
            }
        }
    }
    assert!(known.len() > 70, "only {} seeds", known.len());
}

#[test]
fn both_ends_keep_their_contract_on_every_seed() {
    for (target, check) in [
        ("iperf3_client", iperf3_control::client as fn(&[u8])),
        ("iperf3_server", iperf3_control::server),
    ] {
        let seeds = seeds::all(target);
        assert!(seeds.len() > 30, "only {} seeds of {target}", seeds.len());
        for mut seed in seeds {
            check(&seed);
            // Every decision, and an interruption after every step.
            for whim in (0..4).flat_map(|decision| (0..12).map(move |step| decision << 5 | step)) {
                if let Some(byte) = seed.get_mut(1) {
                    *byte = whim;
                }
                check(&seed);
            }
        }
    }
}
