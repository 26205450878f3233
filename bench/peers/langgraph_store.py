"""`AsyncPostgresStore` of LangGraph: a namespace for each conversation, an item for each message."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from langgraph.store.base import PutOp
from langgraph.store.postgres import AsyncPostgresStore

from .work import NEWEST, Conversations, Database, Message

PACKAGE = "langgraph-checkpoint-postgres"
NOTES = {
    "append": "one batch of two puts",
    "read": "a search of the newest 20 items of a namespace; a store runs one batch of searches at a time",
}


class Namespace:
    def __init__(self, store: AsyncPostgresStore, name: str) -> None:
        self.store, self.namespace, self.count = store, ("messages", name), 0

    async def append(self, messages: Sequence[Message]) -> None:
        keys = [f"{self.count + number:06}" for number in range(len(messages))]
        await self.store.abatch([PutOp(self.namespace, key, message) for key, message in zip(keys, messages, strict=True)])
        self.count += len(messages)

    async def read(self) -> list[str]:
        found = await self.store.asearch(self.namespace, limit=NEWEST)
        # Items of one batch have the same time.
        return [item.value["content"] for item in sorted(found, key=lambda item: item.key)]


@contextlib.asynccontextmanager
async def conversations(database: Database) -> AsyncIterator[Conversations]:
    async with AsyncPostgresStore.from_conn_string(
        database.url,
        pool_config={
            "min_size": database.connections,
            "max_size": database.connections,
            "kwargs": {"options": database.options},
        },
    ) as store:
        await store.setup()
        yield lambda name: Namespace(store, name)
