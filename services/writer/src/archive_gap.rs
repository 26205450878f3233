//! Detects archived commits in a search of the record. Rows contain them, except while rows are rebuilt.

use domain::{Fact, Lifecycle, Status, Version};
use event_log::{StoredCommit, Unavailable};
use wire::status::Problem;

use crate::problem;

/// The retry delay while rows are rebuilt from archived commits, in milliseconds.
const RETRY_AFTER_MS: u64 = 5_000;

/// Checks that no commit is missing between a version and the next commit in the record: a missing commit may be the
/// searched one. A tombstone and the first commit of a conversation or fork may follow any version.
///
/// # Errors
/// Commits are missing: the search needs their rows.
pub fn check(next: &StoredCommit, version: Version) -> Result<(), Problem> {
    let commit = &next.opened.commit;
    let first = commit.events.first().map(|event| &event.fact);
    let is_first = matches!(
        first,
        Some(Fact::Lifecycle(Lifecycle::ConversationCreated(_)))
    );
    let may_follow_any = is_first || commit.head.status == Status::Erased;
    if may_follow_any || commit.first_version <= version.next() {
        return Ok(());
    }
    Err(problem::from_record(Unavailable {
        what: "commits without rows are in the archive",
        retry_after_ms: RETRY_AFTER_MS,
    }))
}
