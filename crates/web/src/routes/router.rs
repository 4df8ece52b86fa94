//! Which request is answered by what.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::time::Duration;

use super::route_table::{Answer, ROUTES, Route};
use super::{door, pages};
use crate::assets;
use crate::site::Site;

/// Bytes of what is sent here.
const MAX_BODY: usize = 1 << 20;
/// Time for a request and its answer; events excepted.
const TIME: Duration = Duration::from_secs(60);

/// All routes.
pub(crate) fn router(site: Arc<Site>) -> Router {
    let files = Router::new()
        .route("/", get(assets::index))
        .route("/test", get(assets::index))
        .route("/server", get(assets::index))
        .route("/history", get(assets::index))
        .route("/compare", get(assets::index))
        .route("/mesh", get(assets::index))
        .route("/{name}", get(pages::asset));
    let lasting = |route: &&Route| matches!(route.answer, Answer::Events);
    let add = |router: Router<_>, route: &Route| router.route(route.path, (route.handler)());
    let timed = ROUTES.iter().filter(|route| !lasting(route));
    let timed = timed.fold(files, add).layer(middleware::from_fn(in_time));
    let all = ROUTES.iter().filter(lasting).fold(timed, add);
    all.layer(DefaultBodyLimit::max(MAX_BODY))
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
