//! Appends the new messages of the caller.

use domain::Version;
use tonic::{Request, Response, Status};
use wire::proto::history::v1 as proto;
use wire::status::Problem;

use super::resolved_key::ResolvedKey;
use super::{HistoryRpc, warnings};
use conversations::keyed_histories::{Recording, parse_messages, record};
use conversations::request::{Call, idempotency_key};

pub(super) async fn handle(
    rpc: &HistoryRpc,
    request: Request<proto::RecordHistoryRequest>,
) -> Result<Response<proto::RecordHistoryResponse>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let idempotency_key = idempotency_key(&request.idempotency_key).map_err(Problem::from)?;
    let current = parse_messages(request.messages).map_err(Problem::from)?;
    let key = ResolvedKey::of(&rpc.gateway, &call, request.key).await?;
    let recorded = record(Recording {
        gateway: &rpc.gateway,
        commands: &rpc.commands,
        call: &call,
        location: key.location(),
        current: &current,
        seen: request.loaded_version.map(Version),
        idempotency_key,
    })
    .await?;
    Ok(Response::new(proto::RecordHistoryResponse {
        appended_count: u32::try_from(recorded.appended).unwrap_or(u32::MAX),
        history_key: key.history_key(),
        conversation_id: key.conversation_id(),
        channel_id: key.channel_id(),
        version: recorded.version.0,
        refused_keys: key.refused_keys(),
        warnings: warnings(recorded.warning),
    }))
}
