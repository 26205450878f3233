"""The calls of the protocol."""

from __future__ import annotations

import dataclasses
from typing import Generic, TypeVar

from google.protobuf.message import Message

from hansard._proto.hansard.document.v1 import document_pb2 as document
from hansard._proto.hansard.history.v1 import history_pb2 as history
from hansard._proto.hansard.read.v1 import read_pb2 as read
from hansard._proto.hansard.write.v1 import write_pb2 as write

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


@dataclasses.dataclass(frozen=True)
class Method(Generic[Request, Response]):
    """A call: its service, its name, and the type of its response."""

    service: str
    name: str
    response: type[Response]

    @property
    def path(self) -> str:
        """The path of the call in gRPC."""
        return f"/hansard.{self.service}/{self.name}"

    @property
    def is_write(self) -> bool:
        """Whether a writer executes it."""
        return self.service == WRITE


WRITE, READ, HISTORY = "write.v1.WriteService", "read.v1.ReadService", "history.v1.HistoryService"
DOCUMENT = "document.v1.DocumentService"

CREATE = Method[write.CreateConversationRequest, write.CreateConversationResponse](
    WRITE, "CreateConversation", write.CreateConversationResponse
)
APPEND = Method[write.AppendEventsRequest, write.AppendEventsResponse](WRITE, "AppendEvents", write.AppendEventsResponse)
UPDATE = Method[write.UpdateConversationRequest, write.UpdateConversationResponse](
    WRITE, "UpdateConversation", write.UpdateConversationResponse
)
ARCHIVE = Method[write.ArchiveConversationRequest, write.ArchiveConversationResponse](
    WRITE, "ArchiveConversation", write.ArchiveConversationResponse
)
RESTORE = Method[write.RestoreConversationRequest, write.RestoreConversationResponse](
    WRITE, "RestoreConversation", write.RestoreConversationResponse
)
CHANGE_OWNER = Method[write.ChangeOwnerRequest, write.ChangeOwnerResponse](WRITE, "ChangeOwner", write.ChangeOwnerResponse)
ERASE = Method[write.EraseConversationRequest, write.EraseConversationResponse](
    WRITE, "EraseConversation", write.EraseConversationResponse
)
GET = Method[read.GetConversationRequest, read.GetConversationResponse](READ, "GetConversation", read.GetConversationResponse)
LIST = Method[read.ListConversationsRequest, read.ListConversationsResponse](
    READ, "ListConversations", read.ListConversationsResponse
)
SEARCH = Method[read.SearchConversationsRequest, read.SearchConversationsResponse](
    READ, "SearchConversations", read.SearchConversationsResponse
)
LIST_EVENTS = Method[read.ListEventsRequest, read.ListEventsResponse](READ, "ListEvents", read.ListEventsResponse)
CONTEXT = Method[read.AssembleContextRequest, read.AssembleContextResponse](READ, "AssembleContext", read.AssembleContextResponse)
WATCH = Method[read.WatchConversationRequest, read.WatchConversationResponse](
    READ, "WatchConversation", read.WatchConversationResponse
)
LOAD_HISTORY = Method[history.LoadHistoryRequest, history.LoadHistoryResponse](
    HISTORY, "LoadHistory", history.LoadHistoryResponse
)
RECORD_HISTORY = Method[history.RecordHistoryRequest, history.RecordHistoryResponse](
    HISTORY, "RecordHistory", history.RecordHistoryResponse
)
PUT_DOCUMENT = Method[document.PutDocumentRequest, document.PutDocumentResponse](
    DOCUMENT, "PutDocument", document.PutDocumentResponse
)
GET_DOCUMENT = Method[document.GetDocumentRequest, document.GetDocumentResponse](
    DOCUMENT, "GetDocument", document.GetDocumentResponse
)
DELETE_DOCUMENT = Method[document.DeleteDocumentRequest, document.DeleteDocumentResponse](
    DOCUMENT, "DeleteDocument", document.DeleteDocumentResponse
)
SEARCH_DOCUMENTS = Method[document.SearchDocumentsRequest, document.SearchDocumentsResponse](
    DOCUMENT, "SearchDocuments", document.SearchDocumentsResponse
)
LIST_DOCUMENT_NAMESPACES = Method[document.ListDocumentNamespacesRequest, document.ListDocumentNamespacesResponse](
    DOCUMENT, "ListDocumentNamespaces", document.ListDocumentNamespacesResponse
)
LIST_DOCUMENT_VERSIONS = Method[document.ListDocumentVersionsRequest, document.ListDocumentVersionsResponse](
    DOCUMENT, "ListDocumentVersions", document.ListDocumentVersionsResponse
)
