//! `GET /v1/admin/usage`: tokens of messages and of model calls, by day.

use ::quotas::{Quota, Scope, ScopedQuota};
use axum::extract::State;
use domain::{AgentId, TenantAccess};
use read_model::queries::{ModelUsageDay, USAGE_ROWS_MAX, UsageDay, UsageScope, model_usage_by_day, usage_by_day};
use runtime::http::{HttpProblem, Json, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use api_json::fact::UsageBody;
use history::Deadline;
use http_listener::callers::admin::Admin;
use http_listener::day_range::day_range;
use http_listener::state::HttpState;

/// Which usage to return.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct GetUsageQuery {
    /// The agent; absent: the whole tenant.
    agent_id: Option<String>,
    /// The first day, in UTC.
    #[param(example = "2026-11-01")]
    from: String,
    /// The last day, in UTC; at most 366 days with the first.
    #[param(example = "2026-11-30")]
    to: String,
}

/// Usage by day, agent and model.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsagePage {
    /// By day, agent and model; days without usage are left out.
    days: Vec<UsageDayBody>,
    /// All model calls by day, including stateless turns and summaries: first by agent, then by API key. Do not add
    /// them to `days`: an answer that is recorded is in both, and a call of an agent with a key is counted for each of
    /// the two. Calls are stored for 400 days.
    calls: Vec<CallsDayBody>,
    /// Whether the answer is incomplete: request fewer days, or one agent. The last day may be partial.
    is_cut: bool,
    /// Quotas of the whole tenant, and their current use.
    quotas: Vec<TenantQuotaBody>,
}

/// Model calls of one day, counted for an agent or an API key.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallsDayBody {
    /// The day in UTC on which the calls ended.
    #[schema(example = "2026-11-22")]
    day: String,
    /// The agent; absent if counted for a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    /// The API key; absent if counted for an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key_id: Option<String>,
    /// Number of calls.
    calls: u64,
    /// Tokens that models read. If a reply does not report its tokens, they are estimated from its bytes.
    input_tokens: u64,
    /// Tokens that models wrote.
    output_tokens: u64,
}

/// A quota of the tenant.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantQuotaBody {
    /// Its name.
    #[schema(example = "runs")]
    quota: &'static str,
    /// The maximum.
    bound: u64,
    /// The current use: runs on this gateway, tokens of today, or rows. Absent if only the writer counts it, or if the
    /// rows cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<u64>,
}

/// Tokens of one day, by agent and model.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageDayBody {
    /// The day in UTC on which the messages were recorded.
    #[schema(example = "2026-11-22")]
    day: String,
    /// The agent.
    #[schema(example = "support")]
    agent_id: String,
    /// The model; absent if the messages do not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Messages of the assistant with token counts.
    messages: u64,
    /// Their tokens.
    #[serde(flatten)]
    tokens: UsageBody,
}

/// Tokens of messages and of model calls, by day.
///
/// Computed from the rows, which may lag by moments. Erased messages stay counted.
#[utoipa::path(
    get,
    path = "/v1/admin/usage",
    tag = "admin",
    params(GetUsageQuery),
    responses((status = 200, description = "The usage.", body = UsagePage)),
    security(("bearer" = []))
)]
pub(in crate::http) async fn get_usage(
    State(state): State<HttpState>,
    admin: Admin,
    Query(query): Query<GetUsageQuery>,
) -> Result<Json<UsagePage>, HttpProblem> {
    let days = day_range(&query.from, &query.to)?;
    let agent = query.agent_id.map(AgentId::parse).transpose().map_err(|violation| violation.within("agentId"))?;
    let model = &state.gateway.reader.read_model;
    let rows = Deadline::until(None).rows(usage_by_day(model, &admin.tenant, agent.as_ref(), days)).await?;
    let calls = Deadline::until(None).rows(model_usage_by_day(model, &admin.tenant, agent.as_ref(), days)).await?;
    let is_cut = |rows: usize| u32::try_from(rows).is_ok_and(|rows| rows >= USAGE_ROWS_MAX);
    Ok(Json(UsagePage {
        quotas: tenant_quotas(&state, &admin.tenant).await,
        is_cut: is_cut(rows.len()) || is_cut(calls.len()),
        days: rows.into_iter().map(UsageDayBody::from).collect(),
        calls: calls.into_iter().map(CallsDayBody::from).collect(),
    }))
}

/// The quotas of the whole tenant.
async fn tenant_quotas(state: &HttpState, tenant: &TenantAccess) -> Vec<TenantQuotaBody> {
    let quotas = state.quotas();
    let tokens = quotas.tokens_of(tenant).await;
    let runs = quotas.runs_of(tenant.tenant());
    let stored = quotas.storage_of(tenant).await;
    let in_force = quotas.of_tenant(tenant.tenant());
    let quotas_of_tenant = in_force.iter().filter(|set| set.scope == Scope::Tenant);
    let body = |set: ScopedQuota| TenantQuotaBody {
        quota: set.quota.as_str(),
        bound: set.value,
        used: match set.quota {
            Quota::Runs => Some(runs),
            Quota::ModelTokensPerDay => Some(tokens),
            Quota::Conversations => stored.map(|stored| stored.conversations),
            Quota::StoredBytes => stored.map(|stored| stored.bytes),
            Quota::AppendedBytesPerMinute => None,
        },
    };
    quotas_of_tenant.map(body).collect()
}

impl From<ModelUsageDay> for CallsDayBody {
    fn from(usage: ModelUsageDay) -> Self {
        let is_agent = usage.scope == UsageScope::Agent;
        let (agent_id, api_key_id) = if is_agent { (Some(usage.name), None) } else { (None, Some(usage.name)) };
        Self {
            day: usage.day.to_string(),
            agent_id,
            api_key_id,
            calls: usage.calls,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
        }
    }
}

impl From<UsageDay> for UsageDayBody {
    fn from(usage: UsageDay) -> Self {
        Self {
            day: usage.day.to_string(),
            agent_id: usage.agent.as_str().to_owned(),
            model: usage.model,
            messages: usage.messages,
            tokens: usage.tokens.into(),
        }
    }
}
