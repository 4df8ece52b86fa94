//! What happens, as it happens.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use crate::site::Site;

/// Readers at a time.
const MAX_READERS: usize = 16;
/// Between signs of life.
const ALIVE: Duration = Duration::from_secs(15);

/// A stream of events, from the one that the browser has seen last.
pub(crate) async fn events(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    let Some(place) = Place::take(&site.readers) else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let last = headers.get("last-event-id");
    let last = last.and_then(|value| value.to_str().ok()?.parse().ok());
    let reader = site.tests.events.reader(last);
    let events = stream::unfold((site, reader, place), |(site, mut reader, place)| async {
        let (number, text) = reader.next(&site.tests.events).await?;
        let event = Event::default().id(number.to_string()).data(&*text);
        Some((Ok::<_, Infallible>(event), (site, reader, place)))
    });
    Sse::new(events)
        .keep_alive(KeepAlive::new().interval(ALIVE))
        .into_response()
}

/// The place of a reader, until it goes.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(readers: &Arc<AtomicUsize>) -> Option<Self> {
        let more = |number| (number < MAX_READERS).then_some(number + 1);
        let taken = readers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok().then(|| Self(Arc::clone(readers)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
