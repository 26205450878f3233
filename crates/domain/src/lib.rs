//! The domain: conversations, their events, the commands that change them, and the folds of events.
//!
//! This crate has no I/O, no async, no clock and no randomness: callers pass in times and ids. Writer, projector, gateway
//! and verifier call the same [`Head::after`] and [`Change::absorb`].

pub mod access;
pub mod attachment_type;
pub mod audit;
pub mod bounds;
pub mod chain;
pub mod change;
pub mod command;
pub mod commit;
pub mod content;
pub mod conversation;
pub mod document;
pub mod erasure;
pub mod event;
pub mod field_change;
pub mod field_path;
pub mod head;
pub mod id;
pub mod json;
pub mod json_string;
pub mod layout;
pub mod metered_call;
pub mod model_call;
pub mod owner;
pub mod part;
pub mod position;
pub mod printable;
pub mod request_digest;
pub mod run;
pub mod segments;
pub mod set_digest;
pub mod surrogates;
pub mod tenant_filter;
pub mod time;
pub mod totals;
pub mod usage_correction;
pub mod violation;

pub use access::{SweepAccess, TenantAccess};
pub use attachment_type::AttachmentType;
pub use chain::ChainHash;
pub use change::Change;
pub use command::{
    Action, Command, Create, Decision, Expectation, FinishRun, ForkRule, ForkSource, NewEvent, Rejection, StartRun,
    check_parts, decide, fork_source,
};
pub use commit::{Actor, Commit, stored_bytes};
pub use content::{MediaSource, Part};
pub use conversation::Conversation;
pub use document::{DocumentName, DocumentNamespace};
pub use erasure::{ErasureStep, FORKS_HELD_MAX, ForkStep, TOMBSTONE_IN_FLIGHT_MAX, erasure_step, fork_step};
pub use event::{Annotation, ClientContext, Event, EventKind, EventTokens, Fact, ForkPoint, Lifecycle, RecordedEvent};
pub use field_change::FieldChange;
pub use field_path::FieldPath;
pub use head::{CommitFacts, Head, OpenCall, RecentCommit, RewindPlace, Status, SummaryPlace};
pub use id::{
    AgentId, CallId, ChannelId, CommitId, ConversationId, ConversationKey, DisplayName, EventId, Label, LogId,
    ModelServerId, RunId, SessionId, SigningKeyId, TenantId, ToolName, UserId,
};
pub use json::JsonText;
pub use layout::{Creation, Layout, LayoutError, PARTITIONS_MAX, Stage};
pub use metered_call::{MeteredCall, OwnerDigest};
pub use model_call::{CallPurpose, LoggedBody, LoggedCall, ModelCall};
pub use owner::Owner;
pub use part::{RunEnd, RunPart, RunPartKind};
pub use position::{Partition, Position, Sequence, Version};
pub use printable::is_printable;
pub use request_digest::RequestDigest;
pub use run::{ActiveRun, RunOutcome, RunPhase};
pub use segments::{Inherited, Rewind, Segment, Segments};
pub use set_digest::SetDigest;
pub use tenant_filter::TenantFilter;
pub use time::Timestamp;
pub use totals::Totals;
pub use usage_correction::{CorrectedCounts, TokenChanges, UsageCorrection};
pub use violation::{Violation, ViolationReason};
