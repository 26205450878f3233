//! Merges the stored history and the caller's messages.

use std::time::Instant;

use keyed_history::{MessagesMax, merge};
use tonic::{Request, Response, Status};
use tracing::Instrument as _;
use wire::proto::history::v1 as proto;
use wire::status::Problem;

use super::messages;
use super::resolved_key::{HistoryLocation, ResolvedKey};
use super::stored_history::{History, HistoryQuery};
use super::warning::Warning;
use crate::request::{BoundedNumber, Call};
use crate::{Gateway, metrics};

/// The number of messages of a loaded history.
pub const MESSAGES: BoundedNumber = BoundedNumber {
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
    let key = ResolvedKey::of(gateway, &call, request.key).await?;
    // One message more than can be returned, to detect truncation.
    let end = HistoryQuery {
        messages: messages_max.get().max(current.len()) + 1,
        seen: None,
    };
    let (history, warning) = load(gateway, &key.location, end).await;
    let merged = merge(history.seen_at(None), &current, messages_max);
    if let Some(warning) = warning {
        key.log(warning);
    }
    if merged.trimmed > 0 {
        metrics::history_truncated();
    }
    let outcome = warning.map(Warning::code);
    metrics::history_answered("load", outcome, began.elapsed());
    let messages = merged.messages.iter();
    Ok(Response::new(proto::LoadHistoryResponse {
        messages: messages.map(wire::event::message_to_proto).collect(),
        truncated: merged.trimmed > 0,
        history_key: key.history_key(),
        conversation_id: key.conversation_id(),
        channel_id: key.channel_id(),
        version: history.version.0,
        refused_keys: key.refused_keys(),
        warnings: warning.map(Warning::to_proto).into_iter().collect(),
    }))
}

/// The stored history; empty with a warning if it cannot be read.
async fn load(
    gateway: &Gateway,
    location: &Result<HistoryLocation, Warning>,
    end: HistoryQuery,
) -> (History, Option<Warning>) {
    let location = match location {
        Ok(location) => location,
        Err(warning) => return (History::default(), Some(*warning)),
    };
    let span = tracing::info_span!(
        "gateway.history.load",
        tenant.id = location.target.key.tenant.as_str(),
        conversation.id = location.target.key.conversation.as_str(),
    );
    match location.read(gateway, end).instrument(span).await {
        Ok(history) => (history.unwrap_or_default(), None),
        Err(warning) => (History::default(), Some(warning)),
    }
}
