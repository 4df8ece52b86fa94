//! The entries of a bucket, and what changes, from the beginning after each connection.

use std::time::Duration;

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::{DeliverPolicy, push};
use async_nats::{Client, Subject};
use futures_util::StreamExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch::Receiver;

use crate::bus::connection::{Connection, Link};
use crate::bus::records::{is_deletion, subject};
use crate::bus::setup::store;
use crate::store::{Bucket, Revision};

/// Pause before a watch that failed begins again.
const AGAIN: Duration = Duration::from_secs(1);

/// What a watch shows.
#[derive(Debug)]
pub(crate) enum Shown {
    /// All entries follow.
    Began,
    /// An entry: its key without what all have in common, its number, its value, and how old it was when the watch
    /// began, by the server's clock alone.
    Entry(String, Revision, Vec<u8>, Duration),
    /// An entry was deleted.
    Gone(String),
    /// All entries that there were have come.
    Current,
}

/// Watches the keys `within` (`lab.`) of a bucket for as long as the receiver is there.
pub(crate) fn watch(
    connection: &Connection,
    bucket: Bucket,
    within: String,
) -> UnboundedReceiver<Shown> {
    let (sender, shown) = unbounded_channel();
    let watcher = Watcher {
        client: connection.client.clone(),
        link: connection.link.clone(),
        bucket,
        within,
        sender,
    };
    tokio::spawn(watcher.run());
    shown
}

struct Watcher {
    client: Client,
    link: Receiver<Link>,
    bucket: Bucket,
    within: String,
    sender: UnboundedSender<Shown>,
}

impl Watcher {
    async fn run(mut self) {
        loop {
            let ended = tokio::select! {
                biased;
                () = self.sender.closed() => true,
                up = async { self.link.clone().wait_for(|link| link.is_up).await.is_ok() } => !up,
            };
            if ended {
                return;
            }
            let number = self.link.borrow_and_update().number;
            let _ = self.follow(number).await;
            tokio::select! {
                () = self.sender.closed() => return,
                () = tokio::time::sleep(AGAIN) => {}
            }
        }
    }

    /// Shows all, until another connection comes or the watch fails.
    async fn follow(&self, number: u64) -> Result<(), async_nats::Error> {
        let name = self.bucket.stream();
        let stream = store(&self.client).get_stream_no_info(name).await?;
        let keys = subject(self.bucket, &self.within);
        let consumer = stream
            .create_consumer(push::OrderedConfig {
                deliver_subject: self.client.new_inbox(),
                filter_subject: format!("{keys}>"),
                deliver_policy: DeliverPolicy::LastPerSubject,
                ..push::OrderedConfig::default()
            })
            .await?;
        let begun = consumer.cached_info().created;
        let mut is_current = consumer.cached_info().num_pending == 0;
        let mut messages = consumer.messages().await?;
        self.show(Shown::Began);
        if is_current {
            self.show(Shown::Current);
        }
        let mut link = self.link.clone();
        loop {
            let message = tokio::select! {
                () = self.sender.closed() => return Ok(()),
                changed = link.wait_for(|link| link.number != number) => {
                    changed?;
                    return Ok(());
                }
                message = messages.next() => message,
            };
            let Some(message) = message.transpose()? else {
                return Ok(());
            };
            let info = message.info()?;
            // What came later than the watch has no age.
            let age = Duration::try_from(begun - info.published).unwrap_or_default();
            let (number, pending) = (Revision(info.stream_sequence), info.pending);
            if let Some(key) = key_of(&message, &keys) {
                self.show(match is_deletion(&message) {
                    true => Shown::Gone(key),
                    false => Shown::Entry(key, number, message.payload.to_vec(), age),
                });
            }
            if !is_current && pending == 0 {
                is_current = true;
                self.show(Shown::Current);
            }
        }
    }

    fn show(&self, shown: Shown) {
        // A receiver that has gone ends the watch.
        let _ = self.sender.send(shown);
    }
}

fn key_of(message: &Message, keys: &str) -> Option<String> {
    let subject: &Subject = &message.subject;
    subject.strip_prefix(keys).map(str::to_owned)
}
