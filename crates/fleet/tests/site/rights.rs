//! What the server grants and refuses.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull, push};
use async_nats::jetstream::{self, Context};
use futures_util::StreamExt as _;
use tapeline_fleet::{Bucket, SiteName, Stream, collector_name, streams};

use crate::server::{Connection, Site, enrol, soon};

const HOSTS: [&str; 2] = ["fra1", "osl1"];

fn lab() -> SiteName {
    "lab".parse().expect("a name")
}

/// The streams as a controller makes them when it starts; twice, as after its restart.
async fn make_streams(controller: &Connection) -> Context {
    let context = jetstream::new(controller.client.clone());
    let streams = streams();
    for config in streams.iter().chain(&streams) {
        let name = &config.name;
        let made = soon("stream", context.create_stream(config)).await;
        made.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    context
}

/// Publishes what a stream keeps.
async fn publish(context: &Context, subject: String, payload: &'static str) {
    let sent = context.publish(subject, payload.into()).await;
    let acknowledged = soon("acknowledgement", sent.expect("sent").into_future()).await;
    acknowledged.expect("stored");
}

/// A write to a key, which is at this revision.
async fn write(context: &Context, key: &str, value: &'static str, expected: u64) -> Option<u64> {
    let mut headers = HeaderMap::new();
    headers.insert(
        "Nats-Expected-Last-Subject-Sequence",
        expected.to_string().as_str(),
    );
    let sent = context
        .publish_with_headers(key.to_owned(), headers, value.into())
        .await;
    let acknowledged = soon("acknowledgement", sent.expect("sent").into_future()).await;
    acknowledged.ok().map(|done| done.sequence)
}

#[tokio::test]
async fn an_agent_gets_orders_and_gives_results_and_no_more() {
    let Some(site) = Site::start("rights of an agent", &HOSTS) else {
        return;
    };
    let controller = Connection::new(&site.controller()).await;
    make_streams(&controller).await;
    let agent = Connection::new(&site.agent("fra1")).await;
    let collector = Connection::new(&site.collector()).await;
    for subjects in [
        "tl.v1.all.lab.ask",
        "tl.v1.stored.lab.fra1",
        "_INBOX_fra1.>",
    ] {
        agent.subscribe(subjects).await;
    }
    let mut orders = agent.subscribe("tl.v1.agent.lab.fra1.do").await;
    let mut beats = controller.subscribe("tl.v1.beat.lab.*").await;
    let answering = async {
        let order = soon("order", orders.next()).await.expect("an order");
        let reply = order.reply.expect("an inbox");
        agent
            .client
            .publish(reply, "done".into())
            .await
            .expect("sent");
    };
    // The subscription is there once the beat is: the server takes both in their order.
    agent
        .client
        .publish("tl.v1.beat.lab.fra1", "b".into())
        .await
        .expect("sent");
    soon("beat", beats.next()).await.expect("a beat");
    let order = controller
        .client
        .request("tl.v1.agent.lab.fra1.do", "order".into());
    let (answer, ()) = tokio::join!(order, answering);
    assert_eq!(&*answer.expect("an answer").payload, b"done");
    let context = jetstream::new(agent.client.clone());
    for sequence in [1, 1, 2] {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", format!("j.{sequence}.fra1").as_str());
        let sent = context.publish_with_headers("tl.v1.result.lab.fra1.j", headers, "r".into());
        let acknowledged = soon("acknowledgement", sent.await.expect("sent").into_future()).await;
        assert_eq!(acknowledged.expect("stored").sequence, sequence);
    }
    agent
        .client
        .publish("tl.v1.live.j", "l".into())
        .await
        .expect("sent");
    agent.was_never_refused().await;
    controller.was_never_refused().await;
    collector.was_never_refused().await;
    for subject in [
        "tl.v1.agent.lab.osl1.do",
        "tl.v1.agent.lab.fra1.do",
        "tl.v1.all.lab.ask",
        "tl.v1.beat.lab.osl1",
        "tl.v1.result.lab.osl1.j",
        "tl.v1.stored.lab.fra1",
        "tl.v1.event.lab.j",
        "$KV.tl_job.lab.j",
        "$KV.tl_lease.controller.lab",
        "$JS.API.STREAM.DELETE.TL_RESULT",
        "$JS.API.STREAM.MSG.GET.TL_RESULT",
        "$JS.API.DIRECT.GET.TL_RESULT",
        "$JS.API.STREAM.INFO.TL_RESULT",
        "$JS.API.CONSUMER.CREATE.TL_RESULT",
        "$JS.API.CONSUMER.MSG.NEXT.TL_RESULT.collector",
        "$JS.ACK.TL_RESULT.collector.1.1.1.1.1",
        "_INBOX-controller.x.1",
        "_INBOX_osl1.x.1",
    ] {
        agent.may_not_publish(subject).await;
    }
    for subjects in [
        ">",
        "tl.v1.>",
        "tl.v1.agent.lab.osl1.do",
        "tl.v1.agent.lab.*.do",
        "tl.v1.result.lab.osl1.>",
        "tl.v1.stored.lab.*",
        "tl.v1.beat.lab.*",
        "_INBOX-controller.>",
        "_INBOX_osl1.>",
        "_INBOX.>",
        "$JS.>",
        "$KV.>",
    ] {
        agent.may_not_subscribe(subjects).await;
    }
}

#[tokio::test]
async fn a_controller_makes_the_streams_and_keeps_the_jobs() {
    let Some(site) = Site::start("rights of a controller", &HOSTS) else {
        return;
    };
    let controller = Connection::new(&site.controller()).await;
    let context = make_streams(&controller).await;
    let first = write(&context, "$KV.tl_job.lab.j", "queued", 0)
        .await
        .expect("written");
    assert_eq!(write(&context, "$KV.tl_job.lab.j", "other", 0).await, None);
    let second = write(&context, "$KV.tl_job.lab.j", "running", first)
        .await
        .expect("written");
    write(&context, "$KV.tl_lease.controller.lab", "me", 0)
        .await
        .expect("written");
    publish(&context, "tl.v1.event.lab.j".to_owned(), "e").await;
    let jobs = context.get_stream("KV_tl_job").await.expect("the bucket");
    let job = soon(
        "value",
        jobs.direct_get_last_for_subject("$KV.tl_job.lab.j"),
    )
    .await;
    let job = job.expect("a value");
    assert_eq!((&*job.payload, job.sequence), (&b"running"[..], second));
    for bucket in Bucket::ALL {
        let stream = context
            .get_stream(bucket.stream())
            .await
            .expect("the bucket");
        let filter = bucket.of_site(&lab());
        let watch = stream.create_consumer(push::OrderedConfig {
            deliver_subject: controller.client.new_inbox(),
            filter_subject: filter.clone(),
            deliver_policy: DeliverPolicy::LastPerSubject,
            ..Default::default()
        });
        let watch = soon("watch", watch).await.expect("a watch");
        let mut changes = watch.messages().await.expect("changes");
        let pulled = stream.create_consumer(pull::OrderedConfig {
            filter_subject: filter,
            deliver_policy: DeliverPolicy::LastPerSubject,
            ..Default::default()
        });
        let pulled = soon("pull", pulled).await.expect("a consumer");
        let mut pulls = pulled.messages().await.expect("messages");
        if matches!(bucket, Bucket::Job | Bucket::Lease) {
            soon("change", changes.next())
                .await
                .expect("one")
                .expect("a change");
            soon("message", pulls.next())
                .await
                .expect("one")
                .expect("a message");
        }
    }
    let purged = jobs.purge().filter("$KV.tl_job.lab.j");
    assert_eq!(
        soon("purge", purged.into_future())
            .await
            .expect("purged")
            .purged,
        1
    );
    controller.was_never_refused().await;
    for subject in [
        "$KV.tl_job.other.j",
        "$KV.tl_lease.controller.other",
        "$JS.API.STREAM.DELETE.KV_tl_job",
        "$JS.API.STREAM.DELETE.TL_RESULT",
        "$JS.API.STREAM.PURGE.TL_RESULT",
        "$JS.API.STREAM.CREATE.other",
        "$JS.API.CONSUMER.CREATE.KV_tl_job.x.$KV.tl_job.other.>",
        "$JS.API.CONSUMER.DELETE.TL_RESULT.collector",
        "tl.v1.stored.lab.fra1",
        "tl.v1.beat.lab.fra1",
    ] {
        controller.may_not_publish(subject).await;
    }
    controller.may_not_subscribe("tl.v1.result.lab.>").await;
}

#[tokio::test]
async fn a_consumer_cannot_ask_for_more_than_its_subject_says() {
    let Some(site) = Site::start("filter of a consumer", &HOSTS) else {
        return;
    };
    let controller = Connection::new(&site.controller()).await;
    make_streams(&controller).await;
    let subject = "$JS.API.CONSUMER.CREATE.KV_tl_job.x.$KV.tl_job.lab.>";
    let config = r#"{"stream_name":"KV_tl_job","config":{"name":"x","ack_policy":"none",
        "deliver_policy":"all","filter_subject":"$KV.tl_job.other.>"}}"#;
    let answer = controller
        .client
        .request(subject, config.into())
        .await
        .expect("an answer");
    let answer = String::from_utf8_lossy(&answer.payload).into_owned();
    assert!(answer.contains("\"error\""), "{answer}");
}

#[tokio::test]
async fn the_collector_takes_results_and_says_stored() {
    let Some(site) = Site::start("rights of the collector", &HOSTS) else {
        return;
    };
    let controller = Connection::new(&site.controller()).await;
    let context = make_streams(&controller).await;
    write(&context, "$KV.tl_job.lab.j", "queued", 0)
        .await
        .expect("written");
    let agent = Connection::new(&site.agent("osl1")).await;
    let mut stored = agent.subscribe("tl.v1.stored.lab.osl1").await;
    let results = jetstream::new(agent.client.clone());
    publish(&results, "tl.v1.result.lab.osl1.j".to_owned(), "r").await;
    let collector = Connection::new(&site.collector()).await;
    let context = jetstream::new(collector.client.clone());
    let stream = context.get_stream("TL_RESULT").await.expect("the stream");
    let config = pull::Config {
        durable_name: Some(collector_name(&lab())),
        name: Some(collector_name(&lab())),
        ack_policy: AckPolicy::Explicit,
        ack_wait: Duration::from_secs(30),
        filter_subject: Stream::Result.of_site(&lab()),
        ..Default::default()
    };
    for _start in 0..2 {
        let made = stream.create_consumer(config.clone());
        soon("consumer", made).await.expect("a consumer");
    }
    let consumer = stream
        .get_consumer::<pull::Config>(&collector_name(&lab()))
        .await
        .expect("a consumer");
    let mut messages = consumer.messages().await.expect("messages");
    let message = soon("result", messages.next())
        .await
        .expect("one")
        .expect("a result");
    assert_eq!(&*message.payload, b"r");
    soon("acknowledgement", message.double_ack())
        .await
        .expect("acknowledged");
    collector
        .client
        .publish("tl.v1.stored.lab.osl1", "s".into())
        .await
        .expect("sent");
    soon("word", stored.next()).await.expect("stored");
    let jobs = context.get_stream("KV_tl_job").await.expect("the bucket");
    let watch = jobs.create_consumer(pull::OrderedConfig {
        filter_subject: Bucket::Job.of_site(&lab()),
        ..Default::default()
    });
    let mut watch = soon("watch", watch)
        .await
        .expect("it")
        .messages()
        .await
        .expect("messages");
    soon("job", watch.next())
        .await
        .expect("one")
        .expect("a job");
    collector.subscribe("tl.v1.beat.lab.*").await;
    collector.was_never_refused().await;
    agent.was_never_refused().await;
    for subject in [
        "$KV.tl_job.lab.j",
        "tl.v1.result.lab.osl1.j",
        "tl.v1.agent.lab.osl1.do",
        "$JS.API.STREAM.DELETE.TL_RESULT",
        "$JS.API.STREAM.PURGE.TL_RESULT",
        "$JS.API.CONSUMER.CREATE.TL_RESULT.collector.tl.v1.result.>",
        "$JS.API.CONSUMER.CREATE.TL_RESULT.other.tl.v1.result.lab.>",
    ] {
        collector.may_not_publish(subject).await;
    }
}

#[tokio::test]
async fn an_operator_submits_jobs_and_reads_what_became_of_them() {
    let Some(site) = Site::start("rights of an operator", &HOSTS) else {
        return;
    };
    let controller = Connection::new(&site.controller()).await;
    let made = make_streams(&controller).await;
    publish(&made, "tl.v1.event.lab.j".to_owned(), "e").await;
    let operator = Connection::new(&site.operator()).await;
    let context = jetstream::new(operator.client.clone());
    for key in [
        "$KV.tl_job.lab.j",
        "$KV.tl_schedule.lab.s",
        "$KV.tl_agent.lab.fra1",
    ] {
        write(&context, key, "v", 0).await.expect(key);
    }
    for (stream, filter) in [
        (Bucket::Job.stream(), Bucket::Job.of_site(&lab())),
        (Bucket::Schedule.stream(), Bucket::Schedule.of_site(&lab())),
        (Bucket::Agent.stream(), Bucket::Agent.of_site(&lab())),
        (
            Stream::Event.name().to_owned(),
            Stream::Event.of_site(&lab()),
        ),
    ] {
        let stream = context.get_stream(stream).await.expect("a stream");
        let watch = stream.create_consumer(push::OrderedConfig {
            deliver_subject: operator.client.new_inbox(),
            filter_subject: filter,
            ..Default::default()
        });
        let watch = soon("watch", watch).await.expect("a watch");
        let mut changes = watch.messages().await.expect("changes");
        soon("change", changes.next())
            .await
            .expect("one")
            .expect("a change");
    }
    for subjects in ["tl.v1.beat.lab.*", "tl.v1.live.j"] {
        operator.subscribe(subjects).await;
    }
    operator
        .client
        .publish("tl.v1.all.lab.ask", "{}".into())
        .await
        .expect("sent");
    operator.was_never_refused().await;
    for subject in [
        "tl.v1.agent.lab.fra1.do",
        "tl.v1.stored.lab.fra1",
        "tl.v1.event.lab.j",
        "$KV.tl_lease.controller.lab",
        "$JS.API.STREAM.DELETE.KV_tl_job",
        "$JS.API.STREAM.PURGE.KV_tl_job",
    ] {
        operator.may_not_publish(subject).await;
    }
}

#[tokio::test]
async fn an_enrolled_host_gets_in_after_a_reload_and_a_removed_one_stays_out() {
    let Some(site) = Site::start("enrolment", &["fra1"]) else {
        return;
    };
    let folder = site.folder.path();
    let fra1 = site.agent("fra1");
    Connection::new(&fra1).await;
    enrol(folder, &["osl1"]);
    let osl1 = site.agent("osl1");
    let before = Connection::open(&osl1).await;
    assert!(before.is_err(), "the server does not know the key yet");
    let without = async_nats::connect(osl1.servers.clone()).await;
    assert!(without.is_err(), "there is no way in without a key");
    let registry = folder.join("enrolled.toml");
    let text = std::fs::read_to_string(&registry).expect("the hosts");
    let (before, rest) = text.split_once("[hosts.fra1]").expect("the host");
    let (_, after) = rest.split_once("\n\n").expect("the next one");
    std::fs::write(&registry, format!("{before}{after}")).expect("written");
    enrol(folder, &["osl1"]);
    site.reload();
    // The signal takes effect whenever the server gets to it.
    let enter = async {
        while Connection::open(&osl1).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    soon("entrance", enter).await;
    assert!(
        Connection::open(&fra1).await.is_err(),
        "its key was removed"
    );
}

/// The server sends an acknowledgement wherever it is wanted, with rights of its own.
#[tokio::test]
async fn no_acknowledgement_of_a_result_becomes_a_key_or_an_event() {
    let Some(site) = Site::start("acknowledgements", &HOSTS) else {
        return;
    };
    let controller = Connection::new(&site.controller()).await;
    let context = make_streams(&controller).await;
    let jobs = "$KV.tl_job.lab.j";
    let revision = write(&context, jobs, "queued", 0).await.expect("written");
    let agent = Connection::new(&site.agent("fra1")).await;
    let mut own = agent.subscribe("_INBOX_fra1.x").await;
    for reply in [
        jobs,
        "$KV.tl_lease.controller.lab",
        "tl.v1.event.lab.j",
        "$JS.API.STREAM.DELETE.TL_RESULT",
        "_INBOX_fra1.x",
    ] {
        let sent = agent
            .client
            .publish_with_reply("tl.v1.result.lab.fra1.j", reply, "r".into());
        sent.await.expect("sent");
    }
    // It comes after the others.
    soon("acknowledgement", own.next()).await.expect("stored");
    let again = write(&context, jobs, "running", revision).await;
    assert!(again.is_some(), "the job is as it was written");
    let lease = write(&context, "$KV.tl_lease.controller.lab", "me", 0).await;
    assert!(lease.is_some(), "the lease is free");
    let mut events = context
        .get_stream(Stream::Event.name())
        .await
        .expect("the stream");
    assert_eq!(events.info().await.expect("it").state.messages, 0);
}

#[tokio::test]
async fn all_agents_answer_and_one_that_is_away_is_known_at_once() {
    let Some(site) = Site::start("answers", &HOSTS) else {
        return;
    };
    let controller = Connection::new(&site.controller()).await;
    make_streams(&controller).await;
    let order = controller
        .client
        .request("tl.v1.agent.lab.fra1.do", "order".into());
    let away = soon("answer", order).await.expect_err("no agent is there");
    assert_eq!(away.kind(), async_nats::RequestErrorKind::NoResponders);
    let mut beats = controller.subscribe("tl.v1.beat.lab.*").await;
    let mut agents = Vec::new();
    for host in HOSTS {
        let agent = Connection::new(&site.agent(host)).await;
        let asked = agent.subscribe("tl.v1.all.lab.ask").await;
        let ordered = agent.subscribe(&format!("tl.v1.agent.lab.{host}.do")).await;
        agents.push((host, agent, asked, ordered));
    }
    // Twice, around a reload: what was connected stays so.
    for round in 0..2 {
        for (host, agent, ..) in &agents {
            let beat = agent
                .client
                .publish(format!("tl.v1.beat.lab.{host}"), "b".into());
            beat.await.expect("sent");
            soon("beat", beats.next()).await.expect("a beat");
        }
        // The answer is a beat: nothing but its subject binds an agent's words to its host.
        let asked = controller.client.publish("tl.v1.all.lab.ask", "{}".into());
        asked.await.expect("sent");
        for (host, agent, asked, _) in &mut agents {
            let ask = soon("question", asked.next()).await.expect("a question");
            assert_eq!(ask.reply, None, "{host}");
            let answer = agent
                .client
                .publish(format!("tl.v1.beat.lab.{host}"), (*host).into());
            answer.await.expect("sent");
        }
        let mut from = Vec::new();
        for _ in HOSTS {
            from.push(
                soon("answer", beats.next())
                    .await
                    .expect("an answer")
                    .payload,
            );
        }
        from.sort();
        assert_eq!(from, HOSTS, "round {round}");
        for (host, agent, _, ordered) in &mut agents {
            let subject = format!("tl.v1.agent.lab.{host}.do");
            let answering = async {
                let order = soon("order", ordered.next()).await.expect("an order");
                let answer = agent
                    .client
                    .publish(order.reply.expect("an inbox"), "done".into());
                answer.await.expect("sent");
            };
            let order = controller.client.request(subject, "order".into());
            let (answer, ()) = tokio::join!(order, answering);
            assert_eq!(
                &*answer.expect("an answer").payload,
                b"done",
                "round {round}"
            );
            let context = jetstream::new(agent.client.clone());
            publish(&context, format!("tl.v1.result.lab.{host}.j"), "r").await;
        }
        enrol(site.folder.path(), &["ams1"]);
        site.reload();
        let ams1 = site.agent("ams1");
        let enter = async {
            while Connection::open(&ams1).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        soon("entrance", enter).await;
    }
}
