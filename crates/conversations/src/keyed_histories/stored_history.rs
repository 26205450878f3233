//! Reads the newest messages of users and assistants in a stored history.

use domain::event::MessageAppended;
use domain::{EventKind, Fact, Owner, Version};
use history::{Bounds, CommitPosition, Coverage, Direction, EffectiveHistory, Newest, Range, Target, decode};
use keyed_history::StoredHistory;
use wire::status::{Problem, Reason};

use crate::Gateway;
use crate::assembly::CONTEXT_BYTES_MAX;

/// Maximum number of messages that others may have recorded after the caller's load. With more, an old message may look new.
const SINCE_MAX: usize = 1_000;

/// The newest messages of a stored history, oldest first.
#[derive(Debug, Default)]
pub struct History {
    messages: Vec<MessageAppended>,
    /// The version of each message.
    versions: Vec<Version>,
    /// The conversation's position.
    pub position: CommitPosition,
    /// The conversation's owner.
    pub owner: Option<Owner>,
}

/// Which messages to read.
#[derive(Debug, Clone, Copy)]
pub struct HistoryQuery {
    /// Minimum number of messages that the caller has seen, if there are as many.
    pub messages: usize,
    /// The version that the caller has seen; `None`: the last.
    pub seen: Option<Version>,
}

impl History {
    /// The history, split at the version that the caller has seen.
    #[must_use]
    pub fn seen_at(&self, seen: Option<Version>) -> StoredHistory<'_> {
        let count = self.count_seen(seen);
        let (seen, since) = self.messages.split_at_checked(count).unwrap_or_default();
        StoredHistory { seen, since }
    }

    /// The version of the last message; `None`: there are no messages.
    #[must_use]
    pub fn last_message(&self) -> Option<Version> {
        self.versions.last().copied()
    }

    fn count_seen(&self, seen: Option<Version>) -> usize {
        let is_seen = |version: &Version| seen.is_none_or(|seen| *version <= seen);
        self.versions.partition_point(is_seen)
    }

    fn of(newest: &Newest<'_>) -> Result<Self, Problem> {
        let snapshot = newest.snapshot();
        let mut history = Self { position: snapshot.position(), owner: snapshot.owner().cloned(), ..Self::default() };
        for row in newest.newest_first().rev() {
            let recorded = decode(snapshot.key(), row)?;
            if let Fact::MessageAppended(message) = recorded.event.fact {
                history.versions.push(recorded.version);
                history.messages.push(message);
            }
        }
        Ok(history)
    }
}

/// Reads a history; `None`: nothing is stored, or it was erased.
///
/// # Errors
/// Rows or record are unavailable or corrupt.
pub async fn read(gateway: &Gateway, target: &Target, end: HistoryQuery) -> Result<Option<History>, Problem> {
    let likely = end.messages.max(1);
    let bounds = Bounds { events_max: likely + SINCE_MAX, bytes_max: CONTEXT_BYTES_MAX };
    let range = Range { kinds: &[EventKind::MessageAppended], ..Range::all(Direction::Backward) };
    let opened = EffectiveHistory::open(&gateway.reader, target, range, bounds, likely).await;
    let mut opened = match opened {
        Err(problem) if problem.reason() == Reason::ConversationNotFound => return Ok(None),
        opened => opened?,
    };
    let mut newest = opened.newest().await?;
    let history = History::of(&newest)?;
    let is_enough = history.count_seen(end.seen) >= end.messages;
    if is_enough || newest.coverage() != Coverage::Partial {
        return Ok(Some(history));
    }
    newest.read_older().await?;
    History::of(&newest).map(Some)
}
