"""Chat message histories of LangChain. Needs `hansard[langchain]`.

history = HansardChatMessageHistory("ada-1", Hansard("grpc://127.0.0.1:7302", token))
history.add_user_message("Where is my parcel?")
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    BaseMessage,
    convert_to_messages,
    convert_to_openai_messages,
    message_to_dict,
    messages_from_dict,
)

from hansard._ids import derived
from hansard._sync_client import Hansard
from hansard._sync_document_log import DocumentLog
from hansard.messages import events_of_messages, messages_of_events
from hansard.types import Event, RecordedEvent


class MessageFormat:
    """The format of messages: `message_to_dict` of LangChain."""

    name = "langchain"

    def events(self, document: Any) -> list[Event]:
        """What models read of a message."""
        try:
            message: Any = convert_to_openai_messages(messages_from_dict([document])[0])
            return events_of_messages([message])
        except (NotImplementedError, TypeError, ValueError):
            # A message of LangGraph's state, such as a removal, or with parts that OpenAI does not have.
            return []

    def of_foreign(self, event: RecordedEvent) -> Any:
        """The message of an event that another client recorded."""
        messages: Any = messages_of_events([event])
        return _document(messages[0]) if messages else None


@functools.cache
def _empty(role: str) -> dict[str, Any]:
    return _converted({"role": role, "content": ""})


def _converted(message: Any) -> dict[str, Any]:
    return message_to_dict(convert_to_messages([message])[0])


def _document(message: dict[str, Any]) -> dict[str, Any]:
    """The document of a message of OpenAI. Those of plain texts differ in their content only, which saves the conversion."""
    content = message["content"]
    if not isinstance(content, str) or message.keys() != {"role", "content"}:
        return _converted(message)
    empty = _empty(message["role"])
    return {**empty, "data": {**empty["data"], "content": content}}


class HansardChatMessageHistory(BaseChatMessageHistory):
    """A history whose messages are a conversation: the same one in every process with the same agent, owner and session id.

    Messages come back exactly as they were added. `clear` is a rewind: the record keeps the messages until the conversation is
    erased, and the history can be used again.
    """

    def __init__(
        self,
        session_id: str,
        client: Hansard,
        *,
        user_id: str | None = None,
        conversation_id: str | None = None,
        history_size: int | None = None,
    ) -> None:
        """`user_id` owns the conversation; without one, the session does. `conversation_id` continues a known conversation.

        `history_size` is the number of newest messages that `messages` reads; `None`: all of them.
        """
        super().__init__()
        if history_size is not None and history_size < 1:
            raise ValueError(f"history_size is {history_size}: use at least 1, or None for all messages")
        self.history_size = history_size
        self.session_id = session_id
        self.conversation_id = conversation_id or derived("langchain", client.agent_id, user_id or "", session_id)
        owner_session = None if user_id is not None else session_id
        self._log = DocumentLog(client, MessageFormat(), self.conversation_id, user_id=user_id, session_id=owner_session)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        """The messages, oldest first; with `history_size` the newest ones only."""
        return messages_from_dict([document.value for document in self._log.documents(self.history_size)])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Appends messages. Up to 499 events are one commit: all messages or none."""
        self._log.append([message_to_dict(message) for message in messages])

    def clear(self) -> None:
        """Removes all messages."""
        self._log.clear()
