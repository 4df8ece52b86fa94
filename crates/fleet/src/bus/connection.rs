//! A connection to the server of a fleet.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerError, Subscriber};
use tapeline_base::MutexExt;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

use crate::bus::error::BusError;
use crate::rights::Holder;
use crate::site::Access;

/// Oldest server that will do: it knows `sync_interval: always` and the first number of a stream.
const OLDEST: (u64, u64) = (2, 10);
/// Time for a connection to come about.
const CONNECTING: Duration = Duration::from_secs(5);
/// Longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// A connection of which nothing is heard for two such times is lost.
const PING: Duration = Duration::from_secs(5);
/// The same for an agent: 10,000 of them would ask the server 2000 times a second.
const AGENT_PING: Duration = Duration::from_secs(15);

/// Whether there is a connection, and which: each has a greater number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) number: u64,
    pub(crate) is_up: bool,
}

/// What became of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkChange {
    /// It is lost.
    Lost,
    /// There is one.
    Up {
        /// There was one before.
        is_again: bool,
    },
}

impl Link {
    /// What happened since it was `before`.
    pub(crate) fn since(self, before: Self) -> impl Iterator<Item = LinkChange> {
        let is_other = self != before;
        let lost = (is_other && before.is_up).then_some(LinkChange::Lost);
        let is_again = before.number > 0;
        let up = (is_other && self.is_up).then_some(LinkChange::Up { is_again });
        lost.into_iter().chain(up)
    }
}

impl LinkChange {
    /// What is said of it; nothing of the first connection.
    pub(crate) fn words(self) -> Option<&'static str> {
        match self {
            Self::Lost => Some("lost the server"),
            Self::Up { is_again: true } => Some("is back at the server"),
            Self::Up { is_again: false } => None,
        }
    }
}

/// A connection that comes back by itself.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) link: watch::Receiver<Link>,
    /// What the server refuses, each once in a row: rights that a key has not.
    pub(crate) refused: UnboundedReceiver<String>,
}

impl Connection {
    /// Connects once.
    pub(crate) async fn open(access: &Access) -> Result<Self, BusError> {
        let (sender, link) = watch::channel(Link::default());
        let (refusals, refused) = unbounded_channel();
        let last = Mutex::new(String::new());
        let was_up = Arc::new(AtomicBool::new(false));
        let is_again = Arc::clone(&was_up);
        let mut options = ConnectOptions::with_nkey(access.seed.clone())
            .name(format!("tapeline {}", access.holder))
            .custom_inbox_prefix(access.inbox())
            .connection_timeout(CONNECTING)
            .ping_interval(match access.holder {
                Holder::Agent(_) => AGENT_PING,
                Holder::Controller | Holder::Collector | Holder::Operator => PING,
            })
            .client_capacity(1 << 16)
            .reconnect_delay_callback(move |attempt| match is_again.load(Ordering::Relaxed) {
                true => pause(attempt),
                false => Duration::ZERO,
            })
            .event_callback(move |event| {
                match event {
                    Event::Connected => {
                        was_up.store(true, Ordering::Relaxed);
                        sender.send_modify(|link| {
                            link.number += 1;
                            link.is_up = true;
                        });
                    }
                    Event::Disconnected | Event::Closed => {
                        sender.send_modify(|link| link.is_up = false);
                    }
                    Event::ServerError(ServerError::Other(text)) => {
                        let mut last = last.lock_unpoisoned();
                        if *last != text {
                            last.clone_from(&text);
                            let _ = refusals.send(format!("the server refuses: {text}"));
                        }
                    }
                    _ => {}
                }
                std::future::ready(())
            });
        if let Some(file) = &access.ca {
            options = options.add_root_certificates(file.clone());
        }
        let servers = access.servers.join(", ");
        let client = options.connect(access.servers.as_slice()).await;
        let client = client.map_err(|error| match error.kind() {
            ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                BusError::UnknownKey {
                    who: access.holder.to_string(),
                    advice: advice(&access.holder),
                }
            }
            _ => BusError::Unreached {
                server: servers.clone(),
                cause: cause(&error),
            },
        })?;
        let info = client.server_info();
        if version(&info.version).is_some_and(|version| version < OLDEST) {
            return Err(BusError::TooOld(info.version));
        }
        if !info.jetstream {
            return Err(BusError::NoJetStream);
        }
        Ok(Self {
            client,
            link,
            refused,
        })
    }

    /// Subscribes; that holds over connections that come later.
    pub(crate) async fn subscribe(&self, subject: String) -> Result<Subscriber, BusError> {
        let subscriber = self.client.subscribe(subject).await;
        subscriber.map_err(|_| BusError::NoAnswer("subscribe"))
    }

    /// Connects, and tries again as long as no server answers; `say` hears of the first failure.
    pub(crate) async fn open_in_time(
        access: &Access,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, BusError> {
        let mut attempt = 0;
        loop {
            match Self::open(access).await {
                Err(error @ BusError::Unreached { .. }) => {
                    if attempt == 0 {
                        say(&format!("{error}; tries again"));
                    }
                    attempt += 1;
                    tokio::time::sleep(pause(attempt)).await;
                }
                other => return other,
            }
        }
    }
}

/// What makes a key known.
fn advice(holder: &Holder) -> String {
    match holder {
        Holder::Agent(host) => format!("tapeline fleet enrol {host}"),
        Holder::Controller | Holder::Collector | Holder::Operator => {
            "its users.conf must be the one beside that key".to_owned()
        }
    }
}

/// A random pause, the longer the more attempts failed: not all come back at once.
fn pause(attempt: usize) -> Duration {
    let most = Duration::from_secs(2).saturating_mul(1 << attempt.min(4));
    let share = (RandomState::new().hash_one(attempt) >> 11) as f64 / (1u64 << 53) as f64;
    most.min(LONGEST_PAUSE).mul_f64(share)
}

fn version(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The innermost cause.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_bounded() {
        for attempt in 1..100 {
            assert!(pause(attempt) <= LONGEST_PAUSE);
            assert!(pause(1) <= Duration::from_secs(4));
        }
    }

    #[test]
    fn a_connection_in_the_place_of_another_was_lost_and_is_back() {
        let link = |number, is_up| Link { number, is_up };
        let said = |before: Link, now: Link| -> Vec<_> {
            now.since(before).map(LinkChange::words).collect()
        };
        let (lost, back) = (Some("lost the server"), Some("is back at the server"));
        assert_eq!(said(Link::default(), link(1, true)), [None]);
        assert_eq!(said(link(1, true), link(1, true)), []);
        assert_eq!(said(link(1, true), link(1, false)), [lost]);
        assert_eq!(said(link(1, false), link(2, true)), [back]);
        assert_eq!(said(link(1, true), link(2, true)), [lost, back]);
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert!(version("2.9.10").is_some_and(|version| version < OLDEST));
        assert!(version("2.10.27").is_some_and(|version| version >= OLDEST));
        assert!(version("2.11.0-RC").is_some_and(|version| version >= OLDEST));
        assert_eq!(version("dev"), None);
    }
}
