//! Appends the new messages of the caller.

use std::time::Instant;

use domain::{CommitId, Version, Violation};
use tonic::{Request, Response, Status};
use tracing::Instrument as _;
use wire::proto::history::v1 as proto;
use wire::status::Problem;

use super::append::{self, Progress, Recording};
use super::resolved_key::ResolvedKey;
use super::warning::Warning;
use super::{HistoryRpc, messages};
use crate::metrics;
use crate::request::Call;

pub(super) async fn handle(
    rpc: &HistoryRpc,
    request: Request<proto::RecordHistoryRequest>,
) -> Result<Response<proto::RecordHistoryResponse>, Status> {
    let began = Instant::now();
    let call = Call::of(&request);
    let request = request.into_inner();
    let idempotency_key = idempotency_key(&request.idempotency_key).map_err(Problem::from)?;
    let current = messages::parse(request.messages).map_err(Problem::from)?;
    let key = ResolvedKey::of(&rpc.gateway, &call, request.key).await?;
    let mut progress = Progress {
        seen: request.loaded_version.map(Version),
        ..Progress::default()
    };
    let warning = match &key.location {
        Err(warning) => Some(*warning),
        Ok(location) => {
            let span = tracing::info_span!(
                "gateway.history.record",
                tenant.id = location.target.key.tenant.as_str(),
                conversation.id = location.target.key.conversation.as_str(),
            );
            let recording = Recording {
                call: &call,
                location,
                current: &current,
                idempotency_key,
            };
            append::record(rpc, recording, &mut progress)
                .instrument(span)
                .await?
        }
    };
    if let Some(warning) = warning {
        key.log(warning);
    }
    let outcome = warning.map(Warning::code);
    metrics::history_answered("record", outcome, began.elapsed());
    Ok(Response::new(proto::RecordHistoryResponse {
        appended_count: u32::try_from(progress.appended).unwrap_or(u32::MAX),
        history_key: key.history_key(),
        conversation_id: key.conversation_id(),
        channel_id: key.channel_id(),
        version: progress.version.0,
        refused_keys: key.refused_keys(),
        warnings: warning.map(Warning::to_proto).into_iter().collect(),
    }))
}

fn idempotency_key(text: &str) -> Result<Option<CommitId>, Violation> {
    if text.is_empty() {
        return Ok(None);
    }
    let key = CommitId::parse(text).map_err(|violation| violation.within("idempotency_key"));
    key.map(Some)
}
