//! What a model reads next, rendered in a format: the query, the answer, and what makes it.

use domain::ViolationReason;
use std::time::Instant;

use context::Policy;
use formats::Format;
use history::Target;
use runtime::http::HttpProblem;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::assemble_context_request::Policy as RequestedPolicy;
use wire::status::Problem;

use conversations::assembly::{self, AssembledContext, ContextRequest};
use conversations::problem::of_contradiction;
use conversations::{Gateway, metrics};
use http_listener::state::HttpState;

/// The name of the receipt's message.
const RECEIPT: &str = "hansard.read.v1.Receipt";

/// Which context to assemble.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ContextQuery {
    /// The format: `openai-chat`, `openai-responses`, `anthropic`, `gemini`, `ollama` or `canonical`.
    #[param(example = "openai-chat")]
    pub(in crate::http) format: String,
    /// The model's context window in tokens, instead of the one in the agent's policy.
    pub(in crate::http) budget: Option<u32>,
    /// Most messages; absent: as many as the budget has room for.
    #[param(maximum = 1000)]
    pub(in crate::http) messages: Option<u32>,
    /// The version of the conversation; absent: the newest.
    pub(in crate::http) version: Option<u64>,
}

impl ContextQuery {
    /// The format.
    ///
    /// # Errors
    /// 400: it is unknown.
    pub(in crate::http) fn format(&self) -> Result<Format, HttpProblem> {
        Format::parse(&self.format).ok_or_else(unknown_format)
    }
}

/// A context.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderedContextBody {
    /// The version of the conversation that the context was assembled from.
    pub(in crate::http) version: u64,
    /// The part of a model request's body that contains the context; its bytes are those of the receipt.
    #[schema(value_type = Object)]
    pub(in crate::http) body: Box<RawValue>,
    /// The receipt, as `hansard verify-receipt` takes it.
    #[schema(value_type = Object)]
    pub(in crate::http) receipt: Value,
    /// With `budget`: the policy of the receipt, which no agent has. `hansard verify-receipt` takes it with `--policy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(in crate::http) policy: Option<Value>,
    /// The position of the conversation's last commit.
    position_token: String,
}

/// Assembles the context of a query.
///
/// # Errors
/// A field of the query is invalid, or the conversation cannot be read.
pub(in crate::http) async fn render(
    state: &HttpState,
    target: &Target,
    query: ContextQuery,
) -> Result<RenderedContextBody, HttpProblem> {
    let began = Instant::now();
    let format = query.format()?;
    let policy = match query.budget {
        Some(tokens) => Some(with_budget(&state.gateway, target, tokens).await?),
        None => None,
    };
    let policy_json = policy.as_ref().map(Value::to_string);
    let query_request = proto::AssembleContextRequest {
        format: format.number(),
        messages_max: query.messages.unwrap_or_default(),
        at_version: query.version.unwrap_or_default(),
        policy: policy_json.map(RequestedPolicy::PolicyJson),
        ..proto::AssembleContextRequest::default()
    };
    let request = ContextRequest::from_proto(&state.gateway, target, query_request)
        .await
        .map_err(with_query_names)?
        .ok_or_else(unknown_format)?;
    let context = assembly::assemble(&state.gateway, target, &request, &[]).await.map_err(with_query_names)?;
    let source = if context.is_in_rows { "rows" } else { "tail" };
    metrics::context_assembled(began.elapsed(), source);
    body(context, policy).map_err(HttpProblem::from)
}

/// The agent's policy with another context window.
async fn with_budget(gateway: &Gateway, target: &Target, tokens: u32) -> Result<Value, HttpProblem> {
    let (tenant, agent) = (&target.key.tenant, &target.access.agent);
    let found = gateway.policies.find(&gateway.registry, tenant, agent, None).await?;
    let mut policy: Policy = found.policy.clone();
    policy.budget.context_tokens_max = Some(tokens);
    serde_json::to_value(&policy).map_err(|error| HttpProblem::from(of_contradiction(error.to_string())))
}

fn body(context: AssembledContext, policy: Option<Value>) -> Result<RenderedContextBody, Problem> {
    let broken = |error: String| of_contradiction(error);
    let text = String::from_utf8(context.body).map_err(|error| broken(error.to_string()))?;
    let receipt = wire::json::of(RECEIPT, &context.receipt);
    Ok(RenderedContextBody {
        version: context.receipt.version,
        body: RawValue::from_string(text).map_err(|error| broken(error.to_string()))?,
        receipt: receipt.map_err(|error| broken(error.to_string()))?,
        policy,
        position_token: context.position_token,
    })
}

/// Replaces the names of gRPC fields by those of the query.
fn with_query_names(problem: impl Into<Problem>) -> Problem {
    // Everything in the policy but its budget is valid: the agent has it.
    let names = [("messages_max", "messages"), ("at_version", "version"), ("policy_json", "budget")];
    problem.into().rename_field(|field| {
        let (_, name) = names.into_iter().find(|(parent, _)| field.relative_to(*parent).is_some())?;
        Some(name.into())
    })
}

fn unknown_format() -> HttpProblem {
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
    let detail = format!("is not a format: use {}", names.join(", "));
    HttpProblem::of_field(ViolationReason::Malformed, "format", detail)
}
