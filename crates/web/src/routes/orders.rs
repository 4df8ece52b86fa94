//! Tests and servers.

use std::sync::Arc;

use axum::Json;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::pages;
use super::work::{off, writable};
use crate::ends::Ends;
use crate::program::{Form, Job, MeshRequest, NameLine, PlanAnswer, PlanRequest};
use crate::refusal::Refusal;
use crate::site::Site;

/// What a command line comes to.
pub(crate) async fn plan(
    State(site): State<Arc<Site>>,
    Json(request): Json<PlanRequest>,
) -> Json<PlanAnswer> {
    Json(site.program.plan(&request))
}

/// Starts a test or a server.
pub(crate) async fn start(
    State(site): State<Arc<Site>>,
    ConnectInfo(ends): ConnectInfo<Ends>,
    Json(request): Json<PlanRequest>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    writable(&site)?;
    let plan = site.program.plan(&request);
    if !plan.faults.is_empty() {
        return Err(Refusal::Faults(plan.faults));
    }
    let options = plan.options.as_deref().unwrap_or_default();
    if plan.job == Job::Client {
        site.program
            .admit(options, plan.host.as_deref().unwrap_or_default())?;
    }
    let line = match plan.names.as_ref().map(|names| &names.tapeline) {
        Some(NameLine::Line(line)) => line.clone(),
        Some(NameLine::Why(why)) => return Err(Refusal::Wrong(why.clone())),
        None => return Err(Refusal::Wrong("there is no command line".to_owned())),
    };
    let test = off(move || site.tests.start(plan, line, &ends.remote.ip().to_string())).await?;
    Ok((StatusCode::CREATED, Json(json!({ "test": test }))))
}

/// What tests among many hosts come to.
pub(crate) async fn check_mesh(
    State(site): State<Arc<Site>>,
    Json(request): Json<MeshRequest>,
) -> Result<Json<Value>, Refusal> {
    let text = off(move || site.program.check_mesh(&request)).await?;
    Ok(Json(json!({ "text": text })))
}

/// Starts tests among many hosts.
pub(crate) async fn start_mesh(
    State(site): State<Arc<Site>>,
    ConnectInfo(ends): ConnectInfo<Ends>,
    Json(request): Json<MeshRequest>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    writable(&site)?;
    let who = ends.remote.ip().to_string();
    let test = off(move || site.tests.start_mesh(request, &who)).await?;
    Ok((StatusCode::CREATED, Json(json!({ "test": test }))))
}

/// Ends a test; its totals come.
pub(crate) async fn stop(
    State(site): State<Arc<Site>>,
    Path(test): Path<u64>,
) -> Result<StatusCode, Refusal> {
    writable(&site)?;
    off(move || site.tests.stop(test)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// All tests.
pub(crate) async fn list(State(site): State<Arc<Site>>) -> Result<Json<Value>, Refusal> {
    off(move || Ok(Json(site.tests.list()))).await
}

/// The lines of a test.
pub(crate) async fn lines(
    State(site): State<Arc<Site>>,
    Path(test): Path<u64>,
) -> Result<Response, Refusal> {
    let media_type = [(header::CONTENT_TYPE, "application/json")];
    let lines = off(move || site.tests.lines(test)).await?;
    Ok((media_type, lines).into_response())
}

/// The result of a test.
pub(crate) async fn export(
    State(site): State<Arc<Site>>,
    Path((test, form)): Path<(u64, Form)>,
) -> Result<Response, Refusal> {
    let text = off(move || site.tests.export(test, form)).await?;
    Ok(pages::result(text, form))
}
