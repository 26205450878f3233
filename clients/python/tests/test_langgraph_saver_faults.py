"""What LangGraph sees while every process of a deployment is killed and started again."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

pytest.importorskip("langgraph.graph")

from conftest import DEFAULT_PROGRAM
from faults import KilledDeployment
from hansard_dev import AGENT, data_folder, free_port, gateway, secret_key
from langchain_core.messages import HumanMessage
from langgraph_graphs import agent

from hansard import AsyncHansard
from hansard._transports.address import grpc_url
from hansard.langgraph import AsyncHansardSaver

KILLS = int(os.environ.get("KILLS", "3"))
THREADS = 4
# Each run of the graph has this number of messages and checkpoints.
MESSAGES, CHECKPOINTS = 4, 5
# Runs of each thread between two kills, at least.
RUNS_MIN = 2


async def test_no_checkpoint_is_lost_or_added_twice_when_the_writer_is_killed() -> None:
    program, port = os.environ.get("HANSARD", str(DEFAULT_PROGRAM)), free_port()
    with data_folder() as data:
        with gateway(program, data, port_base=port) as (_, _, environment):
            token = secret_key(program, environment, "append", "read")
            url = grpc_url(environment["HANSARD_GATEWAY_URL"])
        deployment = KilledDeployment(program, data, port)
        deployment.start()
        client = AsyncHansard(url, token, agent_id=AGENT, timeout=60)
        stop, runs = asyncio.Event(), [0] * THREADS
        workers = [asyncio.ensure_future(work(client, number, runs, stop)) for number in range(THREADS)]
        try:
            for _ in range(KILLS):
                await progress(workers, runs)
                await asyncio.to_thread(deployment.kill)
                await asyncio.to_thread(deployment.restart)
            await progress(workers, runs)
            stop.set()
            await asyncio.gather(*workers)
            # A process without a cache, and the one that was there.
            async with AsyncHansard(url, token, agent_id=AGENT, timeout=60) as other:
                for one in (client, other):
                    for number in range(THREADS):
                        await check(one, number, runs[number])
        finally:
            await client.close()
            deployment.stop()
    print(f"{sum(runs) * CHECKPOINTS} checkpoints of {sum(runs)} runs are there once and in order after {KILLS} kills")


async def work(client: AsyncHansard, number: int, runs: list[int], stop: asyncio.Event) -> None:
    """Runs the graph until it is stopped."""
    graph = agent(AsyncHansardSaver(client))
    while not stop.is_set():
        state = await graph.ainvoke(said(runs[number]), at(number))
        runs[number] += 1
        assert len(state["messages"]) == MESSAGES * runs[number]


def said(run: int) -> dict[str, Any]:
    return {"messages": [HumanMessage(f"question {run}", id=f"h-{run}")]}


def at(number: int) -> Any:
    return {"configurable": {"thread_id": f"thread-{number}"}}


async def progress(workers: list[asyncio.Future[None]], runs: list[int]) -> None:
    """Waits until every thread has runs that it does not have now."""
    before, end = list(runs), asyncio.get_running_loop().time() + 90
    while any(run < old + RUNS_MIN for run, old in zip(runs, before, strict=True)):
        assert asyncio.get_running_loop().time() < end
        await asyncio.wait(workers, timeout=0.05, return_when=asyncio.FIRST_EXCEPTION)
        for worker in workers:
            if worker.done():
                await worker


async def check(client: AsyncHansard, number: int, runs: int) -> None:
    saver = AsyncHansardSaver(client)
    history = [one async for one in agent(saver).aget_state_history(at(number))]
    assert len(history) == CHECKPOINTS * runs
    ids = [one.config["configurable"]["checkpoint_id"] for one in history]
    parents = [one.parent_config and one.parent_config["configurable"]["checkpoint_id"] for one in history]
    assert parents == [*ids[1:], None] and ids == sorted(set(ids), reverse=True)
    messages = history[0].values["messages"]
    expected = [text for run in range(runs) for text in (f"question {run}", "I look.", "on its way", "It is on its way.")]
    assert [message.content for message in messages] == expected
    assert len({message.id for message in messages}) == len(messages)
    assert history[0].values["steps"] == ["call", "tool", "answer"] * runs
    # The steps in between have exactly their messages too.
    counts = [MESSAGES * run + step for run in range(runs) for step in (0, 1, 2, 3, 4)]
    assert [len(one.values.get("messages", [])) for one in reversed(history)] == counts
    chat = await client.messages(saver.conversation_id(f"thread-{number}"))
    assert [message["content"] for message in chat] == expected
