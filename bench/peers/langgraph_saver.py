"""`AsyncPostgresSaver` of LangGraph: checkpoints of a thread whose channel `messages` has all messages."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from .work import NEWEST, Conversations, Database, Message

PACKAGE = "langgraph-checkpoint-postgres"
ONE_AT_A_TIME = "a saver runs one call at a time"
NOTES = {
    "append": f"one put of a checkpoint, with a new copy of all messages; {ONE_AT_A_TIME}",
    "read": f"no limit: the latest checkpoint with all 100 messages; {ONE_AT_A_TIME}",
}


class Thread:
    def __init__(self, saver: AsyncPostgresSaver, name: str) -> None:
        self.saver = saver
        self.thread: Any = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}
        self.latest: Any = self.thread
        self.version: Any = None
        self.messages: list[BaseMessage] = []

    async def append(self, messages: Sequence[Message]) -> None:
        user, assistant = messages
        self.messages = [*self.messages, HumanMessage(user["content"]), AIMessage(assistant["content"])]
        self.version = self.saver.get_next_version(self.version, None)
        versions = {"messages": self.version}
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"], checkpoint["channel_versions"] = {"messages": self.messages}, versions
        step = len(self.messages) // 2
        self.latest = await self.saver.aput(self.latest, checkpoint, {"source": "loop", "step": step, "parents": {}}, versions)

    async def read(self) -> list[str]:
        found = await self.saver.aget_tuple(self.thread)
        assert found is not None
        return [message.content for message in found.checkpoint["channel_values"]["messages"][-NEWEST:]]


@contextlib.asynccontextmanager
async def conversations(database: Database) -> AsyncIterator[Conversations]:
    pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
        database.url,
        max_size=database.connections,
        min_size=database.connections,
        open=False,
        # What the saver's documentation asks of a connection.
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row, "options": database.options},
    )
    async with pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        yield lambda name: Thread(saver, name)
