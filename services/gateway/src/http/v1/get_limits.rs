//! `GET /v1/limits`: the limits for callers.

use ::quotas::{QuotaSet, ScopedQuota};
use axum::extract::State;
use axum::http::request::Parts;
use domain::bounds;
use registry::FrontendKey;
use runtime::http::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::frontend_body::FrontendBody;
use http_listener::callers::frontend::api_key;
use http_listener::config::LimitsSection;
use http_listener::cors;
use http_listener::state::HttpState;
use http_listener::visitor_quotas::is_shown;

/// The limits for callers.
#[derive(Debug, Serialize, ToSchema)]
pub struct LimitsBody {
    request: RequestBounds,
    content: ContentBounds,
    rates: LimitsSection,
    connections: ConnectionBounds,
    live_streams: LiveStreamBounds,
    /// Quotas of each owner and each address. With an API key: those of its agent; without one: the deployment's. Those that callers
    /// share are not shown. A request above a quota is rejected with 429 `QUOTA_EXCEEDED`.
    quotas: Vec<QuotaBody>,
    /// What the agent of the API key accepts from its frontends, and sends to them. Absent without a valid key.
    #[serde(skip_serializing_if = "Option::is_none")]
    frontend: Option<FrontendBody>,
}

/// A quota.
#[derive(Debug, Serialize, ToSchema)]
pub struct QuotaBody {
    /// The scope: tenant, agent, key, owner or address.
    #[schema(example = "owner")]
    scope: &'static str,
    /// The quota: `runs`, `model_tokens_per_day`, `conversations`, `stored_bytes` or `appended_bytes_per_minute`.
    #[schema(example = "runs")]
    quota: &'static str,
    /// The maximum.
    bound: u64,
}

/// Bounds of a request.
#[derive(Debug, Serialize, ToSchema)]
pub struct RequestBounds {
    /// Maximum size of request line and headers together, in bytes.
    header_bytes_max: usize,
    /// Maximum size of the body, in bytes.
    body_bytes_max: usize,
    /// Maximum duration of request and response, in milliseconds; streams have none.
    timeout_ms: u64,
    /// How long the server waits for `body_progress_bytes_min` more of a body, in milliseconds.
    body_progress_timeout_ms: u64,
    /// Minimum that must arrive of a body in each `body_progress_timeout_ms`, in bytes, until it ends.
    body_progress_bytes_min: usize,
}

/// Bounds of connections.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConnectionBounds {
    /// Maximum number of connections from one client address; of IPv6, from one /64 network.
    per_address_max: usize,
    /// How long a client may read nothing of a response, in milliseconds.
    write_timeout_ms: u64,
    /// How long a connection may have no open request, in milliseconds.
    idle_timeout_ms: u64,
    /// Maximum age of a connection, in milliseconds.
    age_max_ms: u64,
}

/// Bounds of live streams of conversations.
#[derive(Debug, Serialize, ToSchema)]
pub struct LiveStreamBounds {
    /// Maximum number of open streams of one client address; of IPv6, of one /64 network. Further streams get 429
    /// `TOO_MANY_STREAMS`.
    per_address_max: usize,
    /// Maximum number of open streams of a gateway, with watches over gRPC. Further streams get 503 `OVERLOADED`.
    per_gateway_max: usize,
    /// Maximum age of a stream, in milliseconds. Then it ends with an event, and the client resumes it.
    age_max_ms: u64,
    /// A comment is sent after this time without an event, in milliseconds.
    heartbeat_ms: u64,
    /// How long a client may receive nothing while events wait, in milliseconds. Then the stream ends with an event.
    pause_max_ms: u64,
}

/// Bounds of a conversation.
#[derive(Debug, Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "every bound is a maximum")]
pub struct ContentBounds {
    /// Maximum length of a title, in bytes.
    title_bytes_max: usize,
    /// Maximum size of the metadata as JSON, in bytes.
    metadata_bytes_max: usize,
    /// Maximum size of an event, in bytes.
    event_bytes_max: usize,
    /// Maximum number of parts of a message.
    parts_max: usize,
    /// Maximum number of events in a commit.
    events_per_commit_max: usize,
    /// Maximum number of open tool calls.
    open_calls_max: usize,
}

/// The limits for callers.
///
/// They change only with a new deployment; quotas also change with the settings of a tenant or agent.
#[utoipa::path(
    get,
    path = "/v1/limits",
    tag = "service",
    responses((status = 200, description = "The bounds.", body = LimitsBody))
)]
pub(in crate::http) async fn get_limits(State(state): State<HttpState>, parts: Parts) -> Json<LimitsBody> {
    let key = api_key_of(&state, &parts).await;
    let quotas = quotas(&state, key.as_ref());
    let server = &state.section.server;
    Json(LimitsBody {
        request: RequestBounds {
            header_bytes_max: server.header_bytes_max,
            body_bytes_max: server.body_bytes_max,
            timeout_ms: server.request_timeout_ms,
            body_progress_timeout_ms: server.transport.body_progress_timeout_ms,
            body_progress_bytes_min: server.transport.body_progress_bytes_min,
        },
        content: ContentBounds {
            title_bytes_max: bounds::TITLE_BYTES_MAX,
            metadata_bytes_max: bounds::METADATA_BYTES_MAX,
            event_bytes_max: bounds::EVENT_BYTES_MAX,
            parts_max: bounds::PARTS_MAX,
            events_per_commit_max: bounds::EVENTS_PER_COMMIT_MAX,
            open_calls_max: bounds::OPEN_CALLS_MAX,
        },
        rates: state.section.limits,
        connections: ConnectionBounds {
            per_address_max: server.connection.per_address_max,
            write_timeout_ms: server.transport.write_timeout_ms,
            idle_timeout_ms: server.transport.idle_timeout_ms,
            age_max_ms: server.connection.age_max_ms,
        },
        live_streams: live_streams(&state),
        quotas: quotas.iter().filter(|set| is_shown(set.scope)).map(QuotaBody::from).collect(),
        frontend: key.map(|key| {
            let settings = state.agent_settings(&key.access.agent);
            FrontendBody::from(settings.frontend.as_ref())
        }),
    })
}

fn live_streams(state: &HttpState) -> LiveStreamBounds {
    let live = &state.section.live;
    LiveStreamBounds {
        per_address_max: live.per_address_max,
        per_gateway_max: state.gateway.watchers.max(),
        age_max_ms: live.age_max_ms,
        heartbeat_ms: live.heartbeat_ms,
        pause_max_ms: live.pause_max_ms,
    }
}

/// The valid key of the request; from a page, only if the key allows it. Then the page may read the response.
async fn api_key_of(state: &HttpState, parts: &Parts) -> Option<FrontendKey> {
    let secret = api_key(&parts.headers)?;
    let registry = &state.gateway.registry;
    let key = registry.authenticate_api_key(secret, state.now()).await?;
    cors::admit(parts, &key.allowed_origins).ok()?;
    Some(key)
}

/// The quotas of the key's agent; without a key, the deployment's.
fn quotas(state: &HttpState, key: Option<&FrontendKey>) -> QuotaSet {
    let quotas = state.quotas();
    key.map_or_else(|| *quotas.deployment(), |key| quotas.in_force(key.access.tenant.tenant(), &key.access.agent))
}

impl From<ScopedQuota> for QuotaBody {
    fn from(set: ScopedQuota) -> Self {
        Self { scope: set.scope.as_str(), quota: set.quota.as_str(), bound: set.value }
    }
}
