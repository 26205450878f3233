//! What a model should read next, chosen from a conversation's events. Pure: no I/O, no clock, no async.
//!
//! Events come in as the domain keeps them, newest first. [`select`] makes [`unit::Unit`]s of them; a [`plan::Plan`] says
//! how far to go, runs the other stages over what was selected, and gives a [`Transcript`] with the account of it. A format
//! of the `formats` crate turns that into what a model is sent. One file a stage.

pub mod account;
pub mod models;
pub mod plan;
pub mod policy;
pub mod stages;
pub mod template;
pub mod transcript;
pub mod unit;

pub use account::{Account, Epoch};
pub use plan::{Assembled, Plan, PlanError, Settings};
pub use policy::{DEFAULT_POLICY, KeptPolicy, Policy, PolicyDigest};
pub use stages::select::{Extent, MessageCount, Reach, Selected, Selection, select};
pub use transcript::{Answer, AnswerOrigin, AnsweredCall, Transcript, Turn, Written};
pub use unit::{Call, CallResult, Unit};

use domain::EventKind;

/// The revision of the rules by which contexts are assembled and written in their forms. Raised whenever the bytes of some
/// context can change for the same conversation, version and policy; receipts tell it, so that a context that another release
/// makes otherwise is not taken for one that was tampered with. 0: before revisions were counted.
pub const ASSEMBLY_REVISION: u32 = 1;

/// The kinds of event that a context is made of; models see no others.
pub const CONTEXT_KINDS: [EventKind; 3] = [
    EventKind::MessageAppended,
    EventKind::ToolCalled,
    EventKind::ToolReturned,
];
