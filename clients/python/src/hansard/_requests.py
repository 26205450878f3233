"""Requests from the arguments of the clients. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hansard._ids import uuid7
from hansard._json import dumps
from hansard._proto.hansard.read.v1 import read_pb2 as read
from hansard._proto.hansard.write.v1 import write_pb2 as write
from hansard.messages import events_of_messages
from hansard.types import Event, Owner

CONTEXT_FORMATS = {
    "canonical": read.CONTEXT_FORMAT_CANONICAL,
    "openai-chat": read.CONTEXT_FORMAT_OPENAI_CHAT,
    "openai-responses": read.CONTEXT_FORMAT_OPENAI_RESPONSES,
    "anthropic": read.CONTEXT_FORMAT_ANTHROPIC,
    "gemini": read.CONTEXT_FORMAT_GEMINI,
    "ollama": read.CONTEXT_FORMAT_OLLAMA,
}


class Unset:
    """The type of `UNSET`: an argument that was not given. `None` clears a value."""


UNSET = Unset()


def owner(user_id: str | None, session_id: str | None) -> Owner:
    """The owner with one of these ids."""
    if (user_id is None) == (session_id is None):
        raise ValueError("a conversation has one owner: give user_id or session_id")
    return Owner(user_id=user_id) if user_id is not None else Owner(session_id=session_id)


def command_target(agent_id: str, conversation_id: str, key: str | None, expected_version: int | None) -> write.CommandTarget:
    """The target of a command. Without a key it gets a new one, so that attempts of the call are one command."""
    return write.CommandTarget(
        agent_id=agent_id,
        conversation_id=conversation_id,
        idempotency_key=key or uuid7(),
        expected_version=expected_version,
    )


def events(messages: Iterable[Mapping[str, Any]] | None, given: Iterable[Event] | None) -> Sequence[Event]:
    """The events of messages or the given ones."""
    if messages is not None and given is not None:
        raise ValueError("give messages or events, not both")
    return events_of_messages(messages) if messages is not None else list(given or ())


def metadata_json(metadata: Mapping[str, Any] | None) -> str:
    """Metadata as JSON text; empty: none."""
    return "" if metadata is None else dumps(metadata)


def update(
    target: write.CommandTarget,
    title: str | Unset | None,
    metadata: Mapping[str, Any] | Unset | None,
    provider_conversation_id: str | Unset | None,
    last_response_id: str | Unset | None,
) -> write.UpdateConversationRequest:
    """An update of the given fields."""
    request = write.UpdateConversationRequest(target=target)
    texts = {
        "title": title,
        "metadata_json": metadata if isinstance(metadata, Unset) else metadata_json(metadata),
        "provider_conversation_id": provider_conversation_id,
        "last_response_id": last_response_id,
    }
    for name, value in texts.items():
        if not isinstance(value, Unset):
            request.update_mask.paths.append(name)
            setattr(request, name, value or "")
    return request


def context(
    target: read.ReadTarget,
    format: str,
    messages_max: int | None,
    at_version: int | None,
    policy: Mapping[str, Any] | None,
) -> read.AssembleContextRequest:
    """A request for a context in a format."""
    if format not in CONTEXT_FORMATS:
        raise ValueError(f"{format!r} is not a format: use {', '.join(CONTEXT_FORMATS)}")
    return read.AssembleContextRequest(
        target=target,
        format=CONTEXT_FORMATS[format],
        messages_max=messages_max or 0,
        at_version=at_version or 0,
        policy_json=None if policy is None else dumps(policy),
    )
