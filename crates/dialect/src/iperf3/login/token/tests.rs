//! Against recorded logins, whose keys are test keys.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use serde_json::Value;
use tapeline_base::MonoTime;
use tapeline_testkit::captures::Session;

use super::*;
use crate::iperf3::login::gate::{self, Gate};
use crate::iperf3::login::pem_file;
use crate::plan::{Iperf3Authentication, RsaPadding};

const OK: &str = "iperf3-auth-ok";
const PKCS1: &str = "iperf3-auth-ok-pkcs1-c3.12-s3.22";
const BAD_PASSWORD: &str = "iperf3-auth-badpassword";
const NOW: i64 = 2_000_000_000;

fn keys() -> Value {
    Session::load(OK).test_keys
}

fn text(keys: &Value, name: &str) -> String {
    keys[name].as_str().expect("a text").to_owned()
}

fn gate(skew: Duration) -> Gate {
    let keys = keys();
    let plan = Iperf3Authentication {
        private_key: text(&keys, "private_pem"),
        users: format!("# users\n\nnobody\n{}", text(&keys, "users_csv")),
        skew,
    };
    Gate::new(&plan).expect("a gate")
}

fn login(user: &str, password: &str, padding: RsaPadding) -> Login {
    let credentials = Iperf3Credentials {
        user: user.into(),
        password: password.into(),
        public_key: text(&keys(), "public_pem"),
        padding,
    };
    Login::new(&credentials).expect("a login")
}

fn recorded(session: &str) -> String {
    let session = Session::load(session);
    let mut messages = session.messages.iter();
    let token = messages.find_map(|message| message.decoded["json"]["authtoken"].as_str());
    token.expect("a token").to_owned()
}
const SKEW: Duration = Duration::from_secs(10);

#[test]
fn logins_are_taken_in_both_paddings_and_only_once() {
    let gate = gate(SKEW);
    for padding in [RsaPadding::Oaep, RsaPadding::Pkcs1] {
        let token = login("mario", "rossi", padding).token(NOW).expect("fits");
        assert!(gate.admits(Some(&token), NOW), "{padding:?}");
        assert!(!gate.admits(Some(&token), NOW), "a replay");
        assert!(!gate.admits(Some(&token), NOW + 9), "a late replay");
        // Other white space and padding do not make it another login.
        assert!(!gate.admits(Some(&format!(" {token}\n")), NOW));
    }
}

#[test]
fn recorded_tokens_of_real_clients_are_understood() {
    // Their time is long gone: the largest skew lets them in.
    let forgiving = Duration::from_secs(u32::MAX.into());
    assert!(gate(forgiving).admits(Some(&recorded(OK)), NOW));
    assert!(gate(forgiving).admits(Some(&recorded(PKCS1)), NOW));
    assert!(!gate(forgiving).admits(Some(&recorded(BAD_PASSWORD)), NOW));
    assert!(!gate(SKEW).admits(Some(&recorded(OK)), NOW), "too old");
}

#[test]
fn clocks_may_differ_by_the_skew() {
    let gate = gate(SKEW);
    for (difference, taken) in [(-11, false), (-10, true), (10, true), (11, false)] {
        let login = login("mario", "rossi", RsaPadding::Oaep);
        let token = login.token(NOW + difference).expect("fits");
        assert_eq!(gate.admits(Some(&token), NOW), taken, "{difference}");
    }
}

#[test]
fn strangers_and_rubbish_stay_outside() {
    let gate = gate(SKEW);
    for (user, password) in [
        ("mario", "rosso"),
        ("luigi", "rossi"),
        ("", ""),
        ("nobody", ""),
    ] {
        let token = login(user, password, RsaPadding::Oaep).token(NOW);
        assert!(!gate.admits(token.ok().as_deref(), NOW), "{user}");
    }
    assert!(!gate.admits(None, NOW));
    for token in ["", "AAAA", "no base64 at all", &"A".repeat(4000)] {
        assert!(!gate.admits(Some(token), NOW), "{token:.9}");
    }
}

#[test]
fn each_failure_of_an_address_makes_the_next_answer_later() {
    let gate = gate(SKEW);
    let client = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let other = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let pause = |client, second| {
        let now = MonoTime::ZERO + Duration::from_secs(second);
        gate.pause(client, now).as_millis()
    };
    let pauses: Vec<_> = (0..6).map(|second| pause(client, second)).collect();
    assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 8000]);
    assert_eq!(pause(other, 6), 500);
    assert_eq!(pause(client, 70), 500, "forgotten");
}

#[test]
fn passwords_may_hold_blanks_but_no_line_ends() {
    assert_eq!(
        gate::fields("user: a b\npwd:  c d \nts:   12"),
        Some(("a b", "c d ", 12))
    );
    assert_eq!(gate::fields("user: a\npwd:  b"), None);
    let credentials = Iperf3Credentials {
        user: "mario".into(),
        password: "a\nts:   1".into(),
        public_key: text(&keys(), "public_pem"),
        padding: RsaPadding::Oaep,
    };
    assert!(Login::new(&credentials).is_err());
}

#[test]
fn keys_that_cannot_be_used_are_reported() {
    let keys = keys();
    let private = text(&keys, "private_pem");
    assert!(rsa::PublicKey::read(&private).is_err());
    assert!(rsa::PublicKey::read("").is_err());
    assert!(rsa::PrivateKey::read(&text(&keys, "public_pem")).is_err());
    let locked = private.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let why = rsa::PrivateKey::read(&locked).expect_err("locked");
    assert!(why.contains("password"), "{why}");
    // The older form is the same key without its envelope.
    let (_, der) = pem_file::pem(&private).expect("pem");
    let bare = base64::encode(&der[26..]);
    let older = format!("-----BEGIN RSA PRIVATE KEY-----\n{bare}\n-----END RSA PRIVATE KEY-----");
    assert!(rsa::PrivateKey::read(&older).is_ok());
}

#[test]
fn a_login_that_does_not_fit_the_key_is_reported() {
    let long = "x".repeat(300);
    assert!(login("mario", &long, RsaPadding::Oaep).token(NOW).is_err());
}
