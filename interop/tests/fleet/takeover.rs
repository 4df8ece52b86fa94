//! Two controllers: whichever vanishes, the other goes on, and the first one's orders are refused.

use std::time::Duration;

use interop::Fleet;
use rustix::process::Signal;
use tapeline_fleet::{Answer, Epoch, Refusal, State};

use crate::client::{controller_access, events, with_key};
use crate::support::{SOON, options};

/// The other controller is active after this time.
const TAKEN: Duration = Duration::from_secs(20);
/// The first one is paused for so long.
const PAUSE: Duration = Duration::from_secs(30);

#[test]
fn a_paused_controller_is_replaced_and_refused() {
    let Some(options) = options("a_paused_controller_is_replaced_and_refused", 4, 2) else {
        return;
    };
    let fleet = Fleet::started(options);
    let (first, second) = (&fleet.controllers[0], &fleet.controllers[1]);
    let line = format!(
        "fleet run {} --wait --json -- -t 2",
        fleet.hosts_file(4).display()
    );
    let jobs = fleet.operator(&line).spawn().expect("tapeline");
    fleet.agents[0].await_log(SOON, "a test", |log| log.contains(": begins "));
    first.signal(Signal::STOP);
    let paused = std::time::Instant::now();
    second.await_log(TAKEN, "active", |log| log.contains(": is active (epoch "));
    // The pause is the subject here, and nothing announces its end.
    std::thread::sleep(PAUSE.saturating_sub(paused.elapsed()));
    first.signal(Signal::CONT);
    first.await_log(SOON, "standing by", |log| {
        log.rfind(": stands by") > log.rfind(": is active")
    });
    let ended = jobs.wait().expect("an end");
    assert_eq!(ended.code(), Some(0), "{ended}{}", fleet.logs());
    let epoch = |log: &str| -> u64 {
        let (_, rest) = log.rsplit_once("(epoch ").expect("an epoch");
        rest.split(')')
            .next()
            .expect("a number")
            .parse()
            .expect("a number")
    };
    let (old, new) = (epoch(&first.log()), epoch(&second.log()));
    assert!(old < new, "{old} {new}");
    let steps = events(&fleet);
    // By the server's order of writes: what the first one wrote before its pause, it may say after it.
    let of_second = steps.iter().filter(|step| step.epoch == Epoch(new));
    let began = of_second.map(|step| step.revision).min();
    let began = began.expect("the second one works");
    let stale: Vec<_> = steps
        .iter()
        .filter(|step| step.epoch < Epoch(new) && step.revision > began)
        .collect();
    assert!(stale.is_empty(), "{stale:?}");
    let done = steps
        .iter()
        .filter(|step| step.state == State::Done)
        .count();
    assert_eq!(done, 12, "{}", fleet.logs());
    assert_eq!(
        second.log().matches(": is active").count(),
        1,
        "it stays active"
    );
    // What the first one might still have sent: an order, and a renewal of its lease.
    with_key(&fleet, &controller_access(&fleet), async |holder| {
        for agent in &fleet.agents {
            let order =
                format!(r#"{{"job":"run/1/h1/h2","attempt":1,"epoch":{old},"do":"release"}}"#);
            let subject = format!("tl.v1.agent.lab.{}.do", agent.name());
            let answer = holder.ask(&subject, order.into_bytes()).await;
            let answer: Answer = serde_json::from_slice(&answer.payload).expect("an answer");
            let Answer::Refused { why, text } = answer else {
                panic!("{answer:?}");
            };
            assert_eq!(why, Refusal::OldEpoch, "{text}");
        }
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("Nats-Expected-Last-Subject-Sequence", old.to_string());
        let reply = holder.client.send_request(
            "$KV.tl_lease.controller.lab",
            async_nats::Request::new()
                .headers(headers)
                .payload("{}".into()),
        );
        let reply = reply.await.expect("an answer");
        let text = String::from_utf8_lossy(&reply.payload).into_owned();
        assert!(text.contains("wrong last sequence"), "{text}");
    });
}

#[test]
fn jobs_of_a_killed_controller_go_on() {
    let Some(options) = options("jobs_of_a_killed_controller_go_on", 4, 2) else {
        return;
    };
    let mut fleet = Fleet::started(options);
    let line = format!(
        "fleet run {} --wait --json -- -t 1",
        fleet.hosts_file(4).display()
    );
    let jobs = fleet.operator(&line).spawn().expect("tapeline");
    fleet.agents[0].await_log(SOON, "a test", |log| log.contains(": begins "));
    fleet.controllers[0].kill();
    let ended = jobs.wait().expect("an end");
    assert_eq!(ended.code(), Some(0), "{ended}{}", fleet.logs());
}
