"""Input items of OpenAI's Responses API, as events and back exactly as they were.

A message is a `MessageAppended`, a `function_call` a `ToolCalled`, its output a `ToolReturned`. Items of other types, such as
reasoning, are provider items, verbatim.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, cast

from hansard._parts import PROVIDER, content_parts
from hansard._text import whole
from hansard.messages import ROLE_NAMES, ROLES
from hansard.types import Event, MessageAppended, Part, Parts, RecordedEvent, ToolCalled, ToolReturned

# The bound of ids and names of calls.
LABEL_BYTES_MAX = 256


class ItemFormat:
    """The format of items. Those that another client recorded are read too."""

    name = PROVIDER

    def events(self, document: Any) -> list[Event]:
        """The event of an item. Empty: it has no canonical form."""
        item = cast("Mapping[str, Any]", whole(document))
        try:
            event = _event(item)
        except (TypeError, ValueError):
            # A member has another type than OpenAI's.
            return []
        return [] if event is None else [event]

    def of_foreign(self, event: RecordedEvent) -> Any:
        """The item of an event. `None`: it has none."""
        fact = event.event.WhichOneof("fact")
        if fact == "tool_called":
            call = event.event.tool_called
            made = {
                "type": "function_call",
                "call_id": call.call_id,
                "name": call.tool_name,
                "arguments": call.input_json,
            }
            return made
        if fact == "tool_returned":
            result = event.event.tool_returned
            return {"type": "function_call_output", "call_id": result.call_id, "output": _output(result)}
        return _message(event.event.message_appended) if fact == "message_appended" else None


def _event(item: Mapping[str, Any]) -> Event | None:
    kind = item.get("type", "message")
    if kind == "message" and item.get("role") in ROLES:
        parts = content_parts(item["content"]) if "content" in item else []
        return Event(message_appended=MessageAppended(role=ROLES[item["role"]], parts=parts))
    call_id = item.get("call_id")
    if not _is_label(call_id):
        return None
    if kind == "function_call" and _is_label(item.get("name")) and _is_json(item.get("arguments")):
        called = ToolCalled(call_id=call_id, tool_name=item["name"], input_json=item["arguments"])
        return Event(tool_called=called)
    if kind == "function_call_output" and item.get("output") is not None:
        parts = content_parts(item["output"]) or [Part(text="")]
        return Event(tool_returned=ToolReturned(call_id=call_id, output_parts=Parts(parts=parts)))
    return None


def _is_label(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value.encode()) <= LABEL_BYTES_MAX


def _is_json(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        json.loads(value, parse_constant=_reject)
    except ValueError:
        return False
    return True


def _reject(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _message(message: MessageAppended) -> dict[str, Any] | None:
    role = ROLE_NAMES.get(message.role)
    if role is None:
        return None
    if role == "assistant":
        content = [entry for part in message.parts if (entry := _model_part(part)) is not None]
        return {"type": "message", "role": role, "status": "completed", "content": content} if content else None
    return {"role": role, "content": _content(message.parts)}


def _model_part(part: Part) -> dict[str, Any] | None:
    kind = part.WhichOneof("kind")
    if kind == "text":
        return {"type": "output_text", "text": part.text, "annotations": []}
    return {"type": "refusal", "refusal": part.refusal} if kind == "refusal" else None


def _content(parts: Iterable[Part]) -> str | list[dict[str, Any]]:
    entries = [entry for part in parts if (entry := _client_part(part)) is not None]
    if len(entries) == 1 and entries[0]["type"] == "input_text":
        return str(entries[0]["text"])
    return entries


def _client_part(part: Part) -> dict[str, Any] | None:
    kind = part.WhichOneof("kind")
    if kind == "text":
        return {"type": "input_text", "text": part.text}
    if kind == "image":
        source = part.image.source
        where = {"file_id": source.file_id} if source.file_id else {"image_url": source.url}
        return {"type": "input_image", "detail": part.image.detail or "auto", **where}
    if kind == "file":
        source = part.file.source
        where = {"file_id": source.file_id} if source.file_id else {_url_member(source.url): source.url}
        name = {"filename": part.file.filename} if part.file.filename else {}
        return {"type": "input_file", **where, **name}
    if kind == "provider_item" and part.provider_item.provider == PROVIDER:
        return cast("dict[str, Any]", json.loads(part.provider_item.item_json))
    return None


def _url_member(url: str) -> str:
    return "file_data" if url.startswith("data:") else "file_url"


def _output(result: ToolReturned) -> str | list[dict[str, Any]]:
    return result.output_json if result.WhichOneof("output") == "output_json" else _content(result.output_parts.parts)
