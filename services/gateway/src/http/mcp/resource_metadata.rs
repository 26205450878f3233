//! `GET /.well-known/oauth-protected-resource/mcp`: where clients get tokens (RFC 9728). Hansard issues no tokens over OAuth: the
//! document exists if the settings name the authorization servers that sign a tenant's tokens.
//!
//! Source: <https://www.rfc-editor.org/rfc/rfc9728>.

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use runtime::http::{HttpProblem, Json};
use serde_json::{Value, json};

use super::MCP_PATH;
use http_listener::config::McpSection;
use http_listener::state::HttpState;

/// The path of the document.
pub(super) const PATH: &str = "/.well-known/oauth-protected-resource/mcp";

/// The scopes of tokens that are of use here.
pub(super) const SCOPES: [&str; 2] = ["read", "append"];

/// The URL of the document; `None`: there is none.
pub(super) fn url(section: &McpSection) -> Option<String> {
    if section.authorization_servers.is_empty() {
        return None;
    }
    let resource = section.url.as_deref()?;
    let origin: Uri = resource.parse().ok()?;
    let (scheme, authority) = (origin.scheme_str()?, origin.authority()?);
    Some(format!("{scheme}://{authority}{PATH}"))
}

/// The document.
pub(super) async fn resource_metadata(State(state): State<HttpState>) -> Result<Json<Value>, HttpProblem> {
    let section = &state.section.mcp;
    if url(section).is_none() {
        let detail = format!(
            "no authorization server is configured for {MCP_PATH}: ask the operator for a token, or set http.mcp.url and http.mcp.authorization_servers"
        );
        return Err(HttpProblem::new(StatusCode::NOT_FOUND, "NO_AUTHORIZATION_SERVER", detail));
    }
    Ok(Json(json!({
        "resource": section.url,
        "authorization_servers": section.authorization_servers,
        "scopes_supported": SCOPES,
        "bearer_methods_supported": ["header"],
        "resource_name": "Hansard",
    })))
}
