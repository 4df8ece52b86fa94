//! What a collector wants, carried out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::{AckPolicy, pull};
use futures_util::StreamExt;
use tapeline_base::MutexExt;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::bus::connection::{Connection, Link, LinkChange};
use crate::bus::error::BusError;
use crate::bus::machine_clock::MachineClock;
use crate::bus::records::json;
use crate::bus::requests::send;
use crate::bus::setup::store;
use crate::bus::stop::Stop;
use crate::bus::watch::{Shown, watch};
use crate::clock::UnixTime;
use crate::collector::{Collected, Collector, CollectorEffect, CollectorInput, Delivery, Inserted};
use crate::job::{JobRecord, ResultKey};
use crate::message::{Beat, ResultMessage};
use crate::names::{HostName, PREFIX, SiteName, Subject};
use crate::rights::collector_name;
use crate::site::Access;
use crate::store::{Bucket, Stream};

/// What is not acknowledged by then is delivered again.
const ACKNOWLEDGING: Duration = Duration::from_secs(30);
/// Results that are under way from the server at most.
const BATCH: usize = 50;
/// Pause before a consumer that failed is asked for again.
const AGAIN: Duration = Duration::from_secs(1);

/// Where results go.
pub trait Database {
    /// Inserts a result, if its key is new; committed when this returns.
    fn insert(&mut self, key: &ResultKey, document: &str) -> Inserted;
}

/// A fleet as its collector sees it.
#[derive(Clone, Debug, Default)]
pub struct FleetCounts {
    /// The newest sign of each host, and when it came.
    pub hosts: BTreeMap<HostName, (Beat, UnixTime)>,
    /// The state of each job in the bucket, by its name.
    pub jobs: BTreeMap<String, &'static str>,
    /// Jobs that became final while this was watched, by the name of their state.
    pub ended: BTreeMap<&'static str, u64>,
    /// Results.
    pub collected: Collected,
}

impl FleetCounts {
    fn shown(&mut self, shown: Shown) {
        match shown {
            Shown::Began => self.jobs.clear(),
            Shown::Entry(key, _, value, _) => {
                let Ok(job) = serde_json::from_slice::<JobRecord>(&value) else {
                    return;
                };
                let state = job.state.name();
                let before = self.jobs.insert(key, state);
                if job.state.is_final() && before.is_some_and(|before| before != state) {
                    *self.ended.entry(state).or_default() += 1;
                }
            }
            Shown::Gone(key) => {
                self.jobs.remove(&key);
            }
            Shown::Current => {}
        }
    }
}

/// Takes results from the stream into the database until the end is wished for.
///
/// # Errors
/// The server refuses it, or will not do.
pub fn run_collector(
    access: &Access,
    clock: &MachineClock,
    database: &mut dyn Database,
    counts: &Arc<Mutex<FleetCounts>>,
    stop: Stop,
    say: &mut dyn FnMut(&str),
) -> Result<(), BusError> {
    crate::bus::runtime::block_on(collect(access, clock, database, counts, stop, say))
}

async fn collect(
    access: &Access,
    clock: &MachineClock,
    database: &mut dyn Database,
    counts: &Arc<Mutex<FleetCounts>>,
    mut stop: Stop,
    say: &mut dyn FnMut(&str),
) -> Result<(), BusError> {
    let mut connection = tokio::select! {
        () = stop.wished() => return Ok(()),
        connection = Connection::open_in_time(access, say) => connection?,
    };
    let client = connection.client.clone();
    let mut beats = connection
        .subscribe(format!("{PREFIX}.beat.{}.*", access.site))
        .await?;
    let mut jobs = watch(&connection, Bucket::Job, format!("{}.", access.site));
    let mut results = results(&connection, &access.site);
    let (mut collector, mut last) = (Collector::default(), Delivery(0));
    let mut linked = Link::default();
    say("collects");
    loop {
        let link = *connection.link.borrow_and_update();
        link.since(linked)
            .filter_map(LinkChange::words)
            .for_each(&mut *say);
        linked = link;
        tokio::select! {
            () = stop.wished() => return Ok(()),
            Ok(()) = connection.link.changed() => {}
            Some(refusal) = connection.refused.recv() => say(&refusal),
            Some(message) = beats.next() => {
                if let Some(beat) = Beat::of_subject(&message.subject, &message.payload) {
                    let now = clock.now().wall;
                    counts.lock_unpoisoned().hosts.insert(beat.host.clone(), (beat, now));
                }
            }
            Some(shown) = jobs.recv() => counts.lock_unpoisoned().shown(shown),
            Some(message) = results.recv() => {
                last.0 += 1;
                let Ok(result) = ResultMessage::of_subject(&message.subject, &message.payload) else {
                    // It would come again for ever.
                    say(&format!("{}: a message that is no result", message.subject));
                    let _ = message.ack().await;
                    continue;
                };
                let ResultMessage { key, document } = result;
                let input = CollectorInput::Delivered { delivery: last, key, document };
                let mut effects = collector.handle(input);
                while let Some(effect) = effects.pop() {
                    match effect {
                        CollectorEffect::Insert { delivery, key, document } => {
                            let inserted = database.insert(&key, &document);
                            let mut next = collector.handle(CollectorInput::Inserted(delivery, inserted));
                            next.reverse();
                            effects = next;
                        }
                        CollectorEffect::Stored(host, stored) => {
                            let subject = Subject::Stored(access.site.clone(), host).to_string();
                            if !send(&client, subject, None, None, json(&stored)).await {
                                // Not acknowledged, it comes again, and its agent hears of it.
                                effects.clear();
                            }
                        }
                        CollectorEffect::Acknowledge(_) => {
                            // Without it, the result comes again.
                            let _ = message.ack().await;
                        }
                    }
                }
                counts.lock_unpoisoned().collected = collector.collected();
            }
        }
    }
}

/// Results as the stream delivers them, for as long as the receiver is there.
fn results(connection: &Connection, site: &SiteName) -> Receiver<Message> {
    let site = site.clone();
    let (sender, results) = channel(BATCH);
    let (client, link) = (connection.client.clone(), connection.link.clone());
    tokio::spawn(async move {
        while !sender.is_closed() {
            let up = link
                .clone()
                .wait_for(|link| link.is_up)
                .await
                .map(|link| *link);
            let Ok(Link { number, .. }) = up else {
                return;
            };
            // What fails begins again.
            let _ = deliver(&client, &site, link.clone(), number, &sender).await;
            tokio::time::sleep(AGAIN).await;
        }
    });
    results
}

async fn deliver(
    client: &Client,
    site: &SiteName,
    mut link: tokio::sync::watch::Receiver<Link>,
    number: u64,
    sender: &Sender<Message>,
) -> Result<(), async_nats::Error> {
    let stream = store(client)
        .get_stream_no_info(Stream::Result.name())
        .await?;
    let config = pull::Config {
        durable_name: Some(collector_name(site)),
        filter_subject: Stream::Result.of_site(site),
        ack_policy: AckPolicy::Explicit,
        ack_wait: ACKNOWLEDGING,
        ..pull::Config::default()
    };
    let consumer = stream.create_consumer(config).await?;
    let mut messages = consumer
        .stream()
        .max_messages_per_batch(BATCH)
        .messages()
        .await?;
    loop {
        let message = tokio::select! {
            changed = link.wait_for(|link| link.number != number) => {
                changed?;
                return Ok(());
            }
            () = sender.closed() => return Ok(()),
            message = messages.next() => message,
        };
        let Some(message) = message.transpose()? else {
            return Ok(());
        };
        sender.send(message).await?;
    }
}
