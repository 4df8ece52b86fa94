//! The streams and buckets of a fleet at its server.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_nats::Client;
use async_nats::jetstream::{self, stream};

use crate::bus::error::BusError;
use crate::store::{Bucket, Stream};

/// Time for the server to answer what is asked of its store.
const PATIENCE: Duration = Duration::from_secs(10);

/// The store of a connection.
pub(crate) fn store(client: &Client) -> jetstream::Context {
    jetstream::context::ContextBuilder::new()
        .timeout(PATIENCE)
        .build(client.clone())
}

/// Makes what is missing; what is there stays as it is.
pub(crate) async fn set_up(store: &jetstream::Context) -> Result<(), BusError> {
    for wanted in streams() {
        let what = wanted.name.clone();
        let made = store.get_or_create_stream(wanted).await;
        made.map_err(|error| BusError::Store {
            what,
            cause: error.to_string(),
        })?;
    }
    Ok(())
}

/// What a fleet keeps at its server: streams and, as streams, buckets.
#[must_use]
pub fn streams() -> Vec<stream::Config> {
    let streams = [Stream::Result, Stream::Event].map(stream_of);
    let buckets = Bucket::ALL.map(bucket_of);
    streams.into_iter().chain(buckets).collect()
}

fn stream_of(kind: Stream) -> stream::Config {
    let bounds = kind.bounds();
    stream::Config {
        name: kind.name().to_owned(),
        subjects: vec![kind.subjects()],
        max_age: bounds.age,
        max_bytes: bounds.bytes.map_or(-1, |bytes| bytes as i64),
        max_message_size: bounds.message as i32,
        duplicate_window: bounds.duplicates,
        num_replicas: 1,
        ..stream::Config::default()
    }
}

/// As the key/value stores of the server's makers are.
fn bucket_of(bucket: Bucket) -> stream::Config {
    let name = bucket.name();
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let first = since.map_or(1, |since| since.as_millis() as u64);
    stream::Config {
        name: bucket.stream(),
        subjects: vec![format!("$KV.{name}.>")],
        max_messages_per_subject: 1,
        max_bytes: -1,
        max_messages: -1,
        max_message_size: Bucket::LARGEST_VALUE as i32,
        discard: stream::DiscardPolicy::New,
        allow_rollup: true,
        allow_direct: true,
        deny_delete: true,
        num_replicas: 1,
        first_sequence: (bucket == Bucket::Lease).then_some(first),
        ..stream::Config::default()
    }
}
