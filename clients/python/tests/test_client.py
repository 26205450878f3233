"""The clients against a deployment."""

from __future__ import annotations

import asyncio
import itertools
import uuid

import pytest

from hansard import (
    AsyncHansard,
    Conflict,
    Hansard,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    Unauthenticated,
    VersionConflict,
)
from hansard.types import Event, EventKind, SystemNoted

QUESTION = {"role": "user", "content": "Where is my parcel?"}
ANSWER = {"role": "assistant", "content": "In Leeds."}


async def test_a_conversation_is_written_and_read(client: AsyncHansard, new_id: str) -> None:
    created = await client.create_conversation(new_id, user_id="ada", title="Parcel", metadata={"a": 1}, messages=[QUESTION])
    assert (created.conversation_id, created.version) == (new_id, 2)
    assert (await client.append(new_id, [ANSWER], expected_version=2)).version == 3
    assert await client.messages(new_id) == [QUESTION, ANSWER]
    conversation = await client.get_conversation(new_id)
    assert (conversation.title, conversation.metadata_json, conversation.owner.user_id) == ("Parcel", '{"a":1}', "ada")
    context = await client.context(new_id)
    assert [message["content"] for message in context.body["messages"]][-2:] == [QUESTION["content"], ANSWER["content"]]
    assert context.version == 3


async def test_tool_calls_come_back_as_chat_messages(client: AsyncHansard, new_id: str) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"parcel": 1.50}'}}
    messages = [
        QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "Leeds"},
        ANSWER,
    ]
    await client.create_conversation(new_id, user_id="ada", messages=messages)
    assert await client.messages(new_id) == messages


async def test_the_histories_of_rewinds(client: AsyncHansard, new_id: str) -> None:
    texts = [{"role": "user", "content": str(number)} for number in range(6)]
    await client.create_conversation(new_id, user_id="ada", messages=texts)  # versions 2 to 7
    await client.rewind(new_id, 4)  # 8
    await client.append(new_id, [{"role": "user", "content": "after"}])  # 9
    contents = [message["content"] for message in await client.messages(new_id)]
    assert contents == ["0", "1", "2", "after"]
    assert [message["content"] for message in await client.messages(new_id, 2)] == ["2", "after"]
    assert await client.messages(new_id, 0) == []
    await client.rewind(new_id, 6)  # to a version that the first rewind skips
    assert [message["content"] for message in await client.messages(new_id)] == ["0", "1", "2", "3", "4"]
    history = await client.history(new_id, at_version=9)
    assert [event.event.message_appended.parts[0].text for event in history] == contents
    recorded = [event.version async for event in client.list_events(new_id, page_size=3)]
    assert recorded == list(range(1, 11))
    backward = [event.version async for event in client.list_events(new_id, newest_first=True, page_size=4, to_version=8)]
    assert backward == list(range(8, 0, -1))
    rewinds = [event.version async for event in client.list_events(new_id, kinds=[EventKind.EVENT_KIND_HISTORY_REWOUND])]
    assert rewinds == [8, 10]


async def test_a_fork_continues_from_a_version(client: AsyncHansard, new_id: str) -> None:
    await client.create_conversation(new_id, session_id="s-1", messages=[QUESTION, ANSWER])
    fork = await client.fork(new_id, 2)
    await client.append(fork.conversation_id, [{"role": "user", "content": "And now?"}])
    assert [message["content"] for message in await client.messages(fork.conversation_id)] == [
        QUESTION["content"],
        "And now?",
    ]
    assert (await client.get_conversation(fork.conversation_id)).owner.session_id == "s-1"
    with pytest.raises(Conflict) as raised:
        await client.erase(new_id)
    assert raised.value.reason == "HAS_FORKS"


async def test_states_of_a_conversation(client: AsyncHansard, new_id: str) -> None:
    await client.create_conversation(new_id, user_id="ada", title="One")
    await client.update(new_id, title=None, metadata={"topic": "parcel"})
    conversation = await client.get_conversation(new_id)
    assert (conversation.title, conversation.metadata_json) == ("", '{"topic":"parcel"}')
    await client.change_owner(new_id, user_id="grace")
    assert (await client.get_conversation(new_id)).owner.user_id == "grace"
    await client.archive(new_id)
    with pytest.raises(Conflict) as raised:
        await client.append(new_id, [QUESTION])
    assert raised.value.reason == "CONVERSATION_ARCHIVED"
    await client.restore(new_id)
    await client.append(new_id, [QUESTION])
    await client.erase(new_id)
    with pytest.raises(NotFound):
        await client.get_conversation(new_id)


async def test_errors_have_a_class_and_a_reason(client: AsyncHansard, deployment, new_id: str) -> None:
    await client.create_conversation(new_id, user_id="ada")
    with pytest.raises(VersionConflict) as conflict:
        await client.append(new_id, [QUESTION], expected_version=7)
    assert (conflict.value.reason, conflict.value.current_version) == ("VERSION_CONFLICT", 1)
    with pytest.raises(Conflict) as exists:
        await client.create_conversation(new_id, user_id="ada")
    assert exists.value.reason == "CONVERSATION_EXISTS"
    with pytest.raises(NotFound) as missing:
        await client.append(new_id + "-missing", [QUESTION])
    assert missing.value.reason == "CONVERSATION_NOT_FOUND"
    with pytest.raises(InvalidRequest) as invalid:
        await client.append(new_id, events=[Event(system_noted=SystemNoted(topic="t"))])
    assert invalid.value.field and invalid.value.field.startswith("events[0]"), invalid.value.field
    with pytest.raises(Unauthenticated):
        await AsyncHansard(deployment.grpc_url, "hst_wrong", agent_id="demo").get_conversation(new_id)
    for wrong in ({"user_id": "a", "session_id": "b"}, {}):
        with pytest.raises(ValueError, match="one owner"):
            await client.create_conversation(**wrong)


async def test_an_idempotency_key_makes_one_commit(client: AsyncHansard, new_id: str) -> None:
    await client.create_conversation(new_id, user_id="ada")
    key = str(uuid.uuid4())
    first = await client.append(new_id, [QUESTION], idempotency_key=key)
    second = await client.append(new_id, [QUESTION], idempotency_key=key)
    assert (first.version, second.version, first.replayed, second.replayed) == (2, 2, False, True)
    with pytest.raises(Conflict) as raised:
        await client.append(new_id, [ANSWER], idempotency_key=key)
    assert raised.value.reason == "IDEMPOTENCY_KEY_REUSED"


async def test_a_watch_gets_the_history_and_live_events(client: AsyncHansard, new_id: str) -> None:
    await client.create_conversation(new_id, user_id="ada", messages=[QUESTION])
    versions: list[int] = []

    async def watch() -> None:
        async for event in client.watch(new_id):
            versions.append(event.version)
            if event.version == 2:
                await client.append(new_id, [ANSWER])
            if event.version == 3:
                return

    await asyncio.wait_for(watch(), 20)
    assert versions == [1, 2, 3]


async def test_listings_and_searches_page(client: AsyncHansard, new_id: str) -> None:
    user, word = f"user-{new_id}", f"word{uuid.uuid4().hex}"
    ids = [
        (await client.create_conversation(user_id=user, messages=[{"role": "user", "content": word}])).conversation_id
        for _ in range(5)
    ]
    # A search waits for this client's writes; a listing is as fresh as the rows.
    found = [result.conversation_id async for result in client.search(word, page_size=2)]
    assert sorted(found) == sorted(ids)

    async def listed() -> list[str]:
        return [conversation.conversation_id async for conversation in client.list_conversations(user_id=user, page_size=2)]

    end = asyncio.get_running_loop().time() + 20
    while sorted(await listed()) != sorted(ids):
        assert asyncio.get_running_loop().time() < end


async def test_histories_by_key(client: AsyncHansard, new_id: str) -> None:
    message = client_message("Where is my parcel?")
    recorded = await client.record_history(new_id, [message])
    assert recorded.appended_count == 1
    loaded = await client.load_history(new_id)
    assert [part.text for stored in loaded.messages for part in stored.parts] == ["Where is my parcel?"]
    assert loaded.version == recorded.version


def client_message(text: str):
    from hansard.types import MessageAppended, Part, Role

    return MessageAppended(role=Role.ROLE_USER, parts=[Part(text=text)])


def test_the_blocking_client_does_the_same(blocking: Hansard, new_id: str) -> None:
    blocking.create_conversation(new_id, user_id="ada", messages=[QUESTION])
    blocking.append(new_id, [ANSWER])
    assert blocking.messages(new_id) == [QUESTION, ANSWER]
    assert [event.version for event in itertools.islice(blocking.watch(new_id), 3)] == [1, 2, 3]
    assert [event.version for event in blocking.list_events(new_id, page_size=2)] == [1, 2, 3]
    with pytest.raises(NotFound):
        blocking.get_conversation(new_id + "-missing")


def test_one_client_serves_several_event_loops(deployment, new_id: str) -> None:
    client = deployment.asynchronous()

    async def append(text: str) -> list[str]:
        await client.append(new_id, [{"role": "user", "content": text}])
        return [message["content"] for message in await client.messages(new_id)]

    asyncio.run(client.create_conversation(new_id, user_id="ada"))
    assert asyncio.run(append("one")) == ["one"]
    assert asyncio.run(append("two")) == ["one", "two"]


async def test_a_scope_that_is_missing(deployment, new_id: str) -> None:
    from hansard_dev import secret_key

    token = secret_key(deployment.program, deployment.environment, "read")
    async with AsyncHansard(deployment.grpc_url, token) as reader:
        with pytest.raises(PermissionDenied) as raised:
            await reader.create_conversation(new_id, user_id="ada")
    assert raised.value.reason == "MISSING_SCOPE"


def test_writes_may_go_to_the_writer(deployment, new_id: str) -> None:
    with Hansard(deployment.grpc_url, deployment.token, agent_id="demo", writer_url=deployment.writer_url) as client:
        client.create_conversation(new_id, user_id="ada", messages=[QUESTION])
        assert client.messages(new_id) == [QUESTION]
    with Hansard("grpc://127.0.0.1:1", deployment.token, agent_id="demo", writer_url=deployment.writer_url) as writer:
        assert writer.append(new_id, [ANSWER]).version == 3


def test_a_client_of_the_environment(deployment, monkeypatch: pytest.MonkeyPatch, new_id: str) -> None:
    names = {
        "GATEWAY_URL": deployment.grpc_url.replace("grpc:", "http:"),
        "WRITER_URL": deployment.writer_url.replace("grpc:", "http:"),
        "TOKEN": deployment.token,
        "AGENT": "demo",
    }
    for name, value in names.items():
        monkeypatch.setenv(f"HANSARD_{name}", value)
    with Hansard.from_environment() as client:
        assert client.create_conversation(new_id, user_id="ada", messages=[QUESTION]).version == 2
        assert client.messages(new_id) == [QUESTION]
