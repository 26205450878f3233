"""Deletions, copies and lists of threads of LangGraph, with what becomes of their conversations."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langgraph.graph")

from conftest import Deployment
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph_graphs import agent

from hansard import Hansard, PermissionDenied, VersionConflict
from hansard._async_langgraph_conversation import RACES_MAX
from hansard.langgraph import HansardSaver


def at(thread_id: str, **place: Any) -> Any:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", **place}}


def put(saver: HansardSaver, config: Any, run_id: str, texts: str) -> Any:
    version = saver.get_next_version(None, None)
    made = empty_checkpoint() | {"id": str(uuid6()), "channel_versions": {"messages": version, "large": version}}
    found = saver.get_tuple(config)
    before = found.checkpoint["channel_values"]["messages"] if found else []
    messages = [*before, *(HumanMessage(text, id=text) for text in texts)]
    made["channel_values"] = {"messages": messages, "large": texts * 3_000}
    metadata: Any = {"source": "loop", "step": 1, "run_id": run_id}
    return saver.put(config, made, metadata, dict(made["channel_versions"]))


def texts_of(saver: HansardSaver, config: Any) -> str:
    found = saver.get_tuple(config)
    return "".join(message.content for message in found.checkpoint["channel_values"]["messages"]) if found else ""


def check(client: Hansard, saver: HansardSaver, thread_id: str, expected: str) -> None:
    """The latest state in this process and in a new one, and the conversation."""
    for one in (saver, HansardSaver(client)):
        assert texts_of(one, at(thread_id)) == expected
    chat = client.messages(saver.conversation_id(thread_id))
    assert "".join(message["content"] for message in chat) == expected


def test_deleted_runs_leave_the_conversation(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    with deployment.blocking() as client:
        saver, warm = HansardSaver(blocking), HansardSaver(client)
        first = put(saver, at(new_id), "one", "a")
        second = put(saver, first, "one", "b")
        third = put(warm, second, "two", "cd")
        warm.put_writes(third, [("a", 1)], "task")
        assert texts_of(saver, at(new_id)) == "abcd"
        saver.delete_for_runs(["two", "three"])
        assert saver.get_tuple(third) is None and warm.get_tuple(third) is None
        check(blocking, saver, new_id, "ab")
        check(client, warm, new_id, "ab")
        put(warm, second, "four", "e")
        check(client, warm, new_id, "abe")
        assert [len(one.checkpoint["channel_values"]["messages"]) for one in saver.list(at(new_id))] == [3, 2, 1]
        saver.delete_for_runs(["one", "four"])
        check(blocking, saver, new_id, "")
        assert list(warm.list(at(new_id))) == []
        put(saver, at(new_id), "five", "f")
        check(client, warm, new_id, "f")


def test_a_pruned_thread_goes_on(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    saver = HansardSaver(blocking)
    graph = agent(saver)
    with deployment.blocking() as client:
        for turn in range(2):
            graph.invoke({"messages": [HumanMessage("hi")], "note": {"x": "y" * 5_000}}, at(new_id))
            last = graph.get_state(at(new_id)).values
            HansardSaver(client).prune([new_id])
            for one in (saver, HansardSaver(client)):
                assert len(list(one.list(at(new_id)))) == 1
                assert agent(one).get_state(at(new_id)).values == last
            assert len(blocking.messages(saver.conversation_id(new_id))) == 4 * (turn + 1)
    saver.prune([new_id], strategy="delete")
    assert saver.get_tuple(at(new_id)) is None
    with pytest.raises(ValueError, match="keep_latest"):
        saver.prune([new_id], strategy="some")
    with pytest.raises(TypeError):
        saver.prune(new_id)


def test_a_copy_is_a_conversation_of_its_own(blocking: Hansard, new_id: str) -> None:
    saver, copy = HansardSaver(blocking), f"{new_id}-copy"
    graph = agent(saver)
    graph.invoke({"messages": [HumanMessage("one")]}, at(new_id))
    called = next(one for one in graph.get_state_history(at(new_id)) if len(one.values.get("messages", [])) == 2)
    graph.invoke(None, called.config)
    graph.update_state(at(new_id), {"messages": [AIMessage("more", id="more")]})
    saver.copy_thread(new_id, copy)
    for one in (saver, HansardSaver(blocking)):
        copied, original = list(one.list(at(copy))), list(one.list(at(new_id)))
        assert [found.checkpoint for found in copied] == [found.checkpoint for found in original]
        assert [found.pending_writes for found in copied] == [found.pending_writes for found in original]
        assert [found.metadata for found in copied] == [found.metadata for found in original]
    ours = [blocking.messages(saver.conversation_id(thread_id)) for thread_id in (new_id, copy)]
    assert ours[0] == ours[1] and ours[0][-1]["content"] == "more"
    graph.invoke({"messages": [HumanMessage("two")]}, at(copy))
    assert blocking.messages(saver.conversation_id(new_id)) == ours[0]


def test_the_threads_of_a_user_are_listed(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    saver, ids = HansardSaver(blocking, user_id=new_id), [f"{new_id}-{number}" for number in range(3)]
    for thread_id in ids:
        put(saver, put(saver, at(thread_id), "run", "a"), "run", "b")
    with deployment.blocking() as client:
        HansardSaver(client, user_id=new_id).delete_thread(ids[0])
    found = [one.config["configurable"]["thread_id"] for one in saver.list(None)]
    assert sorted(found) == [ids[1], ids[1], ids[2], ids[2]]
    assert len(list(saver.list(None, limit=3, filter={"run_id": "run"}))) == 3
    assert list(saver.list(None, filter={"run_id": "other"})) == []
    assert texts_of(HansardSaver(blocking), at(ids[1])) == ""


def test_a_saver_with_an_allowlist_is_a_copy(blocking: Hansard, new_id: str) -> None:
    saver = HansardSaver(blocking, serde=JsonPlusSerializer(allowed_msgpack_modules=[("a", "B")]))
    clone = saver.with_allowlist([("c", "D")])
    assert clone is not saver and isinstance(clone, HansardSaver)
    put(clone, put(saver, at(new_id), "run", "a"), "run", "b")
    assert texts_of(saver, at(new_id)) == texts_of(clone, at(new_id)) == "ab"


def test_a_put_gives_up_after_its_attempts(blocking: Hansard, new_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    saver = HansardSaver(blocking)
    config, attempts, append = put(saver, at(new_id), "run", "a"), [], blocking.append

    def lose(*args: Any, **options: Any) -> Any:
        attempts.append(1)
        if len(attempts) <= losses:
            raise VersionConflict("another one was faster")
        return append(*args, **options)

    monkeypatch.setattr(blocking, "append", lose)
    losses = RACES_MAX
    with pytest.raises(VersionConflict, match="TOO_MANY_RACES: others changed the thread during all 50 attempts"):
        put(saver, config, "run", "b")
    assert len(attempts) == RACES_MAX and texts_of(saver, at(new_id)) == "a"
    losses = len(attempts) + RACES_MAX - 1
    put(saver, config, "run", "b")
    assert texts_of(saver, at(new_id)) == "ab"


def test_deletions_need_their_scope(deployment: Deployment, new_id: str) -> None:
    from hansard_dev import AGENT, secret_key

    token = secret_key(deployment.program, deployment.environment, "append", "read")
    with Hansard(deployment.grpc_url, token, agent_id=AGENT) as client:
        saver = HansardSaver(client)
        put(saver, at(new_id), "run", "a")
        with pytest.raises(PermissionDenied):
            saver.delete_thread(new_id)
        assert texts_of(saver, at(new_id)) == "a"
