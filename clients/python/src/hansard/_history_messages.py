"""Messages of LangChain as turns of a keyed history, and a history as messages. No I/O."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import BaseMessage, convert_to_messages, convert_to_openai_messages

from hansard.messages import events_of_messages, messages_of_events
from hansard.types import Event, MessageAppended, RecordedEvent, Role

INSTRUCTIONS = "system"
TURNS = {Role.ROLE_USER, Role.ROLE_ASSISTANT}


@dataclasses.dataclass(frozen=True)
class LoadedHistory:
    """What a model reads, and where new messages are recorded."""

    #: The messages, oldest first.
    messages: list[BaseMessage]
    #: The key. `None`: nothing is recorded.
    key: str | None = None
    #: The version of the stored history. `None`: it could not be read.
    version: int | None = None


@dataclasses.dataclass(frozen=True)
class Turn:
    """A message of a user or an assistant, with the tool calls and results that follow it."""

    recorded: MessageAppended
    messages: list[BaseMessage]


@dataclasses.dataclass(frozen=True)
class Thread:
    """The messages of a state: instructions and what precedes the first turn, and the turns."""

    first: list[BaseMessage]
    turns: list[Turn]

    @classmethod
    def of(cls, messages: Any) -> Thread:
        """The thread of messages in any form that LangChain reads."""
        thread = cls([], [])
        for message in convert_to_messages(messages):
            recorded = None if message.type == INSTRUCTIONS else _turn(message)
            if recorded is not None:
                thread.turns.append(Turn(recorded, [message]))
            elif message.type == INSTRUCTIONS or not thread.turns:
                thread.first.append(message)
            else:
                thread.turns[-1].messages.append(message)
        return thread

    def newest(self, turns_max: int) -> list[BaseMessage]:
        """The messages without older turns than the newest ones."""
        return [*self.first, *itertools.chain.from_iterable(turn.messages for turn in self.turns[-turns_max:])]

    def merged(self, history: Sequence[MessageAppended]) -> list[BaseMessage]:
        """The messages of a history that contains the turns of this thread. Those turns keep their own messages."""
        own, groups = list(self.turns), list[list[BaseMessage]]()
        for message in reversed(history):
            if own and _is_equal(own[-1].recorded, message):
                groups.append(own.pop().messages)
            else:
                groups.append(_messages(message))
        return [*self.first, *itertools.chain.from_iterable(reversed(groups))]


def _is_equal(one: MessageAppended, other: MessageAppended) -> bool:
    return one.role == other.role and list(one.parts) == list(other.parts)


def _turn(message: BaseMessage) -> MessageAppended | None:
    """What is recorded of a message. `None`: it is no text of a user or an assistant."""
    try:
        events = events_of_messages([cast("Mapping[str, Any]", convert_to_openai_messages(message))])
    except (NotImplementedError, TypeError, ValueError):
        # A message of LangGraph's state, such as a removal, or with parts that OpenAI does not have.
        return None
    appended = (event.message_appended for event in events if event.WhichOneof("fact") == "message_appended")
    return next((one for one in appended if one.role in TURNS and one.parts), None)


def _messages(recorded: MessageAppended) -> list[BaseMessage]:
    chat = messages_of_events([RecordedEvent(event=Event(message_appended=recorded))])
    return convert_to_messages(cast("Any", chat))


def variables_of(state: Mapping[str, Any], config: Mapping[str, Any] | None) -> dict[str, Any]:
    """The variables of templates: `results` and `inputs` of the state, `configurable` and `thread_id` of the configuration.

    A state without `inputs` is its own inputs.
    """
    configurable: Mapping[str, Any] = (config or {}).get("configurable") or {}
    return {
        "results": state.get("results"),
        "inputs": state.get("inputs", state),
        "configurable": configurable,
        "thread_id": configurable.get("thread_id"),
    }


def added_messages(update: Any, field: str) -> list[Any]:
    """The messages that a node returns: in an update of the state, or in a command."""
    if not isinstance(update, Mapping):
        update = getattr(update, "update", None)
    if not isinstance(update, Mapping):
        return []
    added: Any = cast("Mapping[str, Any]", update).get(field)
    if added is None:
        return []
    return list(cast("Iterable[Any]", added)) if isinstance(added, (list, tuple)) else [added]
