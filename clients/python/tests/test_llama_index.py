"""The chat store of LlamaIndex, compared with the store in memory that the framework ships."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.storage.chat_store import SimpleChatStore

from hansard import Hansard
from hansard._json import dumps
from hansard.llama_index import ChatMessageFormat, HansardChatStore
from hansard.messages import events_of_messages
from hansard.types import RecordedEvent

LONG = "Where is the parcel that I sent a week ago? " * 30
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"parcel": 1}'}}
MESSAGES = [
    ChatMessage(role="system", content="be short"),
    ChatMessage(role="user", content=LONG, additional_kwargs={"x": [1, None]}),
    ChatMessage(role="user", blocks=[TextBlock(text="see"), ImageBlock(url="https://x/y.png", detail="low")]),
    ChatMessage(role="assistant", content=None, additional_kwargs={"tool_calls": [CALL]}),
    ChatMessage(role="tool", content="x", additional_kwargs={"tool_call_id": "c1", "name": "look"}),
    ChatMessage(role="tool", content="an unknown call", additional_kwargs={"tool_call_id": "c9"}),
    ChatMessage(
        role="assistant",
        blocks=[
            ThinkingBlock(content=LONG),
            TextBlock(text="I look."),
            ToolCallBlock(tool_call_id="c2", tool_name="look", tool_kwargs={"parcel": LONG}),
        ],
    ),
    ChatMessage(role="tool", content=LONG, additional_kwargs={"tool_call_id": "c2"}),
    ChatMessage(role="assistant", content=""),
    ChatMessage(role="model", content="of a model"),
    ChatMessage(role="assistant", additional_kwargs={"tool_calls": ["of another form"]}),
]


def test_messages_come_back_exactly(blocking: Hansard, new_id: str) -> None:
    store = HansardChatStore(blocking)
    assert store.get_messages(new_id) == []
    for message in MESSAGES:
        store.add_message(new_id, message)
    assert store.get_messages(new_id) == MESSAGES
    store.set_messages(new_id, MESSAGES[::-1])
    assert HansardChatStore(blocking).get_messages(new_id) == MESSAGES[::-1]


@pytest.mark.parametrize("seed", range(3))
def test_operations_have_the_same_results_as_in_memory(blocking: Hansard, new_id: str, seed: int) -> None:
    numbers = random.Random(seed)
    stores = (SimpleChatStore(), HansardChatStore(blocking, user_id=new_id))

    def both(name: str, *arguments: Any) -> Any:
        one, other = (getattr(store, name)(*arguments) for store in stores)
        # An empty key and an unknown one are the same.
        assert (one or None) == (other or None), (name, arguments)

    for _ in range(60):
        key = numbers.choice(["a/ä", "b"])
        length = len(stores[0].get_messages(key))
        choice = numbers.randrange(8)
        if choice < 3:
            both("add_message", key, numbers.choice(MESSAGES))
        elif choice == 3:
            both("set_messages", key, numbers.sample(MESSAGES, numbers.randrange(5)))
        elif choice == 4:
            both("delete_message", key, numbers.randrange(length + 2))
        elif choice == 5 and length:
            both("delete_last_message", key)
        elif choice == 6:
            both("delete_messages", key)
        both("get_messages", key)
        used = [key for key in stores[0].get_keys() if stores[0].get_messages(key)]
        assert sorted(stores[1].get_keys()) == sorted(used)


def test_a_limit_bounds_the_messages_that_are_read(blocking: Hansard, new_id: str) -> None:
    store = HansardChatStore(blocking)
    store.set_messages(new_id, MESSAGES)
    for limit in range(len(MESSAGES) + 2):
        assert store.get_messages(new_id, limit) == (MESSAGES[-limit:] if limit else [])
    with pytest.raises(ValueError, match="limit is -1"):
        store.get_messages(new_id, -1)


@pytest.mark.parametrize("role", ["user", "assistant", "system", "developer"])
@pytest.mark.parametrize("text", ["", "hi"])
def test_messages_of_other_clients_are_those_that_llama_index_makes(role: str, text: str) -> None:
    (event,) = events_of_messages([{"role": role, "content": text}])
    expected = ChatMessage(role=role, content=text or None).model_dump(mode="json")
    for _ in range(2):
        assert dumps(ChatMessageFormat().of_foreign(RecordedEvent(event=event))) == dumps(expected)


async def test_a_memory_keeps_its_messages(blocking: Hansard, new_id: str) -> None:
    def memory() -> ChatMemoryBuffer:
        return ChatMemoryBuffer.from_defaults(chat_store=HansardChatStore(blocking), chat_store_key=new_id, token_limit=9_000)

    await memory().aput(ChatMessage(role="user", content="Where is my parcel?"))
    memory().put(ChatMessage(role="assistant", content="In Leeds."))
    assert [message.content for message in memory().get()] == ["Where is my parcel?", "In Leeds."]
    assert [message.role for message in await memory().aget()] == [MessageRole.USER, MessageRole.ASSISTANT]
    memory().reset()
    assert memory().get() == []


def test_models_read_what_a_store_keeps(blocking: Hansard, new_id: str) -> None:
    store = HansardChatStore(blocking)
    store.set_messages(new_id, MESSAGES[:5])
    messages = blocking.context(store.conversation_id(new_id)).body["messages"]
    assert [message["role"] for message in messages][-4:] == ["user", "user", "assistant", "tool"]
