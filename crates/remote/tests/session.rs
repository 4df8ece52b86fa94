//! Sessions with hosts that behave, and with others.
#![cfg(unix)]

use std::ffi::OsString;
use std::time::Duration;

use tapeline_remote::{Body, Order, Session, SessionError, SessionFault, Transport};

/// More than any of these takes.
const LONG: Duration = Duration::from_secs(60);
/// The reply of a host that behaves.
const HELLO: &str =
    r#"{"id":1,"hello":{"version":"9","v":1,"system":"S","addresses":[],"cpus":1,"time":1.5}}"#;

/// A shell in the place of what reaches a host.
fn host(script: &str) -> Transport {
    Transport::Command(["sh", "-c", script].map(OsString::from).to_vec())
}

fn refused(script: &str, time: Duration) -> SessionError {
    Session::open(&host(script), time).expect_err("no session")
}

#[test]
fn a_session_has_orders_and_replies() {
    let script = format!(
        "echo Welcome; read line; echo '{HELLO}'; read line; echo '{{\"id\":2,\"t2\":1.5,\"t3\":2.5}}'; \
         cat >/dev/null; exit 3"
    );
    let session = Session::open(&host(&script), LONG).expect("a session");
    assert_eq!(session.hello().version, "9");
    let id = session.order(Order::Clock { t1: 0.5 }).expect("a process");
    let reply = session.replies().recv().expect("a reply");
    assert_eq!((reply.id, id), (Some(2), 2));
    assert_eq!(reply.body, Body::Clock { t2: 1.5, t3: 2.5 });
    session.close();
}

#[test]
fn what_ends_a_session_is_said() {
    let script = format!("read line; echo '{HELLO}'; echo 'Timeout, no answer.' >&2; exit 255");
    let session = Session::open(&host(&script), LONG).expect("a session");
    assert!(session.replies().recv().is_err());
    let text = session.lost().to_string();
    assert!(text.starts_with("lost tapeline on `sh -c "), "{text}");
    assert!(text.ends_with("`: Timeout, no answer."), "{text}");
}

#[test]
fn hosts_without_tapeline_are_refused_with_their_words() {
    let refused = |script: &str, code, words: &str| {
        let error = refused(script, LONG);
        let said = words.to_owned();
        assert_eq!(error.fault, SessionFault::Refused { code, said });
        error.to_string()
    };
    let text = refused("echo one >&2; echo '  two  ' >&2; exit 1", Some(1), "two");
    assert!(text.starts_with("tapeline on `sh"), "{text}");
    assert!(text.ends_with("did not begin: two"), "{text}");
    let text = refused(
        "echo Connection refused >&2; exit 255",
        Some(255),
        "Connection refused",
    );
    assert!(text.starts_with("sh cannot reach `sh"), "{text}");
    let text = refused("exit 127", Some(127), "");
    assert!(text.starts_with("no tapeline is found on `sh"), "{text}");
    let text = refused("exit 0", Some(0), "");
    assert!(
        text.ends_with("did not begin: sh ended with code 0"),
        "{text}"
    );
}

#[test]
fn a_host_of_another_version_is_refused() {
    let newer = HELLO.replace("\"v\":1", "\"v\":2");
    let error = refused(&format!("echo '{newer}'; cat"), LONG);
    let why = "it speaks version 2, not 1".to_owned();
    assert_eq!(error.fault, SessionFault::Version(why));
    let script = r#"echo '{"id":1,"error":{"id":"version","text":"too old"}}'; cat >/dev/null"#;
    let error = refused(script, LONG);
    assert_eq!(error.fault, SessionFault::Version("too old".to_owned()));
}

#[test]
fn a_silent_host_is_given_up() {
    let error = refused("exec sleep 1000", Duration::from_millis(20));
    assert_eq!(error.fault, SessionFault::Silent(0));
}

#[test]
fn a_flood_is_no_tapeline() {
    let flood = "tr '\\0' x </dev/zero | head -c 100000000";
    let error = refused(flood, LONG);
    assert!(
        matches!(&error.fault, SessionFault::NotTapeline(text) if text.len() < 100),
        "{error}"
    );
    let error = refused("while echo Welcome; do :; done", LONG);
    assert_eq!(error.fault, SessionFault::NotTapeline("Welcome".to_owned()));
    let script = format!("read line; echo '{HELLO}'; {flood}");
    let session = Session::open(&host(&script), LONG).expect("a session");
    assert!(session.replies().recv().is_err());
    assert!(matches!(session.lost().fault, SessionFault::NotTapeline(_)));
}

#[test]
fn destinations_and_programs_that_are_none_are_named() {
    let error = Session::open(&Transport::ssh("-oProxyCommand=x"), LONG).expect_err("refused");
    let text = "\"-oProxyCommand=x\" is no host for ssh: it begins with -";
    assert_eq!(error.to_string(), text);
    let error = Session::open(&Transport::Local("/no/such/program".into()), LONG);
    let text = error.expect_err("refused").to_string();
    assert!(
        text.starts_with("/no/such/program does not start: "),
        "{text}"
    );
}
