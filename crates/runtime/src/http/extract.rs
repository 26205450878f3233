//! Extractors: JSON bodies, queries and path parameters. Every rejection is a problem that names the field.

use std::borrow::Cow;

use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, OptionalFromRequest, Request};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::{ViolationReason, surrogates};
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use metrics::counter;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::parse_error;
use super::problem::{CODE_BODY_TOO_LARGE, HttpProblem};

/// A JSON body of a request or a response. The type decides whether unknown fields are rejected.
#[derive(Debug, Clone, Copy, Default)]
pub struct Json<T>(pub T);

/// The query of the URL.
#[derive(Debug, Clone, Copy, Default)]
pub struct Query<T>(pub T);

/// The parameters of the path.
#[derive(Debug, Clone, Copy, Default)]
pub struct Path<T>(pub T);

impl<T, S> FromRequest<S> for Json<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = HttpProblem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        if !is_json(request.headers()) {
            return Err(not_json());
        }
        let body = Bytes::from_request(request, state).await.map_err(|rejection| unread(rejection.status()))?;
        parse_json(&body).map(Self)
    }
}

/// `None` for `null` and for an empty body, whatever its content type is.
impl<T, S> OptionalFromRequest<S> for Json<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = HttpProblem;

    async fn from_request(request: Request, state: &S) -> Result<Option<Self>, Self::Rejection> {
        let is_json = is_json(request.headers());
        let body = Bytes::from_request(request, state).await.map_err(|rejection| unread(rejection.status()))?;
        if body.is_empty() {
            return Ok(None);
        }
        if !is_json {
            return Err(not_json());
        }
        parse_json::<Option<T>>(&body).map(|value| value.map(Self))
    }
}

/// The value of a JSON document. If it has texts with halves of surrogate pairs, all halves are U+FFFD, and the document is counted.
///
/// # Errors
/// 400: the text is not JSON, or a field is missing, unknown or malformed. The problem names the field, never its value.
pub fn parse_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, HttpProblem> {
    let text = std::str::from_utf8(json).map_err(|_| parse_error::not_utf8())?;
    read(text.as_bytes()).or_else(|problem| match surrogates::without_unpaired(text.as_bytes()) {
        // Halves in documents that are kept verbatim are no problem.
        Cow::Borrowed(_) => Err(problem),
        Cow::Owned(repaired) => {
            let value = read(&repaired)?;
            counter!("http_server_bodies_repaired_total").increment(1);
            Ok(value)
        }
    })
}

fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, HttpProblem> {
    let mut json = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|e| parse_error::from_json(&e))?;
    json.end().map_err(|e| parse_error::from_syntax(&e))?;
    Ok(value)
}

/// Reads a value of JSON that is not a body of its own.
///
/// # Errors
/// 400 with the field that does not match the type, without its value.
pub fn from_json_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, HttpProblem> {
    serde_path_to_error::deserialize(value).map_err(|error| parse_error::from_json(&error))
}

fn not_json() -> HttpProblem {
    let detail = "the body must be JSON: set content-type to application/json";
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    HttpProblem::new(status, "CONTENT_TYPE_NOT_JSON", detail)
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

impl<T, S> FromRequestParts<S> for Query<T>
where
    T: DeserializeOwned,
    S: Sync,
{
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let query = parts.uri.query().unwrap_or_default();
        let pairs = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
        let value = serde_path_to_error::deserialize(pairs);
        value.map(Self).map_err(|e| parse_error::from_query(&e))
    }
}

impl<T, S> FromRequestParts<S> for Path<T>
where
    T: DeserializeOwned + Send,
    S: Send + Sync,
{
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path(value)| Self(value)).map_err(|rejection| from_path(&rejection))
    }
}

/// Whether the content type is `application/json` or has the suffix `+json`; parameters are ignored.
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE);
    let Some(value) = value.and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

fn unread(status: StatusCode) -> HttpProblem {
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        let detail = "the body is larger than the server accepts: send less";
        return HttpProblem::new(status, CODE_BODY_TOO_LARGE, detail);
    }
    let detail = "the body ended early or cannot be read: send it again";
    HttpProblem::new(StatusCode::BAD_REQUEST, "BODY_UNREADABLE", detail)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are errors of the route, or name no parameter")]
fn from_path(rejection: &PathRejection) -> HttpProblem {
    let key = match rejection {
        PathRejection::FailedToDeserializePathParams(failed) => match failed.kind() {
            ErrorKind::ParseErrorAtKey { key, .. }
            | ErrorKind::InvalidUtf8InPathParam { key }
            | ErrorKind::DeserializeError { key, .. } => Some(key.clone()),
            _ => None,
        },
        _ => None,
    };
    let detail = "a part of the path is malformed: check the ids in it";
    HttpProblem { field: key, ..HttpProblem::new(StatusCode::BAD_REQUEST, ViolationReason::Malformed, detail) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_json() {
        for (value, expected) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/merge-patch+json", true),
            ("text/json", false),
            ("text/plain", false),
            ("application/x-ndjson", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, value.parse().unwrap());
            assert_eq!(is_json(&headers), expected, "{value}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
