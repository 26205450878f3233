"""The chat message history of LangChain."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_core")

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    message_to_dict,
)
from langchain_core.runnables.history import RunnableWithMessageHistory

from hansard import Hansard
from hansard._json import dumps
from hansard.langchain import HansardChatMessageHistory, MessageFormat
from hansard.messages import events_of_messages, messages_of_events
from hansard.types import RecordedEvent

LONG = "Where is the parcel that I sent a week ago? " * 30
CALL = {"name": "look", "args": {"parcel": 1.5, "text": LONG}, "id": "c1", "type": "tool_call"}
MESSAGES: list[Any] = [
    SystemMessage("be short"),
    HumanMessage("hi", id="m-1", additional_kwargs={"x": [1, None]}),
    HumanMessage([{"type": "text", "text": LONG}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}], name="ada"),
    AIMessage("I look.", tool_calls=[CALL], usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    ToolMessage(LONG, tool_call_id="c1", artifact={"a": 1}, status="success"),
    ToolMessage("an unknown call", tool_call_id="c9"),
    AIMessage("", tool_calls=[{**CALL, "id": "c2"}, {**CALL, "id": "c3"}]),
    ToolMessage("x", tool_call_id="c3"),
    ToolMessage("", tool_call_id="c2"),
    AIMessage(LONG, response_metadata={"model": "m"}),
    AIMessage([{"type": "reasoning", "reasoning": LONG}, {"type": "text", "text": "done"}]),
    AIMessage(""),
    ChatMessage("of another role", role="narrator"),
    RemoveMessage(id="m-1"),
]


def test_messages_come_back_exactly(blocking: Hansard, new_id: str) -> None:
    history = HansardChatMessageHistory(new_id, blocking)
    assert history.messages == []
    history.add_messages(MESSAGES)
    history.add_user_message("hello")
    assert history.messages == [*MESSAGES, HumanMessage("hello")]
    assert HansardChatMessageHistory(new_id, blocking).messages == [*MESSAGES, HumanMessage("hello")]
    history.clear()
    assert history.messages == []
    history.add_messages(MESSAGES[:2])
    assert history.messages == MESSAGES[:2]


async def test_the_asynchronous_methods(blocking: Hansard, new_id: str) -> None:
    history = HansardChatMessageHistory(new_id, blocking, user_id="ada")
    await history.aadd_messages(MESSAGES[:3])
    assert await history.aget_messages() == MESSAGES[:3]
    await history.aclear()
    assert await history.aget_messages() == []


def test_a_history_size_bounds_the_messages_that_are_read(blocking: Hansard, new_id: str) -> None:
    HansardChatMessageHistory(new_id, blocking).add_messages(MESSAGES)
    for size in range(1, len(MESSAGES) + 2):
        history = HansardChatMessageHistory(new_id, blocking, history_size=size)
        assert history.messages == MESSAGES[-size:]
    with pytest.raises(ValueError, match="history_size is 0"):
        HansardChatMessageHistory(new_id, blocking, history_size=0)


@pytest.mark.parametrize("role", ["user", "assistant", "system", "developer"])
@pytest.mark.parametrize("content", ["", "hi", [{"type": "text", "text": "hi"}, {"type": "text", "text": "ho"}]])
def test_messages_of_other_clients_are_those_that_langchain_converts(role: str, content: Any) -> None:
    message = {"role": role, "content": content}
    (event,) = events_of_messages([message])
    (read,) = messages_of_events([RecordedEvent(event=event)])
    expected = message_to_dict(convert_to_messages([read])[0])
    for _ in range(2):
        assert dumps(MessageFormat().of_foreign(RecordedEvent(event=event))) == dumps(expected)


def test_models_read_what_a_history_stores(blocking: Hansard, new_id: str) -> None:
    history = HansardChatMessageHistory(new_id, blocking)
    history.add_messages(MESSAGES[:5])
    messages = blocking.context(history.conversation_id).body["messages"]
    assert [message["role"] for message in messages][-4:] == ["user", "user", "assistant", "tool"]
    assert messages[-2]["content"] == "I look."


def test_a_chain_continues_a_history(blocking: Hansard, new_id: str) -> None:
    model = GenericFakeChatModel(messages=iter(["one", "two"]))
    chain = RunnableWithMessageHistory(model, lambda session: HansardChatMessageHistory(session, blocking))
    config: Any = {"configurable": {"session_id": new_id}}
    for text in ("first", "second"):
        chain.invoke([HumanMessage(text)], config)
    contents = [message.content for message in HansardChatMessageHistory(new_id, blocking).messages]
    assert contents == ["first", "one", "second", "two"]


def test_messages_of_other_clients_are_read(blocking: Hansard, new_id: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
    ]
    blocking.create_conversation(new_id, user_id="ada", messages=messages)
    read = HansardChatMessageHistory("any", blocking, conversation_id=new_id).messages
    assert [message.type for message in read] == ["human", "ai", "tool"]
    assert read[1].tool_calls == [{"name": "look", "args": {}, "id": "c1", "type": "tool_call"}]
