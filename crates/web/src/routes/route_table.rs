//! The requests of the API: what answers them, and what is said of them.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::{MethodRouter, get, post};

use super::{events, history, orders, session};
use crate::site::Site;

/// Bytes of a file that is taken in.
const MAX_FILE: usize = 64 << 20;

/// A request and its answer.
pub(crate) struct Route {
    /// `get` or `post`.
    pub(crate) method: &'static str,
    /// With its variable parts in braces.
    pub(crate) path: &'static str,
    pub(crate) handler: fn() -> MethodRouter<Arc<Site>>,
    pub(crate) summary: &'static str,
    pub(crate) asks: Asks,
    pub(crate) answer: Answer,
}

/// What a request brings.
pub(crate) enum Asks {
    Nothing,
    /// Words behind the path.
    Query(&'static [Member]),
    /// An object.
    Object(&'static [Member]),
    /// A file, and words behind the path.
    File(&'static [Member]),
}

/// A member, with its type; a type with `?` may be missing.
pub(crate) type Member = (&'static str, &'static str);

/// What comes back where nothing is in the way.
pub(crate) enum Answer {
    /// No content.
    Done,
    /// JSON, in words.
    Json(&'static str),
    /// JSON of something new.
    Made(&'static str),
    /// The form that was asked for.
    Form,
    /// A page.
    Page,
    /// Server-sent events, which go on.
    Events,
}

const RUNS: Member = ("runs", "string");
const PLAN: &[Member] = &[
    ("job", "string?"),
    ("options", "array?"),
    ("line", "string?"),
];
const MESH: &[Member] = &[
    ("hosts", "string"),
    ("pattern", "string?"),
    ("test", "string?"),
];
const COMPARED: &[Member] = &[("a", "string"), ("b", "string"), ("notice", "number?")];
const CHANGED: &str = "`runs`: the runs that changed";

const fn row(
    method: &'static str,
    path: &'static str,
    handler: fn() -> MethodRouter<Arc<Site>>,
    summary: &'static str,
    asks: Asks,
    answer: Answer,
) -> Route {
    Route {
        method,
        path,
        handler,
        summary,
        asks,
        answer,
    }
}

use Answer::{Done, Events, Form, Json, Made, Page};
use Asks::{File, Nothing, Object, Query};

/// All of them.
#[rustfmt::skip]
pub(crate) const ROUTES: &[Route] = &[
    row("post", "/api/login", || post(session::log_in), "Trade the key for a cookie", Object(&[("key", "string")]), Done),
    row("get", "/api/session", || get(session::session), "What does not change, and the options of the last test", Nothing, Json("version, host, addresses, read_only, history, saves, max_tests, targets, form")),
    row("get", "/api/form", || get(session::form), "The table of options", Nothing, Json("a `tapeline-form/1` document")),
    row("post", "/api/plan", || post(orders::plan), "What options or a command line come to", Object(PLAN), Json("job, options, the line under each name, faults, notes")),
    row("get", "/api/tests", || get(orders::list), "All tests, the newest last", Nothing, Json("`tests`: number, job, line, options, state and end of each")),
    row("post", "/api/tests", || post(orders::start), "Start a test or a server", Object(PLAN), Made("`test`: its number")),
    row("post", "/api/tests/{test}/stop", || post(orders::stop), "End a test in order", Nothing, Done),
    row("get", "/api/tests/{test}/events", || get(orders::lines), "The lines of a test's --json-stream so far", Nothing, Json("`events`: the lines")),
    row("get", "/api/tests/{test}/{form}", || get(orders::export), "The result of a test", Nothing, Form),
    row("post", "/api/mesh/plan", || post(orders::check_mesh), "What tests among many hosts come to; nothing is tested", Object(MESH), Json("`text`: a sentence")),
    row("post", "/api/mesh", || post(orders::start_mesh), "Start tests among many hosts", Object(MESH), Made("`test`: their number")),
    row("get", "/api/events", || get(events::events), "What happens, as it happens", Nothing, Events),
    row("get", "/api/history", || get(history::list), "Runs that were kept, the latest first", Query(&[("runs", "string?"), ("most", "integer?")]), Json("file, total, `runs` and their `quantities`")),
    row("post", "/api/history/note", || post(history::note), "Write a note to runs", Object(&[RUNS, ("text", "string")]), Json(CHANGED)),
    row("post", "/api/history/tag", || post(history::tag), "Give runs a tag, or without a value take it", Object(&[RUNS, ("key", "string"), ("value", "string?")]), Json(CHANGED)),
    row("post", "/api/history/delete", || post(history::delete), "Remove runs a little later", Object(&[RUNS]), Json("`undo`: what takes it back, `runs`, `seconds`: so long")),
    row("post", "/api/history/undo", || post(history::undo), "Take a removal back", Object(&[("undo", "integer")]), Done),
    row("post", "/api/history/import", || post(history::import).layer(DefaultBodyLimit::max(MAX_FILE)), "Take in a file of results", File(&[("name", "string?")]), Json(CHANGED)),
    row("get", "/api/history/{run}/{form}", || get(history::run), "A run that was kept", Nothing, Form),
    row("post", "/api/compare", || post(history::compare), "Compare runs", Object(COMPARED), Json("`comparison`: a `tapeline-comparison/1` document, `text`: the same for a terminal")),
    row("get", "/api/compare/page", || get(history::comparison_page), "The page of a comparison", Query(COMPARED), Page),
];
