//! Read-your-writes: a read with a fence waits until it holds the commit at that position, within bounds.
//!
//! The decisions are in `decision`, which is pure. This file carries them out: it asks the stream's leader, or reads the rows
//! again.

mod decision;
#[cfg(test)]
mod model;

use std::time::Duration;

use domain::Sequence;
use event_log::StoredMessage;
use runtime::backoff::Backoff;
use wire::status::Problem;

use self::decision::{Seen, Source, Step, step};
use crate::conversation_read::{ConversationRead, RowQuery, Rows, rows};
use crate::problem;
use crate::reader::Reader;
use crate::target::{Freshness, Target};

/// The first wait between two looks.
const WAIT_BASE: Duration = Duration::from_millis(5);
/// The longest wait between two looks.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// Kept back for a last look, so that a position that is not reached is reported as that.
const LOOK_MAX: Duration = Duration::from_millis(50);

/// Reads rows and last commit until the target's fence is reached. Visibility is not checked.
///
/// # Errors
/// A dependency does not answer, or the fence is not reached within the reader's bound and the call's deadline.
pub(crate) async fn read(
    reader: &Reader,
    target: &Target,
    query: RowQuery<'_>,
) -> Result<ConversationRead, Problem> {
    let rows = target.deadline.rows(rows(reader, target, query));
    // The record first: its answer takes more hand-overs between tasks.
    let (last, rows) = tokio::try_join!(last(reader, target), rows)?;
    reached(reader, target, query, ConversationRead::of(rows, last)?).await
}

/// The same for rows that are read already.
///
/// # Errors
/// As [`read`].
pub(crate) async fn read_with(
    reader: &Reader,
    target: &Target,
    rows: Rows,
) -> Result<ConversationRead, Problem> {
    let read = ConversationRead::of(rows, last(reader, target).await?)?;
    reached(reader, target, RowQuery::Conversation, read).await
}

/// The record's last commit, from whom the freshness names.
async fn last(reader: &Reader, target: &Target) -> Result<Option<StoredMessage>, Problem> {
    let (record, deadline) = (&reader.record, target.deadline);
    match target.freshness {
        Freshness::Eventual => Ok(None),
        Freshness::Fresh => deadline.record(record.last(&target.key)).await,
        Freshness::Leader => deadline.record(record.last_from_leader(&target.key)).await,
    }
}

/// Repeats a read until it holds what it must; see `decision::step`.
///
/// # Errors
/// The fence is not reached within the reader's bound and the call's deadline, or a dependency does not answer.
async fn reached(
    reader: &Reader,
    target: &Target,
    query: RowQuery<'_>,
    mut read: ConversationRead,
) -> Result<ConversationRead, Problem> {
    let fence = target.fence.map_or(Sequence(0), |fence| fence.sequence);
    let mut source = match target.freshness {
        Freshness::Fresh => Source::Replica,
        Freshness::Leader => ASKED,
        Freshness::Eventual => Source::Rows,
    };
    let deadline = target.deadline;
    let end = deadline.less(LOOK_MAX).at_most(reader.fence_wait);
    let mut backoff = Backoff::new(WAIT_BASE, WAIT_MAX);
    loop {
        let seen = Seen {
            source,
            last: read.position.sequence,
            is_running: read.head().is_some_and(|head| head.active_run.is_some()),
        };
        let next = step(seen, fence);
        match next {
            Step::Answer => return Ok(read),
            // The first question to the leader is asked at once; all others are questions again.
            Step::AskLeader => source = ASKED,
            Step::AskPartition | Step::Wait if end.is_over() => {
                return Err(problem::position_not_reached());
            }
            Step::AskPartition => {
                let bounds = reader
                    .record
                    .bounds_of(reader.record.partition_of(&target.key));
                let partition = deadline.record(bounds).await?.last;
                source = Source::Leader { partition };
                if partition < fence {
                    backoff.wait().await;
                }
            }
            Step::Wait => {
                backoff.wait().await;
            }
        }
        read = if next == Step::Wait {
            let rows = rows(reader, target, query);
            ConversationRead::of(deadline.rows(rows).await?, None)?
        } else {
            let last = reader.record.last_from_leader(&target.key);
            match deadline.record(last).await? {
                Some(last) => read.with_last(&last)?,
                None => read,
            }
        };
    }
}

/// The leader was asked for the conversation's last commit, and not how far the partition reaches.
const ASKED: Source = Source::Leader {
    partition: Sequence(0),
};
