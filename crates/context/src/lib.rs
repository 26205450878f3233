//! Selects what a model reads next from a conversation's events. Pure: no I/O, no clock, no async.
//!
//! [`select`] groups events, newest first, into [`unit::Unit`]s. A [`plan::Plan`] decides how many to select, runs the other
//! stages and returns a [`Transcript`] with an [`Report`] of it. The `formats` crate renders transcripts for providers. Each
//! stage has its own file.

pub mod models;
pub mod outcome;
pub mod plan;
pub mod policy;
pub mod report;
pub mod stages;
pub mod template;
pub mod transcript;
pub mod unit;

pub use outcome::{Effect, Outcome};
pub use plan::{Assembled, Plan, PlanError, Settings};
pub use policy::{DEFAULT_POLICY, KeptPolicy, Policy, PolicyDigest};
pub use report::{Epoch, Report};
pub use stages::select::{Extent, MessageCount, Reach, Selected, Selection, select};
pub use transcript::{Answer, AnswerOrigin, AnsweredCall, Transcript, Turn, Written};
pub use unit::{Call, CallResult, Unit};

use domain::EventKind;

/// The revision of the rules of assembly and rendering. It is raised whenever the bytes of any context can change for the same
/// conversation, version and policy. Receipts contain it, so that contexts of different releases are not compared by their
/// bytes. 0: made before revisions were counted.
pub const ASSEMBLY_REVISION: u32 = 5;

/// The kinds of events that models read.
pub const CONTEXT_KINDS: [EventKind; 3] = [EventKind::MessageAppended, EventKind::ToolCalled, EventKind::ToolReturned];
