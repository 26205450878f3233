"""The session of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import SessionSettings
from agents.memory.session import Session

from hansard import AsyncHansard, Conflict
from hansard.agents import HansardSession
from hansard.items import ItemFormat

LONG = "Where is the parcel that I sent a week ago? " * 30
TEXT = {
    "type": "output_text",
    "text": LONG,
    "annotations": [{"type": "url_citation", "url": "https://x"}],
    "logprobs": [],
}
# Items of every kind of storage: as events, with metadata, verbatim.
ITEMS: list[Any] = [
    {"role": "user", "content": "hi"},
    {"content": "order of members", "role": "user"},
    {"role": "user", "content": ""},
    {"role": "user", "content": "nul \x00 \U0001f600 \\u0041"},
    {"role": "user", "content": []},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": LONG},
            {"type": "input_image", "image_url": "https://x/y.png", "detail": "low"},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "input_file", "file_id": "f_1", "filename": None},
            {"type": "input_audio", "x": [1.5, None]},
        ],
    },
    {"role": "system", "content": "be short", "status": None},
    {"type": "message", "role": "developer", "content": "be kind"},
    {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [TEXT]},
    {
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "a", "annotations": []}],
    },
    {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": LONG}],
        "encrypted_content": "gAAA",
    },
    {
        "type": "function_call",
        "call_id": "c1",
        "name": "look",
        "arguments": '{"parcel":  1.50, "where": "in the house of the sender"}',
        "id": "fc_1",
        "status": "completed",
    },
    {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "not json"},
    {"type": "function_call", "call_id": "c3", "name": "look", "arguments": "NaN"},
    {"type": "function_call_output", "call_id": "c1", "output": LONG},
    {"type": "function_call_output", "call_id": "c1", "output": "a second output"},
    {"type": "function_call_output", "call_id": "unknown", "output": [{"type": "input_text", "text": "x"}]},
    {"type": "function_call", "call_id": "c4", "name": "look", "arguments": "{}"},
    {"type": "function_call", "call_id": "c4", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c4", "output": ""},
    {"type": "from_the_future", "value": 12345678901234567890, "$text": 0},
    {"role": "user", "content": {"$text": 0}},
    {"role": "tool", "content": "no role of ours"},
    {"big": "x" * 100_000},
    {"role": "user", "content": "half of a pair \ud83d", "id": "\ud83d"},
]


async def test_items_come_back_exactly(client: AsyncHansard, new_id: str) -> None:
    session = HansardSession(new_id, client)
    assert isinstance(session, Session)
    assert await session.get_items() == []
    await session.add_items(ITEMS)
    stored = await session.get_items()
    assert stored == ITEMS
    assert [list(item) for item in stored if item.get("id") == "msg_1"] == [list(ITEMS[9])]
    for limit in range(len(ITEMS) + 2):
        assert await session.get_items(limit) == (ITEMS[-limit:] if limit else [])
    again = HansardSession(new_id, client, session_settings=SessionSettings(limit=3))
    assert await again.get_items() == ITEMS[-3:]
    assert await again.get_items(limit=1) == ITEMS[-1:]


async def test_each_item_alone_comes_back_exactly(client: AsyncHansard, new_id: str) -> None:
    for number, item in enumerate(ITEMS):
        session = HansardSession(f"{new_id}-{number}", client)
        await session.add_items([item])
        assert await session.get_items() == [item]


async def test_models_read_what_a_session_stores(client: AsyncHansard, new_id: str) -> None:
    session = HansardSession(new_id, client, user_id="ada")
    await session.add_items([ITEMS[0], ITEMS[12], ITEMS[15], ITEMS[9]])
    messages = (await client.context(session.conversation_id)).body["messages"]
    assert [message["role"] for message in messages][-4:] == ["user", "assistant", "tool", "assistant"]
    assert messages[-1]["content"] == LONG


async def test_items_are_popped_and_cleared(client: AsyncHansard, new_id: str) -> None:
    session = HansardSession(new_id, client)
    assert await session.pop_item() is None
    await session.clear_session()
    await session.add_items(ITEMS[:16])
    for item in reversed(ITEMS[10:16]):
        assert await session.pop_item() == item
    await session.add_items(ITEMS[20:])
    assert await session.get_items() == ITEMS[:10] + ITEMS[20:]
    await session.clear_session()
    assert await session.get_items() == []
    assert await session.pop_item() is None
    await session.add_items(ITEMS[:2])
    assert await session.get_items() == ITEMS[:2]


async def test_an_output_after_a_popped_output_is_stored(client: AsyncHansard, new_id: str) -> None:
    session = HansardSession(new_id, client)
    call = ITEMS[12]
    outputs = [{"type": "function_call_output", "call_id": "c1", "output": text} for text in ("first", "second")]
    await session.add_items([call, outputs[0]])
    assert await session.pop_item() == outputs[0]
    await session.add_items([outputs[1]])
    assert await session.get_items() == [call, outputs[1]]


async def test_more_items_than_a_commit(client: AsyncHansard, new_id: str) -> None:
    session = HansardSession(new_id, client)
    many = [{"role": "user", "content": str(number)} for number in range(1_100)]
    await session.add_items(many)
    assert await session.get_items() == many
    assert await session.get_items(700) == many[-700:]


async def test_sessions_of_several_processes(deployment, new_id: str) -> None:
    """Writers at the same time lose nothing, and each one's items stay in order."""

    async def write(name: str) -> None:
        async with deployment.asynchronous() as client:
            session = HansardSession(new_id, client)
            for number in range(10):
                await session.add_items([{"role": "user", "content": f"{name} {number} {part}"} for part in "ab"])

    await asyncio.gather(*(write(name) for name in "xyz"))
    async with deployment.asynchronous() as client:
        texts = [item["content"] for item in await HansardSession(new_id, client).get_items()]
    for name in "xyz":
        own = [text for text in texts if text.startswith(name)]
        assert own == [f"{name} {number} {part}" for number in range(10) for part in "ab"]
    assert [text[:-2] for text in texts[::2]] == [text[:-2] for text in texts[1::2]]


async def test_pops_at_the_same_time_remove_each_item_once(deployment, new_id: str) -> None:
    async with deployment.asynchronous() as client:
        session = HansardSession(new_id, client)
        items = [{"role": "user", "content": str(number)} for number in range(8)]
        await session.add_items(items)
        popped = await asyncio.gather(*(session.pop_item() for _ in range(8)))
        assert sorted(item["content"] for item in popped if item) == [item["content"] for item in items]
        assert await session.get_items() == []


async def test_owners_separate_sessions(client: AsyncHansard, new_id: str) -> None:
    sessions = [HansardSession(new_id, client, user_id=user) for user in ("ada", "grace", None)]
    for number, session in enumerate(sessions):
        await session.add_items([{"role": "user", "content": str(number)}])
    assert [await session.get_items() for session in sessions] == [[{"role": "user", "content": str(n)}] for n in range(3)]


def test_a_fork_in_the_middle_of_a_document() -> None:
    """The rest of a document of several events is not taken from what follows it."""
    from hansard._documents import pack, unpack
    from hansard.types import RecordedEvent, Role

    class Doubled(ItemFormat):
        """Items of two events."""

        def events(self, document):
            again = super().events(document) if document["content"] == LONG else []
            return super().events(document) + again

    items = [{"role": "user", "content": LONG}, {"role": "user", "content": "after"}]
    whole = [event for item in items for event in pack(Doubled(), item)]
    assert len(whole) == 3
    cut = [RecordedEvent(version=number, event=event) for number, event in enumerate([whole[0], whole[2]], 1)]
    assert [document.value for document in unpack(Doubled(), cut)] == items
    assert all(event.event.message_appended.role == Role.ROLE_USER for event in cut)


async def test_an_erased_session_cannot_be_used_again(client: AsyncHansard, new_id: str) -> None:
    session = HansardSession(new_id, client)
    await session.add_items(ITEMS[:2])
    await client.erase(session.conversation_id)
    assert await session.get_items() == []
    assert await session.pop_item() is None
    with pytest.raises(Conflict) as raised:
        await session.add_items(ITEMS[:1])
    assert raised.value.reason == "CONVERSATION_ERASED"
