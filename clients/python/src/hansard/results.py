"""Results that are no message of the protocol."""

from __future__ import annotations

import dataclasses
import datetime
import json
from typing import TYPE_CHECKING, Any

from google.protobuf.timestamp_pb2 import Timestamp

from hansard.types import Receipt

if TYPE_CHECKING:
    from typing_extensions import Self

    from hansard._proto.hansard.document.v1 import document_pb2 as document_pb


@dataclasses.dataclass(frozen=True)
class Context:
    """What a model reads next."""

    #: The part of the provider's request that contains the context, for example `{"messages": […]}`.
    body: dict[str, Any]
    #: Enough to assemble the same bytes again, and their SHA-256.
    receipt: Receipt

    @property
    def version(self) -> int:
        """The version of the conversation."""
        return self.receipt.version


@dataclasses.dataclass(frozen=True)
class Document:
    """A document: a JSON value under a namespace and a key."""

    #: The labels of its namespace.
    namespace: tuple[str, ...]
    key: str
    #: Its JSON value.
    value: Any
    #: Its version. Versions of a document grow, with gaps.
    version: int
    #: When its first value was recorded, since its last deletion or expiry.
    created_at: datetime.datetime
    #: When its value was recorded.
    updated_at: datetime.datetime
    #: From when on it is not read. `None`: it has no end.
    expires_at: datetime.datetime | None
    #: Its conversation.
    conversation_id: str

    @classmethod
    def of(cls, message: document_pb.Document) -> Self:
        """The document of a message."""
        return cls(
            namespace=tuple(message.namespace),
            key=message.key,
            value=json.loads(message.value_json),
            version=message.version,
            created_at=_time(message.created_at),
            updated_at=_time(message.updated_at),
            expires_at=_time(message.expires_at) if message.HasField("expires_at") else None,
            conversation_id=message.conversation_id,
        )


@dataclasses.dataclass(frozen=True)
class DocumentVersion:
    """A value or the deletion of a document."""

    version: int
    recorded_at: datetime.datetime
    #: The JSON value; `None` also if the document was deleted.
    value: Any
    is_deleted: bool
    #: The value is read for this many seconds after its record. `None`: for ever.
    ttl_seconds: int | None

    @classmethod
    def of(cls, message: document_pb.DocumentVersion) -> Self:
        """The version of a message."""
        return cls(
            version=message.version,
            recorded_at=_time(message.recorded_at),
            value=json.loads(message.value_json) if message.value_json else None,
            is_deleted=not message.value_json,
            ttl_seconds=message.ttl_seconds or None,
        )


def _time(timestamp: Timestamp) -> datetime.datetime:
    """The time of a message, in UTC."""
    return timestamp.ToDatetime(datetime.timezone.utc)
