//! Whether the commits that are to be sealed, or were, are whole stretches of their conversations.

use std::collections::BTreeMap;

use domain::audit::{Fault, faults};
use domain::{ConversationKey, Fact, Head, Lifecycle, Sequence, Version};
use thiserror::Error;
use wire::commit::Opened;

use super::index::ConversationEntry;
use super::message::ArchivedMessage;

/// A commit that does not go on from the one before it, or is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the commit at {sequence} of conversation {}/{}: {reason}", key.tenant, key.conversation)]
pub struct Unsound {
    /// The conversation.
    pub key: ConversationKey,
    /// Where the commit stands.
    pub sequence: Sequence,
    /// What is wrong with it.
    pub reason: String,
}

struct Stretch {
    head: Head,
    entry: ConversationEntry,
}

/// Whether a commit begins its conversation; otherwise it goes on from one that must be in an earlier segment.
///
/// # Errors
/// [`Unsound`]: it cannot be read.
pub fn begins(message: &ArchivedMessage) -> Result<bool, Unsound> {
    let commit = opened(message)?.commit;
    let first = commit.events.first().map(|event| &event.fact);
    Ok(matches!(
        first,
        Some(Fact::Lifecycle(Lifecycle::ConversationCreated(_)))
    ))
}

/// Whether a commit is the next one after a stretch of its conversation: by its version, and by the chain over all before
/// it, which no other commits have.
///
/// # Errors
/// [`Unsound`]: it cannot be read.
pub fn follows(message: &ArchivedMessage, stretch: &ConversationEntry) -> Result<bool, Unsound> {
    let opened = opened(message)?;
    Ok(stretch.key == message.key
        && stretch.last < message.sequence()
        && stretch.last_version.next() == opened.commit.first_version
        && stretch.chain.next(&opened.body) == opened.commit.head.chain)
}

/// A commit that neither begins its conversation nor follows a stretch of it that is sealed.
#[must_use]
pub fn without_beginning(message: &ArchivedMessage) -> Unsound {
    unsound(
        message,
        "the commits before it are in no earlier segment".to_owned(),
    )
}

fn opened(message: &ArchivedMessage) -> Result<Opened, Unsound> {
    let stored = message.message.open();
    let stored = stored.map_err(|corrupt| unsound(message, corrupt.source.to_string()))?;
    Ok(stored.opened)
}

fn unsound(message: &ArchivedMessage, reason: String) -> Unsound {
    Unsound {
        key: message.key.clone(),
        sequence: message.sequence(),
        reason,
    }
}

/// Checks versions, chains and heads of commits that are in the order of their sequences; what there is of each conversation,
/// by tenant and id. The first commit of a conversation may go on from one that is elsewhere: whoever seals it for the first
/// time must have looked for that one ([`follows`]).
///
/// # Errors
/// [`Unsound`]: the first commit that is not as it should be.
pub fn audit(messages: &[ArchivedMessage]) -> Result<Vec<ConversationEntry>, Unsound> {
    let mut stretches: BTreeMap<ConversationKey, Stretch> = BTreeMap::new();
    for message in messages {
        let unsound = |reason: String| Unsound {
            key: message.key.clone(),
            sequence: message.sequence(),
            reason,
        };
        let before = stretches.remove(&message.key);
        let after = step(before, message).map_err(unsound)?;
        stretches.insert(message.key.clone(), after);
    }
    let stretches = stretches.into_values();
    Ok(stretches.map(|stretch| stretch.entry).collect())
}

fn step(before: Option<Stretch>, message: &ArchivedMessage) -> Result<Stretch, String> {
    let stored = message.message.open();
    let opened = stored.map_err(|corrupt| corrupt.source.to_string())?.opened;
    let commit = opened.commit;
    if commit.tenant != message.key.tenant || commit.conversation != message.key.conversation {
        return Err("the commit names another conversation than its subject".to_owned());
    }
    let sequence = message.sequence();
    let previous = before.as_ref().map(|one| (&one.head, one.entry.last));
    let found = faults(previous, &commit, &opened.body);
    let goes_on = before.is_none() && commit.first_version > Version(1);
    let fault = found
        .into_iter()
        .find(|fault| !(goes_on && *fault == Fault::BeginningMissing));
    if let Some(fault) = fault {
        return Err(fault.to_string());
    }
    let events = u64::try_from(commit.events.len()).unwrap_or(u64::MAX);
    let begun = before.map_or_else(
        || ConversationEntry {
            key: message.key.clone(),
            commits: 0,
            events: 0,
            first: sequence,
            last: sequence,
            first_version: commit.first_version,
            last_version: commit.head.version,
            chain: commit.head.chain,
        },
        |stretch| stretch.entry,
    );
    Ok(Stretch {
        entry: ConversationEntry {
            commits: begun.commits.saturating_add(1),
            events: begun.events.saturating_add(events),
            last: sequence,
            last_version: commit.head.version,
            chain: commit.head.chain,
            ..begun
        },
        head: commit.head,
    })
}
