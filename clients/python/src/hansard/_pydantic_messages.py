"""Messages of Pydantic AI as events, in entries of a conversation store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_ai.conversation_store import ConversationEntry
from pydantic_ai.messages import ModelMessage

from hansard._json import dumps
from hansard._text import whole
from hansard.messages import tool_input_json
from hansard.types import (
    Event,
    Image,
    MediaSource,
    MessageAppended,
    Part,
    Parts,
    RecordedEvent,
    Role,
    Thinking,
    ToolCalled,
    ToolOutcome,
    ToolReturned,
)

_MESSAGE: TypeAdapter[ModelMessage] = TypeAdapter(ModelMessage)


class EntryFormat:
    """The format of entries: `{"id", "parent_id", "message"}`."""

    name = "pydantic-ai"

    def document(self, entry: ConversationEntry) -> dict[str, Any]:
        """An entry as a document."""
        message = _MESSAGE.dump_python(entry.message, mode="json")
        return {"id": entry.id, "parent_id": entry.parent_id, "message": message}

    def entry(self, document: Any) -> ConversationEntry:
        """The entry of a document."""
        message = _MESSAGE.validate_python(document["message"])
        return ConversationEntry(id=document["id"], parent_id=document["parent_id"], message=message)

    def events(self, document: Any) -> list[Event]:
        """What models read of an entry."""
        message = whole(document["message"])
        parts: list[dict[str, Any]] = message["parts"]
        if message["kind"] == "request":
            return [event for part in parts if (event := _request_event(part)) is not None]
        return list(_response_events(message, parts))

    def of_foreign(self, event: RecordedEvent) -> Any:
        """Nothing: an event that another client recorded has no entry."""
        return None


def _request_event(part: Mapping[str, Any]) -> Event | None:
    kind = part["part_kind"]
    if kind == "system-prompt":
        return _message(Role.ROLE_SYSTEM, _user_parts(part["content"]))
    if kind == "user-prompt":
        return _message(Role.ROLE_USER, _user_parts(part["content"]))
    if kind in ("tool-return", "retry-prompt") and part.get("tool_name"):
        return Event(tool_returned=_result(part))
    return None


def _response_events(message: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]) -> Iterator[Event]:
    content = [made for part in parts if (made := _model_part(part)) is not None]
    model = message.get("model_name") or ""
    if content:
        appended = MessageAppended(
            role=Role.ROLE_ASSISTANT, parts=content, model=model, provider=message.get("provider_name") or ""
        )
        yield Event(message_appended=appended)
    for part in parts:
        if part["part_kind"] == "tool-call":
            arguments = part.get("args")
            text = tool_input_json(arguments or "{}") if isinstance(arguments, str | None) else dumps(arguments)
            called = ToolCalled(call_id=part["tool_call_id"], tool_name=part["tool_name"], input_json=text, model=model)
            yield Event(tool_called=called)


def _message(role: Role, parts: list[Part]) -> Event | None:
    return Event(message_appended=MessageAppended(role=role, parts=parts)) if parts else None


def _user_parts(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [Part(text=content)] if content else []
    made = (_user_part(part) for part in cast("list[Any]", content))
    return [part for part in made if part is not None]


def _user_part(part: Any) -> Part | None:
    if isinstance(part, str):
        return Part(text=part) if part else None
    if part.get("kind") == "image-url":
        return Part(image=Image(source=MediaSource(url=part["url"])))
    return None


def _model_part(part: Mapping[str, Any]) -> Part | None:
    content = part.get("content")
    if part["part_kind"] == "text" and content:
        return Part(text=content)
    if part["part_kind"] == "thinking" and (content or part.get("signature")):
        return Part(thinking=Thinking(text=content or "", signature=part.get("signature")))
    return None


def _result(part: Mapping[str, Any]) -> ToolReturned:
    content = part["content"]
    is_success = part["part_kind"] == "tool-return" and part.get("outcome", "success") == "success"
    outcome = ToolOutcome.TOOL_OUTCOME_SUCCEEDED if is_success else ToolOutcome.TOOL_OUTCOME_FAILED
    result = ToolReturned(call_id=part["tool_call_id"], tool_name=part["tool_name"], outcome=outcome)
    if isinstance(content, str):
        result.output_parts.CopyFrom(Parts(parts=[Part(text=content)]))
    else:
        result.output_json = dumps(content)
    return result
