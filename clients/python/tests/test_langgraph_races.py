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

from hansard import Hansard
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
