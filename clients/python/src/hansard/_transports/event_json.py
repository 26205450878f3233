"""Events as the HTTP API writes them, to messages of the protocol and back. No I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from google.protobuf.timestamp_pb2 import Timestamp

from hansard._json import dumps as compact
from hansard._proto.hansard.event.v1 import event_pb2 as event_pb
from hansard.messages import ROLE_NAMES, ROLES
from hansard.types import (
    DocumentDeleted,
    DocumentPut,
    ErrorOccurred,
    Event,
    File,
    ForkPoint,
    HistoryRewound,
    HistorySummarised,
    Image,
    MediaSource,
    MessageAppended,
    Owner,
    Part,
    Parts,
    ProviderItem,
    RecordedEvent,
    SystemNoted,
    Thinking,
    ToolCalled,
    ToolOutcome,
    ToolReturned,
    Usage,
)

USAGE = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cachedTokens": "cached_tokens",
    "reasoningTokens": "reasoning_tokens",
}


class Verbatim(str):
    """JSON text that is written as it is."""


def dumps(value: Any) -> str:
    """JSON text of a value that may contain JSON texts."""
    if isinstance(value, Verbatim):
        return value
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return "{" + ",".join(f"{json.dumps(name)}:{dumps(member)}" for name, member in members.items()) + "}"
    if isinstance(value, list):
        entries = cast("list[Any]", value)  # type: ignore[redundant-cast]
        return "[" + ",".join(dumps(entry) for entry in entries) + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _given(members: Mapping[str, Any]) -> dict[str, Any]:
    """Without empty texts, which are the default values of messages."""
    return {name: value for name, value in members.items() if value not in ("", None)}


# To JSON.


def event_to_json(event: Event) -> dict[str, Any]:
    """A new event."""
    fact = event.WhichOneof("fact")
    writer = _WRITERS.get(fact or "")
    if writer is None:
        raise ValueError(f"{fact} is not an event that callers append")
    body = writer(getattr(event, str(fact)))
    if event.HasField("occurred_at"):
        body["occurredAt"] = event.occurred_at.ToJsonString()
    return body | _given({"eventId": event.event_id, "metadata": Verbatim(event.metadata_json)})


def message_to_json(message: MessageAppended) -> dict[str, Any]:
    """A new message."""
    body: dict[str, Any] = {
        "role": ROLE_NAMES.get(message.role),
        "parts": [_part_to_json(part) for part in message.parts],
    }
    labels = {
        "author": message.author,
        "model": message.model,
        "provider": message.provider,
        "providerResponseId": message.provider_response_id,
        "finishReason": message.finish_reason,
    }
    if message.HasField("usage"):
        body["usage"] = {name: getattr(message.usage, field) for name, field in USAGE.items()}
    return body | _given(labels)


def _call_to_json(call: ToolCalled) -> dict[str, Any]:
    body: dict[str, Any] = {"type": "ToolCalled", "callId": call.call_id, "toolName": call.tool_name}
    body["input"] = Verbatim(call.input_json)
    labels = {"model": call.model, "provider": call.provider, "providerResponseId": call.provider_response_id}
    return body | _given(labels | {"signature": call.signature})


def _result_to_json(result: ToolReturned) -> dict[str, Any]:
    body: dict[str, Any] = {"type": "ToolReturned", "callId": result.call_id}
    body["isError"] = result.outcome == ToolOutcome.TOOL_OUTCOME_FAILED
    if result.WhichOneof("output") == "output_json":
        body["output"] = Verbatim(result.output_json)
    else:
        body["outputParts"] = [_part_to_json(part) for part in result.output_parts.parts]
    return body | _given({"toolName": result.tool_name})


_WRITERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "message_appended": lambda message: {"type": "MessageAppended"} | message_to_json(message),
    "tool_called": _call_to_json,
    "tool_returned": _result_to_json,
    "system_noted": lambda note: {"type": "SystemNoted", "text": note.text} | _given({"topic": note.topic}),
    "error_occurred": lambda error: {"type": "ErrorOccurred", "errorType": error.error_type, "message": error.message},
    "history_summarised": lambda summary: (
        {"type": "HistorySummarised", "through": summary.through_version, "text": summary.text} | _given({"model": summary.model})
    ),
    "history_rewound": lambda rewound: {"type": "HistoryRewound", "to": rewound.to_version},
    "document_put": lambda put: (
        {"type": "DocumentPut", "namespace": list(put.namespace), "key": put.key, "value": Verbatim(put.value_json)}
        | ({"ttlSeconds": put.ttl_seconds} if put.ttl_seconds else {})
    ),
    "document_deleted": lambda deleted: ({"type": "DocumentDeleted", "namespace": list(deleted.namespace), "key": deleted.key}),
}


def _part_to_json(part: Part) -> dict[str, Any]:
    kind = part.WhichOneof("kind")
    if kind == "image":
        names = {"mediaType": part.image.media_type, "detail": part.image.detail}
        return {"type": "image"} | _source_to_json(part.image.source) | _given(names)
    if kind == "file":
        names = {"mediaType": part.file.media_type, "filename": part.file.filename}
        return {"type": "file"} | _source_to_json(part.file.source) | _given(names)
    if kind == "thinking":
        return {"type": "thinking", "text": part.thinking.text} | _given({"signature": part.thinking.signature})
    if kind == "redacted_thinking":
        return {"type": "redactedThinking", "data": part.redacted_thinking}
    if kind == "provider_item":
        item = part.provider_item
        return {"type": "providerItem", "provider": item.provider, "item": Verbatim(item.item_json)}
    return {"type": kind, "text": part.refusal if kind == "refusal" else part.text}


def _source_to_json(source: MediaSource) -> dict[str, Any]:
    return {"fileId": source.file_id} if source.WhichOneof("kind") == "file_id" else {"url": source.url}


# Of JSON.


def event_of_json(body: Mapping[str, Any]) -> RecordedEvent:
    """A recorded event."""
    event = Event(event_id=body["eventId"])
    if "metadata" in body:
        event.metadata_json = compact(body["metadata"])
    if "occurredAt" in body:
        event.occurred_at.FromJsonString(body["occurredAt"])
    reader = _READERS.get(body["type"])
    if reader is not None:
        field, read = reader
        getattr(event, field).CopyFrom(read(body))
    recorded = RecordedEvent(version=body["version"], commit_id=body["commitId"], event=event)
    recorded.recorded_at.FromJsonString(body["recordedAt"])
    return recorded


def message_of_json(body: Mapping[str, Any]) -> MessageAppended:
    """A recorded message."""
    usage: Mapping[str, int] | None = body.get("usage")
    return MessageAppended(
        role=ROLES[body["role"]],
        parts=_parts_of_json(body["parts"]),
        author=body.get("author", ""),
        model=body.get("model", ""),
        provider=body.get("provider", ""),
        provider_response_id=body.get("providerResponseId", ""),
        finish_reason=body.get("finishReason", ""),
        usage=None if usage is None else Usage(**{field: usage[name] for name, field in USAGE.items()}),
    )


def owner_of_json(body: Mapping[str, str]) -> Owner:
    """An owner."""
    return Owner(user_id=body.get("userId"), session_id=body.get("sessionId"), channel_id=body.get("channelId"))


def fork_of_json(body: Mapping[str, Any] | None) -> ForkPoint | None:
    """A fork point, if there is one."""
    return None if body is None else ForkPoint(conversation_id=body["id"], version=body["version"])


def timestamp(text: str) -> Timestamp:
    """A time of RFC 3339."""
    time = Timestamp()
    time.FromJsonString(text)
    return time


def _result_of_json(body: Mapping[str, Any]) -> ToolReturned:
    outcome = ToolOutcome.TOOL_OUTCOME_FAILED if body["isError"] else ToolOutcome.TOOL_OUTCOME_SUCCEEDED
    result = ToolReturned(call_id=body["callId"], tool_name=body.get("toolName", ""), outcome=outcome)
    if "outputParts" in body:
        result.output_parts.CopyFrom(Parts(parts=_parts_of_json(body["outputParts"])))
    else:
        result.output_json = compact(body.get("output"))
    return result


def _created_of_json(body: Mapping[str, Any]) -> event_pb.ConversationCreated:
    metadata = body.get("conversationMetadata")
    return event_pb.ConversationCreated(
        owner=owner_of_json(body["owner"]),
        title=body.get("title", ""),
        metadata_json="" if metadata is None else compact(metadata),
        forked_from=fork_of_json(body.get("forkedFrom")),
    )


def _updated_of_json(body: Mapping[str, Any]) -> event_pb.ConversationUpdated:
    updated = event_pb.ConversationUpdated()
    if "title" in body:
        updated.title = body["title"] or ""
    if "conversationMetadata" in body:
        metadata = body["conversationMetadata"]
        updated.metadata_json = "" if metadata is None else compact(metadata)
    return updated


# The field of an event, and what reads it, by type. An event of another type has no fact.
_READERS: dict[str, tuple[str, Callable[[Mapping[str, Any]], Any]]] = {
    "MessageAppended": ("message_appended", message_of_json),
    "ToolCalled": (
        "tool_called",
        lambda body: ToolCalled(
            call_id=body["callId"],
            tool_name=body["toolName"],
            input_json=compact(body["input"]),
            model=body.get("model", ""),
        ),
    ),
    "ToolReturned": ("tool_returned", _result_of_json),
    "SystemNoted": ("system_noted", lambda body: SystemNoted(topic=body.get("topic", ""), text=body["text"])),
    "ErrorOccurred": (
        "error_occurred",
        lambda body: ErrorOccurred(error_type=body["errorType"], message=body["message"]),
    ),
    "HistorySummarised": (
        "history_summarised",
        lambda body: HistorySummarised(through_version=body["through"], text=body["text"]),
    ),
    "HistoryRewound": ("history_rewound", lambda body: HistoryRewound(to_version=body["to"])),
    "DocumentPut": (
        "document_put",
        lambda body: DocumentPut(
            namespace=body["namespace"],
            key=body["key"],
            value_json=compact(body["value"]),
            ttl_seconds=body.get("ttlSeconds", 0),
        ),
    ),
    "DocumentDeleted": (
        "document_deleted",
        lambda body: DocumentDeleted(namespace=body["namespace"], key=body["key"]),
    ),
    "ConversationCreated": ("conversation_created", _created_of_json),
    "ConversationUpdated": ("conversation_updated", _updated_of_json),
    "ConversationArchived": ("conversation_archived", lambda _: event_pb.ConversationArchived()),
    "ConversationRestored": ("conversation_restored", lambda _: event_pb.ConversationRestored()),
    "ConversationErased": ("conversation_erased", lambda _: event_pb.ConversationErased()),
    "OwnerChanged": (
        "owner_changed",
        lambda body: event_pb.OwnerChanged(owner=owner_of_json(body["owner"]), previous=owner_of_json(body["previous"])),
    ),
}


def _parts_of_json(parts: Iterable[Mapping[str, Any]]) -> list[Part]:
    return [_part_of_json(part) for part in parts]


def _part_of_json(part: Mapping[str, Any]) -> Part:
    kind = part["type"]
    if kind == "image":
        image = Image(source=_source_of_json(part), media_type=part.get("mediaType", ""), detail=part.get("detail", ""))
        return Part(image=image)
    if kind == "file":
        file = File(source=_source_of_json(part), media_type=part.get("mediaType", ""), filename=part.get("filename", ""))
        return Part(file=file)
    if kind == "thinking":
        return Part(thinking=Thinking(text=part["text"], signature=part.get("signature")))
    if kind == "redactedThinking":
        return Part(redacted_thinking=part["data"])
    if kind == "refusal":
        return Part(refusal=part["text"])
    if kind == "providerItem":
        return Part(provider_item=ProviderItem(provider=part["provider"], item_json=compact(part["item"])))
    return Part(text=part["text"])


def _source_of_json(part: Mapping[str, Any]) -> MediaSource:
    return MediaSource(url=part.get("url"), file_id=part.get("fileId"))
