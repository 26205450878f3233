"""`SQLAlchemySession` of the OpenAI Agents SDK, with asyncpg."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from agents.extensions.memory import SQLAlchemySession
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from .work import NEWEST, Conversations, Database, Message

PACKAGE = "openai-agents"
NOTES = {"append": "SQLAlchemySession.add_items of two items", "read": "SQLAlchemySession.get_items(20)"}


class Session:
    def __init__(self, engine: AsyncEngine, name: str) -> None:
        self.session = SQLAlchemySession(name, engine=engine)

    async def append(self, messages: Sequence[Message]) -> None:
        items: list[Any] = list(messages)
        await self.session.add_items(items)

    async def read(self) -> list[str]:
        items: list[Any] = await self.session.get_items(NEWEST)
        return [item["content"] for item in items]


@contextlib.asynccontextmanager
async def conversations(database: Database) -> AsyncIterator[Conversations]:
    engine = create_async_engine(
        database.sqlalchemy_url,
        pool_size=database.connections,
        max_overflow=0,
        connect_args={"server_settings": database.settings},
    )
    # The first call creates the tables.
    await SQLAlchemySession("tables", engine=engine, create_tables=True).get_items(1)
    yield lambda name: Session(engine, name)
    await engine.dispose()
