//! Which request is answered by what.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use std::time::Duration;

use super::{door, events, history, orders, pages, session};
use crate::assets;
use crate::site::Site;

/// Bytes of what is sent here.
const MAX_BODY: usize = 1 << 20;
/// Bytes of a file that is taken in.
const MAX_FILE: usize = 64 << 20;
/// Time for a request and its answer; events excepted.
const TIME: Duration = Duration::from_secs(60);

/// All routes.
pub(crate) fn router(site: Arc<Site>) -> Router {
    let import = post(history::import).layer(DefaultBodyLimit::max(MAX_FILE));
    let timed = Router::new()
        .route("/", get(assets::index))
        .route("/test", get(assets::index))
        .route("/server", get(assets::index))
        .route("/history", get(assets::index))
        .route("/compare", get(assets::index))
        .route("/{name}", get(pages::asset))
        .route("/api/login", post(session::log_in))
        .route("/api/session", get(session::session))
        .route("/api/form", get(session::form))
        .route("/api/plan", post(orders::plan))
        .route("/api/tests", get(orders::list).post(orders::start))
        .route("/api/tests/{test}/stop", post(orders::stop))
        .route("/api/tests/{test}/events", get(orders::lines))
        .route("/api/tests/{test}/{form}", get(orders::export))
        .route("/api/history", get(history::list))
        .route("/api/history/note", post(history::note))
        .route("/api/history/tag", post(history::tag))
        .route("/api/history/delete", post(history::delete))
        .route("/api/history/undo", post(history::undo))
        .route("/api/history/import", import)
        .route("/api/history/{run}/{form}", get(history::run))
        .route("/api/compare", post(history::compare))
        .route("/api/compare/page", get(history::comparison_page))
        .layer(middleware::from_fn(in_time));
    timed
        .route("/api/events", get(events::events))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&site),
            door::door,
        ))
        .with_state(site)
}

/// Whoever sends slowly is not waited for.
async fn in_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(TIME, next.run(request)).await {
        Ok(response) => response,
        Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
    }
}
