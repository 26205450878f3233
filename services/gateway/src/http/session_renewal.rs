//! Renewed sessions: once half of a session's life has passed, answers carry it with a new expiry, in the way in which it
//! was sent.

use std::sync::{Arc, OnceLock};

use axum::extract::Request;
use axum::http::{Extensions, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use domain::AgentId;

use super::named::SESSION_HEADER;
use super::session_cookie;

/// How a caller keeps a session, and sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    /// As the header `x-session-id`, or in a body.
    Header,
    /// As the agent's cookie.
    Cookie,
}

/// The header that hands a session over.
#[must_use]
pub(super) fn handed_over(
    transport: Transport,
    agent: &AgentId,
    token: &str,
) -> Option<(HeaderName, HeaderValue)> {
    match transport {
        Transport::Header => {
            let value = HeaderValue::try_from(token).ok()?;
            Some((HeaderName::from_static(SESSION_HEADER), value))
        }
        Transport::Cookie => Some((header::SET_COOKIE, session_cookie::set(agent, token)?)),
    }
}

/// The renewed session of one request, once it is known.
#[derive(Debug, Clone, Default)]
struct Renewal(Arc<OnceLock<(HeaderName, HeaderValue)>>);

/// Has the answer carry a renewed session.
pub(super) fn offer(extensions: &Extensions, header: Option<(HeaderName, HeaderValue)>) {
    if let (Some(Renewal(renewal)), Some(header)) = (extensions.get(), header) {
        // A second look at one request's session is the same.
        let _ = renewal.set(header);
    }
}

/// Adds the renewed session to the answer.
pub(super) async fn layer(mut request: Request, next: Next) -> Response {
    let renewal = Renewal::default();
    request.extensions_mut().insert(renewal.clone());
    let mut response = next.run(request).await;
    if let Some((name, value)) = renewal.0.get() {
        response.headers_mut().append(name.clone(), value.clone());
    }
    response
}
