//! What is checked before a message is read: host, caller, origin, scopes, size and JSON.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest as _, FromRequestParts as _, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use runtime::http::{CODE_BODY_TOO_LARGE, HttpProblem, StreamSlot};
use serde::de::IgnoredAny;
use serde_json::json;
use wire::status::Reason;

use super::caller::McpCaller;
use super::resource_metadata::{self, SCOPES};
use super::{MCP_BODY_BYTES_MAX, hosts, subscriptions};
use conversations::positions::RequestScope;
use http_listener::config::McpSection;
use http_listener::state::HttpState;

/// The error of JSON-RPC for text that is not JSON.
const PARSE_ERROR: i32 = -32700;
/// The error of JSON-RPC for JSON that is not one message.
const INVALID_REQUEST: i32 = -32600;

/// Admits a request, and stores its caller and its positions for the tools.
pub(super) async fn layer(State(state): State<HttpState>, request: Request, next: Next) -> Response {
    match admit(&state, request).await {
        Ok((request, None)) => next.run(request).await,
        Ok((request, Some(slot))) => subscriptions::respond(slot, next.run(request).await),
        Err(rejected) => *rejected,
    }
}

/// The request, with a slot if its answer is a stream.
async fn admit(state: &HttpState, request: Request) -> Result<(Request, Option<StreamSlot>), Box<Response>> {
    let section = &state.section.mcp;
    let refused = |problem: HttpProblem| Box::new(challenged(problem, section));
    let is_listen = subscriptions::is_listen(&request);
    let (mut parts, body) = request.into_parts();
    hosts::check(&parts, section).map_err(refused)?;
    let caller = McpCaller::authenticate(&mut parts, state).await.map_err(refused)?;
    caller.require_any_scope().map_err(refused)?;
    parts.extensions.insert(Arc::new(caller));
    if let Some(positions) = RequestScope::current() {
        parts.extensions.insert(positions);
    }
    let slot = if is_listen {
        let slot = StreamSlot::from_request_parts(&mut parts, state).await;
        Some(slot.map_err(refused)?)
    } else {
        None
    };
    let request = Request::from_parts(parts, body);
    if request.method() != Method::POST {
        return Ok((request, None));
    }
    Ok((read(request).await?, slot))
}

/// Reads the whole body, which must be one JSON object.
async fn read(request: Request) -> Result<Request, Box<Response>> {
    let (parts, body) = request.into_parts();
    let whole = Request::from_parts(parts.clone(), body);
    let body = Bytes::from_request(whole, &())
        .await
        .map_err(|rejection| Box::new(unread(rejection.status()).into_response()))?;
    check_message(&body)?;
    Ok(Request::from_parts(parts, Body::from(body)))
}

fn check_message(body: &[u8]) -> Result<(), Box<Response>> {
    if serde_json::from_slice::<IgnoredAny>(body).is_err() {
        let message = "the body is not valid JSON: send one JSON-RPC message";
        return Err(Box::new(rpc_error(PARSE_ERROR, message)));
    }
    if body.trim_ascii_start().first() != Some(&b'{') {
        let message = "the body is not an object: send one JSON-RPC message; batches are not part of the protocol";
        return Err(Box::new(rpc_error(INVALID_REQUEST, message)));
    }
    Ok(())
}

fn unread(status: StatusCode) -> HttpProblem {
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        let detail = format!("the message is larger than {MCP_BODY_BYTES_MAX} bytes: send shorter texts");
        return HttpProblem::new(status, CODE_BODY_TOO_LARGE, detail);
    }
    let detail = "the body ended early or cannot be read: send it again";
    HttpProblem::new(StatusCode::BAD_REQUEST, "BODY_UNREADABLE", detail)
}

/// An error about a message whose id is unknown.
fn rpc_error(code: i32, message: &str) -> Response {
    let error = json!({"jsonrpc": "2.0", "error": {"code": code, "message": message}});
    (StatusCode::BAD_REQUEST, axum::Json(error)).into_response()
}

/// A problem; without a valid token or scope, with the challenge of RFC 6750.
fn challenged(problem: HttpProblem, section: &McpSection) -> Response {
    let error = if problem.status == StatusCode::UNAUTHORIZED {
        "invalid_token"
    } else if problem.reason() == Some(Reason::MissingScope) {
        "insufficient_scope"
    } else {
        return problem.into_response();
    };
    let mut challenge = format!("Bearer error=\"{error}\", scope=\"{}\"", SCOPES.join(" "));
    if let Some(url) = resource_metadata::url(section) {
        challenge = format!("{challenge}, resource_metadata=\"{url}\"");
    }
    let mut response = problem.into_response();
    if let Ok(challenge) = HeaderValue::try_from(challenge) {
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}
