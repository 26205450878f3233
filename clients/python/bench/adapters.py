"""Measures the adapters of frameworks beside the frameworks' own Postgres backends: appends of one message, reads of the newest
20 and of all messages."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import functools
import importlib.metadata
import inspect
import json
import sys
from typing import Any

import psycopg
from backends import FRAMEWORKS, NEWEST, Backend
from stack import Stack, milliseconds, parser, percentile, running_stack, settle, table

# Appends and reads of the newest messages in one round.
CALLS = 20
# Messages that the reads of all messages return in one round; there are 3 to 20 of these reads.
MESSAGES_READ = 50_000
OPERATIONS = {"append": "append 1", "newest": f"newest {NEWEST}", "read": "all"}
HEADER = ["framework", "messages", "operation", "Hansard p50, p95 ms", "Postgres p50, p95 ms", "ratio of p50"]

# The times in milliseconds by framework, messages, operation and side.
Samples = dict[tuple[str, int, str, str], list[float]]


def text(number: int) -> str:
    """A message of about 200 characters."""
    return f"{number}: " + "Where is my parcel, and when does it arrive at the new address? " * 3


async def measure(stack: Stack, names: list[str], sizes: list[int], rounds: int) -> Samples:
    """The times of all operations. The sides take turns in each round."""
    samples: Samples = collections.defaultdict(list)
    for name in names:
        async with contextlib.aclosing(FRAMEWORKS[name](stack)) as framework:
            for size in sizes:
                for number in range(rounds):
                    print(f"{name}, {size:,} messages, round {number + 1} of {rounds}", file=sys.stderr)
                    backends = {"hansard": framework.hansard()}
                    if framework.peer:
                        backends["postgres"] = framework.postgres()
                    for backend in backends.values():
                        await fill(stack, backend, size)
                    await measure_round(backends, (name, size), samples)
    return samples


async def fill(stack: Stack, backend: Backend, size: int) -> None:
    """Adds messages to an empty conversation, and waits until nothing is left to do in the background."""
    await finished(backend.fill([text(number) for number in range(size)]))
    if backend.conversation_id is None:
        with psycopg.connect(stack.postgres_url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
    else:
        with stack.blocking() as client:
            settle(client, backend.conversation_id)
    assert len(await finished(backend.read())) == size
    assert len(await finished(backend.newest())) == min(size, NEWEST)


async def measure_round(backends: dict[str, Backend], name: tuple[str, int], samples: Samples) -> None:
    """Calls the sides in turns. Reads of all messages come last, as they keep a core busy; they include what was appended."""
    reads = min(CALLS, max(3, MESSAGES_READ // name[1]))
    for operation, calls in (("newest", CALLS), ("append", CALLS), ("read", reads)):
        for number in range(calls):
            for side, backend in backends.items():
                call = getattr(backend, operation)
                took = await milliseconds(functools.partial(call, text(number)) if operation == "append" else call)
                samples[(*name, operation, side)].append(took)


async def finished(result: Any) -> Any:
    """The result of a function or of a coroutine."""
    return await result if inspect.isawaitable(result) else result


def rows(samples: Samples) -> list[dict[str, Any]]:
    """The figures of each operation."""
    found = []
    for name, size, operation in dict.fromkeys(key[:3] for key in samples):
        row: dict[str, Any] = {
            "framework": f"{name} {importlib.metadata.version(name)}",
            "messages": size,
            "operation": operation,
        }
        for side in ("hansard", "postgres"):
            if times := samples.get((name, size, operation, side)):
                row[side] = {"p50_ms": percentile(times, 0.5), "p95_ms": percentile(times, 0.95), "calls": len(times)}
        found.append(row)
    return found


def cells(row: dict[str, Any]) -> list[str]:
    """A row of the table."""
    sides = [f"{row[side]['p50_ms']:.2f}, {row[side]['p95_ms']:.2f}" if side in row else "" for side in ("hansard", "postgres")]
    ratio = f"{row['hansard']['p50_ms'] / row['postgres']['p50_ms']:.2f}" if "postgres" in row else ""
    return [row["framework"], f"{row['messages']:,}", OPERATIONS[row["operation"]], *sides, ratio]


def main() -> None:
    options = parser(__doc__ or "", "python bench/adapters.py --frameworks langchain-core --sizes 10,10000 --rounds 3")
    options.add_argument("--frameworks", default=",".join(FRAMEWORKS), help="default: %(default)s")
    options.add_argument("--sizes", default="10,10000", help="messages of a conversation (default: %(default)s)")
    chosen = options.parse_args()
    names, sizes = chosen.frameworks.split(","), [int(size) for size in chosen.sizes.split(",")]
    if unknown := set(names) - set(FRAMEWORKS):
        options.error(f"unknown frameworks: {', '.join(unknown)}; known: {', '.join(FRAMEWORKS)}")
    if chosen.rounds < 1 or min(sizes) < 1:
        options.error("--rounds and --sizes must be at least 1")
    with running_stack(chosen.hansard, chosen.postgres_url) as stack:
        figures = rows(asyncio.run(measure(stack, names, sizes, chosen.rounds)))
    if chosen.json:
        print("\n".join(map(json.dumps, figures)))
    else:
        print(table(HEADER, list(map(cells, figures))))


if __name__ == "__main__":
    main()
