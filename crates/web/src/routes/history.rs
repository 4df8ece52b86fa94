//! Results that were kept, and comparisons of them.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::pages;
use super::work::{off, writable};
use crate::program::{CompareRequest, Form};
use crate::refusal::Refusal;
use crate::site::Site;
use crate::trash::UNDO;

/// Runs of a list at most.
const MAX_RUNS: usize = 2000;

/// Which runs are listed.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    runs: Option<String>,
    most: Option<usize>,
}

/// Runs, the latest first.
pub(crate) async fn list(
    State(site): State<Arc<Site>>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Value>, Refusal> {
    let most = wanted.most.unwrap_or(200).min(MAX_RUNS);
    let runs = wanted.runs.filter(|runs| !runs.trim().is_empty());
    off(move || {
        let hidden = site.trash.hidden();
        site.program.runs(runs.as_deref(), most, &hidden).map(Json)
    })
    .await
}

/// A run.
pub(crate) async fn run(
    State(site): State<Arc<Site>>,
    Path((run, form)): Path<(String, Form)>,
) -> Result<Response, Refusal> {
    let text = off(move || site.program.run(&run, form)).await?;
    Ok(pages::result(text, form))
}

/// A note for runs.
#[derive(Deserialize)]
pub(crate) struct Note {
    runs: String,
    text: String,
}

/// Writes a note.
pub(crate) async fn note(
    State(site): State<Arc<Site>>,
    Json(note): Json<Note>,
) -> Result<Json<Value>, Refusal> {
    writable(&site)?;
    off(move || changed(&site, site.program.note(&note.runs, &note.text))).await
}

/// A tag for runs.
#[derive(Deserialize)]
pub(crate) struct Tag {
    runs: String,
    key: String,
    value: Option<String>,
}

/// Gives or takes a tag.
pub(crate) async fn tag(
    State(site): State<Arc<Site>>,
    Json(tag): Json<Tag>,
) -> Result<Json<Value>, Refusal> {
    writable(&site)?;
    off(move || {
        let tagged = site.program.tag(&tag.runs, &tag.key, tag.value.as_deref());
        changed(&site, tagged)
    })
    .await
}

/// Some runs.
#[derive(Deserialize)]
pub(crate) struct Runs {
    runs: String,
}

/// Hides runs, which go a little later.
pub(crate) async fn delete(
    State(site): State<Arc<Site>>,
    Json(Runs { runs }): Json<Runs>,
) -> Result<Json<Value>, Refusal> {
    writable(&site)?;
    off(move || {
        let runs = site.program.names(&runs)?;
        let undo = site.trash.put(runs.clone(), Instant::now());
        tell(&site);
        Ok(Json(
            json!({ "undo": undo, "runs": runs, "seconds": UNDO.as_secs() }),
        ))
    })
    .await
}

/// A removal that is taken back.
#[derive(Deserialize)]
pub(crate) struct Undo {
    undo: u64,
}

/// Shows runs again.
pub(crate) async fn undo(
    State(site): State<Arc<Site>>,
    Json(Undo { undo }): Json<Undo>,
) -> Result<StatusCode, Refusal> {
    writable(&site)?;
    if !site.trash.undo(undo) {
        return Err(Refusal::Missing("these runs have been removed".to_owned()));
    }
    tell(&site);
    Ok(StatusCode::NO_CONTENT)
}

/// The name of a file.
#[derive(Deserialize)]
pub(crate) struct Named {
    name: Option<String>,
}

/// Takes in a file.
pub(crate) async fn import(
    State(site): State<Arc<Site>>,
    Query(Named { name }): Query<Named>,
    content: Bytes,
) -> Result<Json<Value>, Refusal> {
    writable(&site)?;
    let name = name.unwrap_or_else(|| "the file".to_owned());
    off(move || changed(&site, site.program.import(&name, &content))).await
}

/// Compares runs.
pub(crate) async fn compare(
    State(site): State<Arc<Site>>,
    Json(request): Json<CompareRequest>,
) -> Result<Json<Value>, Refusal> {
    off(move || site.program.compare(&request).map(Json)).await
}

/// The same as a page of its own.
pub(crate) async fn comparison_page(
    State(site): State<Arc<Site>>,
    Query(request): Query<CompareRequest>,
) -> Result<Response, Refusal> {
    let text = off(move || site.program.comparison_page(&request)).await?;
    Ok(pages::result(text, Form::Page))
}

/// Says which runs have changed, and tells everybody.
fn changed(site: &Site, runs: Result<Vec<String>, Refusal>) -> Result<Json<Value>, Refusal> {
    let runs = runs?;
    tell(site);
    Ok(Json(json!({ "runs": runs })))
}

fn tell(site: &Site) {
    site.tests.events.push(&json!({ "history": true }));
}
