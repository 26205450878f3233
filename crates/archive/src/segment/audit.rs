//! Checks that commits form complete ranges of their conversations.

use std::collections::BTreeMap;

use domain::audit::{Fault, faults};
use domain::{ConversationKey, Fact, Head, Lifecycle, Sequence, Status, Version};
use thiserror::Error;
use wire::commit::Opened;

use super::index::ConversationEntry;
use super::message::ArchivedMessage;

/// A commit that does not follow its predecessor, or is not a commit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the commit at {sequence} of conversation {}/{}: {reason}", key.tenant, key.conversation)]
pub struct InvalidCommit {
    /// The conversation.
    pub key: ConversationKey,
    /// The sequence of the commit.
    pub sequence: Sequence,
    /// The problem.
    pub reason: String,
}

struct CommitRange {
    head: Head,
    entry: ConversationEntry,
}

/// Whether a commit needs no predecessor in an earlier segment: it is the first of its conversation, or a tombstone.
pub(crate) fn needs_no_predecessor(message: &ArchivedMessage) -> Result<bool, InvalidCommit> {
    let commit = opened(message)?.commit;
    if commit.head.status == Status::Erased {
        return Ok(true);
    }
    let first = commit.events.first().map(|event| &event.fact);
    Ok(matches!(first, Some(Fact::Lifecycle(Lifecycle::ConversationCreated(_)))))
}

/// Whether a commit directly follows a range of its conversation, by its version and by the hash chain over all commits before
/// it.
///
/// # Errors
/// [`InvalidCommit`]: it cannot be decoded.
pub fn follows(message: &ArchivedMessage, range: &ConversationEntry) -> Result<bool, InvalidCommit> {
    let opened = opened(message)?;
    Ok(range.key == message.key
        && range.last < message.sequence()
        && range.last_version.next() == opened.commit.first_version
        && range.chain.next(&opened.body) == opened.commit.head.chain)
}

/// The error of a commit that is neither its conversation's first nor follows a sealed range.
pub(crate) fn without_predecessor(message: &ArchivedMessage) -> InvalidCommit {
    let reason = "the commits before it are in no earlier segment";
    invalid(message, reason.to_owned())
}

fn opened(message: &ArchivedMessage) -> Result<Opened, InvalidCommit> {
    let stored = message.message.open().map_err(|corrupt| invalid(message, corrupt.source.to_string()))?;
    Ok(stored.opened)
}

fn invalid(message: &ArchivedMessage, reason: String) -> InvalidCommit {
    InvalidCommit { key: message.key.clone(), sequence: message.sequence(), reason }
}

/// Checks versions, hash chains and heads of commits in the order of their sequences; returns the range of each
/// conversation, by tenant and id. The first commit of a conversation may follow a commit of an earlier segment; the
/// process that seals it first must check that with [`follows`]. No conversation is hibernated in the result:
/// [`encode`](super::encode()) marks those that are.
///
/// # Errors
/// [`InvalidCommit`]: the first invalid commit.
pub fn audit(messages: &[ArchivedMessage]) -> Result<Vec<ConversationEntry>, InvalidCommit> {
    let mut ranges: BTreeMap<ConversationKey, CommitRange> = BTreeMap::new();
    for message in messages {
        let before = ranges.remove(&message.key);
        let after = extend(before, message)?;
        ranges.insert(message.key.clone(), after);
    }
    let ranges = ranges.into_values();
    Ok(ranges.map(|range| range.entry).collect())
}

fn extend(before: Option<CommitRange>, message: &ArchivedMessage) -> Result<CommitRange, InvalidCommit> {
    let opened = opened(message)?;
    let commit = opened.commit;
    if commit.tenant != message.key.tenant || commit.conversation != message.key.conversation {
        let reason = "the commit names another conversation than its subject";
        return Err(invalid(message, reason.to_owned()));
    }
    let sequence = message.sequence();
    let previous = before.as_ref().map(|one| (&one.head, one.entry.last));
    let found = faults(previous, &commit, &opened.body);
    let continues = before.is_none() && commit.first_version > Version(1);
    let fault = found.into_iter().find(|fault| !(continues && *fault == Fault::BeginningMissing));
    if let Some(fault) = fault {
        return Err(invalid(message, fault.to_string()));
    }
    let events = u64::try_from(commit.events.len()).unwrap_or(u64::MAX);
    let range = before.map_or_else(
        || ConversationEntry {
            key: message.key.clone(),
            commits: 0,
            events: 0,
            first: sequence,
            last: sequence,
            first_version: commit.first_version,
            last_version: commit.head.version,
            chain: commit.head.chain,
            is_hibernated: false,
            is_tombstone: commit.head.status == Status::Erased,
        },
        |range| range.entry,
    );
    Ok(CommitRange {
        entry: ConversationEntry {
            commits: range.commits.saturating_add(1),
            events: range.events.saturating_add(events),
            last: sequence,
            last_version: commit.head.version,
            chain: commit.head.chain,
            ..range
        },
        head: commit.head,
    })
}
