//! What a request appends: a JSON document with one commit, or lines of any number of commits.

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts as _, Request};
use axum::http::{HeaderMap, header};
use domain::ViolationReason;
use runtime::http::{HttpProblem, Json, Query};
use serde::Deserialize;
use utoipa::IntoParams;

use super::document::AppendEventsBody;
use http_listener::export::NDJSON;
use http_listener::state::HttpState;

/// Parameters of an append.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct AppendQuery {
    /// With NDJSON: the version that the conversation must have before the first line: 409 `VERSION_CONFLICT` otherwise. No
    /// other event may be recorded between two commits of the request.
    expected_version: Option<u64>,
}

/// The body of an append, by its content type.
#[derive(Debug)]
pub(in crate::http) enum AppendRequest {
    /// One commit.
    Document(AppendEventsBody),
    /// An event in each line.
    Lines { body: Body, expected_version: Option<u64> },
}

impl FromRequest<HttpState> for AppendRequest {
    type Rejection = HttpProblem;

    async fn from_request(request: Request, state: &HttpState) -> Result<Self, Self::Rejection> {
        let (mut parts, body) = request.into_parts();
        let Query(query) = Query::<AppendQuery>::from_request_parts(&mut parts, state).await?;
        if is_ndjson(&parts.headers) {
            return Ok(Self::Lines { body, expected_version: query.expected_version });
        }
        if query.expected_version.is_some() {
            let detail = "is for NDJSON: set it in the body";
            return Err(HttpProblem::of_field(ViolationReason::Conflict, "expectedVersion", detail));
        }
        let request = Request::from_parts(parts, body);
        let Json(document) = Json::from_request(request, state).await?;
        Ok(Self::Document(document))
    }
}

fn is_ndjson(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(NDJSON))
}
