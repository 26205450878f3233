//! The head: the small state of a conversation after a commit, and the fold that computes it. Every commit contains its head.

use crate::bounds::RECENT_COMMITS_MAX;
use crate::chain::ChainHash;
use crate::event::{Annotation, Event, Fact, ForkPoint, Lifecycle, Role};
use crate::field_change::FieldChange;
use crate::id::{AgentId, CallId, CommitId, Label, ToolName};
use crate::owner::Owner;
use crate::position::{Sequence, Version};
use crate::request_digest::RequestDigest;
use crate::run::{ActiveRun, RunPhase};
use crate::time::Timestamp;
use crate::totals::Totals;

/// The state that the next decision about a conversation needs: about 200 bytes, independent of its length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The version of the last event.
    pub version: Version,
    /// Its status.
    pub status: Status,
    /// Its owner; `None` after an erasure.
    pub owner: Option<Owner>,
    /// The agent that speaks in it.
    pub agent: AgentId,
    /// The calls without a result, oldest first; at most [`crate::bounds::OPEN_CALLS_MAX`].
    pub open_calls: Vec<OpenCall>,
    /// The latest summary; `None` after an erasure. If a rewind hides it, its `through` is version 0.
    pub latest_summary: Option<SummaryPlace>,
    /// The latest rewind; `None` after an erasure.
    pub latest_rewind: Option<RewindPlace>,
    /// The active run.
    pub active_run: Option<ActiveRun>,
    /// The point that a fork continues; `None` after an erasure.
    pub forked_from: Option<ForkPoint>,
    /// The provider's id of the conversation.
    pub provider_conversation_id: Option<Label>,
    /// The provider's id of its last response.
    pub last_response_id: Option<Label>,
    /// Sums over all events.
    pub totals: Totals,
    /// The hash chain through the last commit.
    pub chain: ChainHash,
    /// When the last commit was recorded; it never decreases.
    pub recorded_at: Timestamp,
    /// The latest time of an event; a time after its record counts as the record's. Listings sort by it.
    pub last_event_at: Timestamp,
    /// The latest commits, oldest first, at most [`RECENT_COMMITS_MAX`]. The last one contains this head.
    pub recent: Vec<RecentCommit>,
}

/// The status of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Open for events.
    Active,
    /// Closed for events until it is restored.
    Archived,
    /// Erased; only its tombstone is left.
    Erased,
}

/// A call without a result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OpenCall {
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool_name: ToolName,
    /// The version of the call.
    pub version: Version,
}

/// The version of a summary, and the versions that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SummaryPlace {
    /// The version of the summary.
    pub version: Version,
    /// The last version that it covers.
    pub through: Version,
}

/// The version of a rewind, and the version to which it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RewindPlace {
    /// The version of the rewind.
    pub version: Version,
    /// The last version that stays visible.
    pub to: Version,
}

/// A commit whose retry can be answered from the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecentCommit {
    /// Its id.
    pub id: CommitId,
    /// The digest of the request.
    pub request_digest: RequestDigest,
    /// The version of its first event.
    pub first_version: Version,
    /// The version of its last event.
    pub last_version: Version,
    /// Its sequence; `None` for the commit that contains this head, whose message has the sequence.
    pub sequence: Option<Sequence>,
    /// When it was recorded.
    pub recorded_at: Timestamp,
}

/// The input of the fold from one commit.
#[derive(Debug, Clone, Copy)]
pub struct CommitFacts<'a> {
    /// Its id.
    pub id: CommitId,
    /// The digest of the request.
    pub request_digest: RequestDigest,
    /// When it is recorded.
    pub recorded_at: Timestamp,
    /// Its events, in order.
    pub events: &'a [Event],
    /// The plain encoding of its body, for the chain.
    pub body: &'a [u8],
    /// The sequence of the previous commit; `None` for the first.
    pub previous_sequence: Option<Sequence>,
}

impl Head {
    /// The number of events that the conversation itself recorded.
    #[must_use]
    pub fn own_versions(&self) -> u64 {
        let inherited = self.forked_from.as_ref().map(|from| from.version);
        self.version.0.saturating_sub(inherited.unwrap_or_default().0)
    }

    /// The head after a commit: the fold of writer and verifier.
    ///
    /// `None` if there is no previous head and the first event is not `ConversationCreated`.
    #[must_use]
    pub fn after(previous: Option<&Self>, commit: &CommitFacts<'_>) -> Option<Self> {
        let mut head = match previous {
            Some(head) => head.clone(),
            None => Self::created(commit)?,
        };
        if let (Some(last), Some(sequence)) = (head.recent.last_mut(), commit.previous_sequence) {
            last.sequence = Some(sequence);
        }
        let first_version = head.version.next();
        for event in commit.events {
            head.version = head.version.next();
            head.apply(event);
            let time = event.occurred_at.map_or(commit.recorded_at, |at| at.min(commit.recorded_at));
            head.last_event_at = head.last_event_at.max(time);
        }
        head.chain = head.chain.next(commit.body);
        head.recorded_at = commit.recorded_at;
        head.totals.commits += 1;
        head.remember(commit, first_version);
        Some(head)
    }

    /// The commit with this id, if it is one of the latest.
    #[must_use]
    pub fn recent_commit(&self, id: CommitId) -> Option<&RecentCommit> {
        self.recent.iter().find(|commit| commit.id == id)
    }

    /// Whether `recent` contains every commit of the conversation: then an id that it does not contain was never committed.
    #[must_use]
    pub fn lists_every_commit(&self) -> bool {
        u64::try_from(self.recent.len()).is_ok_and(|recent| recent == self.totals.commits)
    }

    fn created(commit: &CommitFacts<'_>) -> Option<Self> {
        let Some(Fact::Lifecycle(Lifecycle::ConversationCreated(created))) =
            commit.events.first().map(|event| &event.fact)
        else {
            return None;
        };
        Some(Self {
            version: created.forked_from.as_ref().map_or(Version::ZERO, |fork| fork.version),
            forked_from: created.forked_from.clone(),
            status: Status::Active,
            owner: Some(created.owner.clone()),
            agent: created.agent.clone(),
            open_calls: Vec::new(),
            latest_summary: None,
            latest_rewind: None,
            active_run: None,
            provider_conversation_id: created.provider_conversation_id.clone(),
            last_response_id: None,
            totals: Totals::default(),
            chain: ChainHash::default(),
            recorded_at: commit.recorded_at,
            last_event_at: Timestamp(i64::MIN),
            recent: Vec::new(),
        })
    }

    fn apply(&mut self, event: &Event) {
        self.totals.add(event);
        match &event.fact {
            Fact::MessageAppended(message) => {
                if message.role == Role::Assistant && message.provider_response_id.is_some() {
                    self.last_response_id.clone_from(&message.provider_response_id);
                }
            }
            Fact::ToolCalled(call) => self.open_calls.push(OpenCall {
                call_id: call.call_id.clone(),
                tool_name: call.tool_name.clone(),
                version: self.version,
            }),
            Fact::ToolReturned(result) => {
                self.open_calls.retain(|call| call.call_id != result.call_id);
            }
            Fact::Annotation(annotation) => self.apply_annotation(annotation),
            Fact::Lifecycle(lifecycle) => self.apply_lifecycle(lifecycle),
        }
    }

    fn apply_annotation(&mut self, annotation: &Annotation) {
        match annotation {
            Annotation::HistorySummarised(summary) => {
                self.latest_summary = Some(SummaryPlace { version: self.version, through: summary.through });
            }
            Annotation::HistoryRewound(rewound) => self.rewind(rewound.to),
            Annotation::SystemNoted(_)
            | Annotation::ErrorOccurred(_)
            | Annotation::DocumentPut(_)
            | Annotation::DocumentDeleted(_) => {}
        }
    }

    fn apply_lifecycle(&mut self, lifecycle: &Lifecycle) {
        let run = |id, phase| Some(ActiveRun { id, phase });
        match lifecycle {
            // `Self::created` sets its fields.
            Lifecycle::ConversationCreated(_) => {}
            Lifecycle::ConversationUpdated(updated) => {
                set(&mut self.provider_conversation_id, updated.provider_conversation_id.as_ref());
                set(&mut self.last_response_id, updated.last_response_id.as_ref());
            }
            Lifecycle::ConversationArchived => self.status = Status::Archived,
            Lifecycle::ConversationRestored => self.status = Status::Active,
            Lifecycle::ConversationErased => self.erase(),
            Lifecycle::OwnerChanged(changed) => self.owner = Some(changed.owner.clone()),
            Lifecycle::RunStarted(started) => {
                self.active_run = run(started.run, RunPhase::Running);
            }
            Lifecycle::RunStopRequested(id) => self.active_run = run(*id, RunPhase::Stopping),
            Lifecycle::RunFinished(_) => self.active_run = None,
        }
    }

    /// Hidden calls are no longer open, and a hidden summary covers nothing.
    fn rewind(&mut self, to: Version) {
        self.open_calls.retain(|call| call.version <= to);
        if let Some(summary) = self.latest_summary.as_mut().filter(|summary| summary.version > to) {
            summary.through = Version::ZERO;
        }
        self.latest_rewind = Some(RewindPlace { version: self.version, to });
    }

    /// Removes every field that identifies a person or contains their words.
    fn erase(&mut self) {
        self.status = Status::Erased;
        self.owner = None;
        self.open_calls.clear();
        self.latest_summary = None;
        self.latest_rewind = None;
        self.active_run = None;
        self.forked_from = None;
        self.provider_conversation_id = None;
        self.last_response_id = None;
    }

    fn remember(&mut self, commit: &CommitFacts<'_>, first_version: Version) {
        if self.recent.len() >= RECENT_COMMITS_MAX {
            self.recent.remove(0);
        }
        self.recent.push(RecentCommit {
            id: commit.id,
            request_digest: commit.request_digest,
            first_version,
            last_version: self.version,
            sequence: None,
            recorded_at: commit.recorded_at,
        });
    }
}

fn set(field: &mut Option<Label>, change: Option<&FieldChange<Label>>) {
    if let Some(change) = change {
        *field = change.clone().into_value();
    }
}
