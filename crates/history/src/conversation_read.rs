//! One conversation: its row, and its last commit in the record if the row is behind.
//!
//! The version of the read is that of the last commit. If a lagging replica answered for the record, the row may be ahead;
//! then it is the version of the row. [`Tail`] reads the commits between both.

use std::sync::Arc;

use domain::{AgentId, Conversation, ForkPoint, Head, Sequence, Status};
use event_log::{StoredCommit, StoredMessage};
use read_model::queries;
use read_model::{EventRow, HeadRow, ReadModelError};
use wire::status::Problem;

use crate::lineage_rows::LineageRows;
use crate::position::CommitPosition;
use crate::problem;
use crate::range::RowQuery;
use crate::tail::Tail;
use crate::target::{Reader, Target};

/// The rows of a conversation; empty if it has none.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) head_row: Option<HeadRow>,
    pub(crate) conversation: Option<Conversation>,
    pub(crate) events: Vec<EventRow>,
}

/// A conversation from rows and record.
#[derive(Debug, Default)]
pub(crate) struct ConversationRead {
    pub(crate) rows: Rows,
    /// The rows of a fork's ancestors and inherited events, if they were read with the last commit.
    pub(crate) lineage: LineageRows,
    /// The position of the last known commit.
    pub(crate) position: CommitPosition,
    /// The last commit, if the rows do not contain it.
    ahead: Option<Arc<StoredCommit>>,
}

impl ConversationRead {
    /// Combines rows and the last commit of the record.
    pub(crate) fn new(rows: Rows, last: Option<StoredMessage>) -> Result<Self, Problem> {
        let head_row = rows.head_row.as_ref();
        let read = Self {
            position: head_row.map_or_else(CommitPosition::default, CommitPosition::from_row),
            rows,
            lineage: LineageRows::default(),
            ahead: None,
        };
        match last {
            Some(last) => read.with_last(&last),
            None => Ok(read),
        }
    }

    /// Replaces the last commit by a later one.
    pub(crate) fn with_last(mut self, last: &StoredMessage) -> Result<Self, Problem> {
        if last.position.sequence > self.position.sequence {
            let last = last.open().map_err(|corrupt| problem::of_corrupt(&corrupt))?;
            self.position = CommitPosition::of(&last);
            self.ahead = Some(Arc::new(last));
        }
        Ok(self)
    }

    /// The head at [`ConversationRead::position`].
    pub(crate) fn head(&self) -> Option<&Head> {
        match &self.ahead {
            Some(ahead) => Some(&ahead.opened.commit.head),
            None => self.rows.head_row.as_ref().map(|row| &row.head),
        }
    }

    /// The fork point, if the conversation is a fork.
    pub(crate) fn forked_from(&self) -> Option<&ForkPoint> {
        self.head().and_then(|head| head.forked_from.as_ref())
    }

    /// The lineage that was read with the last commit, if it begins at this fork point.
    pub(crate) fn take_lineage(&mut self, from: &ForkPoint) -> LineageRows {
        let first = self.lineage.ancestors.first();
        if first.is_some_and(|first| first.from == *from) {
            return std::mem::take(&mut self.lineage);
        }
        LineageRows::default()
    }

    /// The position of the rows; without rows, the position before the first own event.
    pub(crate) fn row_position(&self) -> CommitPosition {
        let inherited = || self.forked_from().map(|fork| fork.version);
        let start = || CommitPosition { version: inherited().unwrap_or_default(), sequence: Sequence(0) };
        let row = self.rows.head_row.as_ref();
        row.map_or_else(start, CommitPosition::from_row)
    }

    /// Whether the rows contain the last known commit.
    pub(crate) fn is_in_rows(&self) -> bool {
        self.ahead.is_none()
    }

    /// The commits after `after` and after the rows, up to the last commit; `None`: there are none.
    pub(crate) fn tail(&self, target: &Target, after: CommitPosition) -> Option<Tail> {
        let after = after.later(self.row_position());
        let ahead = self.ahead.as_ref().filter(|ahead| ahead.position.sequence > after.sequence)?;
        Some(Tail::new(target.key.clone(), after, Arc::clone(ahead)))
    }

    /// Returns the same error for a missing conversation, an erased one and one of another agent.
    pub(crate) fn check_visible(&self, agent: &AgentId) -> Result<(), Problem> {
        let is_visible = |head: &&Head| head.status != Status::Erased && head.agent == *agent;
        let head = self.head().filter(is_visible);
        head.map(drop).ok_or_else(problem::not_found)
    }
}

/// Reads the rows in one statement.
pub(crate) async fn rows(reader: &Reader, target: &Target, query: RowQuery<'_>) -> Result<Rows, ReadModelError> {
    let (tenant, id) = (&target.access.tenant, &target.key.conversation);
    match query {
        RowQuery::Events(query) => {
            let found = reader.head_and_events(tenant, id, query).await?;
            let (head_row, events) = found.unzip();
            Ok(Rows { head_row, events: events.unwrap_or_default(), ..Rows::default() })
        }
        RowQuery::Conversation => {
            let conversation = queries::conversation(&reader.read_model, tenant, id).await?;
            Ok(Rows {
                head_row: conversation
                    .as_ref()
                    .map(|row| HeadRow { head: row.head.clone(), sequence: row.position.sequence }),
                conversation,
                ..Rows::default()
            })
        }
    }
}
