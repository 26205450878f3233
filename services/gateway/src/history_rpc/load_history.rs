//! The stored history and the caller's messages as one.

use std::time::Instant;

use keyed_history::{MessagesMax, merge};
use tonic::{Request, Response, Status};
use tracing::Instrument as _;
use wire::proto::history::v1 as proto;
use wire::status::Problem;

use super::asked::{Asked, Keyed};
use super::kept;
use super::messages;
use super::stored::{End, History};
use super::warning::Warning;
use crate::Gateway;
use crate::metrics::{self, HistoryCall};
use crate::request::{Bounded, Call};

/// Messages of a loaded history.
pub const MESSAGES: Bounded = Bounded {
    field: "messages_max",
    default: 50,
    max: 1_000,
};

pub(super) async fn handle(
    gateway: &Gateway,
    request: Request<proto::LoadHistoryRequest>,
) -> Result<Response<proto::LoadHistoryResponse>, Status> {
    let began = Instant::now();
    let call = Call::of(&request);
    let request = request.into_inner();
    let messages_max = MESSAGES.take(request.messages_max).map_err(Problem::from)?;
    let messages_max = MessagesMax::clamped(usize::try_from(messages_max).unwrap_or(usize::MAX));
    let current = messages::parse(request.messages).map_err(Problem::from)?;
    let asked = Asked::of(gateway, &call, request.key).await?;
    // One more than can be used tells whether there are more.
    let end = End {
        messages: messages_max.get().max(current.len()) + 1,
        seen: None,
    };
    let (history, warning) = load(gateway, &asked.keyed, end).await;
    let merged = merge(history.seen_at(None), &current, messages_max);
    if let Some(warning) = warning {
        asked.log(warning);
    }
    if merged.trimmed > 0 {
        metrics::history_truncated();
    }
    let outcome = warning.map(Warning::code);
    metrics::history_answered(HistoryCall::Load, outcome, began.elapsed());
    let messages = merged.messages.iter();
    Ok(Response::new(proto::LoadHistoryResponse {
        messages: messages.map(wire::event::message_to_proto).collect(),
        truncated: merged.trimmed > 0,
        history_key: asked.history_key(),
        conversation_id: asked.conversation_id(),
        channel_id: asked.channel_id(),
        version: history.version.0,
        refused_keys: asked.refused_keys(),
        warnings: warning.map(Warning::to_proto).into_iter().collect(),
    }))
}

/// What is stored, or nothing and why.
async fn load(
    gateway: &Gateway,
    keyed: &Result<Keyed, Warning>,
    end: End,
) -> (History, Option<Warning>) {
    let keyed = match keyed {
        Ok(keyed) => keyed,
        Err(warning) => return (History::default(), Some(*warning)),
    };
    let span = tracing::info_span!(
        "gateway.history.load",
        tenant.id = keyed.target.key.tenant.as_str(),
        conversation.id = keyed.target.key.conversation.as_str(),
    );
    match kept::read(gateway, keyed, end).instrument(span).await {
        Ok(history) => (history.unwrap_or_default(), None),
        Err(warning) => (History::default(), Some(warning)),
    }
}
