"""Tables and statements by hand, with asyncpg: a transaction with a version check and an insert for each message."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

import asyncpg

from .work import NEWEST, Conversations, Database, Message

PACKAGE = "asyncpg"
NOTES = {"append": "one transaction with a version check and two inserts", "read": "the newest 20 rows"}
TABLES = """
CREATE TABLE conversation (id text PRIMARY KEY, version bigint NOT NULL);
CREATE TABLE message (
    conversation_id text NOT NULL REFERENCES conversation,
    version bigint NOT NULL,
    role text NOT NULL,
    content text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (conversation_id, version)
);
"""
CREATE = "INSERT INTO conversation (id, version) VALUES ($1, $2)"
ADVANCE = "UPDATE conversation SET version = $3 WHERE id = $1 AND version = $2"
INSERT = "INSERT INTO message (conversation_id, version, role, content) VALUES ($1, $2, $3, $4)"
READ = "SELECT role, content FROM message WHERE conversation_id = $1 ORDER BY version DESC LIMIT $2"


class Chat:
    def __init__(self, pool: asyncpg.Pool, name: str) -> None:
        self.pool, self.name, self.version = pool, name, 0

    async def append(self, messages: Sequence[Message]) -> None:
        version = self.version + len(messages)
        rows = [(self.name, self.version + 1 + n, one["role"], one["content"]) for n, one in enumerate(messages)]
        async with self.pool.acquire() as connection, connection.transaction():
            if self.version == 0:
                await connection.execute(CREATE, self.name, version)
            elif await connection.execute(ADVANCE, self.name, self.version, version) != "UPDATE 1":
                raise RuntimeError("a version is not the expected one")
            await connection.executemany(INSERT, rows)
        self.version = version

    async def read(self) -> list[str]:
        async with self.pool.acquire() as connection:
            return [row["content"] for row in reversed(await connection.fetch(READ, self.name, NEWEST))]


@contextlib.asynccontextmanager
async def conversations(database: Database) -> AsyncIterator[Conversations]:
    size = database.connections
    async with asyncpg.create_pool(database.url, min_size=size, max_size=size, server_settings=database.settings) as pool:
        await pool.execute(TABLES)
        yield lambda name: Chat(pool, name)
