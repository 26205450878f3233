//! Events, both ways: as callers give them (checked) and as the record keeps them.

mod from_proto;
mod lifecycle;
mod texts;
mod to_proto;

pub(crate) use from_proto::stored_event_from_proto;
pub use from_proto::{
    from_proto, message_from_proto, new_event_from_proto, tool_returned_from_proto,
    usage_from_proto,
};
pub(crate) use texts::check as check_texts;

pub use lifecycle::{outcome_from_proto, outcome_to_proto};
pub use texts::check_message;
pub use to_proto::{
    message_to_proto, of_fact, role, to_proto, tool_called, tool_returned, usage_to_proto,
};

use domain::EventKind;

use crate::proto::read::v1 as read;

/// A kind as protobuf writes it.
#[must_use]
pub fn kind_to_proto(kind: EventKind) -> read::EventKind {
    match kind {
        EventKind::MessageAppended => read::EventKind::MessageAppended,
        EventKind::ToolCalled => read::EventKind::ToolCalled,
        EventKind::ToolReturned => read::EventKind::ToolReturned,
        EventKind::SystemNoted => read::EventKind::SystemNoted,
        EventKind::ErrorOccurred => read::EventKind::ErrorOccurred,
        EventKind::ConversationCreated => read::EventKind::ConversationCreated,
        EventKind::ConversationUpdated => read::EventKind::ConversationUpdated,
        EventKind::ConversationArchived => read::EventKind::ConversationArchived,
        EventKind::ConversationRestored => read::EventKind::ConversationRestored,
        EventKind::ConversationErased => read::EventKind::ConversationErased,
        EventKind::HistorySummarised => read::EventKind::HistorySummarised,
        EventKind::OwnerChanged => read::EventKind::OwnerChanged,
        EventKind::RunStarted => read::EventKind::RunStarted,
        EventKind::RunStopRequested => read::EventKind::RunStopRequested,
        EventKind::RunFinished => read::EventKind::RunFinished,
        EventKind::HistoryRewound => read::EventKind::HistoryRewound,
    }
}

/// A kind as the domain keeps it; `None` for one that is not given.
#[must_use]
pub fn kind_from_proto(kind: read::EventKind) -> Option<EventKind> {
    EventKind::ALL
        .into_iter()
        .find(|candidate| kind_to_proto(*candidate) == kind)
}
