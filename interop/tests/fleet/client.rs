//! A client of the fleet's server with one of its keys.

use std::time::Duration;

use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::{Client, ConnectOptions, Event, Message, ServerError};
use futures_util::StreamExt as _;
use interop::Fleet;
use tapeline_fleet::{
    Access, AgentSettings, ControllerSettings, JobEvent, OperatorSettings, SiteName, Stream,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// For what the server does at once.
const SOON: Duration = Duration::from_secs(20);

/// A connection with a key, and what the server refuses it.
pub(crate) struct KeyHolder {
    pub(crate) client: Client,
    refused: UnboundedReceiver<String>,
}

/// The ways to the server of the fleet's roles.
pub(crate) fn agent_access(fleet: &Fleet, host: &str) -> Access {
    let path = fleet.folder().join(format!("{host}.toml"));
    AgentSettings::read(&path).expect("settings").access
}

pub(crate) fn controller_access(fleet: &Fleet) -> Access {
    let path = fleet.folder().join("controller.toml");
    ControllerSettings::read(&path).expect("settings").access
}

fn operator_access(fleet: &Fleet) -> Access {
    let path = fleet.folder().join("operator.toml");
    OperatorSettings::read(&path).expect("settings").access
}

/// Runs `work` with a connection, on the server's host.
pub(crate) fn with_key<T: Send>(
    fleet: &Fleet,
    access: &Access,
    work: impl AsyncFnOnce(&mut KeyHolder) -> T + Send,
) -> T {
    let inside = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async {
            let mut holder = KeyHolder::connect(access).await;
            work(&mut holder).await
        })
    };
    let entered = fleet.server.host().namespace().within(inside);
    entered.expect("the server's network")
}

impl KeyHolder {
    async fn connect(access: &Access) -> Self {
        let (sender, refused) = unbounded_channel();
        let client = ConnectOptions::with_nkey(access.seed.clone())
            .custom_inbox_prefix(access.inbox())
            .request_timeout(Some(SOON))
            .event_callback(move |event| {
                if let Event::ServerError(ServerError::Other(text)) = event {
                    let _ = sender.send(text.to_lowercase());
                }
                std::future::ready(())
            })
            .connect(access.servers.as_slice())
            .await;
        Self {
            client: client.expect("a connection"),
            refused,
        }
    }

    async fn refusal(&mut self, words: &str) {
        let refusal = tokio::time::timeout(SOON, self.refused.recv()).await;
        let refusal = refusal.unwrap_or_else(|_| panic!("it may: {words}"));
        let refusal = refusal.expect("a connection");
        assert!(
            refusal.contains(&words.to_lowercase()),
            "{words}: {refusal}"
        );
    }

    /// The server refuses a message to that subject.
    pub(crate) async fn may_not_publish(&mut self, subject: &str) {
        let reply = self.client.new_inbox();
        let sent = self
            .client
            .publish_with_reply(subject.to_owned(), reply, "{}".into());
        sent.await.expect("sent");
        let words = format!("permissions violation for publish to \"{subject}\"");
        self.refusal(&words).await;
    }

    /// The server refuses a subscription to those subjects.
    pub(crate) async fn may_not_subscribe(&mut self, subjects: &str) {
        let _subscribed = self
            .client
            .subscribe(subjects.to_owned())
            .await
            .expect("sent");
        let words = format!("permissions violation for subscription to \"{subjects}\"");
        self.refusal(&words).await;
    }

    /// What comes back for a message.
    pub(crate) async fn ask(&self, subject: &str, payload: Vec<u8>) -> Message {
        let answer = self
            .client
            .request(subject.to_owned(), payload.into())
            .await;
        answer.unwrap_or_else(|error| panic!("{subject}: {error}"))
    }
}

/// Every step of every job that the stream of events holds, in its order.
pub(crate) fn events(fleet: &Fleet) -> Vec<JobEvent> {
    let site: SiteName = "lab".parse().expect("a name");
    with_key(fleet, &operator_access(fleet), async |holder| {
        let store = async_nats::jetstream::new(holder.client.clone());
        let stream = store.get_stream(Stream::Event.name()).await;
        let mut stream = stream.expect("the stream of events");
        let count = stream.info().await.expect("its state").state.messages;
        let consumer = stream.create_consumer(pull::OrderedConfig {
            filter_subject: Stream::Event.of_site(&site),
            deliver_policy: DeliverPolicy::All,
            ..Default::default()
        });
        let mut messages = consumer
            .await
            .expect("a consumer")
            .messages()
            .await
            .expect("messages");
        let mut events = Vec::new();
        while (events.len() as u64) < count {
            let message = tokio::time::timeout(SOON, messages.next()).await;
            let message = message
                .expect("an event in time")
                .expect("one")
                .expect("one");
            events.push(serde_json::from_slice(&message.payload).expect("an event"));
        }
        events
    })
}

/// Results that the stream holds; one that was published again is counted once.
pub(crate) fn results_in_stream(fleet: &Fleet) -> u64 {
    with_key(fleet, &controller_access(fleet), async |holder| {
        let store = async_nats::jetstream::new(holder.client.clone());
        let stream = store.get_stream(Stream::Result.name()).await;
        let mut stream = stream.expect("the stream of results");
        stream.info().await.expect("its state").state.subjects_count
    })
}
