"""Chat stores of LlamaIndex. Needs `hansard[llama-index]`.

store = HansardChatStore(client=Hansard("grpc://127.0.0.1:7302", token))
memory = ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="ada-1")
"""

from __future__ import annotations

import functools
import json
import time
from collections import OrderedDict
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import ChatMessage
from llama_index.core.storage.chat_store.base import BaseChatStore

from hansard._ids import derived
from hansard._json import dumps
from hansard._sync_client import Hansard
from hansard._sync_document_log import DocumentLog
from hansard.messages import events_of_messages, messages_of_events
from hansard.types import Event, RecordedEvent

# The member of a conversation's metadata that has its key.
NAME = "llama_index_key"
# How long a listing may miss a key that this store has written, in seconds.
LISTING_LAG = 60.0
# Roles of LlamaIndex that OpenAI names otherwise.
ROLES = {"model": "assistant", "chatbot": "assistant", "function": "tool"}


class ChatMessageFormat:
    """The format of messages: `ChatMessage.model_dump` of LlamaIndex."""

    name = "llama-index"

    def events(self, document: Any) -> list[Event]:
        """What models read of a message."""
        role = ROLES.get(document["role"], document["role"])
        extra: dict[str, Any] = document.get("additional_kwargs") or {}
        blocks: list[dict[str, Any]] = document.get("blocks") or []
        content = [made for block in blocks if (made := _content(block)) is not None]
        message: dict[str, Any] = {"role": role, "content": content or None}
        calls = extra.get("tool_calls") or [_call(block) for block in blocks if block["block_type"] == "tool_call"]
        if calls:
            message["tool_calls"] = calls
        if extra.get("tool_call_id"):
            message["tool_call_id"] = extra["tool_call_id"]
        try:
            return events_of_messages([message])
        except (AttributeError, TypeError, ValueError):
            # The calls are not in OpenAI's form.
            return []

    def of_foreign(self, event: RecordedEvent) -> Any:
        """The message of an event that another client recorded."""
        messages = messages_of_events([event])
        if not messages:
            return None
        message = messages[0]
        content = message["content"]
        text = content if isinstance(content, str) else None
        extra = {name: message[name] for name in ("tool_calls", "tool_call_id") if name in message}
        if text is None or extra:
            return ChatMessage(role=message["role"], content=text, additional_kwargs=extra).model_dump(mode="json")
        # Plain texts differ in their block only, which saves the conversion.
        empty = _empty(message["role"])
        return {**empty, "blocks": [{**empty["blocks"][0], "text": text}]}


@functools.cache
def _empty(role: str) -> dict[str, Any]:
    return ChatMessage(role=role, content="").model_dump(mode="json")


def _content(block: dict[str, Any]) -> dict[str, Any] | None:
    kind = block["block_type"]
    if kind == "text" and block.get("text"):
        return {"type": "text", "text": block["text"]}
    if kind == "image" and block.get("url"):
        return {"type": "image_url", "image_url": {"url": block["url"], "detail": block.get("detail") or ""}}
    return None


def _call(block: dict[str, Any]) -> dict[str, Any]:
    arguments: Any = block.get("tool_kwargs") or {}
    text = arguments if isinstance(arguments, str) else dumps(arguments)
    return {"id": block.get("tool_call_id"), "function": {"name": block["tool_name"], "arguments": text}}


class HansardChatStore(BaseChatStore):
    """A store whose keys are conversations: the same ones in every process with the same agent and owner.

    Messages come back exactly as they were added. Deletions are rewinds: the record keeps the messages until the conversation is
    erased, and the key can be used again. With `user_id`, the user owns all conversations of the store; without one, each key
    is the session that owns its conversation.
    """

    _client: Hansard = PrivateAttr()
    _user_id: str | None = PrivateAttr()
    _written: OrderedDict[str, float] = PrivateAttr(default_factory=lambda: OrderedDict[str, float]())

    def __init__(self, client: Hansard, *, user_id: str | None = None) -> None:
        super().__init__()
        self._client = client
        self._user_id = user_id

    @classmethod
    def class_name(cls) -> str:
        """The name of the class."""
        return "HansardChatStore"

    def conversation_id(self, key: str) -> str:
        """The id of a key's conversation in Hansard."""
        return derived("llama-index", self._client.agent_id, self._user_id or "", key)

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Replaces the messages of a key."""
        self._log(key).replace([message.model_dump(mode="json") for message in messages])
        self._written[key] = time.monotonic()

    def get_messages(self, key: str, limit: int | None = None) -> list[ChatMessage]:
        """The messages of a key, oldest first; with a limit the newest ones only."""
        if limit is not None and limit < 0:
            raise ValueError(f"limit is {limit}: use at least 0, or None for all messages")
        return [_message(document.value) for document in self._log(key).documents(limit)]

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Adds a message to a key."""
        self._log(key).append([message.model_dump(mode="json")])
        self._written[key] = time.monotonic()

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Deletes the messages of a key, and returns them. `None`: it has none."""
        messages = self.get_messages(key)
        if not messages:
            return None
        self._log(key).clear()
        return messages

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Deletes a message of a key, and returns it. `None`: there is none with that index."""
        removed = self._log(key).remove(idx)
        return None if removed is None else _message(removed.value)

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Deletes the last message of a key, and returns it. `None`: it has none."""
        removed = self._log(key).pop()
        return None if removed is None else _message(removed.value)

    def get_keys(self) -> list[str]:
        """The keys that have messages."""
        keys = dict.fromkeys(self._recently_written())
        for conversation in self._client.list_conversations(user_id=self._user_id):
            if f'"{NAME}"' in conversation.metadata_json:
                keys[str(json.loads(conversation.metadata_json)[NAME])] = None
        return [key for key in keys if self._log(key).documents(1)]

    def _recently_written(self) -> list[str]:
        """The keys that a listing may miss."""
        now = time.monotonic()
        for key, written_at in list(self._written.items()):
            if now - written_at > LISTING_LAG:
                del self._written[key]
        return list(self._written)

    def _log(self, key: str) -> DocumentLog:
        return DocumentLog(
            self._client,
            ChatMessageFormat(),
            self.conversation_id(key),
            user_id=self._user_id,
            session_id=key if self._user_id is None else None,
            metadata={NAME: key},
        )


def _message(document: Any) -> ChatMessage:
    return ChatMessage.model_validate(document)
