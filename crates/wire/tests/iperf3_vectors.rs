//! Recorded iperf3 sessions: every message is understood, and written again as it was.

use serde_json::Value;
use tapeline_testkit::captures::Session;
use tapeline_wire::iperf3::{
    Cookie, CounterWidth, DatagramHeader, LENGTH_PREFIX, Parameters, Results, ServerError, State,
    announced_length, is_connect, is_connect_reply, limits,
};

fn body(bytes: &[u8], max: usize) -> &[u8] {
    let (prefix, body) = bytes
        .split_first_chunk::<LENGTH_PREFIX>()
        .expect("a length");
    assert_eq!(announced_length(*prefix, max), Ok(body.len()));
    body
}

/// Objects equal as the reference would read them: the order of keys and the digits of
/// fractions are free.
fn same(ours: &[u8], theirs: &[u8]) -> bool {
    let parse = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("JSON");
    close(&parse(ours), &parse(theirs))
}

fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, value)| b.get(key).is_some_and(|other| close(value, other)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b))
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().expect("finite"), b.as_f64().expect("finite"));
            // Some versions write -1 as 2^64 - 1.
            let wrapped = |n: f64| {
                if n >= 1.8e19 {
                    n - 18_446_744_073_709_551_616.0
                } else {
                    n
                }
            };
            (wrapped(a) - wrapped(b)).abs() <= 1e-12 * a.abs().max(1.0) || (a < 0.0 && b > 1.8e19)
        }
        _ => a == b,
    }
}

#[test]
fn every_message_of_every_session_is_understood() {
    let sessions = Session::load_all();
    assert_eq!(sessions.len(), 46);
    let mut seen = 0;
    for session in &sessions {
        let mut width = CounterWidth::Narrow;
        for message in &session.messages {
            let place = format!("{}: {}", session.name, message.name);
            seen += 1;
            match message.name.as_str() {
                "cookie" => {
                    let bytes = message.bytes.as_slice().try_into().expect(&place);
                    let cookie = Cookie::parse(bytes).expect(&place);
                    assert_eq!(
                        Value::from(cookie.text()),
                        message.decoded["value"],
                        "{place}"
                    );
                }
                "params" => {
                    let body = body(&message.bytes, limits::MAX_PARAMETERS);
                    let parameters = Parameters::parse(body).expect(&place);
                    width = parameters.counters;
                    let mut again = Vec::new();
                    parameters.encode(&mut again);
                    let text = String::from_utf8_lossy(&message.bytes);
                    assert_eq!(String::from_utf8_lossy(&again), text, "{place}");
                }
                "results" => {
                    let body = body(&message.bytes, limits::MAX_RESULTS);
                    let results = Results::parse(body).expect(&place);
                    let mut again = Vec::new();
                    results.encode(&mut again);
                    assert!(same(&again[LENGTH_PREFIX..], body), "{place}");
                }
                "SERVER_ERROR" => {
                    assert_eq!(State::parse(message.bytes[0]), Ok(State::ServerError));
                    let error = ServerError::parse(&message.bytes[1..]).expect(&place);
                    assert_eq!(
                        Value::from(error.code.0),
                        message.decoded["i_errno"],
                        "{place}"
                    );
                    assert!(error.code.text().is_some(), "{place}");
                }
                "udp connect" => assert!(is_connect(&message.bytes), "{place}"),
                "udp connect reply" => assert!(is_connect_reply(&message.bytes), "{place}"),
                "udp data" => {
                    let header = DatagramHeader::read(&message.bytes, width).expect(&place);
                    assert_eq!(
                        Value::from(header.number),
                        message.decoded["packet"],
                        "{place}"
                    );
                    assert_eq!(
                        Value::from(header.seconds),
                        message.decoded["sec"],
                        "{place}"
                    );
                    assert_eq!(
                        Value::from(header.micros),
                        message.decoded["usec"],
                        "{place}"
                    );
                }
                "payload-head" => {}
                name => {
                    assert!(name.starts_with("state "), "{place}");
                    let state = State::parse(message.bytes[0]).expect(&place);
                    assert_eq!(state.byte(), message.bytes[0], "{place}");
                }
            }
        }
    }
    assert!(seen > 500, "{seen} messages");
}
