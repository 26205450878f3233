"""Documents, over gRPC and over HTTP, against a deployment."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("httpx2")

from hansard import AsyncHansard, Conflict, Hansard, HansardError, InvalidRequest, RetryPolicy, Unavailable, VersionConflict
from hansard._positions import SEARCH_TOKENS_MAX, UNREAD_MAX, UnreadPositions
from hansard.types import DocumentDeleted, DocumentPut, Event

# A value whose JSON text has every kind of value.
VALUE: dict[str, Any] = {"likes": "gr\u00fcn \U0001f600", "cups": 3, "more": [1.5, None, True, {"a": []}], "big": 2**70}


@pytest.fixture(params=["grpc_url", "http_url"])
async def client(request: pytest.FixtureRequest, deployment) -> AsyncIterator[AsyncHansard]:
    async with AsyncHansard(getattr(deployment, request.param), deployment.token, agent_id="demo") as client:
        yield client


async def test_a_document_is_written_read_and_deleted(client: AsyncHansard, new_id: str) -> None:
    namespace = ("memories", "food")
    assert await client.get_document(namespace, "tea", user_id=new_id) is None
    put = await client.put_document(namespace, "tea", VALUE, user_id=new_id)
    document = await client.get_document(namespace, "tea", user_id=new_id)
    assert document is not None
    assert (document.namespace, document.key, document.value, document.version) == (namespace, "tea", VALUE, put.version)
    assert (document.conversation_id, document.expires_at) == (put.conversation_id, None)
    assert document.created_at == document.updated_at
    assert await client.search_documents(("memories",), user_id=new_id) == [document]
    await client.put_document(namespace, "tea", None, user_id=new_id, ttl_seconds=3600)
    later = await client.get_document(namespace, "tea", user_id=new_id)
    assert later is not None
    assert later.value is None
    assert later.created_at == document.created_at < later.updated_at
    assert later.expires_at is not None and (later.expires_at - later.updated_at).total_seconds() == 3600
    assert await client.delete_document(namespace, "tea", user_id=new_id)
    assert not await client.delete_document(namespace, "tea", user_id=new_id)
    assert await client.get_document(namespace, "tea", user_id=new_id) is None
    assert await client.search_documents(user_id=new_id) == []
    versions = [version async for version in client.list_document_versions(namespace, "tea", page_size=2, user_id=new_id)]
    assert [(one.value, one.is_deleted, one.ttl_seconds) for one in versions] == [
        (None, True, None),
        (None, False, 3600),
        (VALUE, False, None),
    ]
    assert versions[2].version == put.version
    assert versions[2].recorded_at == document.updated_at


async def test_owners_do_not_see_the_documents_of_each_other(client: AsyncHansard, new_id: str) -> None:
    channel = uuid.uuid4().hex * 2
    owners: list[dict[str, str]] = [{}, {"user_id": new_id}, {"session_id": new_id}, {"channel_id": channel}]
    for number, owner in enumerate(owners):
        await client.put_document([new_id], "x", number, **owner)
    for number, owner in enumerate(owners):
        document = await client.get_document([new_id], "x", **owner)
        assert document is not None and document.value == number
        assert [one.value for one in await client.search_documents([new_id], **owner)] == [number]
    for wrong in ({"user_id": "a", "session_id": "b"}, {"user_id": "a", "conversation_id": "c"}):
        with pytest.raises(ValueError, match="one owner"):
            await client.get_document(["n"], "x", **wrong)
    with pytest.raises(ValueError, match="append"):
        await client.put_document(["n"], "x", 1, conversation_id="c")
    with pytest.raises(TypeError, match="user"):
        await client.get_document(["n"], "x", user="ada")


async def test_searches_filter_and_page(client: AsyncHansard, new_id: str) -> None:
    namespaces = [("a", "b"), ("a", "c"), ("ab", "b")]
    for cups, namespace in enumerate(namespaces):
        await client.put_document(namespace, "tea", {"cups": cups, "of": {"kind": "green", "size": cups}}, user_id=new_id)

    async def cups(prefix: tuple[str, ...] = (), **options: Any) -> list[int]:
        return [one.value["cups"] for one in await client.search_documents(prefix, user_id=new_id, **options)]

    assert await cups() == [2, 1, 0]
    assert await cups(("a",)) == [1, 0]
    assert await cups(filter={"cups": {"$gte": 1}}) == [2, 1]
    assert await cups(filter={"of": {"size": 1}}) == [1]
    assert await cups(limit=1, offset=1) == [1]
    assert await cups(limit=0) == []

    async def listed(**options: Any) -> list[tuple[str, ...]]:
        return await client.list_document_namespaces(user_id=new_id, **options)

    assert await listed() == namespaces
    assert await listed(prefix=["a"]) == namespaces[:2]
    assert await listed(suffix=["*", "b"]) == [namespaces[0], namespaces[2]]
    assert await listed(max_depth=1) == [("a",), ("ab",)]
    assert await listed(limit=1, offset=1) == [namespaces[1]]
    with pytest.raises(InvalidRequest) as invalid:
        await client.search_documents(user_id=new_id, filter={"cups": {"$near": 1}})
    assert "filter" in (invalid.value.field or "")


async def test_a_search_of_several_requests_includes_every_write(client: AsyncHansard, new_id: str) -> None:
    count = 130
    puts = [client.put_document([f"n{number:03}"], "x", number, user_id=new_id) for number in range(count)]
    await asyncio.gather(*puts)
    found = await client.search_documents(user_id=new_id, limit=count + 1)
    assert sorted(one.value for one in found) == list(range(count))
    assert len(await client.search_documents(user_id=new_id, limit=count - 1)) == count - 1
    await asyncio.gather(*(client.delete_document([f"n{number:03}"], "x", user_id=new_id) for number in range(20)))
    assert len(await client.list_document_namespaces(user_id=new_id, limit=count)) == count - 20


async def test_the_expected_version(client: AsyncHansard, new_id: str) -> None:
    first = await client.put_document(["n"], "x", 1, user_id=new_id, expected_version=0)
    second = await client.put_document(["n"], "x", 2, user_id=new_id, expected_version=first.version)
    for expected in (0, first.version):
        with pytest.raises(VersionConflict) as conflict:
            await client.put_document(["n"], "x", 3, user_id=new_id, expected_version=expected)
        assert conflict.value.current_version == second.version
    with pytest.raises(VersionConflict):
        await client.delete_document(["n"], "x", user_id=new_id, expected_version=first.version)
    assert await client.delete_document(["n"], "x", user_id=new_id, expected_version=second.version)


async def test_an_idempotency_key_makes_one_value(client: AsyncHansard, new_id: str) -> None:
    key = str(uuid.uuid4())
    first = await client.put_document(["n"], "x", 1, user_id=new_id, idempotency_key=key)
    await client.put_document(["n"], "x", 2, user_id=new_id)
    again = await client.put_document(["n"], "x", 1, user_id=new_id, idempotency_key=key)
    assert again.version == first.version
    with pytest.raises(Conflict) as reused:
        await client.put_document(["n"], "x", 3, user_id=new_id, idempotency_key=key)
    assert reused.value.reason == "IDEMPOTENCY_KEY_REUSED"


async def test_a_put_is_sent_again_with_the_same_key(client: AsyncHansard, new_id: str) -> None:
    call, keys = client._transport.call, []

    async def lost(method, request, timeout):
        keys.append(request.idempotency_key)
        response = await call(method, request, timeout)
        if len(keys) < 3:
            raise Unavailable("the answer was lost")
        return response

    client._transport.call = lost
    await client.put_document(["n"], "x", 1, user_id=new_id)
    client._transport.call = call
    assert len(keys) == 3 and len(set(keys)) == 1
    versions = [version async for version in client.list_document_versions(["n"], "x", user_id=new_id)]
    assert [version.value for version in versions] == [1]


async def test_documents_of_a_conversation(client: AsyncHansard, new_id: str) -> None:
    await client.create_conversation(new_id, user_id="ada")
    puts = [Event(document_put=DocumentPut(namespace=["c"], key=str(step), value_json=f'{{"step":{step}}}')) for step in (1, 2)]
    puts[1].document_put.ttl_seconds = 60
    await client.append(new_id, events=puts)
    found = await client.search_documents(["c"], conversation_id=new_id)
    assert [one.value for one in found] == [{"step": 2}, {"step": 1}]
    await client.append(new_id, events=[Event(document_deleted=DocumentDeleted(namespace=["c"], key="1"))])
    assert await client.get_document(["c"], "1", conversation_id=new_id) is None
    document = await client.get_document(["c"], "2", conversation_id=new_id)
    assert document is not None and (document.value, document.conversation_id) == ({"step": 2}, new_id)
    assert await client.list_document_namespaces(conversation_id=new_id) == [("c",)]
    events = [one.event async for one in client.list_events(new_id, from_version=2)]
    assert [event.WhichOneof("fact") for event in events] == ["document_put", "document_put", "document_deleted"]
    assert [event.document_put for event in events[:2]] == [event.document_put for event in puts]
    assert events[2].document_deleted.key == "1"


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"namespace": []}, {"namespace"}),
        ({"namespace": ["x" * 257]}, {"namespace[0]"}),
        ({"key": ""}, {"key"}),
        ({"value": "x" * (64 * 1024 - 1)}, {"value_json", "value"}),
        ({"value": "a\0b"}, {"value_json", "value"}),
        ({"ttl_seconds": 316_224_001}, {"ttl_seconds", "ttlSeconds"}),
    ],
)
async def test_an_invalid_document_names_the_field(client: AsyncHansard, new_id: str, change: Any, fields: set[str]) -> None:
    given = {"namespace": ["n"], "key": "x", "value": 1, "user_id": new_id}
    with pytest.raises(InvalidRequest) as invalid:
        await client.put_document(**{**given, **change})
    assert invalid.value.field in fields


async def test_a_value_at_its_bound(client: AsyncHansard, new_id: str) -> None:
    await client.put_document(["n"], "x", "x" * (64 * 1024 - 2), user_id=new_id)
    with pytest.raises(ValueError, match="JSON"):
        await client.put_document(["n"], "x", float("nan"), user_id=new_id)


def test_the_blocking_client_does_the_same(blocking: Hansard, new_id: str) -> None:
    blocking.put_document(["n"], "x", 1, user_id=new_id)
    blocking.put_document(["n"], "x", 2, user_id=new_id)
    assert [one.value for one in blocking.search_documents(user_id=new_id)] == [2]
    versions = blocking.list_document_versions(["n"], "x", page_size=1, user_id=new_id)
    assert [one.value for one in itertools.islice(versions, 2)] == [2, 1]
    assert blocking.delete_document(["n"], "x", user_id=new_id)
    assert blocking.list_document_namespaces(user_id=new_id) == []


def test_positions_are_kept_until_a_search_includes_them() -> None:
    positions = UnreadPositions()
    for number in range(UNREAD_MAX):
        positions.remember(str(number))
    assert positions.tokens()[0] == "0"
    positions.remember("")
    positions.remember("one more")
    assert positions.tokens()[0] == "1" and len(positions.tokens()) == UNREAD_MAX
    positions.forget(positions.tokens()[:-SEARCH_TOKENS_MAX])
    positions.forget(["unknown"])
    assert len(positions.tokens()) == SEARCH_TOKENS_MAX


async def test_a_search_that_fails_keeps_the_positions(deployment, new_id: str) -> None:
    async with deployment.asynchronous(retries=RetryPolicy(attempts_max=1)) as client:
        await client.put_document(["n"], "x", 1, user_id=new_id)
        with pytest.raises(HansardError):
            await client.search_documents(user_id=new_id, filter={"$x": {"$near": 1}})
        assert len(client._unread.tokens()) == 1
        await client.search_documents(user_id=new_id)
        assert client._unread.tokens() == []
