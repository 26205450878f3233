//! Rows plus tail: the heart of every read.
//!
//! A read takes the conversation's row, and events where asked for, in one snapshot, and at the same time the last commit
//! from the record. Where the row is behind that commit, [`Base::tail`] reads what lies between straight from the record.
//! The version of the read is that of the last commit, or of the row where that is ahead: a replica that answered for the
//! record may lag. The position of a write that the read follows is a fence, see [`crate::fence`].

use domain::{
    AgentId, Conversation, ConversationKey, ForkPoint, Head, Position, Sequence, Status, Version,
};
use event_log::{StoredCommit, StoredMessage};
use read_model::queries::{self, EventQuery};
use read_model::{EventRow, ReadModelError, Standing};
use wire::status::Problem;
use wire::token::PositionToken;

use crate::lineage::{self, Lineage};
use crate::request::{Freshness, Target};
use crate::tail::Tail;
use crate::{Gateway, fence, problem};

/// Where a conversation stands: its version, and the sequence of the commit that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// The version of the commit's last event; 0 before the first commit.
    pub version: Version,
    /// The commit's sequence.
    pub sequence: Sequence,
}

impl Place {
    /// The place of a commit.
    #[must_use]
    pub fn of(commit: &StoredCommit) -> Self {
        Self {
            version: commit.opened.commit.head.version,
            sequence: commit.position.sequence,
        }
    }
}

/// What a read begins with: the rows, and the last commit where the rows do not hold it.
#[derive(Debug)]
pub struct Base {
    /// Where the row stands.
    pub standing: Option<Standing>,
    /// The conversation as its row has it, where no events were asked for.
    pub conversation: Option<Conversation>,
    /// The events that were asked for, as far as the rows hold them.
    pub events: Vec<EventRow>,
    /// Where the read stands: at the last commit, or at the row where that is ahead.
    pub place: Place,
    /// What stands behind it, where it is a fork.
    pub lineage: Lineage,
    forked_from: Option<ForkPoint>,
    ahead: Option<StoredCommit>,
}

/// What the rows hold of a conversation, if they do: all of it, or where it stands and the events that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) standing: Option<Standing>,
    pub(crate) conversation: Option<Conversation>,
    pub(crate) events: Vec<EventRow>,
}

impl Base {
    /// Reads rows and last commit, past the fence where there is one, and what stands behind a fork.
    ///
    /// # Errors
    /// There is no such conversation for the caller, or one behind it was erased; a dependency is away, or the fence is
    /// not reached in time.
    pub async fn read(
        gateway: &Gateway,
        target: &Target,
        events: Option<&EventQuery>,
    ) -> Result<Self, Problem> {
        let mut base = Self::read_fenced(gateway, target, events).await?;
        base.check_visible(&target.access.agent)?;
        if let Some(from) = &base.forked_from {
            // Boxed, so that the many that are no forks have no room for it in their own reads.
            base.lineage = Box::pin(lineage::read(gateway, target, from)).await?;
        }
        Ok(base)
    }

    /// Reads rows and last commit, past the fence where there is one, with nothing checked and nothing behind it.
    pub(crate) async fn read_fenced(
        gateway: &Gateway,
        target: &Target,
        events: Option<&EventQuery>,
    ) -> Result<Self, Problem> {
        let base = Self::read_alone(gateway, target, events).await?;
        fence::reached(gateway, target, events, base).await
    }

    /// Reads rows and last commit, with nothing checked and nothing behind it.
    async fn read_alone(
        gateway: &Gateway,
        target: &Target,
        events: Option<&EventQuery>,
    ) -> Result<Self, Problem> {
        let patience = target.patience;
        let rows = patience.rows(rows(gateway, target, events));
        match target.freshness {
            Freshness::Eventual => Self::of(rows.await?, None),
            Freshness::Fresh => {
                let last = patience.record(gateway.record.last(&target.key));
                // The record first: its answer takes more hand-overs between tasks.
                let (last, rows) = tokio::try_join!(last, rows)?;
                Self::of(rows, last)
            }
            Freshness::Leader => {
                let last = patience.record(gateway.record.last_from_leader(&target.key));
                let (last, rows) = tokio::try_join!(last, rows)?;
                Self::of(rows, last)
            }
        }
    }

    /// Puts rows and the record's last commit together.
    pub(crate) fn of(rows: Rows, last: Option<StoredMessage>) -> Result<Self, Problem> {
        let base = Self {
            place: rows
                .standing
                .as_ref()
                .map_or_else(Place::default, place_of_row),
            forked_from: fork_of(rows.standing.as_ref().map(|row| &row.head)),
            lineage: Lineage::default(),
            standing: rows.standing,
            conversation: rows.conversation,
            events: rows.events,
            ahead: None,
        };
        match last {
            Some(last) => base.with_last(&last),
            None => Ok(base),
        }
    }

    /// The same with a last commit, where that is ahead of what is known.
    pub(crate) fn with_last(mut self, last: &StoredMessage) -> Result<Self, Problem> {
        if last.position.sequence > self.place.sequence {
            let last = last
                .open()
                .map_err(|corrupt| problem::of_corrupt(&corrupt))?;
            self.place = Place::of(&last);
            self.forked_from = fork_of(Some(&last.opened.commit.head));
            self.ahead = Some(last);
        }
        Ok(self)
    }

    /// Where the rows stand; before its first event where there are none.
    #[must_use]
    pub fn row_place(&self) -> Place {
        let shared = || self.forked_from.as_ref().map(|fork| fork.version);
        let beginning = || Place {
            version: shared().unwrap_or_default(),
            sequence: Sequence(0),
        };
        self.standing.as_ref().map_or_else(beginning, place_of_row)
    }

    /// What lies between the rows and the last commit; `None`: nothing.
    pub fn tail(&mut self, key: &ConversationKey) -> Option<Tail> {
        self.tail_after(key, self.row_place())
    }

    /// What lies between a place and the last commit, where the rows do not reach further than that place.
    pub fn tail_after(&mut self, key: &ConversationKey, after: Place) -> Option<Tail> {
        let after = later(after, self.row_place());
        let ahead = self
            .ahead
            .take_if(|ahead| ahead.position.sequence > after.sequence)?;
        Some(Tail::new(key.clone(), after, ahead))
    }

    /// The head of the place where the read stands; none once the tail was taken.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        match &self.ahead {
            Some(ahead) => Some(&ahead.opened.commit.head),
            None => self.standing.as_ref().map(|row| &row.head),
        }
    }

    /// The last commit, where it is ahead of the rows.
    pub(crate) fn take_ahead(&mut self) -> Option<StoredCommit> {
        self.ahead.take()
    }

    /// The point that a fork leaves from.
    #[must_use]
    pub fn forked_from(&self) -> Option<&ForkPoint> {
        self.forked_from.as_ref()
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

/// Reads the row, or where it stands and the events that are asked for, in one statement.
pub(crate) async fn rows(
    gateway: &Gateway,
    target: &Target,
    events: Option<&EventQuery>,
) -> Result<Rows, ReadModelError> {
    let (tenant, id) = (&target.access.tenant, &target.key.conversation);
    if let Some(query) = events {
        let found = queries::standing_with_events(&gateway.read_model, tenant, id, query).await?;
        let (standing, events) = found.unzip();
        return Ok(Rows {
            standing,
            events: events.unwrap_or_default(),
            ..Rows::default()
        });
    }
    let conversation = queries::conversation(&gateway.read_model, tenant, id).await?;
    Ok(Rows {
        standing: conversation.as_ref().map(standing_of),
        conversation,
        ..Rows::default()
    })
}

fn standing_of(row: &Conversation) -> Standing {
    Standing {
        head: row.head.clone(),
        sequence: row.position.sequence,
    }
}

/// The token of a place of a conversation.
#[must_use]
pub fn position_token(gateway: &Gateway, key: &ConversationKey, place: Place) -> String {
    PositionToken {
        record: gateway.record.id(),
        position: Position {
            partition: gateway.record.partition_of(key),
            sequence: place.sequence,
        },
        version: place.version,
    }
    .encode()
}

/// The later of a place that is known and that of the rows.
pub(crate) fn later(after: Place, row: Place) -> Place {
    if after.version > row.version {
        after
    } else {
        row
    }
}

fn fork_of(head: Option<&Head>) -> Option<ForkPoint> {
    head.and_then(|head| head.forked_from.clone())
}

fn place_of_row(row: &Standing) -> Place {
    Place {
        version: row.head.version,
        sequence: row.sequence,
    }
}
