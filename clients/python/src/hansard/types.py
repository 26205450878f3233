"""The messages of the protocol that callers read and write. Their fields are those of `proto/hansard`."""

from hansard._proto.hansard.document.v1.document_pb2 import PutDocumentResponse
from hansard._proto.hansard.event.v1.commit_pb2 import ConversationStatus, OpenCall, Totals
from hansard._proto.hansard.event.v1.content_pb2 import File, Image, MediaSource, Part, Parts, ProviderItem, Thinking
from hansard._proto.hansard.event.v1.event_pb2 import (
    DocumentDeleted,
    DocumentPut,
    ErrorOccurred,
    Event,
    ForkPoint,
    HistoryRewound,
    HistorySummarised,
    MessageAppended,
    Owner,
    Role,
    SystemNoted,
    ToolCalled,
    ToolOutcome,
    ToolReturned,
    Usage,
)
from hansard._proto.hansard.history.v1.history_pb2 import LoadHistoryResponse, RecordHistoryResponse
from hansard._proto.hansard.read.v1.read_pb2 import Conversation, EventKind, Receipt, RecordedEvent, SearchResult
from hansard._proto.hansard.write.v1.write_pb2 import CommitResult

__all__ = [
    "CommitResult",
    "Conversation",
    "ConversationStatus",
    "DocumentDeleted",
    "DocumentPut",
    "ErrorOccurred",
    "Event",
    "EventKind",
    "File",
    "ForkPoint",
    "HistoryRewound",
    "HistorySummarised",
    "Image",
    "LoadHistoryResponse",
    "MediaSource",
    "MessageAppended",
    "OpenCall",
    "Owner",
    "Part",
    "Parts",
    "ProviderItem",
    "PutDocumentResponse",
    "Receipt",
    "RecordHistoryResponse",
    "RecordedEvent",
    "Role",
    "SearchResult",
    "SystemNoted",
    "Thinking",
    "ToolCalled",
    "ToolOutcome",
    "ToolReturned",
    "Totals",
    "Usage",
]
