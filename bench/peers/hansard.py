"""Hansard itself, through its package for Python by gRPC. The variables of `hansard dev` name the deployment."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from hansard import AsyncHansard

from .work import NEWEST, Conversations, Database, Message

PACKAGE = "hansard"
NOTES = {"append": "one commit of two messages", "read": "the newest 20 messages, with the caller's own writes"}


class Chat:
    def __init__(self, client: AsyncHansard, name: str) -> None:
        self.client, self.name, self.exists = client, name, False

    async def append(self, messages: Sequence[Message]) -> None:
        if self.exists:
            await self.client.append(self.name, messages)
        else:
            await self.client.create_conversation(self.name, user_id="bench-peers", messages=messages)
        self.exists = True

    async def read(self) -> list[str]:
        return [message["content"] for message in await self.client.messages(self.name, NEWEST)]


@contextlib.asynccontextmanager
async def conversations(_database: Database) -> AsyncIterator[Conversations]:
    async with AsyncHansard.from_environment() as client:
        yield lambda name: Chat(client, name)
