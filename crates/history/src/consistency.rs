//! Read-your-writes: a read with a fence waits, within bounds, until it contains the commit at that position.
//!
//! `decision` is pure and decides the steps. This file executes them: it reads from the leader of the stream, or reads the
//! rows again. The reader is one of a request: if its replica does not suffice, its later reads use the primary too.

mod decision;
#[cfg(test)]
mod model;
#[cfg(test)]
mod rows_model;

use std::time::Duration;

use backoff::Backoff;
use domain::Sequence;
use event_log::StoredMessage;
use wire::status::Problem;

use self::decision::{ReadState, Source, Step, step};
use crate::conversation_read::{ConversationRead, Rows, rows};
use crate::known_fork::known_rows;
use crate::lineage_rows::{LineageRows, lineage_rows_of};
use crate::problem;
use crate::range::RowQuery;
use crate::target::{Freshness, Reader, Target};

/// The first wait between two reads.
const WAIT_BASE: Duration = Duration::from_millis(5);
/// The longest wait between two reads.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// Reserved for a last read, so that a position that was not reached is reported as such.
const LAST_READ_MAX: Duration = Duration::from_millis(50);

/// Reads rows, last commit, and the rows of a fork's ancestors, until the target's fence is reached. Visibility is not checked.
///
/// # Errors
/// A dependency does not answer, or the fence is not reached within the reader's bound and the call's deadline.
pub(crate) async fn read(reader: &Reader, target: &Target, query: RowQuery<'_>) -> Result<ConversationRead, Problem> {
    // The record first: its answer passes through more tasks.
    let (last, rows, lineage) = if let Some(known) = reader.known_lineages.get(&target.key) {
        // Boxed, to keep the future small: few conversations are forks.
        let rows = Box::pin(known_rows(reader, target, &known, query));
        let (last, (rows, lineage)) = tokio::try_join!(target.last(reader), rows)?;
        (last, rows, lineage)
    } else {
        let last = async {
            let last = target.last(reader).await?;
            let lineage = lineage_rows_of(reader, target, last.as_ref(), query).await?;
            Ok((last, lineage))
        };
        let rows = target.deadline.rows(rows(reader, target, query));
        let ((last, lineage), rows) = tokio::try_join!(last, rows)?;
        (last, rows, lineage)
    };
    let mut read = ConversationRead::new(rows, last)?;
    read.lineage = lineage;
    read_until_reached(reader, target, query, read).await
}

/// Like [`read`], with rows and a last commit that were read before.
///
/// # Errors
/// As [`read`].
pub(crate) async fn read_with(
    reader: &Reader,
    target: &Target,
    rows: Rows,
    last: Option<StoredMessage>,
) -> Result<ConversationRead, Problem> {
    let last = match last {
        Some(last) => Some(last),
        None => target.last(reader).await?,
    };
    let read = ConversationRead::new(rows, last)?;
    read_until_reached(reader, target, RowQuery::Conversation, read).await
}

/// Repeats a read until it reaches the fence; see `decision::step`.
///
/// # Errors
/// The fence is not reached within the reader's bound and the call's deadline, or a dependency does not answer.
async fn read_until_reached(
    reader: &Reader,
    target: &Target,
    query: RowQuery<'_>,
    mut read: ConversationRead,
) -> Result<ConversationRead, Problem> {
    let fence = target.fence.map_or(Sequence(0), |fence| fence.sequence);
    let mut source = match target.freshness {
        Freshness::Fresh => Source::Replica,
        Freshness::Leader => LEADER,
        Freshness::Eventual if reader.read_model.began_on_replica() => Source::RowsOfReplica,
        Freshness::Eventual => Source::Rows,
    };
    let deadline = target.deadline;
    let end = deadline.less(LAST_READ_MAX).at_most(reader.fence_wait);
    let mut backoff = Backoff::new(WAIT_BASE, WAIT_MAX);
    loop {
        let state = ReadState {
            source,
            last: read.position.sequence,
            is_running: read.head().is_some_and(|head| head.active_run.is_some()),
        };
        let next = step(state, fence);
        match next {
            Step::Answer => return Ok(read),
            // The first read from the leader needs no wait; all others are repetitions.
            Step::AskLeader => source = LEADER,
            Step::AskPartition | Step::Wait if end.is_over() => {
                return Err(problem::position_not_reached());
            }
            Step::AskPartition => {
                let partition = reader.archive.partition_of(&target.key);
                let bounds = reader.record.bounds_of(deadline.record(partition).await?);
                let partition = deadline.record(bounds).await?.last;
                source = Source::Leader { partition };
                // After a wait, ancestors are read again: one can be erased meanwhile.
                read.lineage = LineageRows::default();
                if partition < fence {
                    backoff.wait().await;
                }
            }
            Step::AskPrimary => {
                reader.read_model.use_newer_rows();
                source = Source::Rows;
            }
            Step::Wait => {
                backoff.wait().await;
            }
        }
        read = if matches!(next, Step::AskPrimary | Step::Wait) {
            let rows = rows(reader, target, query);
            ConversationRead::new(deadline.rows(rows).await?, None)?
        } else {
            let last = reader.archive.last_commit(&target.key);
            match deadline.record(last).await? {
                Some(last) => read.with_last(&last)?,
                None => read,
            }
        };
    }
}

/// The last commit was read from the leader, and the last sequence of the partition was not.
const LEADER: Source = Source::Leader { partition: Sequence(0) };
