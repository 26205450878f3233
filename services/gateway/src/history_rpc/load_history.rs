//! Merges the stored history and the caller's messages.

use keyed_history::MessagesMax;
use tonic::{Request, Response, Status};
use wire::proto::history::v1 as proto;
use wire::status::Problem;

use super::resolved_key::ResolvedKey;
use super::warnings;
use conversations::Gateway;
use conversations::keyed_histories::{MESSAGES, load, parse_messages};
use conversations::request::Call;

pub(super) async fn handle(
    gateway: &Gateway,
    request: Request<proto::LoadHistoryRequest>,
) -> Result<Response<proto::LoadHistoryResponse>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let count = MESSAGES.take(request.messages_max).map_err(Problem::from)?;
    let messages_max = MessagesMax::clamped(usize::try_from(count).unwrap_or(usize::MAX));
    let current = parse_messages(request.messages).map_err(Problem::from)?;
    let key = ResolvedKey::of(gateway, &call, request.key).await?;
    let loaded = load(gateway, key.location(), &current, messages_max).await;
    let messages = loaded.merged.messages.iter();
    Ok(Response::new(proto::LoadHistoryResponse {
        messages: messages.map(wire::event::message_to_proto).collect(),
        truncated: loaded.merged.trimmed > 0,
        history_key: key.history_key(),
        conversation_id: key.conversation_id(),
        channel_id: key.channel_id(),
        version: loaded.version(),
        refused_keys: key.refused_keys(),
        warnings: warnings(loaded.warning),
    }))
}
