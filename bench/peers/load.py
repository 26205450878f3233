"""Measures one peer: fills conversations, then reads and appends in closed loops. Prints a JSON array with a row for each figure.

Usage: python -m peers.load PEER --concurrency 1,32 --seconds 5 --warm-up 1, in the folder `bench`, with the database's URL in
DATABASE_URL. `run` starts it. The program is a module because peers are named like the packages that they import.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import importlib
import importlib.metadata
import itertools
import json
import math
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

import asyncpg

from .work import MESSAGES, NEWEST, Conversation, Conversations, Database, pair

# Conversations that a caller reads in turns.
READ_CONVERSATIONS = 2

Call = Callable[[], Awaitable[None]]
Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class Plan:
    """The time of each measurement."""

    warm_up_s: float
    seconds: float


async def measure(name: str, levels: list[int], plan: Plan, url: str) -> list[dict[str, Any]]:
    """The figures of a peer at each level of concurrency."""
    module = name.replace("-", "_")
    peer = importlib.import_module(f"peers.{module}")
    database = Database(url, f"bench_peers_{module}", max(levels))
    rows = []
    async with schema(database) as connection, peer.conversations(database) as conversations:
        filled = await together([fill(conversations) for _ in range(max(levels))])
        await vacuum(connection, database.schema)
        for operation in ("read", "append"):
            for level in levels:
                calls = [appends(conversations) if operation == "append" else reads(own) for own in filled[:level]]
                figures = await closed_loop(calls, plan)
                version = importlib.metadata.version(peer.PACKAGE)
                row = {"peer": name, "version": version, "operation": operation, "concurrency": level}
                rows.append({**row, **figures, "note": peer.NOTES[operation]})
    return rows


@contextlib.asynccontextmanager
async def schema(database: Database) -> AsyncIterator[asyncpg.Connection]:
    """Creates the schema of a peer, without what an earlier run has left there, and drops it at the end."""
    connection = await asyncpg.connect(database.url)
    drop = f"DROP SCHEMA IF EXISTS {database.schema} CASCADE"
    try:
        await connection.execute(f"{drop}; CREATE SCHEMA {database.schema}")
        yield connection
    finally:
        await connection.execute(drop)
        await connection.close()


async def vacuum(connection: asyncpg.Connection, name: str) -> None:
    """Updates the statistics of the tables, as autovacuum does later."""
    for row in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = $1", name):
        await connection.execute(f'VACUUM (ANALYZE) {name}."{row["tablename"]}"')


async def fill(conversations: Conversations) -> list[Conversation]:
    """The conversations that one caller reads. Checks that reads return what was appended."""
    filled = [conversations(str(uuid.uuid4())) for _ in range(READ_CONVERSATIONS)]
    pairs = [pair(turn) for turn in range(MESSAGES // 2)]
    newest = [message["content"] for messages in pairs for message in messages][-NEWEST:]
    for conversation in filled:
        for messages in pairs:
            await conversation.append(messages)
        found = await conversation.read()
        if found != newest:
            raise RuntimeError(f"a read returned {len(found)} messages, which are not the newest {NEWEST}")
    return filled


def appends(conversations: Conversations) -> Call:
    """The appends of one caller. A conversation with all its messages is followed by a new one."""

    def turns() -> Iterator[tuple[Conversation, int]]:
        while True:
            conversation = conversations(str(uuid.uuid4()))
            for turn in range(MESSAGES // 2):
                yield conversation, turn

    left = turns()

    async def call() -> None:
        conversation, turn = next(left)
        await conversation.append(pair(turn))

    return call


def reads(own: Sequence[Conversation]) -> Call:
    """The reads of one caller."""
    turns = itertools.cycle(own)

    async def call() -> None:
        found = len(await next(turns).read())
        if found != NEWEST:
            raise RuntimeError(f"a read returned {found} messages instead of {NEWEST}")

    return call


async def closed_loop(calls: Sequence[Call], plan: Plan) -> dict[str, float]:
    """Runs each caller without pauses. Calls that begin after the warm-up count; each caller has at least one."""
    begins_at = time.perf_counter() + plan.warm_up_s
    ends_at = begins_at + plan.seconds

    async def run(call: Call) -> list[float]:
        times: list[float] = []
        while time.perf_counter() < ends_at or not times:
            start = time.perf_counter()
            await call()
            if start >= begins_at:
                times.append(time.perf_counter() - start)
        return times

    callers = await together([run(call) for call in calls])
    elapsed_s = time.perf_counter() - begins_at
    times = sorted(itertools.chain(*callers))
    return {
        "per_second": round(len(times) / elapsed_s, 1),
        "p50_ms": round(1000 * percentile(times, 0.5), 3),
        "p99_ms": round(1000 * percentile(times, 0.99), 3),
    }


async def together(coroutines: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """The results of coroutines. The first failure ends all of them."""
    tasks = [asyncio.create_task(one) for one in coroutines]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer")
    parser.add_argument("--concurrency", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--warm-up", type=float, required=True)
    given = parser.parse_args()
    levels = [int(level) for level in given.concurrency.split(",")]
    plan = Plan(given.warm_up, given.seconds)
    rows = asyncio.run(measure(given.peer, levels, plan, os.environ["DATABASE_URL"]))
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
