//! `GET /v1/limits`: the bounds that callers run into.

use ::quotas::{Quota, QuotaSet, Scope};
use axum::extract::State;
use axum::http::HeaderMap;
use domain::bounds;
use runtime::http::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::config::LimitsSection;
use super::frontend::api_key;
use super::state::HttpState;

/// The bounds that callers run into.
#[derive(Debug, Serialize, ToSchema)]
pub struct LimitsBody {
    request: RequestBounds,
    content: ContentBounds,
    rates: LimitsSection,
    connections: ConnectionBounds,
    /// Quotas of the tenant, agent, key, owner and address, by scope. With an API key: those in force for its agent; without
    /// one: the deployment's. A request past one is refused with 429 `QUOTA_EXCEEDED`.
    quotas: Vec<QuotaBody>,
}

/// A quota.
#[derive(Debug, Serialize, ToSchema)]
pub struct QuotaBody {
    /// Who is limited: tenant, agent, key, owner or address.
    #[schema(example = "owner")]
    scope: &'static str,
    /// What: `runs`, `model_tokens_per_day`, `conversations`, `stored_bytes` or `appended_bytes_per_minute`.
    #[schema(example = "runs")]
    quota: &'static str,
    /// The most.
    bound: u64,
}

/// What one request may be.
#[derive(Debug, Serialize, ToSchema)]
pub struct RequestBounds {
    /// The largest request line and headers together, in bytes.
    header_bytes_max: usize,
    /// The largest body, in bytes.
    body_bytes_max: usize,
    /// The longest time for request and answer, in milliseconds; streams excepted.
    timeout_ms: u64,
    /// How long the server waits for `body_progress_bytes_min` more of a body, in milliseconds.
    body_progress_timeout_ms: u64,
    /// The least that must arrive of a body in each `body_progress_timeout_ms`, in bytes, unless it ends.
    body_progress_bytes_min: usize,
}

/// What connections may be.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConnectionBounds {
    /// The most connections at once from one client address; of IPv6, from one /64 network.
    per_address_max: usize,
    /// How long a client may take nothing of an answer, in milliseconds.
    write_timeout_ms: u64,
    /// How long a connection may have no request open, in milliseconds.
    idle_timeout_ms: u64,
    /// How old a connection may become, in milliseconds.
    age_max_ms: u64,
}

/// What a conversation may hold.
#[derive(Debug, Serialize, ToSchema)]
#[expect(
    clippy::struct_field_names,
    reason = "names of bounds say that they are the most"
)]
pub struct ContentBounds {
    /// The longest title, in bytes.
    title_bytes_max: usize,
    /// The largest metadata as JSON, in bytes.
    metadata_bytes_max: usize,
    /// The largest event, in bytes.
    event_bytes_max: usize,
    /// The most parts of one message.
    parts_max: usize,
    /// The most events that are appended at once.
    events_per_commit_max: usize,
    /// The most tool calls that wait at once.
    open_calls_max: usize,
}

/// The bounds that callers run into.
///
/// They change only with a new deployment; quotas also with the settings of a tenant or agent.
#[utoipa::path(
    get,
    path = "/v1/limits",
    tag = "service",
    responses((status = 200, description = "The bounds.", body = LimitsBody))
)]
pub(super) async fn get_limits(
    State(state): State<HttpState>,
    headers: HeaderMap,
) -> Json<LimitsBody> {
    let quotas = quotas(&state, &headers).await;
    let server = &state.section.server;
    Json(LimitsBody {
        request: RequestBounds {
            header_bytes_max: server.header_bytes_max,
            body_bytes_max: server.body_bytes_max,
            timeout_ms: server.request_timeout_ms,
            body_progress_timeout_ms: server.body_progress_timeout_ms,
            body_progress_bytes_min: server.body_progress_bytes_min,
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
            write_timeout_ms: server.connection.write_timeout_ms,
            idle_timeout_ms: server.connection.idle_timeout_ms,
            age_max_ms: server.connection.age_max_ms,
        },
        quotas: quotas.iter().map(QuotaBody::from).collect(),
    })
}

/// The quotas of the key's agent; of a key that is none, the deployment's.
async fn quotas(state: &HttpState, headers: &HeaderMap) -> QuotaSet {
    let quotas = state.generations.quotas();
    let Some(shown) = api_key(headers) else {
        return *quotas.deployment();
    };
    let registry = &state.gateway.registry;
    match registry.authenticate_api_key(shown, state.now()).await {
        Some(key) => quotas.in_force(key.access.tenant.tenant(), &key.access.agent),
        None => *quotas.deployment(),
    }
}

impl From<(Scope, Quota, u64)> for QuotaBody {
    fn from((scope, quota, bound): (Scope, Quota, u64)) -> Self {
        Self {
            scope: scope.as_str(),
            quota: quota.as_str(),
            bound,
        }
    }
}
