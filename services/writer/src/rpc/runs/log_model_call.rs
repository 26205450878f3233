//! Keep a call of a model server in the log.
//!
//! The agent's settings decide here, whoever sends it. The conversation is looked at before and after, at its leader: a
//! call that comes behind the conversation's erasure must not stand. One that was kept by a writer that died in between is
//! found by the retry of whoever had no answer.

use domain::{
    AgentId, ConversationKey, LoggedCall, ModelCall, Rejection, Status as Stands, Violation,
    ViolationReason,
};
use event_log::registry::{LogDetail, ProviderLogs};
use tonic::{Request, Response, Status};
use wire::model_call::{call_from_proto, encode_logged};
use wire::proto::run::v1::{LogModelCallRequest, LogModelCallResponse};
use wire::status::{Problem, Reason};

use crate::request::{Caller, agent_id, conversation_id};
use crate::{Writer, metrics, problem};

pub(super) async fn handle(
    writer: &Writer,
    request: Request<LogModelCallRequest>,
) -> Result<Response<LogModelCallResponse>, Status> {
    let caller = Caller::of(request.metadata());
    let outcome = keep(writer, &caller, request.into_inner()).await;
    metrics::call_logged(&outcome);
    Ok(Response::new(LogModelCallResponse { is_kept: outcome? }))
}

/// Keeps the call; whether the settings say so.
async fn keep(
    writer: &Writer,
    caller: &Caller,
    request: LogModelCallRequest,
) -> Result<bool, Problem> {
    let agent = agent_id(&request.agent_id)?;
    let conversation = conversation_id(&request.conversation_id)?;
    let given = request.call.ok_or_else(|| missing().within("call"))?;
    let call = call_from_proto(given).map_err(|violation| violation.within("call"))?;
    let access = caller.authorize(writer, &agent, "agent_id").await?;
    let settings = writer
        .registry
        .agent(&agent)
        .and_then(|agent| agent.settings);
    let Some(logs) = ProviderLogs::of(settings.as_ref()) else {
        return Ok(false);
    };
    let key = ConversationKey {
        tenant: access.tenant.tenant().clone(),
        conversation,
    };
    check(writer, &key, &agent).await?;
    let logged = LoggedCall {
        agent: agent.clone(),
        days: logs.days,
        call: as_set(call, logs.detail),
    };
    let (id, message) = (logged.call.id, encode_logged(&logged));
    let publishing = writer
        .record
        .publish_log(&key, id, message, logged.kept_for());
    publishing.await.map_err(problem::of_record)?;
    check(writer, &key, &agent).await?;
    Ok(true)
}

/// Whether there is such a conversation. Of one that is erased nothing is left in the log.
async fn check(writer: &Writer, key: &ConversationKey, agent: &AgentId) -> Result<(), Problem> {
    let loaded = writer.bases.load_certain(key).await?;
    let head = loaded.head().filter(|head| head.agent == *agent);
    let refused = match head.map(|head| head.status) {
        Some(Stands::Active | Stands::Archived) => return Ok(()),
        Some(Stands::Erased) => problem::of_rejection(&Rejection::Erased),
        None => problem::of_rejection(&Rejection::NotFound),
    };
    if refused.reason() == Reason::ConversationErased {
        let erased = writer.record.erase_logs(key).await;
        erased.map_err(problem::of_record)?;
    }
    Err(refused)
}

fn as_set(call: ModelCall, detail: LogDetail) -> ModelCall {
    match detail {
        LogDetail::Bodies => call,
        LogDetail::Facts => ModelCall {
            request: None,
            reply: None,
            ..call
        },
    }
}

fn missing() -> Violation {
    Violation::new(ViolationReason::Missing, "is required")
}
