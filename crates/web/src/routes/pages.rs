//! Files, and results as files.

use axum::extract::Path;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use crate::assets;
use crate::program::Form;

/// What the page of a result may do: run its own script, in a place of its own without this page's cookie.
const RESULT_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                             img-src data:; frame-ancestors 'none'; sandbox allow-scripts allow-downloads";

/// A file of the page.
pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    assets::answer(&name, &headers)
}

/// A result in a form.
pub(crate) fn result(text: String, form: Form) -> Response {
    let media_type = match form {
        Form::Json => "application/json",
        Form::Text => "text/plain; charset=utf-8",
        Form::Csv => "text/csv; charset=utf-8",
        Form::Page => "text/html; charset=utf-8",
    };
    let media_type = [(header::CONTENT_TYPE, media_type)];
    match form {
        Form::Page => {
            let policy = [(header::CONTENT_SECURITY_POLICY, RESULT_POLICY)];
            (policy, media_type, text).into_response()
        }
        Form::Json | Form::Text | Form::Csv => (media_type, text).into_response(),
    }
}
