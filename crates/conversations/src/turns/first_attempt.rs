//! The first attempt of a turn that is retried with the same key.

use domain::bounds::RUN_EVENTS_MAX;
use domain::{CommitId, EventKind, Fact, Lifecycle, Version};
use history::{Bounds, Direction, EffectiveHistory, Newest, Page, Range, decode};
use wire::status::Problem;

use crate::Conversations;
use crate::open::OwnedChat;

/// Maximum number of runs, from the newest backward, that are searched for the first attempt.
const RUNS_LOOKED_THROUGH_MAX: usize = 1_000;
/// Size of the first read: most retries follow immediately.
const RUNS_LIKELY: usize = 16;
/// Bounds of the search, in events and bytes. The events of runs have names and no content.
const RUNS: Bounds = Bounds { events_max: RUNS_LOOKED_THROUGH_MAX, bytes_max: 1024 * 1024 };
/// Bounds of the read of one commit.
const COMMIT_READ: Bounds = Bounds { events_max: 1_000, bytes_max: 8 * 1024 * 1024 };

/// The version of the start of the run that the key identifies, which is the last version of its commit; `None`: not
/// among the searched runs.
///
/// # Errors
/// The conversation cannot be read.
pub(super) async fn run_version(
    conversations: &Conversations,
    chat: &OwnedChat,
    key: CommitId,
) -> Result<Option<Version>, Problem> {
    let range = Range { kinds: &[EventKind::RunStarted], ..Range::all(Direction::Backward) };
    let (reader, target) = (&conversations.gateway.reader, &chat.target);
    let mut history = EffectiveHistory::open(reader, target, range, RUNS, RUNS_LIKELY).await?;
    let mut newest = history.newest().await?;
    if let Some(found) = find(&newest, chat, key)? {
        return Ok(Some(found));
    }
    newest.read_older().await?;
    find(&newest, chat, key)
}

fn find(newest: &Newest<'_>, chat: &OwnedChat, key: CommitId) -> Result<Option<Version>, Problem> {
    let run = key.started_run();
    for row in newest.newest_first() {
        let event = decode(&chat.target.key, row)?;
        if matches!(&event.event.fact, Fact::Lifecycle(Lifecycle::RunStarted(started)) if started.run == run) {
            return Ok(Some(event.version));
        }
    }
    Ok(None)
}

/// The version of the conversation before the commit that the key identifies.
///
/// # Errors
/// As [`run_version`].
pub(super) async fn version_before(
    conversations: &Conversations,
    chat: &OwnedChat,
    key: CommitId,
) -> Result<Option<Version>, Problem> {
    let Some(last) = run_version(conversations, chat, key).await? else {
        return Ok(None);
    };
    let most = u64::try_from(RUN_EVENTS_MAX).unwrap_or(u64::MAX);
    let range =
        Range { from: Version(last.0.saturating_sub(most).max(1)), to: last, ..Range::all(Direction::Backward) };
    let reader = &conversations.gateway.reader;
    let page = Page::recorded(reader, &chat.target, range, COMMIT_READ).await?;
    let rows = page.events.iter().filter(|row| row.commit == key);
    let first = rows.map(|row| row.version).min();
    Ok(first.map(|first| Version(first.0.saturating_sub(1))))
}
