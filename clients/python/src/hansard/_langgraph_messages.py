"""The messages of a graph's state as events of a conversation: their form, and what a checkpoint changes. No I/O."""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ToolMessage,
    convert_to_openai_messages,
    message_to_dict,
    messages_from_dict,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from hansard._json import dumps
from hansard._langgraph_log import MessageLog
from hansard._langgraph_records import CREATED, NONE, VISIBLE, Latest, Range, decode, encode
from hansard.messages import events_of_messages
from hansard.types import Event, RecordedEvent

# The channel whose messages are the conversation.
CHANNEL = "messages"
# Most ranges of the messages of a checkpoint. A checkpoint that would have more records its messages again.
RANGES_MAX = 64
# Members of the document of a message that is no JSON: its serialized form, and what models read of it.
SERIALIZED, CHAT = "serialized", "chat"


class StateMessageFormat:
    """The format of messages: `message_to_dict` of LangChain, or the serialized form of a message that is no JSON."""

    name = "langgraph"

    def events(self, document: Any) -> list[Event]:
        """What models read of a message."""
        try:
            if SERIALIZED in document:
                return events_of_messages([document[CHAT]]) if CHAT in document else []
            chat: Any = convert_to_openai_messages(messages_from_dict([document])[0])
            return events_of_messages([chat])
        except (NotImplementedError, TypeError, ValueError):
            # A message with parts that OpenAI does not have.
            return []

    def of_foreign(self, event: RecordedEvent) -> Any:
        """Events of other clients are not in the state."""
        return None


def is_message(value: object) -> bool:
    """Whether an entry of a channel is a message."""
    return isinstance(value, BaseMessage)


def document_of(serde: SerializerProtocol, message: BaseMessage) -> dict[str, Any]:
    """The document of a message. It comes back as the serializer would return it."""
    if isinstance(serde, EncryptedSerializer):
        return {SERIALIZED: encode(serde, message)}
    typed = encode(serde, message)
    try:
        document = message_to_dict(message)
        dumps(document)
        if encode(serde, messages_from_dict([document])[0]) == typed:
            return document
    except (KeyError, TypeError, ValueError):
        # A member is no JSON.
        pass
    try:
        chat: Any = convert_to_openai_messages(message)
        dumps(chat)
    except (NotImplementedError, TypeError, ValueError):
        return {SERIALIZED: typed}
    return {SERIALIZED: typed, CHAT: chat}


def message_of(serde: SerializerProtocol, document: Any) -> BaseMessage:
    """The message of a document."""
    if SERIALIZED in document:
        return cast("BaseMessage", decode(serde, document[SERIALIZED]))
    return messages_from_dict([document])[0]


@dataclasses.dataclass(frozen=True)
class Change:
    """How the history of a conversation becomes the messages of a checkpoint."""

    #: The messages that are recorded already.
    kept: list[Range]
    #: The messages to record after them.
    new: list[BaseMessage]
    #: The version to continue from. `None`: the last one.
    rewind_to: int | None
    #: The version of the last event of the messages that are kept.
    end: int


def change(log: MessageLog, ranges: Sequence[Range], messages: list[BaseMessage], latest: Latest) -> Change:
    """The change from the messages of the parent to those of a checkpoint.

    The first messages that the parent has too are kept. What follows is recorded. Messages that the parent had after those that
    are kept leave the history of the conversation by a rewind; messages before or between them stay in it. No message is in it
    twice.
    """
    known = log.view(ranges)
    if len(ranges) > RANGES_MAX:
        kept, count = [], 0
    elif _begins_with(messages, known):
        kept, count = list(ranges), len(known)
    else:
        indices = _kept(known, messages)
        kept, count = log.ranges_of(ranges, indices), len(indices)
    end = kept[-1][1] if kept else CREATED
    if end == latest.tail and latest.after_tail != VISIBLE:
        return Change(kept, list(messages[count:]), None, end)
    called = _last_unanswered(messages[:count])
    if called is not None:
        # A rewind does not open calls again that were answered, so that the message that called is recorded again.
        count = called
        kept = log.ranges_of(ranges, _kept(known, messages[:count]))
        end = kept[-1][1] if kept else CREATED
    return Change(kept, list(messages[count:]), end, end)


def ranges_after(change: Change, latest: Latest, recorded: Range | None) -> list[Range]:
    """The ranges of a checkpoint, with the versions of its new messages."""
    if recorded is None:
        return change.kept
    if change.kept and change.rewind_to is None and latest.after_tail == NONE:
        return [*change.kept[:-1], (change.kept[-1][0], recorded[1])]
    return [*change.kept, recorded]


def _begins_with(messages: Any, known: Any) -> bool:
    """Whether a list begins with another one. It is as fast as a comparison of addresses, if the members are the same objects.

    The order of lists is that of the first members that are not equal, and messages have none. Slices would touch each message.
    """
    try:
        return bool(messages >= known)
    except Exception:
        # Members may be of any type, such as arrays that have no single truth value.
        return False


def _is_equal(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:
        # As above.
        return False


def _kept(known: Sequence[BaseMessage], messages: Sequence[BaseMessage]) -> list[int]:
    """The indices of the first messages among the known ones, as far as they are known and in the same order."""
    by_identity = {id(message): index for index, message in enumerate(known)}
    by_id = {message.id: index for index, message in enumerate(known) if message.id}
    found = [by_identity.get(id(message), by_id.get(message.id or "", -1)) for message in messages]
    indices: list[int] = []
    for message, index in zip(messages, found, strict=True):
        if index <= (indices[-1] if indices else -1):
            break
        if known[index] is not message and not _is_equal(known[index], message):
            break
        indices.append(index)
    # What was before one that is recorded again may stay, and nothing after it.
    again = min((index for index in found[len(indices) :] if index >= 0), default=len(known))
    return indices[: bisect_left(indices, again)]


def _last_unanswered(messages: Sequence[BaseMessage]) -> int | None:
    """The index of a message with calls, some of which the results after it, the last messages, do not answer."""
    answered: set[str] = set()
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if not isinstance(message, ToolMessage):
            calls = message.tool_calls if isinstance(message, AIMessage) else []
            return None if all(call["id"] in answered for call in calls) else index
        answered.add(message.tool_call_id)
    return None
