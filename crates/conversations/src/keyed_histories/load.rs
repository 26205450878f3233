//! Merges the stored history and the caller's messages.

use std::time::Instant;

use domain::event::MessageAppended;
use history::CommitPosition;
use keyed_history::{MergedHistory, MessagesMax, merge};
use tracing::Instrument as _;

use super::location::HistoryLocation;
use super::stored_history::{History, HistoryQuery};
use super::warning::Warning;
use crate::request::BoundedNumber;
use crate::{Gateway, metrics};

/// The number of messages of a loaded history.
pub const MESSAGES: BoundedNumber = BoundedNumber { field: "messages_max", default: 50, max: 1_000 };

/// A loaded history.
#[derive(Debug)]
pub struct LoadedHistory {
    /// The stored messages and the caller's.
    pub merged: MergedHistory,
    /// The position of the conversation; `None`: nothing is stored, or nothing could be read.
    pub position: Option<CommitPosition>,
    /// Why the stored history is missing.
    pub warning: Option<Warning>,
}

impl LoadedHistory {
    /// The conversation's version. 0: nothing is stored, or nothing could be read.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.position.map_or(0, |position| position.version.0)
    }
}

/// Loads a history. It is empty, with a warning, if it cannot be read.
pub async fn load(
    gateway: &Gateway,
    location: Result<&HistoryLocation, Warning>,
    current: &[MessageAppended],
    messages_max: MessagesMax,
) -> LoadedHistory {
    let began = Instant::now();
    // One message more than can be returned, to detect truncation.
    let end = HistoryQuery { messages: messages_max.get().max(current.len()) + 1, seen: None };
    let (history, warning) = match read(gateway, location, end).await {
        Ok(history) => (history, None),
        Err(warning) => (None, Some(warning)),
    };
    let position = history.as_ref().map(|history| history.position);
    let history = history.unwrap_or_default();
    let merged = merge(history.seen_at(None), current, messages_max);
    if let Some(warning) = warning {
        warning.log(location.ok().map(HistoryLocation::conversation_id));
    }
    if merged.trimmed > 0 {
        metrics::history_truncated();
    }
    let outcome = warning.map(Warning::code);
    metrics::history_answered("load", outcome, began.elapsed());
    LoadedHistory { merged, position, warning }
}

async fn read(
    gateway: &Gateway,
    location: Result<&HistoryLocation, Warning>,
    end: HistoryQuery,
) -> Result<Option<History>, Warning> {
    let location = location?;
    let span = tracing::info_span!(
        "gateway.history.load",
        tenant.id = location.target.key.tenant.as_str(),
        conversation.id = location.conversation_id(),
    );
    location.read(gateway, end).instrument(span).await
}
