"""Stores of LangGraph whose items are documents of Hansard."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from langgraph.store.base import NOT_PROVIDED, BaseStore, NotProvided, Op, Result, TTLConfig
from langgraph.store.base.batch import AsyncBatchedBaseStore

from hansard import _async_langgraph_calls, _sync_langgraph_calls
from hansard._async_client import AsyncHansard
from hansard._document_requests import DocumentOwnerIds
from hansard._langgraph_store_values import check_value
from hansard._sync_client import Hansard


class HansardStore(BaseStore):
    """A store for `graph.compile(store=…)`. Its asynchronous methods run in threads.

    Items are documents of the client's agent, or those of one user or session. `ttl` sets `default_ttl` in minutes and
    `refresh_on_read`; expired items are not read, and the deployment deletes them.
    """

    supports_ttl = True

    def __init__(
        self,
        client: Hansard,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__()
        self.ttl_config = ttl
        self._client = client
        self._owner: DocumentOwnerIds = {"user_id": user_id, "session_id": session_id}

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Executes operations: first the reads, then the changes, at most 16 at once. The results have their order."""
        return _sync_langgraph_calls.execute(self._client, self._owner, ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Executes operations in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))


class AsyncHansardStore(AsyncBatchedBaseStore):
    """The store of an asynchronous client. Create it where the event loop runs.

    Calls of one moment are one batch. Its blocking methods work in other threads than that of the event loop.
    """

    supports_ttl = True

    def __init__(
        self,
        client: AsyncHansard,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__()
        self.ttl_config = ttl
        self._client = client
        self._owner: DocumentOwnerIds = {"user_id": user_id, "session_id": session_id}

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Executes operations: first the reads, then the changes, at most 16 at once. The results have their order."""
        return await _async_langgraph_calls.execute(self._client, self._owner, ops)

    async def aput(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Records an item; the value `None` deletes it."""
        # Checked before it becomes a part of a batch: an error of a batch is raised in each of its calls.
        check_value(namespace, key, value)
        await super().aput(namespace, key, value, index, ttl=ttl)
