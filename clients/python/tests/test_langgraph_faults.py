"""What a graph's store sees while every process of a deployment is killed and started again."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("langgraph")

from conftest import DEFAULT_PROGRAM
from faults import KilledDeployment
from hansard_dev import AGENT, data_folder, free_port, gateway, secret_key

from hansard import AsyncHansard, Hansard
from hansard._transports.address import grpc_url
from hansard.langgraph import AsyncHansardStore, HansardStore

KILLS = int(os.environ.get("KILLS", "3"))
NAMESPACE = ("counts",)
# The keys that asynchronous and blocking writers change.
ASYNC_KEYS, BLOCKING_KEYS = ["a-0", "a-1"], ["b-0", "b-1"]
# Changes of each key between two kills.
CHANGES = 20


class Writer:
    """Changes one item until it is stopped, and keeps what the history of the item must be."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.history: list[Any] = []

    def next(self) -> dict[str, int] | None:
        """The next value; every fifth change is a deletion."""
        return None if len(self.history) % 5 == 4 else {"n": len(self.history)}


async def write_async(store: AsyncHansardStore, writer: Writer, stop: asyncio.Event) -> None:
    while not stop.is_set():
        value = writer.next()
        await (store.adelete(NAMESPACE, writer.key) if value is None else store.aput(NAMESPACE, writer.key, value))
        writer.history.append(value)


def write_blocking(store: HansardStore, writer: Writer, is_stopped: Callable[[], bool]) -> None:
    while not is_stopped():
        value = writer.next()
        if value is None:
            store.delete(NAMESPACE, writer.key)
        else:
            store.put(NAMESPACE, writer.key, value)
        writer.history.append(value)


async def progress(writers: list[Writer], tasks: list[asyncio.Future[None]]) -> None:
    """Waits until every item has changes that it does not have now."""
    before = [len(writer.history) for writer in writers]
    end = time.monotonic() + 90
    while any(len(writer.history) < count + CHANGES for writer, count in zip(writers, before, strict=True)):
        assert time.monotonic() < end, [len(writer.history) for writer in writers]
        for task in tasks:
            if task.done():
                await task
        await asyncio.sleep(0.01)


async def test_no_change_is_lost_or_recorded_twice_when_the_writer_is_killed() -> None:
    program, port = os.environ.get("HANSARD", str(DEFAULT_PROGRAM)), free_port()
    with data_folder() as data:
        with gateway(program, data, port_base=port) as (_, _, environment):
            token = secret_key(program, environment, "append", "read")
            url = grpc_url(environment["HANSARD_GATEWAY_URL"])
        deployment = KilledDeployment(program, data, port)
        deployment.start()
        stop = asyncio.Event()
        writers = [Writer(key) for key in (*ASYNC_KEYS, *BLOCKING_KEYS)]
        blocking, client = (kind(url, token, agent_id=AGENT, timeout=90) for kind in (Hansard, AsyncHansard))
        store, async_store = HansardStore(blocking), AsyncHansardStore(client)
        tasks = [asyncio.ensure_future(write_async(async_store, writer, stop)) for writer in writers[:2]]
        tasks += [asyncio.ensure_future(asyncio.to_thread(write_blocking, store, one, stop.is_set)) for one in writers[2:]]
        try:
            for _ in range(KILLS):
                await progress(writers, tasks)
                await asyncio.to_thread(deployment.kill)
                await asyncio.to_thread(deployment.restart)
            await progress(writers, tasks)
            stop.set()
            await asyncio.gather(*tasks)
            for writer in writers:
                versions = [version async for version in client.list_document_versions(NAMESPACE, writer.key)]
                assert [version.value for version in reversed(versions)] == writer.history
                item = await async_store.aget(NAMESPACE, writer.key)
                assert (item and item.value) == writer.history[-1]
        finally:
            stop.set()
            await client.close()
            blocking.close()
            deployment.stop()
    changes = sum(len(writer.history) for writer in writers)
    print(f"{changes} changes of {len(writers)} items are in their histories once and in order after {KILLS} kills")
