//! Who asks, and what this page is.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::work::off;
use crate::ends::Ends;
use crate::guard::Login;
use crate::refusal::Refusal;
use crate::site::Site;

/// A key.
#[derive(Deserialize)]
pub(crate) struct Shown {
    key: String,
}

/// Trades the key for a cookie.
pub(crate) async fn log_in(
    State(site): State<Arc<Site>>,
    ConnectInfo(ends): ConnectInfo<Ends>,
    Json(shown): Json<Shown>,
) -> Response {
    match site.guard.log_in(&shown.key, Instant::now()) {
        Login::Right(cookie) => {
            (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
        }
        Login::Wrong => {
            let said = format!("a wrong key from {}", ends.remote.ip());
            // Standard error may have a slow reader, who is not waited for.
            drop(tokio::task::spawn_blocking(move || site.program.log(&said)));
            Refusal::Forbidden("this is not the key".to_owned()).into_response()
        }
        Login::TooMany => {
            Refusal::Busy("too many wrong keys: wait a second".to_owned()).into_response()
        }
    }
}

/// What does not change, and the options of the last test.
pub(crate) async fn session(State(site): State<Arc<Site>>) -> Result<Json<Value>, Refusal> {
    off(move || {
        let mut session = json!(site.program.facts());
        session["read_only"] = json!(site.read_only);
        session["max_tests"] = json!(site.most);
        session["form"] = match site.program.last_form() {
            Some(plan) => json!({ "job": plan.job, "options": plan.options }),
            None => Value::Null,
        };
        session["mesh"] = json!(site.program.last_mesh());
        Ok(Json(session))
    })
    .await
}

/// The option table.
pub(crate) async fn form(State(site): State<Arc<Site>>) -> Response {
    let media_type = [(header::CONTENT_TYPE, "application/json")];
    (media_type, site.program.form()).into_response()
}
