//! From where a fork goes on: the conversation that really holds the version, however many forks lie between; and whether
//! all that it reads through is still there once it was appended.
//!
//! A fork and an erasure of its parent are appended to two subjects, and neither append checks the other. So the parents are
//! read again after the fork's append and before its answer: a fork that was appended after a parent's tombstone is undone,
//! and never acknowledged.

use std::borrow::Cow;

use domain::bounds::FORK_DEPTH_MAX;
use domain::event::ConversationCreated;
use domain::{
    Action, Command, ConversationId, ConversationKey, Expectation, ForkPoint, ForkSource,
    Rejection, Status, TenantId, Timestamp, fork_source,
};
use event_log::registry::AgentAccess;
use wire::proto::write::v1::CommitResult;
use wire::status::{Problem, Reason};

use crate::base::{Base, Loaded};
use crate::commit::{Intent, carry_out};
use crate::{Writer, problem};

/// The command of an intent, with the point that its fork leaves from where one is to begin.
///
/// Where the conversation is there already, nothing is looked for: an earlier try may have begun it, whatever became of
/// its parent since.
///
/// # Errors
/// There is no such parent for the caller, it does not reach that version, or too many stand behind it.
pub async fn placed<'i>(
    writer: &Writer,
    intent: &'i Intent,
    loaded: &Loaded,
) -> Result<Cow<'i, Command>, Problem> {
    let command = &intent.command;
    let (
        Some(asked),
        None,
        Action::Create {
            created,
            occurred_at,
        },
    ) = (&intent.forks, loaded.head(), &command.action)
    else {
        return Ok(Cow::Borrowed(command));
    };
    let created = ConversationCreated {
        forked_from: Some(find(writer, &intent.access, asked).await?),
        ..created.as_ref().clone()
    };
    Ok(Cow::Owned(Command {
        action: Action::Create {
            created: Box::new(created),
            occurred_at: *occurred_at,
        },
        ..command.clone()
    }))
}

/// The point that a fork leaves from; versions never change, so it holds whoever appends meanwhile.
async fn find(
    writer: &Writer,
    access: &AgentAccess,
    asked: &ForkPoint,
) -> Result<ForkPoint, Problem> {
    let mut conversation = asked.conversation.clone();
    for _ in 0..=FORK_DEPTH_MAX {
        let key = ConversationKey {
            tenant: access.tenant.tenant().clone(),
            conversation,
        };
        let loaded = writer.bases.load_certain(&key).await?;
        let source = fork_source(
            loaded.head(),
            &access.agent,
            &key.conversation,
            asked.version,
        );
        match source.map_err(|rejection| problem::of_rejection(&rejection))? {
            ForkSource::At(point) => return Ok(point),
            ForkSource::FurtherBack(further) => conversation = further,
        }
    }
    Err(problem::of_rejection(&Rejection::ForkTooDeep {
        depth_max: FORK_DEPTH_MAX,
    }))
}

/// The answer of a command that began a fork, unless something that the fork reads through was erased before the fork was
/// appended: then the fork is undone.
///
/// # Errors
/// [`Reason::ForkPointNotFound`](wire::status::Reason), or the record does not answer: a retry with the same key comes here
/// again.
pub async fn confirmed(
    writer: &Writer,
    intent: &Intent,
    result: CommitResult,
) -> Result<CommitResult, Problem> {
    let Some(asked) = &intent.forks else {
        return Ok(result);
    };
    let fork = writer.bases.load_certain(&intent.key).await?;
    let own = fork.head().and_then(|head| head.forked_from.as_ref());
    let first = own.unwrap_or(asked).conversation.clone();
    let Some(erased_at) = erased_at(writer, &intent.key.tenant, first).await? else {
        return Ok(result);
    };
    // A retry of a fork that was appended before the erasure gets its first answer.
    let recorded_at = result
        .recorded_at
        .and_then(|at| wire::time::from_proto(at).ok());
    if result.replayed && recorded_at.is_some_and(|recorded_at| recorded_at < erased_at) {
        return Ok(result);
    }
    // What was said in it since is somebody's: then it stays, as any fork does whose parent is erased.
    if let Some(base) = fork.base.as_deref()
        && base.head.status != Status::Erased
        && base.head.version.0 == result.version
    {
        undo(writer, intent, base).await?;
    }
    Err(problem::of_rejection(&Rejection::ForkPointMissing))
}

/// When the first of a conversation and those behind it that is erased was erased, as the leaders know it; `None`: all are there.
async fn erased_at(
    writer: &Writer,
    tenant: &TenantId,
    first: ConversationId,
) -> Result<Option<Timestamp>, Problem> {
    let mut next = Some(first);
    for _ in 0..=FORK_DEPTH_MAX {
        let Some(conversation) = next else {
            return Ok(None);
        };
        let key = ConversationKey {
            tenant: tenant.clone(),
            conversation,
        };
        let loaded = writer.bases.load_certain(&key).await?;
        let Some(head) = loaded.head() else {
            return Ok(Some(Timestamp(i64::MIN)));
        };
        if head.status == Status::Erased {
            return Ok(Some(head.recorded_at));
        }
        next = head
            .forked_from
            .as_ref()
            .map(|point| point.conversation.clone());
    }
    Ok(None)
}

/// Erases a fork that nothing was said in.
async fn undo(writer: &Writer, intent: &Intent, fork: &Base) -> Result<(), Problem> {
    let erasure = Intent {
        access: intent.access.clone(),
        key: intent.key.clone(),
        has_key: false,
        key_field: intent.key_field,
        request_digest: intent.request_digest,
        command: Command {
            commit: Writer::new_commit_id(),
            agent: intent.command.agent.clone(),
            expectation: Expectation::Exact(fork.head.version),
            action: Action::Erase { expected: None },
        },
        forks: None,
    };
    match carry_out(writer, &erasure).await {
        Ok(_) => {
            writer.removals.after_tombstone(&intent.key).await;
            Ok(())
        }
        // Somebody has just said something in it, or erased it.
        Err(problem) if problem.reason() == Reason::VersionConflict => Ok(()),
        Err(problem) => Err(problem),
    }
}
