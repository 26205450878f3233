//! One view of a conversation for one request: its state, its last commit, and the ancestors of a fork.
//!
//! A request reads everything of a conversation from one snapshot, so that its parts are consistent.

use std::sync::Arc;

use domain::{
    Change, Conversation, ConversationId, ConversationKey, ForkPoint, Head, Inherited, Owner, Segments, Version,
};
use futures::future::BoxFuture;
use wire::status::{Problem, Reason};

use crate::consistency;
use crate::conversation_read::ConversationRead;
use crate::known_lineages::KnownLineage;
use crate::lineage::{self, Ancestor};
use crate::position::CommitPosition;
use crate::prefetched::Prefetched;
use crate::problem;
use crate::range::{Bounds, Range, RowQuery};
use crate::target::{Reader, Target};

/// One view of a conversation.
#[derive(Debug)]
pub struct Snapshot<'a> {
    /// All reads of the snapshot use one replica, and the primary from the first failure on.
    pub(crate) reader: Arc<Reader>,
    pub(crate) target: &'a Target,
    pub(crate) read: ConversationRead,
    /// The nearest first; empty if the conversation is not a fork.
    pub(crate) ancestors: Vec<Ancestor>,
    pub(crate) recorded: Segments,
}

impl<'a> Snapshot<'a> {
    /// Opens a snapshot with the complete row of the conversation.
    ///
    /// # Errors
    /// The conversation is not visible to the caller, or an ancestor was erased; a dependency does not answer, or the fence
    /// is not reached in time.
    #[must_use]
    pub fn open<'r>(reader: &'r Reader, target: &'a Target) -> BoxFuture<'r, Result<Self, Problem>>
    where
        'a: 'r,
    {
        Box::pin(async move {
            let reader = reader.for_request(&target.key.tenant);
            let read = consistency::read(&reader, target, RowQuery::Conversation).await?;
            let (snapshot, _) = Self::from_read(reader, target, read, RowQuery::Conversation).await?;
            Ok(snapshot)
        })
    }

    /// Opens a snapshot and reads the first events of a range: own events with the row, inherited ones with the rows of the
    /// ancestors. Give them to [`Snapshot::cursor_from`].
    ///
    /// # Errors
    /// As [`Snapshot::open`].
    #[must_use]
    pub fn open_with<'q>(
        reader: &'q Reader,
        target: &'a Target,
        range: &'q Range<'q>,
        batch: Bounds,
    ) -> BoxFuture<'q, Result<(Self, Prefetched), Problem>>
    where
        'a: 'q,
    {
        Box::pin(async move {
            let reader = reader.for_request(&target.key.tenant);
            let query = RowQuery::Events(&range.to_event_query(batch));
            let read = consistency::read(&reader, target, query).await?;
            Self::from_read(reader, target, read, query).await
        })
    }

    async fn from_read(
        reader: Arc<Reader>,
        target: &'a Target,
        mut read: ConversationRead,
        query: RowQuery<'_>,
    ) -> Result<(Self, Prefetched), Problem> {
        read.check_visible(&target.access.agent)?;
        let mut prefetched = match query {
            RowQuery::Events(query) => Prefetched::own(std::mem::take(&mut read.rows.events), query),
            RowQuery::Conversation => Prefetched::default(),
        };
        let ancestors = match read.forked_from().cloned() {
            Some(from) => {
                let own = read.head().map_or(0, Head::own_versions);
                let (rows, query) = (read.take_lineage(&from), query.inherited(own));
                // Boxed, to keep the future small: few conversations are forks.
                let (ancestors, inherited) = Box::pin(lineage::read_with(&reader, target, from, rows, query)).await?;
                prefetched.append(inherited);
                reader.known_lineages.insert(&target.key, || KnownLineage {
                    points: ancestors.iter().map(|one| one.from.clone()).collect(),
                    own,
                });
                ancestors
            }
            None => Vec::new(),
        };
        let inherited: Vec<Inherited> = ancestors.iter().map(|one| one.inherited).collect();
        let snapshot = Self { reader, target, read, ancestors, recorded: Segments::recorded(&inherited) };
        Ok((snapshot, prefetched))
    }

    /// The position of the snapshot: that of the last commit.
    #[must_use]
    pub fn position(&self) -> CommitPosition {
        self.read.position
    }

    /// Whether the rows contain all own commits of the conversation.
    #[must_use]
    pub fn is_in_rows(&self) -> bool {
        self.read.is_in_rows()
    }

    /// The position as a token for callers.
    ///
    /// # Errors
    /// A problem of the record, if it has grown and the conversation's partition is unknown.
    pub async fn position_token(&self) -> Result<String, Problem> {
        let token = self.position().token(&self.reader.archive, &self.target.key);
        Ok(self.target.deadline.record(token).await?.encode())
    }

    /// The conversation's owner.
    #[must_use]
    pub fn owner(&self) -> Option<&Owner> {
        self.head().and_then(|head| head.owner.as_ref())
    }

    /// The conversation.
    #[must_use]
    pub fn key(&self) -> &ConversationKey {
        &self.target.key
    }

    /// The head after the last commit.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        self.read.head()
    }

    /// The fork point, if the conversation is a fork.
    #[must_use]
    pub fn forked_from(&self) -> Option<&ForkPoint> {
        self.read.forked_from()
    }

    /// The conversations from which it inherits events, the nearest first; empty if it is not a fork.
    pub fn ancestors(&self) -> impl Iterator<Item = &ConversationId> {
        self.ancestors.iter().map(|one| &one.target.key.conversation)
    }

    /// Whether an event is in the rows; otherwise it comes from the record.
    #[must_use]
    pub fn is_event_in_rows(&self, version: Version) -> bool {
        let ancestor = self.recorded.ancestor_of(version).unwrap_or_default();
        version <= self.source(ancestor).row_position().version
    }

    /// Everything that was recorded, as segments.
    #[must_use]
    pub fn recorded(&self) -> &Segments {
        &self.recorded
    }

    /// Whether the conversation or an ancestor has a summary.
    #[must_use]
    pub fn has_summary(&self) -> bool {
        let own = self.head().and_then(|head| head.latest_summary);
        own.is_some() || self.ancestors.iter().any(Ancestor::has_summary)
    }

    /// The conversation after the last commit: its row, and the tail applied with the fold of the projector. Requires
    /// [`Snapshot::open`].
    ///
    /// # Errors
    /// A dependency does not answer, or the first commit of the conversation is missing.
    pub async fn into_conversation(self) -> Result<Conversation, Problem> {
        let mut change: Option<Change> = None;
        if let Some(mut tail) = self.read.tail(self.target, CommitPosition::default()) {
            while let Some(commits) = tail.next_page(&self.reader, self.target.deadline).await? {
                for stored in commits {
                    let (commit, position) = (&stored.opened.commit, stored.position);
                    match &mut change {
                        Some(change) => change.absorb(commit, position),
                        None => change = Some(Change::new(commit, position)),
                    }
                }
            }
        }
        let row = self.read.rows.conversation;
        let conversation = match change {
            Some(change) => change.apply(row),
            None => row,
        };
        conversation.ok_or_else(|| {
            problem::of_contradiction(format!(
                "the record lacks the first commit of conversation {}",
                self.target.key.conversation
            ))
        })
    }

    /// The conversation that recorded a segment; 0 is the conversation itself.
    pub(crate) fn source(&self, ancestor: usize) -> &ConversationRead {
        let index = ancestor.checked_sub(1);
        let found = index.and_then(|index| self.ancestors.get(index));
        found.map_or(&self.read, |ancestor| &ancestor.read)
    }

    /// The target of that conversation.
    pub(crate) fn source_target(&self, ancestor: usize) -> &Target {
        let index = ancestor.checked_sub(1);
        let found = index.and_then(|index| self.ancestors.get(index));
        found.map_or(self.target, |ancestor| &ancestor.target)
    }
}

/// Whether a conversation can be read, according to a consistent read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readable {
    /// It can be read. Contains its owner.
    Yes(Option<Owner>),
    /// It exists and cannot be read, because an ancestor was erased. Contains its owner.
    AncestorErased(Option<Owner>),
    /// The agent has no such conversation.
    No,
}

impl Readable {
    /// Determines whether a conversation can be read.
    ///
    /// # Errors
    /// A dependency does not answer.
    pub async fn read(reader: &Reader, target: &Target) -> Result<Self, Problem> {
        let reader = reader.for_request(&target.key.tenant);
        let read = consistency::read(&reader, target, RowQuery::Conversation).await?;
        if read.check_visible(&target.access.agent).is_err() {
            return Ok(Self::No);
        }
        let owner = read.head().and_then(|head| head.owner.clone());
        match Snapshot::from_read(reader, target, read, RowQuery::Conversation).await {
            Ok(_) => Ok(Self::Yes(owner)),
            Err(problem) if problem.reason() == Reason::ConversationNotFound => Ok(Self::AncestorErased(owner)),
            Err(problem) => Err(problem),
        }
    }
}
