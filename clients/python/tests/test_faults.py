"""What each framework sees when the processes of a deployment are killed and started again, and when calls are lost."""

from __future__ import annotations

import asyncio
import itertools
import os
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import DEFAULT_PROGRAM, Deployment
from fault_adapters import ADAPTERS, Connection, Memory
from faults import Attempts, KilledDeployment, Loss, Losses
from hansard_dev import AGENT, data_folder, free_port, gateway, secret_key

from hansard import RetryPolicy, Unavailable
from hansard._transports.address import grpc_url

# Kills that interrupt a write, and most of those that do not.
KILLS = int(os.environ.get("KILLS", "3"))
MISSES_MAX = 5
WRITERS = 4
# Turns that each writer adds between two kills, at least.
TURNS = 5
DEADLINE_S = 120

every_adapter = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.__name__)


class Writer:
    """Adds turns to one conversation, and removes some messages, until it is stopped."""

    def __init__(self, memory: Memory, attempts: Attempts) -> None:
        self.memory, self.attempts = memory, attempts
        self.turns = 0
        #: What the conversation must have.
        self.messages: list[Any] = []

    async def run(self, is_stopped: Callable[[], bool], turn_added: asyncio.Condition) -> None:
        while not is_stopped():
            new = self.memory.turn(self.turns)
            await self.memory.add(new)
            self.messages += new
            self.turns += 1
            if self.turns % 5 == 0 and (removed := await self.memory.remove_last()) is not None:
                assert removed == self.messages.pop()
            async with turn_added:
                turn_added.notify_all()


class Writers:
    """Writers that run at the same time."""

    def __init__(self, writers: list[Writer]) -> None:
        self.writers = writers
        self._is_stopped = False
        self._turn_added = asyncio.Condition()
        self._tasks = [asyncio.ensure_future(writer.run(lambda: self._is_stopped, self._turn_added)) for writer in writers]

    async def progress(self) -> None:
        """Waits until every writer has added more turns."""
        goals = [writer.turns + TURNS for writer in self.writers]
        progress = asyncio.ensure_future(self._reach(goals))
        await asyncio.wait([progress, *self._tasks], timeout=DEADLINE_S, return_when=asyncio.FIRST_COMPLETED)
        for task in self._tasks:
            if task.done():
                task.result()
        assert progress.done(), f"a writer added no {TURNS} turns within {DEADLINE_S} s"

    async def write_in_flight(self) -> None:
        """Waits until a write is in flight."""

        async def wait() -> None:
            while not any(writer.attempts.in_flight for writer in self.writers):
                await asyncio.sleep(0)

        await asyncio.wait_for(wait(), DEADLINE_S)

    async def stop(self) -> None:
        """Waits until every writer has ended its turn."""
        self._is_stopped = True
        await asyncio.gather(*self._tasks)

    async def _reach(self, goals: list[int]) -> None:
        async with self._turn_added:
            await self._turn_added.wait_for(lambda: all(w.turns >= goal for w, goal in zip(self.writers, goals, strict=True)))


@pytest.fixture(scope="module")
def restarted() -> Iterator[tuple[KilledDeployment, str, str]]:
    """A deployment to kill, its address and a token."""
    program, port = os.environ.get("HANSARD", str(DEFAULT_PROGRAM)), free_port()
    with data_folder() as data:
        with gateway(program, data, port_base=port) as (_, _, environment):
            token = secret_key(program, environment, "append", "read")
            url = grpc_url(environment["HANSARD_GATEWAY_URL"])
        killed = KilledDeployment(program, data, port)
        killed.start()
        try:
            yield killed, url, token
        finally:
            killed.stop()


@every_adapter
async def test_no_message_is_lost_or_added_twice_when_the_writer_is_killed(
    adapter: Any, restarted: tuple[KilledDeployment, str, str]
) -> None:
    pytest.importorskip(adapter.module)
    killed, url, token = restarted
    names = [f"ada-{uuid.uuid4()}" for _ in range(WRITERS)]

    def memory(name: str, attempts: Attempts) -> Memory:
        return adapter(Connection(url, token, AGENT, RetryPolicy(attempts_max=60), attempts), name)

    every_attempts = [Attempts() for _ in names]
    writers = Writers([Writer(memory(name, attempts), attempts) for name, attempts in zip(names, every_attempts, strict=True)])
    interrupted: list[int] = []
    await writers.progress()
    while sum(map(bool, interrupted)) < KILLS:
        # A process that is killed may still answer what is in flight.
        assert len(interrupted) < KILLS + MISSES_MAX, f"the kills interrupted too few writes: {interrupted}"
        await writers.write_in_flight()
        killed_at = killed.kill()
        await asyncio.to_thread(killed.restart)
        await writers.progress()
        interrupted.append(sum(attempts.interrupted_by(killed_at) for attempts in every_attempts))
    await writers.stop()
    for name, writer in zip(names, writers.writers, strict=True):
        reader = memory(name, Attempts())
        assert await writer.memory.read() == await reader.read() == writer.messages
        await reader.close()
        await writer.memory.close()
    messages = sum(len(writer.messages) for writer in writers.writers)
    retries = sum(len(attempts.failed) for attempts in every_attempts)
    print(f"{adapter.__name__}: {messages} messages of {WRITERS} conversations are there once and in order.")
    print(f"{len(interrupted)} kills interrupted {sum(interrupted)} writes; {retries} attempts were repeated.")


def lossy(adapter: Any, deployment: Deployment, name: str, losses: Losses, attempts_max: int) -> Any:
    pytest.importorskip(adapter.module)
    retries = RetryPolicy(attempts_max=attempts_max, delay=0.001)
    return adapter(Connection(deployment.grpc_url, deployment.token, AGENT, retries, losses), name)


@every_adapter
@pytest.mark.parametrize("loss", ["request", "answer"])
async def test_a_lost_request_or_answer_is_repeated_within_the_call(
    adapter: Any, loss: Loss, deployment: Deployment, new_id: str
) -> None:
    losses = Losses(itertools.cycle([loss, "neither"]))
    memory = lossy(adapter, deployment, new_id, losses, 2)
    added: list[Any] = []
    for number in range(10):
        new = memory.turn(number)
        await memory.add(new)
        added += new
    assert await memory.read() == added
    assert losses.lost >= 10
    await memory.close()


@every_adapter
@pytest.mark.parametrize("loss", ["request", "answer"])
async def test_after_the_last_attempt_a_caller_reads_before_it_repeats_the_call(
    adapter: Any, loss: Loss, deployment: Deployment, new_id: str
) -> None:
    losses = Losses([])
    memory = lossy(adapter, deployment, new_id, losses, 1)
    before, new = memory.turn(0), memory.turn(1)[:1]
    await memory.add(before)
    losses.plan = iter([loss])
    with pytest.raises(Unavailable):
        await memory.add(new)
    read = await memory.read()
    assert read == (before if loss == "request" else before + new)
    if read[-1:] != new:
        await memory.add(new)
    assert await memory.read() == before + new
    await memory.close()


@every_adapter
async def test_a_caller_who_repeats_a_recorded_call_adds_it_again_unless_the_framework_compares(
    adapter: Any, deployment: Deployment, new_id: str
) -> None:
    losses = Losses([])
    memory = lossy(adapter, deployment, new_id, losses, 1)
    before, new = memory.turn(0), memory.turn(1)[:1]
    await memory.add(before)
    losses.plan = iter(["answer"])
    with pytest.raises(Unavailable):
        await memory.add(new)
    if memory.conflict is None:
        await memory.add(new)
        assert await memory.read() == before + new + new
    else:
        with pytest.raises(memory.conflict):
            await memory.add(new)
        assert await memory.read() == before + new
    await memory.close()
