"""Measures the checkpoint savers of LangGraph: `HansardSaver` beside `PostgresSaver` of `langgraph-checkpoint-postgres`.

A put records a checkpoint with one more message in the channel `messages`. A get returns the latest checkpoint of the thread with
all messages: in the process that has recorded it, and in a new process (`first get`). Needs `hansard[langgraph]`,
`langgraph-checkpoint-postgres` and `psycopg[binary]`.
"""

from __future__ import annotations

import asyncio
import collections
import importlib.metadata
import json
import uuid
from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from stack import Stack, milliseconds, parser, percentile, running_stack, settle, table

from hansard.langgraph import HansardSaver

# Steps of one round, and first reads.
STEPS, FIRST_READS = 20, 3
OPERATIONS = ("put", "put_writes", "get", "first get")
HEADER = ["operation", "messages", "Hansard p50, p95 ms", "Postgres p50, p95 ms", "ratio of p50"]

# The times in milliseconds by operation, messages and side.
Samples = dict[tuple[str, int, str], list[float]]


class Thread:
    """A thread of a saver, to which messages are added."""

    def __init__(self, new: Callable[[], Any], size: int) -> None:
        self.new, self.saver = new, new()
        self.place: Any = {"configurable": {"thread_id": str(uuid.uuid4()), "checkpoint_ns": ""}}
        self.config = self.place
        self.version: Any = None
        self.messages: list[BaseMessage] = [self.message(number) for number in range(size)]
        self.put()

    def message(self, number: int) -> BaseMessage:
        """A message of about 200 characters."""
        text = f"{number}: " + "Where is my parcel, and when does it arrive at the new address? " * 3
        return (HumanMessage, AIMessage)[number % 2](text, id=str(uuid.uuid4()))

    def add_message(self) -> None:
        """Adds a message to the state, as a graph does."""
        self.messages = [*self.messages, self.message(len(self.messages))]

    def put(self) -> None:
        """Records a checkpoint."""
        self.version = self.saver.get_next_version(self.version, None)
        versions = {"messages": self.version}
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"], checkpoint["channel_versions"] = {"messages": self.messages}, versions
        self.config = self.saver.put(self.config, checkpoint, {"source": "loop", "step": 1, "parents": {}}, versions)

    def put_writes(self) -> None:
        """Records the writes of a task."""
        self.saver.put_writes(self.config, [("messages", [self.messages[-1]])], str(uuid.uuid4()))

    def get(self) -> None:
        """Reads the latest checkpoint. A graph continues with the messages that it has read."""
        messages = self.saver.get_tuple(self.place).checkpoint["channel_values"]["messages"]
        assert len(messages) == len(self.messages)
        self.messages = messages

    def first_get(self) -> None:
        """Reads the latest checkpoint as a new process."""
        self.saver = self.new()
        self.get()


async def measure(stack: Stack, sizes: list[int], rounds: int) -> Samples:
    """The times of all operations. The sides take turns in each round."""
    samples: Samples = collections.defaultdict(list)
    with stack.blocking() as client, PostgresSaver.from_conn_string(stack.postgres_url) as postgres:
        postgres.setup()
        for size in sizes:
            for _ in range(rounds):
                ours, theirs = Thread(lambda: HansardSaver(client), size), Thread(lambda: postgres, size)
                postgres.conn.execute("CHECKPOINT")
                settle(client, ours.saver.conversation_id(ours.place["configurable"]["thread_id"]))
                await measure_round({"hansard": ours, "postgres": theirs}, size, samples)
    return samples


async def measure_round(threads: dict[str, Thread], size: int, samples: Samples) -> None:
    """Calls each side in turn: a call of one side must not wait for the disk writes of the other."""
    for side, thread in threads.items():
        for operation, calls in (("first get", FIRST_READS), *((("put", 1), ("put_writes", 1), ("get", 1)) * STEPS)):
            for _ in range(calls):
                if operation == "put":
                    thread.add_message()
                call = getattr(thread, operation.replace(" ", "_"))
                samples[operation, size, side].append(await milliseconds(call))


def figures(samples: Samples) -> list[dict[str, Any]]:
    """The figures of each operation."""
    return [
        {
            "operation": operation,
            "messages": size,
            **{
                side: {"p50_ms": percentile(times, 0.5), "p95_ms": percentile(times, 0.95), "calls": len(times)}
                for side in ("hansard", "postgres")
                if (times := samples[operation, size, side])
            },
        }
        for operation in OPERATIONS
        for size in sorted({size for _, size, _ in samples})
    ]


def cells(figure: dict[str, Any]) -> list[str]:
    """A row of the table."""
    sides = [f"{figure[side]['p50_ms']:.2f}, {figure[side]['p95_ms']:.2f}" for side in ("hansard", "postgres")]
    ratio = figure["hansard"]["p50_ms"] / figure["postgres"]["p50_ms"]
    return [figure["operation"], f"{figure['messages']:,}", *sides, f"{ratio:.2f}"]


def main() -> None:
    options = parser(__doc__ or "", "python bench/langgraph_saver.py --sizes 10,10000 --rounds 3")
    options.add_argument("--sizes", default="10,10000", help="messages of a thread (default: %(default)s)")
    chosen = options.parse_args()
    sizes = [int(size) for size in chosen.sizes.split(",")]
    if chosen.rounds < 1 or min(sizes) < 1:
        options.error("--rounds and --sizes must be at least 1")
    with running_stack(chosen.hansard, chosen.postgres_url) as stack:
        found = figures(asyncio.run(measure(stack, sizes, chosen.rounds)))
    if chosen.json:
        print("\n".join(map(json.dumps, found)))
        return
    print(f"langgraph-checkpoint-postgres {importlib.metadata.version('langgraph-checkpoint-postgres')}\n")
    print(table(HEADER, list(map(cells, found))))


if __name__ == "__main__":
    main()
