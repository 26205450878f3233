"""The stores of LangGraph against a deployment. The tests that LangGraph ships for its own stores are run by check.py."""

from __future__ import annotations

import asyncio
import datetime
import logging
import time
from collections.abc import Callable
from typing import Any, TypedDict

import pytest

pytest.importorskip("langgraph")

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from hansard import AsyncHansard, Conflict, Hansard, InvalidRequest
from hansard import _langgraph_store_values as values
from hansard.langgraph import AsyncHansardStore, HansardStore
from hansard.results import Document

NAMESPACE = ("memories", "ada")


@pytest.fixture
def store(blocking: Hansard, new_id: str) -> HansardStore:
    return HansardStore(blocking, user_id=new_id)


@pytest.fixture
async def async_store(client: AsyncHansard, new_id: str) -> AsyncHansardStore:
    return AsyncHansardStore(client, user_id=new_id)


def recorded(client: Hansard, user: str, key: str) -> list[Any]:
    """The values of an item, the oldest first."""
    return [one.value for one in client.list_document_versions(NAMESPACE, key, user_id=user)][::-1]


def test_items_are_put_found_and_deleted(store: HansardStore) -> None:
    assert store.get(NAMESPACE, "tea") is None
    store.put(NAMESPACE, "tea", {"likes": "green", "cups": 3})
    first = store.get(NAMESPACE, "tea")
    assert first is not None
    assert (first.namespace, first.key, first.value) == (NAMESPACE, "tea", {"likes": "green", "cups": 3})
    store.put(NAMESPACE, "cake", {"likes": "plum", "cups": 10})
    store.put(NAMESPACE, "tea", {"likes": "black", "cups": 9})
    tea = store.get(NAMESPACE, "tea")
    assert tea is not None and tea.created_at == first.created_at < tea.updated_at
    found = store.search(("memories",), query="a query needs an index, and is ignored")
    assert [(item.key, item.score) for item in found] == [("tea", None), ("cake", None)]
    assert found[0].dict() == {**tea.dict(), "score": None}
    store.delete(NAMESPACE, "tea")
    store.delete(NAMESPACE, "tea")
    assert [item.key for item in store.search(())] == ["cake"]


async def test_the_asynchronous_store_does_the_same(async_store: AsyncHansardStore) -> None:
    await asyncio.gather(*(async_store.aput(NAMESPACE, str(number), {"n": number}) for number in range(20)))
    items = await asyncio.gather(*(async_store.aget(NAMESPACE, str(number)) for number in range(20)))
    assert [item and item.value for item in items] == [{"n": number} for number in range(20)]
    assert len(await async_store.asearch(("memories",), limit=30)) == 20
    assert await async_store.alist_namespaces(max_depth=1) == [("memories",)]
    await async_store.adelete(NAMESPACE, "3")
    assert await async_store.aget(NAMESPACE, "3") is None
    blocking = await asyncio.to_thread(async_store.get, NAMESPACE, "4")
    assert blocking is not None and blocking.value == {"n": 4}
    with pytest.raises(asyncio.InvalidStateError):
        async_store.get(NAMESPACE, "4")


async def test_asynchronous_methods_of_the_blocking_store(store: HansardStore) -> None:
    await store.aput(NAMESPACE, "tea", {"cups": 3})
    item = await store.aget(NAMESPACE, "tea")
    assert item is not None and item.value == {"cups": 3}


def test_a_store_over_http_has_the_same_items(deployment, store: HansardStore, new_id: str) -> None:
    pytest.importorskip("httpx2")
    with Hansard(deployment.http_url, deployment.token, agent_id="demo") as client:
        over_http = HansardStore(client, user_id=new_id)
        over_http.batch([PutOp(NAMESPACE, str(number), {"n": number}) for number in range(20)])
        store.delete(NAMESPACE, "3")
        over_http.delete(NAMESPACE, "4")
        assert over_http.get(NAMESPACE, "5") == store.get(NAMESPACE, "5") is not None
        assert len(over_http.search(("memories",), filter={"n": {"$gt": 3}}, limit=30)) == 15
        assert over_http.list_namespaces() == store.list_namespaces() == [NAMESPACE]


@pytest.mark.parametrize(
    ("filter", "keys"),
    [
        ({"cups": 9}, "b"),
        ({"cups": {"$eq": 9.0}}, "b"),
        ({"cups": {"$ne": 9}}, "dca"),
        # Compared as texts, "10" would be less than "9".
        ({"cups": {"$gt": 9}}, "c"),
        ({"cups": {"$gte": 9, "$lt": 10}}, "b"),
        ({"cups": {"$lte": 9}}, "ba"),
        ({"of": {"kind": "green"}}, "ba"),
        ({"of": {"size": {"$gt": 1}}}, "b"),
        ({"tags": ["x", "y"]}, "a"),
        ({"tags": ["x"]}, ""),
        ({"cups": None}, "d"),
        ({"missing": None}, "dcba"),
        ({"cups": 9, "of": {"kind": "black"}}, ""),
        ({}, "dcba"),
    ],
)
def test_filters(store: HansardStore, filter: dict[str, Any], keys: str) -> None:
    store.put(NAMESPACE, "a", {"cups": 2, "of": {"kind": "green", "size": 1}, "tags": ("x", "y")})
    store.put(NAMESPACE, "b", {"cups": 9, "of": {"kind": "green", "size": 2}})
    store.put(NAMESPACE, "c", {"cups": 10})
    store.put(NAMESPACE, "d", {"cups": None})
    assert "".join(item.key for item in store.search(NAMESPACE, filter=filter)) == keys


def test_namespaces_match_by_whole_labels(store: HansardStore) -> None:
    namespaces = [("foo",), ("foo", "a", "x"), ("foo", "b", "x"), ("foobar", "a")]
    store.batch([PutOp(namespace, "k", {}) for namespace in namespaces])
    assert {item.namespace for item in store.search(("foo",))} == set(namespaces[:3])
    prefix, suffix = (MatchCondition("prefix", ("*", "a")), MatchCondition("suffix", ("x",)))
    for conditions, expected in [
        (None, namespaces),
        ((), namespaces),
        ((prefix,), [namespaces[1], namespaces[3]]),
        ((suffix,), namespaces[1:3]),
        ((prefix, suffix), [namespaces[1]]),
    ]:
        assert store.batch([ListNamespacesOp(conditions)]) == [expected]
    assert store.list_namespaces(max_depth=1) == [("foo",), ("foobar",)]
    assert store.list_namespaces(limit=2, offset=1) == namespaces[1:3]
    with pytest.raises(ValueError, match="2 conditions of the type prefix"):
        store.batch([ListNamespacesOp((prefix, prefix))])


def test_reads_of_a_batch_see_the_state_before_it(store: HansardStore) -> None:
    store.put(NAMESPACE, "tea", {"cups": 1})
    results = store.batch(
        [
            PutOp(NAMESPACE, "tea", {"cups": 2}),
            GetOp(NAMESPACE, "tea"),
            SearchOp(NAMESPACE),
            PutOp(NAMESPACE, "cake", {"cups": 0}),
            PutOp(NAMESPACE, "tea", {"cups": 3}),
            ListNamespacesOp(),
            GetOp(NAMESPACE, "cake"),
        ]
    )
    assert [results[index] for index in (0, 3, 4, 6)] == [None] * 4
    assert results[1].value == {"cups": 1}
    assert [item.value for item in results[2]] == [{"cups": 1}]
    assert results[5] == [NAMESPACE]
    assert store.get(NAMESPACE, "tea").value == {"cups": 3}


def test_the_last_change_of_a_key_counts(store: HansardStore, blocking: Hansard, new_id: str) -> None:
    store.batch([PutOp(NAMESPACE, "a", {"n": 1}), PutOp(list(NAMESPACE), "a", {"n": 2}), PutOp(NAMESPACE, "b", {"n": 1})])
    store.batch([PutOp(NAMESPACE, "b", {"n": 2}), PutOp(NAMESPACE, "b", None)])
    assert recorded(blocking, new_id, "a") == [{"n": 2}]
    assert recorded(blocking, new_id, "b") == [{"n": 1}, None]


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels - 1):
        value = [value]
    return {"a": value}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"when": datetime.date(2026, 1, 1)}, r"value\['when'\] is a date"),
        ({"a": [1, {"b": {1, 2}}]}, r"value\['a'\]\[1\]\['b'\] is a set"),
        ({"a": {1: 2}}, r"value\['a'\] has the name 1"),
        ({"a": float("nan")}, r"value\['a'\] is nan"),
        (["a"], "no dictionary"),
        (1, "no dictionary"),
        (deep(values.LEVELS_MAX + 1), "128 levels"),
    ],
)
async def test_a_value_that_is_not_json(
    store: HansardStore, async_store: AsyncHansardStore, value: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=f"the value of 'tea' in 'memories/ada' is not JSON: .*{problem}"):
        store.batch([PutOp(NAMESPACE, "cake", {}), PutOp(NAMESPACE, "tea", value)])
    assert store.get(NAMESPACE, "cake") is None
    # Of two calls in one batch, only the invalid one fails.
    ended = await asyncio.gather(
        async_store.aput(NAMESPACE, "tea", value), async_store.aput(NAMESPACE, "cake", {}), return_exceptions=True
    )
    assert isinstance(ended[0], ValueError) and ended[1] is None


def test_values_at_their_bounds(store: HansardStore) -> None:
    store.put(NAMESPACE, "deep", deep(values.LEVELS_MAX))
    overhead = len('{"a":""}')
    store.put(NAMESPACE, "large", {"a": "x" * (64 * 1024 - overhead)})
    with pytest.raises(InvalidRequest, match="'larger' in 'memories/ada'") as invalid:
        store.batch([PutOp(NAMESPACE, "larger", {"a": "x" * (64 * 1024 - overhead + 1)}), PutOp(NAMESPACE, "tea", {})])
    assert "65536" in str(invalid.value).replace(",", "")
    # Every change of a batch ends before its error is raised.
    assert store.get(NAMESPACE, "tea") is not None


@pytest.mark.parametrize("namespace", [(), ("",), ("a.b",), ("a\0",), (1,)])
def test_invalid_namespaces(store: HansardStore, namespace: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(namespace, "k", {})])


def test_an_erased_item_is_named(store: HansardStore, blocking: Hansard, new_id: str) -> None:
    store.put(NAMESPACE, "tea", {})
    document = blocking.get_document(NAMESPACE, "tea", user_id=new_id)
    assert document is not None
    blocking.erase(document.conversation_id)
    with pytest.raises(Conflict, match="'tea' in 'memories/ada'") as erased:
        store.put(NAMESPACE, "tea", {})
    assert erased.value.reason == "CONVERSATION_ERASED"


def at(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(1_800_000_000 + seconds, datetime.timezone.utc)


@pytest.mark.parametrize(
    ("expires", "now", "expected"),
    [(None, 1e9, None), (100, 9.9, None), (100, 10, 100), (100, 99, 100), (100, -5, None), (1, 0.1, 1)],
)
def test_when_a_read_refreshes_the_ttl(expires: float | None, now: float, expected: int | None) -> None:
    document = Document(("n",), "k", {}, 2, at(-5), at(0), None if expires is None else at(expires), "c")
    assert values.refreshed_ttl(document, at(now)) == expected


@pytest.mark.parametrize(("minutes", "seconds"), [(None, None), (1, 60), (0.5, 30), (1 / 60, 1), (0.001, 1), (1.51 / 60, 2)])
def test_ttls_are_whole_seconds(minutes: float | None, seconds: int | None) -> None:
    assert values.ttl_seconds(minutes) == seconds


def test_reads_refresh_the_ttl(blocking: Hansard, new_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = HansardStore(blocking, user_id=new_id, ttl={"default_ttl": 10, "refresh_on_read": False})
    store.put(NAMESPACE, "tea", {"cups": 1})
    store.get(NAMESPACE, "tea", refresh_ttl=True)
    assert len(recorded(blocking, new_id, "tea")) == 1
    monkeypatch.setattr(values, "REFRESH_AFTER", 0.0)
    reads: list[Callable[[], Any]] = [
        lambda: store.get(NAMESPACE, "tea", refresh_ttl=True),
        lambda: store.search((), refresh_ttl=True),
    ]
    for count, read in enumerate(reads, 2):
        read()
        assert len(recorded(blocking, new_id, "tea")) == count
    store.get(NAMESPACE, "tea")
    store.search(())
    # A change of the same batch counts, and nothing is refreshed.
    store.batch([GetOp(NAMESPACE, "tea", refresh_ttl=True), PutOp(NAMESPACE, "tea", {"cups": 2}, ttl=None)])
    store.get(NAMESPACE, "tea", refresh_ttl=True)
    versions = list(blocking.list_document_versions(NAMESPACE, "tea", user_id=new_id))
    assert [(one.value["cups"], one.ttl_seconds) for one in versions] == [(2, None), (1, 600), (1, 600), (1, 600)]


def test_a_refresh_after_a_faster_change_is_dropped(
    store: HansardStore, blocking: Hansard, new_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "REFRESH_AFTER", 0.0)
    store.put(NAMESPACE, "tea", {"cups": 1}, ttl=10)
    get_document = blocking.get_document

    def get_and_change(*arguments: Any, **options: Any) -> Any:
        document = get_document(*arguments, **options)
        blocking.put_document(NAMESPACE, "tea", {"cups": 2}, user_id=new_id)
        return document

    monkeypatch.setattr(blocking, "get_document", get_and_change)
    assert store.get(NAMESPACE, "tea").value == {"cups": 1}
    assert recorded(blocking, new_id, "tea") == [{"cups": 1}, {"cups": 2}]


def test_a_failed_refresh_does_not_fail_the_read(
    deployment, store: HansardStore, new_id: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from hansard_dev import AGENT, secret_key

    monkeypatch.setattr(values, "REFRESH_AFTER", 0.0)
    store.put(NAMESPACE, "tea", {"cups": 1}, ttl=10)
    token = secret_key(deployment.program, deployment.environment, "read")
    with Hansard(deployment.grpc_url, token, agent_id=AGENT) as reader, caplog.at_level(logging.WARNING, "hansard"):
        assert HansardStore(reader, user_id=new_id).get(NAMESPACE, "tea").value == {"cups": 1}
    assert [record.getMessage() for record in caplog.records] == ["the ttl of a document was not refreshed: MISSING_SCOPE"]


def test_items_expire(store: HansardStore) -> None:
    store.put(NAMESPACE, "tea", {}, ttl=1 / 60)
    store.put(NAMESPACE, "cake", {}, ttl=None)
    end = time.monotonic() + 20
    while store.get(NAMESPACE, "tea", refresh_ttl=False) is not None:
        assert time.monotonic() < end
    assert [item.key for item in store.search((), refresh_ttl=False)] == ["cake"]
    with pytest.raises(ValueError, match="the ttl of 'tea'"):
        store.put(NAMESPACE, "tea", {}, ttl=0)


class State(TypedDict):
    user: str
    visits: int


def remember(state: State, runtime: Runtime) -> dict[str, int]:
    assert isinstance(runtime.store, BaseStore)
    seen = runtime.store.get(("visits",), state["user"])
    visits = 1 + (seen.value["count"] if seen else 0)
    runtime.store.put(("visits",), state["user"], {"count": visits})
    return {"visits": visits}


async def remember_async(state: State, runtime: Runtime) -> dict[str, int]:
    assert isinstance(runtime.store, BaseStore)
    seen = await runtime.store.aget(("visits",), state["user"])
    visits = 1 + (seen.value["count"] if seen else 0)
    await runtime.store.aput(("visits",), state["user"], {"count": visits})
    return {"visits": visits}


def graph(node: Any, store: BaseStore) -> Any:
    builder = StateGraph(State)
    builder.add_node("remember", node)
    builder.add_edge(START, "remember")
    return builder.compile(store=store)


async def test_graphs_remember(store: HansardStore, async_store: AsyncHansardStore) -> None:
    visits = [graph(remember, store).invoke({"user": "ada"})["visits"] for _ in range(2)]
    visits.append((await graph(remember_async, store).ainvoke({"user": "ada"}))["visits"])
    visits.append((await graph(remember_async, async_store).ainvoke({"user": "ada"}))["visits"])
    assert visits == [1, 2, 3, 4]
