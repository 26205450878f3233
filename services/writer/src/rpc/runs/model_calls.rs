//! Keeps a call of a model server in the provider log, and counts its tokens.
//!
//! The settings of the agent decide what the log keeps. The conversation is read from the leader before and after the publish,
//! so that no call remains that was published after the erasure. If the writer crashes in between, the retry of the caller
//! removes the call.

use domain::{AgentId, ConversationKey, LoggedCall, ModelCall, Rejection, Status, Violation, ViolationReason};
use registry::{LogDetail, ProviderLogs, Scope};
use tonic::Request;
use wire::metered_call::metered_from_proto;
use wire::model_call::{call_from_proto, encode_logged};
use wire::proto::run::v1::{LogModelCallRequest, MeterModelCallRequest};
use wire::status::Problem;

use crate::request::{Caller, agent_id, conversation_id, conversation_key};
use crate::{Writer, metrics, problem};

/// Returns `false` if the settings disable the log.
pub(super) async fn log(writer: &Writer, request: Request<LogModelCallRequest>) -> Result<bool, Problem> {
    let caller = Caller::from_metadata(request.metadata());
    let outcome = keep(writer, &caller, request.into_inner()).await;
    metrics::call_logged(&outcome);
    outcome
}

async fn keep(writer: &Writer, caller: &Caller, request: LogModelCallRequest) -> Result<bool, Problem> {
    let agent = agent_id(&request.agent_id)?;
    let conversation = conversation_id(&request.conversation_id)?;
    let given = request.call.ok_or_else(missing)?;
    let call = call_from_proto(given).map_err(|violation| violation.within("call"))?;
    let access = caller.authorize(writer, Scope::Append, &agent, "agent_id").await?;
    let settings = writer.registry.agent(&agent).and_then(|agent| agent.settings);
    let Some(logs) = ProviderLogs::from_settings(settings.as_ref()) else {
        return Ok(false);
    };
    let key = conversation_key(&access, conversation);
    check(writer, &key, &agent).await?;
    let logged = LoggedCall { agent: agent.clone(), days: logs.days, call: with_detail(call, logs.detail) };
    let (id, message) = (logged.call.id, encode_logged(&logged));
    writer.record.publish_log(&key, id, message, logged.kept_for()).await.map_err(problem::from_record)?;
    check(writer, &key, &agent).await?;
    Ok(true)
}

/// Checks that the conversation exists. The log of an erased conversation is removed.
async fn check(writer: &Writer, key: &ConversationKey, agent: &AgentId) -> Result<(), Problem> {
    let loaded = writer.heads.load_from_leader(key).await?;
    let head = loaded.head().filter(|head| head.agent == *agent);
    let rejection = match head.map(|head| head.status) {
        Some(Status::Active | Status::Archived) => return Ok(()),
        Some(Status::Erased) => {
            writer.record.erase_logs(key).await.map_err(problem::from_record)?;
            Rejection::Erased
        }
        None => Rejection::NotFound,
    };
    Err(problem::from_rejection(rejection))
}

fn with_detail(call: ModelCall, detail: LogDetail) -> ModelCall {
    match detail {
        LogDetail::Bodies => call,
        LogDetail::Facts => ModelCall { request: None, reply: None, ..call },
    }
}

fn missing() -> Violation {
    Violation::new(ViolationReason::Missing, "is required").within("call")
}

/// Returns `false` if the record has no stream for the call.
pub(super) async fn meter(writer: &Writer, request: Request<MeterModelCallRequest>) -> Result<bool, Problem> {
    let caller = Caller::from_metadata(request.metadata());
    let outcome = publish_usage(writer, &caller, request.into_inner()).await;
    metrics::call_metered(&outcome);
    outcome
}

async fn publish_usage(writer: &Writer, caller: &Caller, request: MeterModelCallRequest) -> Result<bool, Problem> {
    let call = metered_from_proto(request.call.ok_or_else(missing)?).map_err(|violation| violation.within("call"))?;
    let field = "call.agent_id";
    let access = caller.authorize(writer, Scope::Append, &call.agent, field).await?;
    writer.record.publish_usage(access.tenant.tenant(), &call).await.map_err(problem::from_record)
}
