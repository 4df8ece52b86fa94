//! Why a request is not answered.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;

/// A sentence, and the option that it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The identifier of the option.
    pub option: Option<String>,
    /// The sentence.
    pub text: String,
}

/// Why a request is not answered; a sentence for people.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// What was asked for cannot be.
    Wrong(String),
    /// A command line with faults.
    Faults(Vec<Fault>),
    /// A text is wrong in a line, counted from 1.
    AtLine(String, usize),
    /// Nobody may ask for that here.
    Forbidden(String),
    /// It is not there.
    Missing(String),
    /// As much happens as may.
    Busy(String),
    /// This host cannot do it.
    Failed(String),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::Wrong(_) | Self::Faults(_) | Self::AtLine(..) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Missing(_) => StatusCode::NOT_FOUND,
            Self::Busy(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let body = match self {
            Self::Faults(faults) => {
                let first = faults.first().map_or("", |fault| fault.text.as_str());
                json!({ "error": first, "faults": faults })
            }
            Self::AtLine(why, line) => json!({ "error": why, "line": line }),
            Self::Wrong(why)
            | Self::Forbidden(why)
            | Self::Missing(why)
            | Self::Busy(why)
            | Self::Failed(why) => json!({ "error": why }),
        };
        (status, Json(body)).into_response()
    }
}
