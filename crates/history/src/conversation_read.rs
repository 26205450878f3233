//! One conversation as rows and record hold it: the row, and the last commit where the row is behind.
//!
//! The version of the read is that of the last commit, or that of the row where the row is ahead: a replica that answers for
//! the record may lag. What lies between the row and the last commit is read by [`Tail`].

use std::sync::Arc;

use domain::{AgentId, Conversation, ForkPoint, Head, Sequence, Status};
use event_log::{StoredCommit, StoredMessage};
use read_model::queries::{self, EventQuery};
use read_model::{EventRow, ReadModelError, Standing};
use wire::status::Problem;

use crate::position::CommitPosition;
use crate::problem;
use crate::reader::Reader;
use crate::tail::Tail;
use crate::target::Target;

/// What to read of the rows, in one statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowQuery<'q> {
    /// The whole conversation, without events.
    Conversation,
    /// The head, and these events.
    Events(&'q EventQuery),
}

/// What the rows hold of a conversation; nothing where they do not know it.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) standing: Option<Standing>,
    pub(crate) conversation: Option<Conversation>,
    pub(crate) events: Vec<EventRow>,
}

/// A conversation as rows and record hold it.
#[derive(Debug, Default)]
pub(crate) struct ConversationRead {
    pub(crate) rows: Rows,
    /// The last commit that is known.
    pub(crate) position: CommitPosition,
    /// That commit, where the rows do not hold it.
    ahead: Option<Arc<StoredCommit>>,
}

impl ConversationRead {
    /// Combines rows and the record's last commit.
    pub(crate) fn of(rows: Rows, last: Option<StoredMessage>) -> Result<Self, Problem> {
        let standing = rows.standing.as_ref();
        let read = Self {
            position: standing.map_or_else(CommitPosition::default, CommitPosition::of_row),
            rows,
            ahead: None,
        };
        match last {
            Some(last) => read.with_last(&last),
            None => Ok(read),
        }
    }

    /// The same with a last commit, where that is ahead of what is known.
    pub(crate) fn with_last(mut self, last: &StoredMessage) -> Result<Self, Problem> {
        if last.position.sequence > self.position.sequence {
            let last = last
                .open()
                .map_err(|corrupt| problem::of_corrupt(&corrupt))?;
            self.position = CommitPosition::of(&last);
            self.ahead = Some(Arc::new(last));
        }
        Ok(self)
    }

    /// The head at [`ConversationRead::position`].
    pub(crate) fn head(&self) -> Option<&Head> {
        match &self.ahead {
            Some(ahead) => Some(&ahead.opened.commit.head),
            None => self.rows.standing.as_ref().map(|row| &row.head),
        }
    }

    /// Where a fork leaves its parent.
    pub(crate) fn forked_from(&self) -> Option<&ForkPoint> {
        self.head().and_then(|head| head.forked_from.as_ref())
    }

    /// The position that the rows hold; before the first own event where they hold nothing.
    pub(crate) fn row_position(&self) -> CommitPosition {
        let inherited = || self.forked_from().map(|fork| fork.version);
        let beginning = || CommitPosition {
            version: inherited().unwrap_or_default(),
            sequence: Sequence(0),
        };
        let row = self.rows.standing.as_ref();
        row.map_or_else(beginning, CommitPosition::of_row)
    }

    /// Whether the rows hold everything that is known.
    pub(crate) fn is_in_rows(&self) -> bool {
        self.ahead.is_none()
    }

    /// The commits between `after`, or the rows where they are further, and the last commit; `None`: there are none.
    pub(crate) fn tail(&self, target: &Target, after: CommitPosition) -> Option<Tail> {
        let after = after.later(self.row_position());
        let ahead = self.ahead.as_ref();
        let ahead = ahead.filter(|ahead| ahead.position.sequence > after.sequence)?;
        Some(Tail::new(target.key.clone(), after, Arc::clone(ahead)))
    }

    /// A missing conversation, another agent's and an erased one look alike.
    pub(crate) fn check_visible(&self, agent: &AgentId) -> Result<(), Problem> {
        let visible = self
            .head()
            .is_some_and(|head| head.status != Status::Erased && head.agent == *agent);
        if visible {
            Ok(())
        } else {
            Err(problem::not_found())
        }
    }
}

/// Reads the rows in one statement.
pub(crate) async fn rows(
    reader: &Reader,
    target: &Target,
    query: RowQuery<'_>,
) -> Result<Rows, ReadModelError> {
    let (tenant, id) = (&target.access.tenant, &target.key.conversation);
    match query {
        RowQuery::Events(query) => {
            let found =
                queries::standing_with_events(&reader.read_model, tenant, id, query).await?;
            let (standing, events) = found.unzip();
            Ok(Rows {
                standing,
                events: events.unwrap_or_default(),
                ..Rows::default()
            })
        }
        RowQuery::Conversation => {
            let conversation = queries::conversation(&reader.read_model, tenant, id).await?;
            Ok(Rows {
                standing: conversation.as_ref().map(|row| Standing {
                    head: row.head.clone(),
                    sequence: row.position.sequence,
                }),
                conversation,
                ..Rows::default()
            })
        }
    }
}
