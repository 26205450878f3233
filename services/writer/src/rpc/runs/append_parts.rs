//! Publishes parts of a run.
//!
//! If this writer has published the previous parts of the run, a batch costs one publish, and twice a second a read of the
//! head: the stream keeps the order of the parts, and the head shows whether the run is active. A first batch is checked again
//! after its publish: the purge of the parts of an erased conversation cannot reject a batch without a previous one.

use std::time::Instant;

use bytes::Bytes;
use domain::violation::check_length;
use domain::{AgentId, Rejection, RunPart, Sequence, Violation, ViolationReason, check_parts};
use event_log::PartsOutcome;
use registry::Scope;
use tonic::Request;
use wire::proto::run::v1::AppendPartsRequest;
use wire::run::{encode_batch, parts_from_proto};
use wire::status::{Problem, Reason};

use super::run_id;
use crate::request::{Caller, agent_id, conversation_id, conversation_key};
use crate::tips::{KnownTip, RunKey, Tip};
use crate::{LoadedHead, Writer, metrics, problem};

pub(super) async fn handle(writer: &Writer, request: Request<AppendPartsRequest>) -> Result<u64, Problem> {
    let caller = Caller::from_metadata(request.metadata());
    let started = Instant::now();
    let outcome = append(writer, &caller, request.into_inner()).await;
    metrics::parts_appended(started.elapsed(), &outcome);
    outcome.map(|sequence| sequence.0)
}

/// Parts to publish.
struct Batch {
    agent: AgentId,
    key: RunKey,
    previous: Sequence,
    parts: Vec<RunPart>,
    bytes: Bytes,
}

async fn append(writer: &Writer, caller: &Caller, request: AppendPartsRequest) -> Result<Sequence, Problem> {
    let batch = batch(writer, caller, request).await?;
    let known = writer.tips.get(&batch.key);
    let fresh = known.filter(KnownTip::is_fresh);
    let mut active_at = check_head(writer, &batch, fresh).await?;
    let tip = tip_before(writer, &batch, known).await?;
    check_order(&batch.parts, tip)?;
    let sequence = publish(writer, &batch).await?;
    if batch.previous == Sequence(0) {
        active_at = check_after_first(writer, &batch).await?;
    }
    let tip = Tip::after(&batch.parts, sequence);
    writer.tips.insert(batch.key, KnownTip { tip, active_at });
    Ok(sequence)
}

async fn batch(writer: &Writer, caller: &Caller, request: AppendPartsRequest) -> Result<Batch, Problem> {
    let agent = agent_id(&request.agent_id)?;
    let conversation = conversation_id(&request.conversation_id)?;
    let run = run_id(&request.run_id)?;
    let parts = parts_from_proto(request.parts)?;
    let bytes = encode_batch(&parts);
    check_length(bytes.len(), writer.record.payload_bytes_max()).map_err(|violation| violation.within("parts"))?;
    let access = caller.authorize(writer, Scope::Append, &agent, "agent_id").await?;
    let conversation = conversation_key(&access, conversation);
    Ok(Batch { agent, key: RunKey { conversation, run }, previous: Sequence(request.previous_sequence), parts, bytes })
}

/// Checks that the run accepts the parts; returns when the leader answered so. The leader is not read if its last answer is
/// fresh, or for a first batch, which is checked again after its publish.
async fn check_head(writer: &Writer, batch: &Batch, fresh: Option<KnownTip>) -> Result<Instant, Problem> {
    let key = &batch.key.conversation;
    let now = Instant::now();
    if fresh.is_some() || batch.previous == Sequence(0) {
        let loaded = writer.heads.load(key).await?;
        if check_loaded(batch, &loaded).is_ok() {
            return Ok(fresh.map_or(now, |known| known.active_at));
        }
    }
    let loaded = writer.heads.load_from_leader(key).await?;
    check_loaded(batch, &loaded)?;
    Ok(now)
}

fn check_loaded(batch: &Batch, loaded: &LoadedHead) -> Result<(), Problem> {
    check_parts(loaded.head(), &batch.agent, batch.key.run, &batch.parts).map_err(problem::from_rejection)
}

/// The previous batch that the request names.
async fn tip_before(writer: &Writer, batch: &Batch, known: Option<KnownTip>) -> Result<Tip, Problem> {
    if batch.previous == Sequence(0) {
        return Ok(Tip::NONE);
    }
    if let Some(known) = known.filter(|known| known.tip.sequence == batch.previous) {
        return Ok(known.tip);
    }
    let RunKey { conversation, run } = &batch.key;
    let record = &writer.record;
    let found = record.parts_at(conversation, *run, batch.previous).await;
    let Some(stored) = found.map_err(problem::from_record)? else {
        return Err(superseded(writer, batch).await);
    };
    let parts = stored.open().map_err(problem::from_corrupt)?;
    Ok(Tip::after(&parts, stored.sequence))
}

fn check_order(parts: &[RunPart], before: Tip) -> Result<(), Problem> {
    if before.is_end {
        return Err(problem::from_rejection(Rejection::RunNotActive));
    }
    let first = parts.first().map_or(0, |part| part.number);
    let expected = before.last_number.saturating_add(1);
    if first == expected {
        return Ok(());
    }
    let rule = format!("is {first}, but the next number after `previous_sequence` is {expected}");
    Err(Violation::new(ViolationReason::OutOfRange, rule).within("number").at(0).within("parts").into())
}

async fn publish(writer: &Writer, batch: &Batch) -> Result<Sequence, Problem> {
    let RunKey { conversation, run } = &batch.key;
    let bytes = batch.bytes.clone();
    let publishing = writer.record.publish_parts(conversation, *run, batch.previous, bytes);
    match publishing.await.map_err(problem::from_record)? {
        PartsOutcome::Published { sequence } => Ok(sequence),
        PartsOutcome::Superseded { .. } => Err(superseded(writer, batch).await),
    }
}

/// The reason for other parts than the caller expects: mostly the run has ended, or the conversation is erased.
async fn superseded(writer: &Writer, batch: &Batch) -> Problem {
    match last_of_active(writer, batch).await {
        Ok(last) => problem::parts_superseded(last),
        Err(problem) => problem,
    }
}

/// The sequence of the last parts, if the run is active.
async fn last_of_active(writer: &Writer, batch: &Batch) -> Result<Sequence, Problem> {
    let RunKey { conversation, run } = &batch.key;
    let loaded = writer.heads.load_from_leader(conversation).await?;
    check_loaded(batch, &loaded)?;
    let last = writer.record.last_parts(conversation, *run).await.map_err(problem::from_record)?;
    Ok(last.map_or(Sequence(0), |last| last.sequence))
}

/// Removes a first batch that was published after the erasure of its conversation.
async fn check_after_first(writer: &Writer, batch: &Batch) -> Result<Instant, Problem> {
    let now = Instant::now();
    let key = &batch.key.conversation;
    let loaded = writer.heads.load_from_leader(key).await?;
    match check_loaded(batch, &loaded) {
        Err(problem) if problem.reason() == Reason::ConversationErased => {
            writer.record.erase_parts(key).await.map_err(problem::from_record)?;
            Err(problem)
        }
        // The batch is published; the next batch detects that the run has ended or is stopping.
        Ok(()) | Err(_) => Ok(now),
    }
}

#[cfg(test)]
mod tests {
    use domain::RunPartKind;

    use super::*;

    #[test]
    fn parts_continue_the_previous_batch() {
        let check = |first: u64, last_number: u64, is_end: bool, expected: Option<Reason>| {
            let parts =
                [first, first + 1].map(|number| RunPart { number, kind: RunPartKind::TextDelta("a".to_owned()) });
            let before = Tip { sequence: Sequence(3), last_number, is_end };
            let seen = check_order(&parts, before).err().map(|problem| problem.reason());
            assert_eq!(seen, expected, "{first} {last_number} {is_end}");
        };
        let gap = Some(Reason::Field(ViolationReason::OutOfRange));
        check(1, 0, false, None);
        check(5, 4, false, None);
        check(4, 4, false, gap);
        check(6, 4, false, gap);
        check(5, 4, true, Some(Reason::RunNotActive));
        assert!(check_order(&[], Tip::NONE).is_err());
    }
}
