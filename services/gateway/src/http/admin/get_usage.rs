//! `GET /v1/admin/usage`: what messages and calls of models used, by day.

use ::quotas::{Quota, Scope};
use axum::extract::State;
use domain::{AgentId, TenantAccess, Violation, ViolationReason};
use read_model::queries::{
    ModelUsageDay, USAGE_ROWS_MAX, UsageDay, UsageScope, model_usage_by_day, usage_by_day,
};
use read_model::{Day, DayRange};
use runtime::http::{HttpProblem, Json, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use wire::status::Problem;

use crate::http::admin_caller::Admin;
use crate::http::body::UsageBody;
use crate::http::problem;
use crate::http::state::HttpState;
use history::Deadline;

/// Which usage to sum up.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct GetUsageQuery {
    /// Only this agent's; absent: the whole tenant's.
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
    /// By day, then agent, then model; a day without any has none.
    days: Vec<UsageDayBody>,
    /// Every call that gateways made of models, stateless turns and summaries among them, by day: of each agent, then of each
    /// API key. Not to be added to `days`: an answer that is recorded is in both, and a call of an agent by a key is counted
    /// for each of the two. Calls are kept for 400 days.
    calls: Vec<CallsDayBody>,
    /// Whether there are more than could be told: ask for fewer days, or for one agent. The last day may then lack some.
    is_cut: bool,
    /// What the tenant may use as a whole, and what it uses now.
    quotas: Vec<TenantQuotaBody>,
}

/// The calls of models that count against an agent or an API key on one day.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallsDayBody {
    /// The day in UTC on which the calls ended.
    #[schema(example = "2026-11-22")]
    day: String,
    /// The agent; absent where a key is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    /// The API key; absent where an agent is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key_id: Option<String>,
    /// How many calls.
    calls: u64,
    /// Tokens that models read. A call without a report of its tokens is estimated from its bytes.
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
    /// The most.
    bound: u64,
    /// What is in use: runs on this gateway, tokens of today, or what the rows hold. Absent where only the writer counts, and where
    /// the rows cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<u64>,
}

/// What a model was paid for on one day, by one agent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageDayBody {
    /// The day in UTC on which the messages were recorded.
    #[schema(example = "2026-11-22")]
    day: String,
    /// The agent.
    #[schema(example = "support")]
    agent_id: String,
    /// The model; absent where the messages do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Messages of the assistant that told what they cost.
    messages: u64,
    /// Their tokens.
    #[serde(flatten)]
    tokens: UsageBody,
}

/// What messages and calls of models used, by day.
///
/// Counted from the rows, so that the last moments may be missing. What was erased stays counted.
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
    let of = |violation: Violation| problem::of(Problem::from(violation));
    let days = days(&query).map_err(of)?;
    let agent = query.agent_id.map(AgentId::parse).transpose();
    let agent = agent.map_err(|violation| of(violation.within("agentId")))?;
    let model = &state.gateway.reader.read_model;
    let rows = usage_by_day(model, &admin.tenant, agent.as_ref(), days);
    let rows = Deadline::until(None).rows(rows).await;
    let rows = rows.map_err(problem::of)?;
    let calls = model_usage_by_day(model, &admin.tenant, agent.as_ref(), days);
    let calls = Deadline::until(None).rows(calls).await;
    let calls = calls.map_err(problem::of)?;
    let is_cut = |rows: usize| u32::try_from(rows).is_ok_and(|rows| rows >= USAGE_ROWS_MAX);
    Ok(Json(UsagePage {
        quotas: tenant_quotas(&state, &admin.tenant).await,
        is_cut: is_cut(rows.len()) || is_cut(calls.len()),
        days: rows.into_iter().map(UsageDayBody::from).collect(),
        calls: calls.into_iter().map(CallsDayBody::from).collect(),
    }))
}

/// The quotas of the tenant as a whole.
async fn tenant_quotas(state: &HttpState, tenant: &TenantAccess) -> Vec<TenantQuotaBody> {
    let quotas = state.generations.quotas();
    let tokens = quotas.tokens_of(tenant).await;
    let runs = quotas.runs_of(tenant.tenant());
    let stored = quotas.storage_of(tenant).await;
    let in_force = quotas.of_tenant(tenant.tenant());
    let of_tenant = in_force
        .iter()
        .filter(|(scope, ..)| *scope == Scope::Tenant);
    let body = |(_, quota, bound): (Scope, Quota, u64)| TenantQuotaBody {
        quota: quota.as_str(),
        bound,
        used: match quota {
            Quota::Runs => Some(runs),
            Quota::ModelTokensPerDay => Some(tokens),
            Quota::Conversations => stored.map(|stored| stored.conversations),
            Quota::StoredBytes => stored.map(|stored| stored.bytes),
            Quota::AppendedBytesPerMinute => None,
        },
    };
    of_tenant.map(body).collect()
}

fn days(query: &GetUsageQuery) -> Result<DayRange, Violation> {
    let first = day(&query.from, "from")?;
    let last = day(&query.to, "to")?;
    DayRange::new(first, last).map_err(|error| {
        Violation::new(ViolationReason::OutOfRange, format!("is refused: {error}")).within("to")
    })
}

fn day(text: &str, field: &str) -> Result<Day, Violation> {
    let rule = "is no day: write 2026-11-22";
    Day::parse(text).ok_or_else(|| Violation::new(ViolationReason::Malformed, rule).within(field))
}

impl From<ModelUsageDay> for CallsDayBody {
    fn from(usage: ModelUsageDay) -> Self {
        let is_agent = usage.scope == UsageScope::Agent;
        let (agent_id, api_key_id) = if is_agent {
            (Some(usage.name), None)
        } else {
            (None, Some(usage.name))
        };
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
