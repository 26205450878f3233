//! Publish parts of a generation.
//!
//! One publish, and a read of the head twice a second, for a run whose parts this writer has published before: the
//! stream keeps their order, and the head says whether the run goes on. A first batch is looked after once more, for the
//! purge of an erased conversation's parts cannot fence off what has nothing before it.

use std::time::Instant;

use bytes::Bytes;
use domain::violation::check_length;
use domain::{
    AgentId, ConversationKey, RunPart, Sequence, Violation, ViolationReason, check_parts,
};
use event_log::PartsOutcome;
use tonic::{Request, Response, Status};
use wire::proto::run::v1::{AppendPartsRequest, AppendPartsResponse};
use wire::run::{encode_batch, parts_from_proto};
use wire::status::{Problem, Reason};

use super::run_id;
use crate::base::Loaded;
use crate::request::{Caller, agent_id, conversation_id};
use crate::tips::{KnownTip, RunKey, Tip};
use crate::{Writer, metrics, problem};

pub(super) async fn handle(
    writer: &Writer,
    request: Request<AppendPartsRequest>,
) -> Result<Response<AppendPartsResponse>, Status> {
    let caller = Caller::of(request.metadata());
    let started = Instant::now();
    let outcome = append(writer, &caller, request.into_inner()).await;
    metrics::parts_appended(started.elapsed(), &outcome);
    let sequence = outcome?.0;
    Ok(Response::new(AppendPartsResponse { sequence }))
}

/// Parts on their way to their stream.
struct Batch {
    agent: AgentId,
    key: RunKey,
    previous: Sequence,
    parts: Vec<RunPart>,
    bytes: Bytes,
}

async fn append(
    writer: &Writer,
    caller: &Caller,
    request: AppendPartsRequest,
) -> Result<Sequence, Problem> {
    let batch = batch(writer, caller, request).await?;
    let known = writer.tips.get(&batch.key);
    let believed = known.filter(KnownTip::is_believed);
    let mut certain_at = check_head(writer, &batch, believed).await?;
    let tip = tip_before(writer, &batch, known).await?;
    check_order(&batch, tip)?;
    let sequence = publish(writer, &batch).await?;
    if batch.previous == Sequence(0) {
        certain_at = check_after_first(writer, &batch).await?;
    }
    let tip = Tip::of(&batch.parts, sequence);
    writer.tips.keep(batch.key, KnownTip { tip, certain_at });
    Ok(sequence)
}

async fn batch(
    writer: &Writer,
    caller: &Caller,
    request: AppendPartsRequest,
) -> Result<Batch, Problem> {
    let agent = agent_id(&request.agent_id)?;
    let conversation = conversation_id(&request.conversation_id)?;
    let run = run_id(&request.run_id)?;
    let parts = parts_from_proto(request.parts)?;
    let bytes = encode_batch(&parts);
    check_length(bytes.len(), writer.record.payload_bytes_max())
        .map_err(|violation| violation.within("parts"))?;
    let access = caller.authorize(writer, &agent, "agent_id").await?;
    let conversation = ConversationKey {
        tenant: access.tenant.tenant().clone(),
        conversation,
    };
    Ok(Batch {
        agent,
        key: RunKey { conversation, run },
        previous: Sequence(request.previous_sequence),
        parts,
        bytes,
    })
}

/// Whether the run takes the parts, and since when that is certain: asked of the leader unless it was of late, or will be
/// once the batch is published.
async fn check_head(
    writer: &Writer,
    batch: &Batch,
    believed: Option<KnownTip>,
) -> Result<Instant, Problem> {
    let key = &batch.key.conversation;
    let now = Instant::now();
    if believed.is_some() || batch.previous == Sequence(0) {
        let loaded = writer.bases.load(key).await?;
        if check_loaded(batch, &loaded).is_ok() {
            return Ok(believed.map_or(now, |known| known.certain_at));
        }
    }
    let loaded = writer.bases.load_certain(key).await?;
    check_loaded(batch, &loaded)?;
    Ok(now)
}

fn check_loaded(batch: &Batch, loaded: &Loaded) -> Result<(), Problem> {
    check_parts(loaded.head(), &batch.agent, batch.key.run, &batch.parts)
        .map_err(|rejection| problem::of_rejection(&rejection))
}

/// What the batch says that it follows.
async fn tip_before(
    writer: &Writer,
    batch: &Batch,
    known: Option<KnownTip>,
) -> Result<Tip, Problem> {
    if batch.previous == Sequence(0) {
        return Ok(Tip::NONE);
    }
    if let Some(known) = known.filter(|known| known.tip.sequence == batch.previous) {
        return Ok(known.tip);
    }
    let RunKey { conversation, run } = &batch.key;
    let record = &writer.record;
    let found = record.parts_at(conversation, *run, batch.previous).await;
    let Some(stored) = found.map_err(problem::of_record)? else {
        return Err(superseded(writer, batch).await);
    };
    let parts = stored
        .open()
        .map_err(|corrupt| problem::of_corrupt(&corrupt))?;
    Ok(Tip::of(&parts, stored.sequence))
}

fn check_order(batch: &Batch, before: Tip) -> Result<(), Problem> {
    if before.is_end {
        return Err(problem::of_rejection(&domain::Rejection::RunNotActive));
    }
    let first = batch.parts.first().map_or(0, |part| part.number);
    let expected = before.last_number.saturating_add(1);
    if first == expected {
        return Ok(());
    }
    let rule = format!("is {first}, but {expected} follows the parts at `previous_sequence`");
    Err(Violation::new(ViolationReason::OutOfRange, rule)
        .within("number")
        .at(0)
        .within("parts")
        .into())
}

async fn publish(writer: &Writer, batch: &Batch) -> Result<Sequence, Problem> {
    let RunKey { conversation, run } = &batch.key;
    let bytes = batch.bytes.clone();
    let publishing = writer
        .record
        .publish_parts(conversation, *run, batch.previous, bytes);
    match publishing.await.map_err(problem::of_record)? {
        PartsOutcome::Published { sequence } => Ok(sequence),
        PartsOutcome::Superseded { .. } => Err(superseded(writer, batch).await),
    }
}

/// Why others are there than the caller knows of: mostly the run is over, or the conversation erased.
async fn superseded(writer: &Writer, batch: &Batch) -> Problem {
    match last_of_active(writer, batch).await {
        Ok(last) => problem::parts_superseded(last),
        Err(refused) => refused,
    }
}

/// Where the run's last parts stand, if it goes on.
async fn last_of_active(writer: &Writer, batch: &Batch) -> Result<Sequence, Problem> {
    let RunKey { conversation, run } = &batch.key;
    let loaded = writer.bases.load_certain(conversation).await?;
    check_loaded(batch, &loaded)?;
    let last = writer.record.last_parts(conversation, *run).await;
    let last = last.map_err(problem::of_record)?;
    Ok(last.map_or(Sequence(0), |last| last.sequence))
}

/// Takes a first batch back that came behind the erasure of its conversation.
async fn check_after_first(writer: &Writer, batch: &Batch) -> Result<Instant, Problem> {
    let now = Instant::now();
    let key = &batch.key.conversation;
    let loaded = writer.bases.load_certain(key).await?;
    match check_loaded(batch, &loaded) {
        Err(refused) if refused.reason() == Reason::ConversationErased => {
            let purged = writer.record.erase_parts(key).await;
            purged.map_err(problem::of_record)?;
            Err(refused)
        }
        // It stands: a run that ended or was asked to stop meanwhile shows with the next batch.
        Ok(()) | Err(_) => Ok(now),
    }
}
