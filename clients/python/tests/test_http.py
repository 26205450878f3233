"""The HTTP transport against a deployment, and the sessions of OpenAI Agents over it."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator

import pytest

pytest.importorskip("httpx2")
pytest.importorskip("agents")

from test_agents import (  # noqa: F401
    test_an_output_after_a_popped_output_is_stored,
    test_each_item_alone_comes_back_exactly,
    test_items_are_popped_and_cleared,
    test_items_come_back_exactly,
    test_models_read_what_a_session_stores,
    test_more_items_than_a_commit,
    test_owners_separate_sessions,
)
from test_client import ANSWER, QUESTION, test_a_watch_gets_the_history_and_live_events, test_histories_by_key  # noqa: F401

from hansard import AsyncHansard, Hansard, InvalidRequest, NotFound, NotSupported, Unauthenticated, Unavailable, VersionConflict
from hansard.agents import HansardSession
from hansard.types import Event, EventKind, File, Image, MediaSource, MessageAppended, Part, Role, SystemNoted, Thinking, Usage


class HttpClient(AsyncHansard):
    """Creates a conversation and its first messages in two steps, which the HTTP API needs."""

    async def create_conversation(self, conversation_id="", *, messages=(), **options):
        created = await super().create_conversation(conversation_id, **options)
        return await self.append(created.conversation_id, messages) if messages else created


@pytest.fixture
async def client(deployment) -> AsyncIterator[AsyncHansard]:
    async with HttpClient(deployment.http_url, deployment.token, agent_id="demo") as client:
        yield client


async def test_a_conversation_is_written_and_read(client: AsyncHansard, new_id: str) -> None:
    await client.create_conversation(new_id, user_id="ada", title="Parcel", metadata={"a": 1}, messages=[QUESTION])
    assert (await client.append(new_id, [ANSWER], expected_version=2)).version == 3
    assert await client.messages(new_id) == [QUESTION, ANSWER]
    conversation = await client.get_conversation(new_id)
    assert (conversation.title, conversation.metadata_json, conversation.owner.user_id) == ("Parcel", '{"a": 1}', "ada")
    await client.update(new_id, title=None, metadata={"topic": "parcel"})
    conversation = await client.get_conversation(new_id)
    assert (conversation.title, conversation.metadata_json, conversation.version) == ("", '{"topic": "parcel"}', 4)
    context = await client.context(new_id, messages_max=1)
    assert context.body["messages"][-1]["content"] == ANSWER["content"]
    assert context.version == 4
    assert len(context.receipt.body_sha256) == 32


async def test_events_are_those_of_grpc(client: AsyncHansard, deployment, new_id: str) -> None:
    parts = [
        Part(text="see"),
        Part(image=Image(source=MediaSource(url="https://x/y.png"), media_type="image/png", detail="low")),
        Part(file=File(source=MediaSource(file_id="f_1"), filename="y.pdf")),
        Part(thinking=Thinking(text="hm", signature="s")),
        Part(redacted_thinking="gAAA"),
        Part(refusal="no"),
    ]
    message = MessageAppended(role=Role.ROLE_ASSISTANT, parts=parts, author="a", model="m", usage=Usage(input_tokens=3))
    events = [
        Event(message_appended=message, metadata_json='{"a":[1,null]}', event_id=str(uuid.uuid4())),
        Event(system_noted=SystemNoted(topic="t", text="x")),
    ]
    events[1].occurred_at.FromJsonString("2026-01-01T00:00:00.5Z")
    await client.create_conversation(new_id, user_id="ada")
    await client.append(new_id, events=events)
    await client.rewind(new_id, 2)
    async with deployment.asynchronous() as grpc:
        over_grpc = [event async for event in grpc.list_events(new_id)]
    over_http = [event async for event in client.list_events(new_id, page_size=2)]
    for event in over_grpc:
        # What the HTTP API does not return.
        event.event.ClearField("tokens")
        event.event.ClearField("tokens_through")
    assert [event.event.WhichOneof("fact") for event in over_http] == [
        "conversation_created",
        "message_appended",
        "system_noted",
        "history_rewound",
    ]
    assert over_http[1:] == over_grpc[1:]
    assert over_http[0].event.conversation_created.owner == over_grpc[0].event.conversation_created.owner
    kinds = [event.version async for event in client.list_events(new_id, kinds=[EventKind.EVENT_KIND_SYSTEM_NOTED])]
    backward = [event.version async for event in client.list_events(new_id, newest_first=True, page_size=3)]
    assert (kinds, backward) == ([3], [4, 3, 2, 1])


async def test_errors_have_a_class_and_a_reason(client: AsyncHansard, deployment, new_id: str) -> None:
    await client.create_conversation(new_id, user_id="ada")
    with pytest.raises(VersionConflict) as conflict:
        await client.append(new_id, [QUESTION], expected_version=7)
    assert conflict.value.current_version == 1
    with pytest.raises(NotFound) as missing:
        await client.append(new_id + "-missing", [QUESTION])
    assert missing.value.reason == "CONVERSATION_NOT_FOUND"
    with pytest.raises(InvalidRequest) as invalid:
        await client.append(new_id, events=[Event(system_noted=SystemNoted(topic="t"))])
    assert invalid.value.field == "events[0].text"
    with pytest.raises(Unauthenticated):
        await AsyncHansard(deployment.http_url, "hsk_wrong").get_conversation(new_id)
    with pytest.raises(NotSupported):
        await client.archive(new_id)
    with pytest.raises(NotSupported):
        await client.fork(new_id)
    with pytest.raises(NotFound):
        await anext(client.watch(new_id + "-missing"))


async def test_a_search_pages(client: AsyncHansard, new_id: str) -> None:
    word = f"word{uuid.uuid4().hex}"
    await client.create_conversation(new_id, user_id="ada")
    for _ in range(3):
        await client.append(new_id, [{"role": "user", "content": word}])
    found = [result async for result in client.search(word, page_size=2)]
    assert [(result.conversation_id, result.version) for result in found] == [(new_id, 4), (new_id, 3), (new_id, 2)]


def test_the_blocking_client_does_the_same(deployment, new_id: str) -> None:
    with Hansard(deployment.http_url, deployment.token, agent_id="demo") as client:
        client.create_conversation(new_id, user_id="ada")
        client.append(new_id, [QUESTION, ANSWER])
        assert client.messages(new_id) == [QUESTION, ANSWER]
        assert [event.version for event in itertools.islice(client.watch(new_id, 2), 2)] == [2, 3]
        with pytest.raises(NotFound):
            client.get_conversation(new_id + "-missing")


async def test_what_one_transport_writes_the_other_reads(client: AsyncHansard, deployment, new_id: str) -> None:
    from test_agents import ITEMS

    async with deployment.asynchronous() as grpc:
        await HansardSession(new_id, grpc).add_items(ITEMS[:15])
        await HansardSession(new_id, client).add_items(ITEMS[15:])
        for reader in (grpc, client):
            assert await HansardSession(new_id, reader).get_items() == ITEMS


def test_one_client_serves_several_event_loops(deployment, new_id: str) -> None:
    client = AsyncHansard(deployment.http_url, deployment.token, agent_id="demo")
    asyncio.run(client.create_conversation(new_id, user_id="ada"))
    asyncio.run(client.append(new_id, [QUESTION]))
    assert asyncio.run(client.messages(new_id)) == [QUESTION]


async def test_a_gateway_that_is_gone() -> None:
    from hansard_dev import free_port

    from hansard import RetryPolicy

    for scheme in ("http", "grpc"):
        policy = RetryPolicy(attempts_max=2, delay=0.01)
        async with AsyncHansard(f"{scheme}://127.0.0.1:{free_port()}", "hsk_x", retries=policy) as client:
            with pytest.raises(Unavailable):
                await client.get_conversation("c-1")


async def test_a_watch_gets_texts_with_separators_of_unicode(client: AsyncHansard, deployment, new_id: str) -> None:
    message = {"role": "user", "content": "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\r\nh\ri\nj"}
    await client.create_conversation(new_id, user_id="ada", messages=[message])
    event = await anext(client.watch(new_id, 2))
    assert event.event.message_appended.parts[0].text == message["content"]
    with Hansard(deployment.http_url, deployment.token, agent_id="demo") as blocking:
        assert next(blocking.watch(new_id, 2)) == event
