"""Messages of OpenAI's chat completions, to events and back.

A message is a `MessageAppended`, each of its tool calls a `ToolCalled`, a message of the role `tool` a `ToolReturned`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from hansard._parts import content_parts, provider_item
from hansard._text import whole
from hansard.types import Event, MessageAppended, Part, Parts, RecordedEvent, Role, ToolCalled, ToolReturned

ROLES = {
    "user": Role.ROLE_USER,
    "assistant": Role.ROLE_ASSISTANT,
    "system": Role.ROLE_SYSTEM,
    "developer": Role.ROLE_DEVELOPER,
}
ROLE_NAMES = {role: name for name, role in ROLES.items()}


def events_of_messages(messages: Iterable[Mapping[str, Any]]) -> list[Event]:
    """The events of messages, in order. Halves of surrogate pairs become U+FFFD."""
    return [event for message in messages for event in _events(whole(message))]


def messages_of_events(events: Iterable[RecordedEvent]) -> list[dict[str, Any]]:
    """The messages of events, oldest first. Notes, errors and lifecycle events have none."""
    messages: list[dict[str, Any]] = []
    for recorded in events:
        event = recorded.event
        fact = event.WhichOneof("fact")
        if fact == "message_appended":
            messages.append(_message(event.message_appended))
        elif fact == "tool_called":
            _add_call(messages, event.tool_called)
        elif fact == "tool_returned":
            messages.append(_result(event.tool_returned))
    return messages


def tool_input_json(arguments: str) -> str:
    """The input of a call as JSON text. Arguments that are not JSON become a JSON string."""
    try:
        json.loads(arguments)
    except ValueError:
        return json.dumps(arguments)
    return arguments


def _events(message: Mapping[str, Any]) -> list[Event]:
    role = message.get("role")
    if role == "tool":
        parts = content_parts(message.get("content")) or [Part(text="")]
        result = ToolReturned(call_id=message.get("tool_call_id") or "", output_parts=Parts(parts=parts))
        return [Event(tool_returned=result)]
    if role not in ROLES:
        raise ValueError(f"{role!r} is not a role: use {', '.join(ROLES)} or tool")
    parts = content_parts(message.get("content"))
    if message.get("refusal"):
        parts.append(Part(refusal=message["refusal"]))
    calls = [Event(tool_called=_call(call)) for call in message.get("tool_calls") or ()]
    if not parts and calls:
        return calls
    appended = MessageAppended(role=ROLES[cast(str, role)], parts=parts, author=message.get("name") or "")
    return [Event(message_appended=appended), *calls]


def _call(call: Mapping[str, Any]) -> ToolCalled:
    function: Mapping[str, Any] = call.get("function") or {}
    arguments = function.get("arguments") or "{}"
    return ToolCalled(call_id=call.get("id") or "", tool_name=function.get("name") or "", input_json=tool_input_json(arguments))


def _message(message: MessageAppended) -> dict[str, Any]:
    made: dict[str, Any] = {"role": ROLE_NAMES.get(message.role, "user"), "content": _content(message.parts)}
    refusals = [part.refusal for part in message.parts if part.WhichOneof("kind") == "refusal"]
    if refusals:
        made["refusal"] = "".join(refusals)
    if message.author:
        made["name"] = message.author
    return made


def _content(parts: Iterable[Part]) -> str | list[dict[str, Any]] | None:
    made = [entry for part in parts if (entry := _entry(part)) is not None]
    if len(made) == 1 and made[0].get("type") == "text":
        return str(made[0]["text"])
    return made or None


def _entry(part: Part) -> dict[str, Any] | None:
    kind = part.WhichOneof("kind")
    if kind == "text":
        return {"type": "text", "text": part.text}
    if kind == "image" and part.image.source.url:
        detail = {"detail": part.image.detail} if part.image.detail else {}
        return {"type": "image_url", "image_url": {"url": part.image.source.url, **detail}}
    if kind == "file":
        source = part.file.source
        where = {"file_id": source.file_id} if source.file_id else {"file_data": source.url}
        name = {"filename": part.file.filename} if part.file.filename else {}
        return {"type": "file", "file": {**where, **name}}
    item = provider_item(part)
    # Reasoning and other items of Responses have no form in a chat.
    is_chat_part = isinstance(item, dict) and cast("dict[str, Any]", item).get("type") == "input_audio"
    return cast("dict[str, Any]", item) if is_chat_part else None


def _add_call(messages: list[dict[str, Any]], call: ToolCalled) -> None:
    """Adds a call to the message of the assistant before it, or to a new one."""
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": None})
    function = {"name": call.tool_name, "arguments": call.input_json}
    messages[-1].setdefault("tool_calls", []).append({"id": call.call_id, "type": "function", "function": function})


def _result(result: ToolReturned) -> dict[str, Any]:
    is_json = result.WhichOneof("output") == "output_json"
    content = result.output_json if is_json else _content(result.output_parts.parts)
    return {"role": "tool", "tool_call_id": result.call_id, "content": "" if content is None else content}
