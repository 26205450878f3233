"""The conversation store of Pydantic AI, compared with the store in memory that the framework ships."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import os
import random
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationStore,
    InMemoryConversationStore,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from hansard import AsyncHansard
from hansard.pydantic_ai import HansardConversationStore

SEEDS = int(os.environ.get("SEEDS", "2"))
LONG = "Where is the parcel that I sent a week ago? " * 30


def turn(number: int) -> list[Any]:
    call = f"call_{number}"
    return [
        ModelRequest(parts=[UserPromptPart(content=f"question {number} {LONG}")]),
        ModelResponse(parts=[TextPart(content="I look."), ToolCallPart("look", {"parcel": number, "text": LONG}, call)]),
        ModelRequest(parts=[ToolReturnPart("look", {"place": f"Leeds {number}"}, call)]),
        ModelResponse(parts=[TextPart(content=f"answer {number}")]),
    ]


MESSAGES: list[Any] = [
    ModelRequest(
        parts=[
            SystemPromptPart(content="be short"),
            UserPromptPart(content=["see", ImageUrl(url="https://x/y.png"), BinaryContent(b"\x00\x01", media_type="image/png")]),
        ],
        instructions="speak",
    ),
    ModelResponse(
        parts=[ThinkingPart(content=LONG, signature="sig", id="t"), TextPart(content=LONG)],
        usage=RequestUsage(input_tokens=3),
        model_name="m",
        provider_name="openai",
    ),
    ModelRequest(parts=[UserPromptPart(content="")]),
    ModelResponse(parts=[]),
    ModelResponse(parts=[ToolCallPart("look", "not json", "c1"), ToolCallPart("look", None, "c2")]),
    ModelRequest(parts=[ToolReturnPart("look", "again", "c1", outcome="failed"), ToolReturnPart("look", "text", "c2")]),
    ModelRequest(parts=[ToolReturnPart("look", "an unknown call", "c9")]),
    ModelRequest(parts=[UserPromptPart(content=[BinaryContent(b"\x00" * 100_000, media_type="image/png")])]),
]

# As the framework reads its own JSON: a binary content becomes an image.
MESSAGES = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(MESSAGES))


@pytest.fixture
def store(client: AsyncHansard) -> HansardConversationStore:
    return HansardConversationStore(client)


async def test_messages_come_back_exactly(deployment, store: HansardConversationStore, new_id: str) -> None:
    conversation = Conversation(conversation_id=new_id, messages=list(MESSAGES))
    entries = await store.save(conversation, scope=new_id)
    assert len(entries) == len(MESSAGES)
    async with deployment.asynchronous() as other:
        loaded = await HansardConversationStore(other).load(new_id)
        assert loaded is not None and loaded.messages == MESSAGES
        assert loaded.revision == conversation.revision
        for limit in range(len(MESSAGES) + 2):
            window = await HansardConversationStore(other).load(new_id, limit=limit)
            assert window is not None and window.messages == (MESSAGES[-limit:] if limit else [])
        fresh = HansardConversationStore(other)
        # An entry without its conversation is found as soon as the listing of conversations has it.
        await listed(fresh, new_id)
        assert (await fresh.read_entry(entries[3].id)) == entries[3]
        with pytest.raises(LookupError):
            await fresh.read_entry("01998c1a-0000-7000-8000-000000000000")


async def listed(store: HansardConversationStore, conversation_id: str) -> None:
    end = asyncio.get_running_loop().time() + 20
    while conversation_id not in [record.conversation_id for record in await store.list_conversations(scope=conversation_id)]:
        assert asyncio.get_running_loop().time() < end


async def test_agents_continue_a_conversation(store: HansardConversationStore, client: AsyncHansard, new_id: str) -> None:
    agent = Agent(TestModel())

    @agent.tool_plain
    def look(parcel: int) -> str:
        return f"parcel {parcel} is in Leeds"

    for number in range(3):
        conversation = await store.load(new_id) or Conversation(conversation_id=new_id)
        result = await agent.run(f"question {number}", conversation=conversation)
        await store.save(result)
    loaded = await store.load(new_id)
    assert loaded is not None and len(loaded.messages) == 8 and loaded.usage.requests == 4
    roles = [message["role"] for message in (await client.context(store.hansard_id(new_id))).body["messages"]]
    assert roles[-4:] == ["user", "assistant", "user", "assistant"] and "tool" in roles


async def test_saves_compare_and_set(deployment, store: HansardConversationStore, new_id: str) -> None:
    """Of the saves of one revision, exactly one succeeds."""
    await store.save(Conversation(conversation_id=new_id, messages=turn(0)))

    async def save(number: int) -> bool:
        async with deployment.asynchronous() as client:
            other = HansardConversationStore(client)
            conversation = await other.load(new_id)
            assert conversation is not None
            conversation.messages.extend(turn(number))
            started.release()
            await everybody.wait()
            try:
                await other.save(conversation)
            except ConversationConflict:
                return False
            return True

    started, everybody = asyncio.Semaphore(0), asyncio.Event()
    saves = [asyncio.ensure_future(save(number)) for number in range(1, 9)]
    for _ in saves:
        await started.acquire()
    everybody.set()
    assert sum(await asyncio.gather(*saves)) == 1
    loaded = await store.load(new_id)
    assert loaded is not None and len(loaded.messages) == 8


async def test_a_write_after_a_read_sees_what_happened_between_them(
    deployment, store: HansardConversationStore, client: AsyncHansard, new_id: str
) -> None:
    await store.save(Conversation(conversation_id=new_id, messages=turn(0)))
    record = await store.read_record(new_id)
    assert record is not None
    # An event that is no save changes the version, and not the revision.
    await client.append(store.hansard_id(new_id), [{"role": "system", "content": "of another client"}])
    revision = record.revision
    changed = dataclasses.replace(record, revision="changed")
    await store.write_record(changed, expected_revision=revision)
    read = await store.read_record(new_id)
    assert read is not None and read.revision == "changed"
    # A caller who changes what was read changes nothing else.
    read.revision = "another"
    async with deployment.asynchronous() as other:
        of_other = HansardConversationStore(other)
        conversation = await of_other.load(new_id)
        assert conversation is not None
        conversation.messages.extend(turn(1))
        await of_other.save(conversation)
    with pytest.raises(ConversationConflict):
        await store.write_record(dataclasses.replace(read, revision="late"), expected_revision="changed")
    loaded = await store.load(new_id)
    assert loaded is not None and len(loaded.messages) == 8 and loaded.revision == conversation.revision


async def test_a_save_reads_its_record_once(store: HansardConversationStore, client: AsyncHansard, new_id: str) -> None:
    calls: list[str] = []
    transport: Any = client._transport
    send = transport.call

    async def call(method: Any, request: Any, timeout: float) -> Any:
        calls.append(method.name)
        return await send(method, request, timeout)

    transport.call = call
    conversation = Conversation(conversation_id=new_id, messages=turn(0))
    await store.save(conversation)
    calls.clear()
    conversation.messages.extend(turn(1))
    await store.save(conversation)
    assert calls == ["GetConversation", "ListEvents", "AppendEvents"]


async def test_branches_and_forks_are_those_of_hansard(
    store: HansardConversationStore, client: AsyncHansard, new_id: str
) -> None:
    conversation = Conversation(conversation_id=new_id, messages=[*turn(0), *turn(1)])
    entries = await store.save(conversation)
    fork = await store.fork(new_id, at=4)
    branched = await store.branch(new_id, at=4, expected_revision=conversation.revision)
    assert (await client.get_conversation(store.hansard_id(fork.conversation_id))).forked_from.version == 6
    texts = [message["content"] for message in await client.messages(store.hansard_id(new_id))]
    assert texts[-1] == "answer 0"
    back = await store.branch(new_id, from_entry=entries[-1].id, expected_revision=branched.revision)
    assert back.messages == [*turn_texts(conversation)]
    texts = [message["content"] for message in await client.messages(store.hansard_id(new_id))]
    assert texts[-1] == "answer 1"


def turn_texts(conversation: Conversation) -> list[Any]:
    return list(conversation.messages)


class Pair:
    """The same operations on two stores, whose results are compared."""

    def __init__(self, client: AsyncHansard, seed: int, prefix: str) -> None:
        self.stores = (InMemoryConversationStore(), HansardConversationStore(client))
        # Stores of other processes remember nothing.
        self.another = lambda: HansardConversationStore(client)
        self.random = random.Random(seed)
        self.prefix = prefix
        self.number = 0
        self.done = collections.Counter[str]()

    def name(self) -> str:
        return f"{self.prefix}-{self.random.choice('01ab')}"

    async def step(self) -> None:
        kind = self.random.choice(["save", "save", "save", "branch", "back", "fork", "rewrite", "stale", "delete", "list"])
        self.number += 1
        results = []
        state = self.random.getstate()
        for store in (self.stores[0], self.random.choice([self.stores[1], self.another()])):
            self.random.setstate(state)
            try:
                results.append(await getattr(self, kind)(store))
                self.done[kind] += results[-1] is not None
            except (UserError, LookupError) as error:
                results.append(type(error).__name__)
        assert results[0] == results[1], (kind, results)

    async def content(self, store: ConversationStore, name: str) -> Any:
        loaded = await store.load(name)
        if loaded is None:
            return None
        record = await store.read_record(name)
        assert record is not None and record.revision == loaded.revision
        branches = [[self.text(entry.message) for entry in await store.read_history(tip)] for tip in record.branches]
        return [self.text(message) for message in loaded.messages], branches, record.scope, record.forked_from

    @staticmethod
    def text(message: Any) -> str:
        return str([getattr(part, "content", None) or getattr(part, "args", None) for part in message.parts])

    async def save(self, store: ConversationStore) -> Any:
        name = self.name()
        conversation = await store.load(name) or Conversation(conversation_id=name)
        conversation.messages.extend(turn(self.number)[: self.random.randrange(5)])
        saved = await store.save(conversation, scope=self.prefix)
        return len(saved), await self.content(store, name)

    async def rewrite(self, store: ConversationStore) -> Any:
        name = self.name()
        loaded = await store.load(name)
        if loaded is None:
            return None
        kept = loaded.messages[: self.random.randrange(len(loaded.messages) + 1)]
        rewritten = Conversation(conversation_id=name, messages=[*kept, *turn(self.number)], revision=loaded.revision)
        await store.save(rewritten, scope=self.prefix)
        return await self.content(store, name)

    async def stale(self, store: ConversationStore) -> Any:
        name = self.name()
        await store.save(Conversation(conversation_id=name, messages=turn(self.number), revision="stale"))

    async def branch(self, store: ConversationStore) -> Any:
        name, at = self.name(), self.random.randrange(6)
        loaded = await store.load(name)
        await store.branch(name, at=at, expected_revision=loaded.revision if loaded else "none")
        return await self.content(store, name)

    async def back(self, store: ConversationStore) -> Any:
        name = self.name()
        record = await store.read_record(name)
        if record is None or not record.branches:
            return None
        tip = record.branches[self.random.randrange(len(record.branches))]
        await store.branch(name, from_entry=tip, expected_revision=record.revision)
        return await self.content(store, name)

    async def fork(self, store: ConversationStore) -> Any:
        name, new = self.name(), f"{self.prefix}-{self.random.choice(['a', 'b', self.number])}"
        at = self.random.choice([None, 0, 1, 2, 4])
        await store.fork(name, at=at, new_conversation_id=new)
        return await self.content(store, new)

    async def delete(self, store: ConversationStore) -> Any:
        if self.random.random() < 0.5:
            return None
        await store.delete(self.name())

    async def list(self, store: ConversationStore) -> Any:
        limit = self.random.choice([None, 1, 2])
        expected = await self.listed(self.stores[0], limit)
        # A listing lags behind what another process has written a moment ago.
        end = asyncio.get_running_loop().time() + 20
        while (listed := await self.listed(store, limit)) != expected and asyncio.get_running_loop().time() < end:
            pass
        return listed

    async def listed(self, store: ConversationStore, limit: int | None) -> Any:
        return [record.conversation_id for record in await store.list_conversations(scope=self.prefix, limit=limit)]


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_operations_have_the_same_results_as_in_memory(client: AsyncHansard, new_id: str, seed: int) -> None:
    pair = Pair(client, seed, new_id)
    for _ in range(80):
        await pair.step()
    # With this seed, every kind of operation succeeds.
    assert seed != 0 or all(pair.done[kind] for kind in ("save", "branch", "back", "fork", "rewrite", "list")), pair.done


async def test_scopes_separate_conversations(store: HansardConversationStore, new_id: str) -> None:
    for scope in ("ada", "grace"):
        await store.save(Conversation(conversation_id=f"{new_id}-{scope}", messages=turn(0)), scope=f"{new_id} {scope}")
    records = await store.list_conversations(scope=f"{new_id} ada")
    assert [record.conversation_id for record in records] == [f"{new_id}-ada"]
    assert await store.load(f"{new_id}-ada", scope=f"{new_id} grace") is None
    await store.delete(f"{new_id}-ada", scope=f"{new_id} grace")
    assert await store.load(f"{new_id}-ada") is not None
    await store.delete(f"{new_id}-ada", scope=f"{new_id} ada")
    assert await store.load(f"{new_id}-ada") is None
    assert await store.list_conversations(scope=f"{new_id} ada") == []
