//! What an agent does about orders.

use std::time::Duration;

use serde_json::json;
use tapeline_base::MonoTime;
use tapeline_fleet::{
    Action, Agent, AgentEffect, AgentInput, AgentOrder, Answer, Ask, Attempt, AttemptKey, Epoch,
    How, Identity, Kept, Limits, Now, Refusal, ReplyId, ResultKey, Status, Stored, UnixTime,
};
use tapeline_remote::{Class, GivenOption, Listening};

fn at(seconds: u64) -> Now {
    Now {
        mono: MonoTime::ZERO + Duration::from_secs(seconds),
        wall: UnixTime(seconds as i64),
        utc_offset: 0,
    }
}

fn agent(limits: serde_json::Value, kept: Kept) -> Agent {
    let identity = Identity {
        host: "fra1".parse().expect("a name"),
        address: "192.0.2.1".into(),
        version: "0".into(),
    };
    let limits: Limits = serde_json::from_value(limits).expect("limits");
    let mut agent = Agent::new(identity, limits, kept, Vec::new(), 1);
    agent.handle(AgentInput::Connected, at(0));
    agent
}

fn attempt(number: u32) -> AttemptKey {
    AttemptKey {
        job: "j7".parse().expect("a name"),
        attempt: Attempt(number),
    }
}

fn reserve() -> Action {
    Action::Reserve {
        seconds: 10,
        class: Class::Exclusive,
        peer: "192.0.2.9".to_owned(),
        options: Vec::new(),
    }
}

fn serve() -> Action {
    Action::Serve {
        options: Vec::new(),
        allow: vec!["192.0.2.9".to_owned()],
    }
}

fn run() -> Action {
    Action::Run {
        options: Vec::new(),
        live: false,
    }
}

/// Gives an order; a lock that is tried is free.
fn order(
    agent: &mut Agent,
    epoch: u64,
    of: AttemptKey,
    action: Action,
    now: Now,
) -> Vec<AgentEffect> {
    let epoch = Epoch(epoch);
    let order = AgentOrder { of, epoch, action };
    let reply = ReplyId(1);
    let mut effects = agent.handle(AgentInput::Order { order, reply }, now);
    if let Some(AgentEffect::Lock(of)) = effects.last().cloned() {
        effects.extend(agent.handle(AgentInput::Locked { of, is_ours: true }, now));
    }
    effects
}

fn answer(effects: &[AgentEffect]) -> Option<&Answer> {
    effects.iter().find_map(|effect| match effect {
        AgentEffect::Answer { answer, .. } => Some(answer),
        _ => None,
    })
}

#[track_caller]
fn is_refused(effects: &[AgentEffect], expected: Refusal) {
    let found = answer(effects);
    assert!(
        matches!(found, Some(Answer::Refused { why, .. }) if *why == expected),
        "{found:?}"
    );
}

fn starts(effects: &[AgentEffect]) -> usize {
    let is_start = |effect: &&AgentEffect| matches!(effect, AgentEffect::Start { .. });
    effects.iter().filter(is_start).count()
}

#[test]
fn an_older_epoch_is_refused_also_after_a_restart() {
    let mut agent = agent(json!({}), Kept::default());
    let ask = Ask {
        epoch: Some(Epoch(9)),
    };
    let effects = agent.handle(AgentInput::Asked(ask), at(0));
    let AgentEffect::Keep(kept) = &effects[0] else {
        panic!("it is kept before the answer: {effects:?}");
    };
    is_refused(
        &order(&mut agent, 8, attempt(1), reserve(), at(0)),
        Refusal::OldEpoch,
    );
    let mut again = self::agent(json!({}), kept.clone());
    is_refused(
        &order(&mut again, 8, attempt(1), reserve(), at(0)),
        Refusal::OldEpoch,
    );
    let effects = order(&mut again, 9, attempt(1), reserve(), at(0));
    assert_eq!(answer(&effects), Some(&Answer::Granted { seconds: 40 }));
}

#[test]
fn an_owners_peers_are_those_of_the_test() {
    let limits = json!({"peers": ["192.0.2.0/24", "2001:db8::/32"]});
    let mut agent = agent(limits, Kept::default());
    let effects = order(&mut agent, 1, attempt(1), reserve(), at(0));
    assert_eq!(answer(&effects), Some(&Answer::Granted { seconds: 40 }));
    let towards = |host: &str| Action::Run {
        options: vec![GivenOption::new("client", host)],
        live: false,
    };
    let allow = vec!["192.0.2.9".to_owned(), "0.0.0.0/0".to_owned()];
    let wide = Action::Serve {
        options: Vec::new(),
        allow,
    };
    let others = [
        "198.51.100.1:5001",
        "[2001:db9::1]:5001",
        "2001:db9::1",
        "host",
    ];
    let others = others.into_iter().map(towards);
    for action in others.chain([run(), wide]) {
        is_refused(
            &order(&mut agent, 1, attempt(1), action, at(0)),
            Refusal::Limits,
        );
    }
    let effects = order(&mut agent, 1, attempt(1), towards("192.0.2.9:5001"), at(1));
    assert_eq!(
        (answer(&effects), starts(&effects)),
        (Some(&Answer::Started), 1)
    );
}

#[test]
fn repeated_orders_start_one_test() {
    let mut agent = agent(json!({}), Kept::default());
    for _ in 0..2 {
        let effects = order(&mut agent, 1, attempt(1), reserve(), at(0));
        assert_eq!(answer(&effects), Some(&Answer::Granted { seconds: 40 }));
    }
    is_refused(
        &order(&mut agent, 1, attempt(2), reserve(), at(0)),
        Refusal::Busy,
    );
    is_refused(
        &order(&mut agent, 1, attempt(2), run(), at(0)),
        Refusal::NotReserved,
    );
    let started: usize = (0..3)
        .map(|_| starts(&order(&mut agent, 1, attempt(1), serve(), at(1))))
        .sum();
    assert_eq!(started, 1);
    let ports = Listening {
        tcp: Some(5001),
        udp: None,
    };
    let of = attempt(1);
    agent.handle(AgentInput::Listening { of, ports }, at(1));
    let effects = order(&mut agent, 1, attempt(1), serve(), at(2));
    assert!(matches!(answer(&effects), Some(Answer::Listening(at)) if at.ports == ports));
    is_refused(
        &order(&mut agent, 1, attempt(1), run(), at(2)),
        Refusal::NotReserved,
    );
}

#[test]
fn a_slot_frees_itself_after_its_test_has_been_stopped() {
    let mut agent = agent(json!({}), Kept::default());
    order(&mut agent, 1, attempt(1), reserve(), at(0));
    order(&mut agent, 1, attempt(1), run(), at(1));
    assert!(
        !agent
            .handle(AgentInput::Tick, at(39))
            .contains(&AgentEffect::Stop(attempt(1)))
    );
    let effects = agent.handle(AgentInput::Tick, at(40));
    assert!(
        effects.contains(&AgentEffect::Stop(attempt(1))),
        "{effects:?}"
    );
    is_refused(
        &order(&mut agent, 1, attempt(2), reserve(), at(41)),
        Refusal::Busy,
    );
    let ended = AgentInput::Ended {
        of: attempt(1),
        how: How::Failed("it was stopped".to_owned()),
        document: None,
        bytes: 0,
    };
    assert!(agent.handle(ended, at(42)).contains(&AgentEffect::Unlock));
    let effects = order(&mut agent, 1, attempt(2), reserve(), at(43));
    assert_eq!(answer(&effects), Some(&Answer::Granted { seconds: 40 }));
}

#[test]
fn a_locked_host_grants_nothing() {
    let mut agent = agent(json!({}), Kept::default());
    let order = AgentOrder {
        of: attempt(1),
        epoch: Epoch(1),
        action: reserve(),
    };
    let reply = ReplyId(1);
    let effects = agent.handle(AgentInput::Order { order, reply }, at(0));
    assert!(
        answer(&effects).is_none(),
        "the lock comes first: {effects:?}"
    );
    let of = attempt(1);
    let effects = agent.handle(AgentInput::Locked { of, is_ours: false }, at(0));
    is_refused(&effects, Refusal::Busy);
}

#[test]
fn a_result_stays_until_it_is_stored() {
    let mut agent = agent(json!({}), Kept::default());
    order(&mut agent, 1, attempt(1), reserve(), at(0));
    order(&mut agent, 1, attempt(1), run(), at(1));
    let ended = AgentInput::Ended {
        of: attempt(1),
        how: How::Measured,
        document: Some("{}".to_owned()),
        bytes: 5,
    };
    let effects = agent.handle(ended, at(12));
    let key = ResultKey {
        of: attempt(1),
        host: "fra1".parse().expect("a name"),
    };
    let is_spooled = |effect: &AgentEffect| matches!(effect, AgentEffect::Spool { key: found, .. } if *found == key);
    assert!(effects.iter().any(is_spooled), "{effects:?}");
    let status = |agent: &mut Agent, seconds| {
        let effects = order(
            agent,
            1,
            attempt(1),
            Action::Renew { seconds: 0 },
            at(seconds),
        );
        match answer(&effects) {
            Some(Answer::Status { status }) => status.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        status(&mut agent, 12),
        Status::Running,
        "not before it is on the disk"
    );
    let (kept, bytes) = (key.clone(), Some(2));
    let effects = agent.handle(AgentInput::Kept { key: kept, bytes }, at(13));
    assert!(
        effects.contains(&AgentEffect::Publish(key.clone())),
        "{effects:?}"
    );
    agent.handle(AgentInput::Published { key: key.clone() }, at(13));
    assert_eq!(status(&mut agent, 14), Status::Ended(How::Measured));
    is_refused(
        &order(&mut agent, 1, attempt(1), reserve(), at(14)),
        Refusal::NotReserved,
    );
    let results = vec![key.clone()];
    let effects = agent.handle(AgentInput::Stored(Stored { results }), at(15));
    assert!(effects.contains(&AgentEffect::Unspool(key)), "{effects:?}");
    assert_eq!(status(&mut agent, 16), Status::Stored);
}

#[test]
fn the_owner_has_the_last_word() {
    let mut agent = agent(json!({"peers": ["198.51.100.0/24"]}), Kept::default());
    let effects = order(&mut agent, 1, attempt(1), reserve(), at(0));
    is_refused(&effects, Refusal::Limits);
}

#[test]
fn more_orders_than_twenty_a_second_are_refused() {
    let mut agent = agent(json!({}), Kept::default());
    let renew = || Action::Renew { seconds: 0 };
    for _ in 0..20 {
        order(&mut agent, 1, attempt(1), renew(), at(5));
    }
    is_refused(
        &order(&mut agent, 1, attempt(1), renew(), at(5)),
        Refusal::Busy,
    );
    let effects = order(&mut agent, 1, attempt(1), renew(), at(6));
    assert!(matches!(answer(&effects), Some(Answer::Status { .. })));
}
