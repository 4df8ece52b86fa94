//! What an agent's key is good for: the work of its own host, and nothing else.

use tapeline_base::SplitMix64;
use tapeline_fleet::Answer;

use interop::Fleet;

use crate::client::{agent_access, controller_access, with_key};
use crate::support::options;

/// Orders of random bytes that an agent gets.
const FUZZED: usize = 5000;

#[test]
fn a_stolen_key_gives_its_own_host_away_and_no_other() {
    let name = "a_stolen_key_gives_its_own_host_away_and_no_other";
    let Some(options) = options(name, 3, 1) else {
        return;
    };
    let fleet = Fleet::started(options);
    let run = fleet
        .operator("fleet run h2 h3 --wait -- -t 0.2")
        .run()
        .expect("tapeline");
    assert_eq!(run.code(), Some(0), "{run}{}", fleet.logs());
    with_key(&fleet, &agent_access(&fleet, "h1"), async |thief| {
        // To read results, and what else is stored.
        for subject in [
            "$JS.API.STREAM.MSG.GET.TL_RESULT",
            "$JS.API.DIRECT.GET.TL_RESULT",
            "$JS.API.STREAM.INFO.TL_RESULT",
            "$JS.API.CONSUMER.CREATE.TL_RESULT.x.tl.v1.result.lab.>",
            "$JS.API.CONSUMER.MSG.NEXT.TL_RESULT.collector",
            "$JS.API.STREAM.MSG.GET.KV_tl_job",
            "$JS.API.STREAM.NAMES",
        ] {
            thief.may_not_publish(subject).await;
        }
        // To order others.
        for subject in [
            "tl.v1.agent.lab.h2.do",
            "tl.v1.agent.lab.h1.do",
            "tl.v1.all.lab.ask",
            "$KV.tl_job.lab.run/1/h2/h3",
            "$KV.tl_schedule.lab.x",
            "$KV.tl_lease.controller.lab",
        ] {
            thief.may_not_publish(subject).await;
        }
        // To speak for others.
        for subject in [
            "tl.v1.result.lab.h2.run/1/h2/h3",
            "tl.v1.beat.lab.h2",
            "tl.v1.stored.lab.h2",
            "tl.v1.event.lab.run/1/h2/h3",
            "$JS.ACK.TL_RESULT.collector.1.1.1.1.1",
            "_INBOX-controller.x.1",
        ] {
            thief.may_not_publish(subject).await;
        }
        for subjects in [
            ">",
            "tl.v1.>",
            "tl.v1.result.>",
            "tl.v1.agent.lab.*.do",
            "tl.v1.agent.lab.h2.do",
            "tl.v1.stored.lab.h2",
            "tl.v1.event.lab.>",
            "$KV.>",
            "_INBOX-controller.>",
            "_INBOX_h2.>",
        ] {
            thief.may_not_subscribe(subjects).await;
        }
    });
    let mut results = fleet.results();
    results.sort();
    let hosts: Vec<&str> = results.iter().map(|result| result.host.as_str()).collect();
    assert_eq!(hosts, ["h2", "h3"], "nothing was forged");
}

/// Every order gets a refusal, and the host still works.
#[test]
fn nonsense_is_refused() {
    let Some(options) = options("nonsense_is_refused", 2, 1) else {
        return;
    };
    let fleet = Fleet::started(options);
    let good = br#"{"job":"run/1/h1/h2","attempt":1,"epoch":9999999999999,"do":"reserve",
        "seconds":1,"class":"exclusive","peer":"10.78.0.2","options":[]}"#;
    with_key(&fleet, &controller_access(&fleet), async |holder| {
        let mut random = SplitMix64::new(7);
        for _ in 0..FUZZED {
            let mut bytes = good.to_vec();
            // A first brace that is gone makes it no order, whatever else changes.
            bytes[0] = b'0' + (random.bits() % 10) as u8;
            for _ in 0..random.bits() % 8 {
                let at = 1 + (random.bits() as usize) % (bytes.len() - 1);
                bytes[at] = random.bits() as u8;
            }
            bytes.truncate(1 + (random.bits() as usize) % bytes.len());
            let answer = holder.ask("tl.v1.agent.lab.h1.do", bytes).await;
            let answer: Answer = serde_json::from_slice(&answer.payload).expect("an answer");
            assert!(matches!(answer, Answer::Refused { .. }), "{answer:?}");
        }
        let long = vec![b' '; 70_000];
        let answer = holder.ask("tl.v1.agent.lab.h1.do", long).await;
        let text = String::from_utf8_lossy(&answer.payload).into_owned();
        assert!(text.contains("an order of more than 65536 bytes"), "{text}");
    });
    let run = fleet
        .operator("fleet run h2 h1 --wait -- -t 0.2")
        .run()
        .expect("tapeline");
    assert_eq!(run.code(), Some(0), "{run}{}", fleet.logs());
}
