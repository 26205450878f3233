"""SQLModel with an asynchronous session of SQLAlchemy and asyncpg: a table of sessions and a table of messages."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import AsyncIterator, Sequence

from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlmodel import Field, SQLModel, col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from .work import NEWEST, Conversations, Database, Message

PACKAGE = "sqlmodel"
NOTES = {"append": "one transaction, no version check", "read": "the newest 20 rows"}


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class ChatSession(SQLModel, table=True):
    id: str = Field(primary_key=True)
    created_at: datetime.datetime = Field(default_factory=now)


class ChatMessage(SQLModel, table=True):
    id: int | None = Field(default=None, primary_key=True)
    session_id: str = Field(foreign_key="chatsession.id", index=True)
    role: str
    content: str
    created_at: datetime.datetime = Field(default_factory=now)


class Chat:
    def __init__(self, engine: AsyncEngine, name: str) -> None:
        self.engine, self.name, self.exists = engine, name, False

    async def append(self, messages: Sequence[Message]) -> None:
        async with AsyncSession(self.engine) as session:
            if not self.exists:
                session.add(ChatSession(id=self.name))
                await session.flush()
            for message in messages:
                session.add(ChatMessage(session_id=self.name, role=message["role"], content=message["content"]))
            await session.commit()
        self.exists = True

    async def read(self) -> list[str]:
        newest_first = select(ChatMessage).where(ChatMessage.session_id == self.name).order_by(col(ChatMessage.id).desc())
        async with AsyncSession(self.engine) as session:
            found = (await session.exec(newest_first.limit(NEWEST))).all()
        return [message.content for message in reversed(found)]


@contextlib.asynccontextmanager
async def conversations(database: Database) -> AsyncIterator[Conversations]:
    engine = create_async_engine(
        database.sqlalchemy_url,
        pool_size=database.connections,
        max_overflow=0,
        connect_args={"server_settings": database.settings},
    )
    async with engine.begin() as connection:
        await connection.run_sync(SQLModel.metadata.create_all)
    yield lambda name: Chat(engine, name)
    await engine.dispose()
