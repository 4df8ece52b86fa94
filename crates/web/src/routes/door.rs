//! What every request passes, and what every answer bears.

use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::ends::Ends;
use crate::site::Site;

/// What the page itself may do.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/// Lets a request through, or says why not, and gives every answer the page's rules.
pub(crate) async fn door(
    State(site): State<Arc<Site>>,
    ConnectInfo(ends): ConnectInfo<Ends>,
    request: Request,
    next: Next,
) -> Response {
    let looked = site.guard.look(
        request.method(),
        request.uri().path(),
        request.headers(),
        ends.local,
    );
    let mut response = match looked {
        Ok(()) => next.run(request).await,
        Err(barred) => barred.into_response(),
    };
    let headers = response.headers_mut();
    let mut rule = |name, value| {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    };
    rule(header::CONTENT_SECURITY_POLICY, POLICY);
    rule(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    rule(header::REFERRER_POLICY, "no-referrer");
    rule(header::X_FRAME_OPTIONS, "DENY");
    rule(header::CACHE_CONTROL, "no-store");
    rule(
        header::HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    response
}
