"""Workers that use one thread of LangGraph at the same time: nothing is lost."""

from __future__ import annotations

import asyncio
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("langgraph.graph")

from conftest import Deployment
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph_graphs import agent

from hansard import Hansard, Unavailable
from hansard.langgraph import AsyncHansardSaver, HansardSaver

WORKERS, PUTS = 4, 12


def at(thread_id: str, **place: Any) -> Any:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", **place}}


def checkpoint(saver: Any, messages: list[Any]) -> tuple[Any, dict[str, str]]:
    version = saver.get_next_version(None, None)
    made = empty_checkpoint() | {"id": str(uuid6())}
    return made | {"channel_values": {"messages": messages}, "channel_versions": {"messages": version}}, {"messages": version}


def test_checkpoints_of_several_workers(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    put: dict[str, list[Any]] = {}

    def work(number: int) -> None:
        with deployment.blocking() as client:
            saver = HansardSaver(client)
            for turn in range(PUTS):
                found = saver.get_tuple(at(new_id))
                before = found.checkpoint["channel_values"]["messages"] if found else []
                messages = [*before[-20:], HumanMessage(f"{number} {turn}", id=str(uuid.uuid4()))]
                made, versions = checkpoint(saver, messages)
                saver.put(found.config if found else at(new_id), made, {"source": "loop", "step": turn}, versions)
                put[made["id"]] = messages

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, range(WORKERS)))
    saver = HansardSaver(blocking)
    found = {one.checkpoint["id"]: one.checkpoint["channel_values"]["messages"] for one in saver.list(at(new_id))}
    assert found == put and len(put) == WORKERS * PUTS
    latest = saver.get_tuple(at(new_id))
    assert latest and latest.checkpoint["id"] == max(put)
    # The conversation is the latest state, and nothing of another branch is after it.
    chat = [message["content"] for message in blocking.messages(saver.conversation_id(new_id))]
    state = [message.content for message in latest.checkpoint["channel_values"]["messages"]]
    assert chat[-len(state) :] == state and len(chat) == len(set(chat))


MANY = [HumanMessage(str(number), id=f"many-{number}") for number in range(1_200)]


def put(saver: Any, config: Any, messages: list[Any]) -> Any:
    made, versions = checkpoint(saver, messages)
    return saver.put(config, made, {"source": "loop", "step": 1}, versions)


def state(saver: Any, place: Any) -> list[str]:
    return [message.content for message in saver.get_tuple(place).checkpoint["channel_values"]["messages"]]


def test_a_put_of_several_commits_that_fails(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    with deployment.blocking() as client:
        failing, other = HansardSaver(client), HansardSaver(blocking)
        first, before = HumanMessage("first", id="first"), None
        config = put(failing, at(new_id), [first])
        append = client.append
        for commits in (1, 2):
            calls: list[int] = []
            expected = state(other, at(new_id))

            def append_some(*args: Any, commits: int = commits, calls: list[int] = calls, **options: Any) -> Any:
                calls.append(1)
                if len(calls) > commits:
                    raise Unavailable("the process ends here")
                return append(*args, **options)

            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(client, "append", append_some)
                with pytest.raises(Unavailable):
                    put(failing, config, [first, *MANY])
            for saver in (failing, other):
                assert state(saver, at(new_id)) == expected
            before = put(other, config, [first, HumanMessage(f"second {commits}", id="second")])
            chat = [message["content"] for message in blocking.messages(other.conversation_id(new_id))]
            assert chat == state(failing, at(new_id)) == ["first", f"second {commits}"]
        put(failing, before, [first, *MANY])
        for saver in (failing, other, HansardSaver(blocking)):
            assert state(saver, at(new_id)) == ["first", *(message.content for message in MANY)]
            assert state(saver, before) == ["first", "second 2"]
        assert len(blocking.messages(other.conversation_id(new_id))) == len(MANY) + 1


def test_others_write_between_the_commits_of_a_put(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    with deployment.blocking() as client:
        slow, other = HansardSaver(client), HansardSaver(blocking)
        config = put(slow, at(new_id), [HumanMessage("first", id="first")])
        append, tasks = client.append, []

        def append_after_writes(*args: Any, **options: Any) -> Any:
            if len(tasks) < 3:
                tasks.append(f"task-{len(tasks)}")
                other.put_writes(config, [("a", len(tasks))], tasks[-1])
            return append(*args, **options)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(client, "append", append_after_writes)
            following = put(slow, config, MANY)
        for saver in (slow, other, HansardSaver(blocking)):
            assert state(saver, at(new_id)) == [message.content for message in MANY]
            assert [task for task, _, _ in saver.get_tuple(config).pending_writes] == tasks and len(tasks) == 3
            assert saver.get_tuple(following).pending_writes == []
        assert [message["content"] for message in blocking.messages(slow.conversation_id(new_id))] == state(slow, following)


async def test_writes_and_checkpoints_at_the_same_time(deployment: Deployment, new_id: str) -> None:
    async with deployment.asynchronous() as client, deployment.asynchronous() as other:
        savers = [AsyncHansardSaver(client), AsyncHansardSaver(other)]
        config, messages = at(new_id), []
        for turn in range(6):
            messages = [*messages, AIMessage(str(turn), id=str(turn))]
            made, versions = checkpoint(savers[0], messages)
            following = at(new_id, checkpoint_id=made["id"])
            # Writes may be recorded before their checkpoint.
            _, *_ = await asyncio.gather(
                savers[0].aput(config, made, {"source": "loop", "step": turn}, versions),
                *(savers[task % 2].aput_writes(following, [("a", task), ("b", turn)], f"task-{task:02}") for task in range(16)),
                *(savers[0].aput_writes(config, [("c", 1)], f"late-{turn}") for _ in range(2) if turn),
            )
            for saver in (*savers, AsyncHansardSaver(other)):
                found = await saver.aget_tuple(at(new_id))
                assert found is not None and found.checkpoint == made
                expected = [
                    (f"task-{task:02}", channel, value) for task in range(16) for channel, value in (("a", task), ("b", turn))
                ]
                assert found.pending_writes == expected
            config = following


async def test_runs_of_one_thread_at_the_same_time(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    async with deployment.asynchronous() as client:
        graph = agent(AsyncHansardSaver(client))
        states = await asyncio.gather(*(graph.ainvoke({"messages": [HumanMessage(str(run))]}, at(new_id)) for run in range(5)))
        history = [one async for one in graph.aget_state_history(at(new_id))]
        assert len(history) == 5 * 5
        ends = {one.values["messages"][-1].id for one in history if not one.next}
        assert {state["messages"][-1].id for state in states} <= ends
        latest = (await graph.aget_state(at(new_id))).values["messages"]
        chat = blocking.messages(AsyncHansardSaver(client).conversation_id(new_id))
        assert [message["role"] for message in chat] == [{"human": "user", "ai": "assistant"}.get(m.type, m.type) for m in latest]
