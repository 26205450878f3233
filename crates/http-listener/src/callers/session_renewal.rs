//! Renewal of sessions: after half of its lifetime, responses contain the session with a new expiry, as the same header
//! or cookie.

use std::sync::{Arc, OnceLock};

use axum::extract::Request;
use axum::http::{Extensions, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use domain::AgentId;
use serde::Deserialize;
use utoipa::ToSchema;

use super::headers::SESSION_HEADER;
use crate::cookies;

/// How a caller stores a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[schema(as = TransportName)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// The answer contains the session; the caller sends it as the header `x-session-id`.
    #[default]
    Header,
    /// A cookie that scripts cannot read, for pages whose origin the API key lists by name, on the gateway's own site.
    Cookie,
}

/// The response header that contains a session.
#[must_use]
pub(crate) fn session_header(transport: Transport, agent: &AgentId, token: &str) -> Option<(HeaderName, HeaderValue)> {
    match transport {
        Transport::Header => {
            let value = HeaderValue::try_from(token).ok()?;
            Some((HeaderName::from_static(SESSION_HEADER), value))
        }
        Transport::Cookie => Some((header::SET_COOKIE, cookies::set_session(agent, token)?)),
    }
}

/// The renewed session of one request, once it is known.
#[derive(Debug, Clone, Default)]
struct Renewal(Arc<OnceLock<(HeaderName, HeaderValue)>>);

/// Adds a renewed session to the response.
pub(crate) fn set(extensions: &Extensions, header: Option<(HeaderName, HeaderValue)>) {
    if let (Some(Renewal(renewal)), Some(header)) = (extensions.get(), header) {
        // A second verification of the same session has the same result.
        let _ = renewal.set(header);
    }
}

/// Adds the renewed session to the response.
pub async fn layer(mut request: Request, next: Next) -> Response {
    let renewal = Renewal::default();
    request.extensions_mut().insert(renewal.clone());
    let mut response = next.run(request).await;
    if let Some((name, value)) = renewal.0.get() {
        response.headers_mut().append(name.clone(), value.clone());
    }
    response
}
