//! Commits that are looked for in the record, and are in its archive: rows have them, but for while rows are made anew.

use domain::{Fact, Lifecycle, Status, Version};
use event_log::{StoredCommit, Unavailable};
use wire::status::Problem;

use crate::problem;

/// How long to wait for rows that are being made from what is archived, in milliseconds.
const RETRY_AFTER_MS: u64 = 5_000;

/// Sees to it that no commit is missing between a version and the next commit that the record holds: what is missing may be
/// the one that is looked for. A tombstone and the beginning of a conversation, which a fork has behind any version, stand
/// alone.
///
/// # Errors
/// Some are missing: whether the commit is among them can be told once the rows are there.
pub fn check(next: &StoredCommit, version: Version) -> Result<(), Problem> {
    let commit = &next.opened.commit;
    let first = commit.events.first().map(|event| &event.fact);
    let stands_alone = matches!(
        first,
        Some(Fact::Lifecycle(Lifecycle::ConversationCreated(_)))
    ) || commit.head.status == Status::Erased;
    if stands_alone || commit.first_version <= version.next() {
        return Ok(());
    }
    Err(problem::of_record(Unavailable {
        what: "commits that the rows do not hold yet are in the archive",
        retry_after_ms: RETRY_AFTER_MS,
    }))
}
