"""What a framework sees while every process of a deployment is killed and started again."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import subprocess

import pytest

pytest.importorskip("agents")

from conftest import DEFAULT_PROGRAM
from hansard_dev import AGENT, data_folder, free_port, gateway, secret_key

from hansard import AsyncHansard
from hansard._transports.address import grpc_url
from hansard.agents import HansardSession

KILLS = int(os.environ.get("KILLS", "3"))
WRITERS = 4


class Killed:
    """A deployment that is killed and started again on the same ports."""

    def __init__(self, program: str, data: str, port: int) -> None:
        self.command = [program, "dev", "--import", "none", "--data-dir", data, "--port-base", str(port)]
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "Ctrl-C" in line:
                return
        raise AssertionError("hansard dev did not start")

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)


async def test_no_item_is_lost_or_added_twice_when_the_writer_is_killed() -> None:
    program, port = os.environ.get("HANSARD", str(DEFAULT_PROGRAM)), free_port()
    with data_folder() as data:
        with gateway(program, data, port_base=port) as (_, _, environment):
            token = secret_key(program, environment, "append", "read")
            url = grpc_url(environment["HANSARD_GATEWAY_URL"])
        deployment = Killed(program, data, port)
        deployment.start()
        client = AsyncHansard(url, token, agent_id=AGENT, timeout=60)
        stop = asyncio.Event()
        writers = [asyncio.ensure_future(write(HansardSession(f"s-{number}", client), stop)) for number in range(WRITERS)]
        try:
            for _ in range(KILLS):
                await progress(writers, client)
                await asyncio.to_thread(deployment.kill)
                await asyncio.to_thread(deployment.start)
            await progress(writers, client)
            stop.set()
            added = await asyncio.gather(*writers)
            for number, items in enumerate(added):
                assert await HansardSession(f"s-{number}", client).get_items() == items
        finally:
            await client.close()
            deployment.stop()
    kept = sum(map(len, added))
    print(f"{kept} items of {WRITERS} sessions are there once and in order after {KILLS} kills")
    assert not pathlib.Path(data).exists()


async def write(session: HansardSession, stop: asyncio.Event) -> list[dict[str, str]]:
    """Adds and pops items until it is stopped; returns what the session must have."""
    items: list[dict[str, str]] = []
    number = 0
    while not stop.is_set():
        new = [{"role": "user", "content": f"{number} {part}"} for part in "abc"]
        await session.add_items(new)
        items += new
        number += 1
        if number % 5 == 0:
            assert await session.pop_item() == items.pop()
    return items


async def progress(writers: list[asyncio.Future[list[dict[str, str]]]], client: AsyncHansard) -> None:
    """Waits until every session has items that it does not have now."""
    conversations = [HansardSession(f"s-{number}", client).conversation_id for number in range(len(writers))]

    async def version(conversation: str) -> int:
        from hansard import NotFound

        try:
            return (await client.get_conversation(conversation)).version
        except NotFound:
            return 0

    before = [await version(conversation) for conversation in conversations]
    end = asyncio.get_running_loop().time() + 60
    for conversation, old in zip(conversations, before, strict=True):
        while await version(conversation) < old + 20:
            assert asyncio.get_running_loop().time() < end
            for writer in writers:
                if writer.done():
                    await writer
