//! Requests that are sent in order, each with one outcome.
//!
//! The client's own requests may pass each other on the way; here the order of calls is the order of messages.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::header::HeaderMap;
use async_nats::{Client, Message, StatusCode, Subscriber};
use tapeline_base::MonoTime;

use crate::bus::error::BusError;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(crate::message::ANSWER_SECONDS);

/// What came of a request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// An answer.
    Message(Message),
    /// There is no receiver.
    NoReceiver,
    /// None in time.
    Silence,
}

/// Requests of one connection that wait for their outcome. `K` says what each was for.
#[derive(Debug)]
pub(crate) struct Requests<K> {
    client: Client,
    inbox: String,
    last: u64,
    waiting: BTreeMap<u64, (MonoTime, K)>,
}

impl<K> Requests<K> {
    /// With the subscription at which replies come.
    pub(crate) async fn new(client: &Client) -> Result<(Self, Subscriber), BusError> {
        let inbox = client.new_inbox();
        let replies = client.subscribe(format!("{inbox}.*")).await;
        let replies = replies.map_err(|_| BusError::NoAnswer("subscribe"))?;
        let requests = Self {
            client: client.clone(),
            inbox,
            last: 0,
            waiting: BTreeMap::new(),
        };
        Ok((requests, replies))
    }

    /// Sends one. Without a connection, nothing is sent and its silence follows.
    pub(crate) async fn send(
        &mut self,
        purpose: K,
        subject: String,
        headers: Option<HeaderMap>,
        payload: Vec<u8>,
        now: MonoTime,
    ) {
        self.last += 1;
        self.waiting.insert(self.last, (now + PATIENCE, purpose));
        let reply = format!("{}.{}", self.inbox, self.last);
        send(&self.client, subject, Some(reply), headers, payload).await;
    }

    /// What a message of the subscription answers, and how; none for what nothing waits for.
    pub(crate) fn take(&mut self, message: Message) -> Option<(K, Reply)> {
        let number = message.subject.rsplit('.').next()?.parse().ok()?;
        let (_, purpose) = self.waiting.remove(&number)?;
        let is_alone = message.status == Some(StatusCode::NO_RESPONDERS);
        let reply = match is_alone {
            true => Reply::NoReceiver,
            false => Reply::Message(message),
        };
        Some((purpose, reply))
    }

    /// One for which nothing came in time.
    pub(crate) fn expired(&mut self, now: MonoTime) -> Option<K> {
        let (number, (until, _)) = self.waiting.first_key_value()?;
        let number = *number;
        if *until > now {
            return None;
        }
        self.waiting.remove(&number).map(|(_, purpose)| purpose)
    }

    /// When the next one expires.
    pub(crate) fn wake_at(&self) -> MonoTime {
        let first = self.waiting.first_key_value();
        first.map_or(MonoTime::FAR, |(_, (until, _))| *until)
    }
}

/// Publishes, if there is a connection: what waits for one would come too late. Whether there was one.
pub(crate) async fn send(
    client: &Client,
    subject: String,
    reply: Option<String>,
    headers: Option<HeaderMap>,
    payload: Vec<u8>,
) -> bool {
    if client.connection_state() != async_nats::connection::State::Connected {
        return false;
    }
    let (payload, headers) = (payload.into(), headers.unwrap_or_default());
    // Whether it comes there is seen by its answer.
    let sent = match (reply, headers.is_empty()) {
        (Some(reply), true) => client.publish_with_reply(subject, reply, payload).await,
        (Some(reply), false) => {
            client
                .publish_with_reply_and_headers(subject, reply, headers, payload)
                .await
        }
        (None, true) => client.publish(subject, payload).await,
        (None, false) => client.publish_with_headers(subject, headers, payload).await,
    };
    sent.is_ok()
}
