//! `/mcp`: the tools and resources of the Model Context Protocol, over streamable HTTP.
//!
//! `rmcp` reads and writes the protocol's messages, in the revisions 2025-11-25 and 2026-07-28. The server is stateless: every
//! request is answered by itself, on any gateway. The answer of `subscriptions/listen` is a stream. `guard` runs before it and rejects callers, hosts and bodies. A tool is a
//! file in `tools`; it calls what the endpoints of HTTP call.
//!
//! The messages are not operations of REST, so the OpenAPI description does not contain them.

mod caller;
mod failure;
mod guard;
mod hosts;
mod objects;
mod resource_metadata;
mod resources;
mod server;
mod subscriptions;
mod time;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use http_listener::state::HttpState;
use server::McpServer;

/// The path of the endpoint.
pub const MCP_PATH: &str = "/mcp";
/// Most bytes of a message: two texts of the largest event, escaped as JSON.
pub const MCP_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The endpoint and its resource metadata.
pub(super) fn routes(state: &HttpState) -> Router<HttpState> {
    let served = state.clone();
    let live = &state.section.live;
    let service = StreamableHttpService::new(
        move || Ok(McpServer::new(served.clone())),
        Arc::new(NeverSessionManager::default()),
        // `guard` checks hosts and origins.
        StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_keep_alive(Some(Duration::from_millis(live.heartbeat_ms)))
            .disable_allowed_hosts()
            .with_max_request_body_bytes(MCP_BODY_BYTES_MAX),
    );
    Router::new()
        .route_service(MCP_PATH, service)
        .layer(from_fn_with_state(state.clone(), guard::layer))
        .layer(DefaultBodyLimit::max(MCP_BODY_BYTES_MAX))
        .route(resource_metadata::PATH, get(resource_metadata::resource_metadata))
}
