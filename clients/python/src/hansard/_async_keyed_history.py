# `generate.py sync` makes the blocking form of this file.
"""The history of a key for nodes of graphs: the asynchronous form."""

from __future__ import annotations

import inspect
import logging
import time
from asyncio import sleep
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from langchain_core.messages import convert_to_messages
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from hansard._async_client import AsyncHansard
from hansard._history_keys import resolve
from hansard._history_messages import LoadedHistory, Thread, added_messages, variables_of
from hansard._history_metrics import HistoryMetrics
from hansard._history_settings import MESSAGES_MAX, HistorySettings
from hansard._ids import uuid7
from hansard.errors import HansardError, RateLimited, Unavailable
from hansard.types import LoadHistoryResponse, RecordHistoryResponse

log = logging.getLogger("hansard.langgraph")
# Warnings of the service after which the same call may succeed.
TRANSIENT = {"HISTORY_UNAVAILABLE", "CONFLICT"}


class AsyncKeyedHistory:
    """Reads and records the history of a chat under a key. It never raises an error of the service.

    Without a valid key or without the service, messages are those of the state, and a warning is logged.
    """

    def __init__(self, client: AsyncHansard, settings: HistorySettings) -> None:
        self._client = client
        self._settings = settings
        self._metrics = HistoryMetrics()

    def node(self, node: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """A node that reads the history in its state, and whose new messages are recorded.

        The state of the graph keeps its own messages. The node may have the parameters `config` and `runtime`.
        """
        passed = {"config", "runtime"} & inspect.signature(node).parameters.keys()
        field = self._settings.value_field

        async def run(state: Mapping[str, Any], config: RunnableConfig, runtime: Runtime[Any]) -> Any:
            given = {name: value for name, value in (("config", config), ("runtime", runtime)) if name in passed}
            if not self._settings.enabled:
                return await node(state, **given)
            current: list[Any] = list(state.get(field) or ())
            loaded = await self.load(current, variables_of(state, config))
            update = await node({**state, field: loaded.messages}, **given)
            await self.record(loaded, [*current, *added_messages(update, field)])
            return update

        run.__name__, run.__doc__ = getattr(node, "__name__", "node"), node.__doc__
        return run

    async def load(self, messages: Iterable[Any], variables: Mapping[str, Any]) -> LoadedHistory:
        """Merges the history of the key with messages: the newest turns, oldest first."""
        messages = convert_to_messages(list(messages))
        if not self._settings.enabled:
            return LoadedHistory(messages)
        thread = Thread.of(messages)
        resolution = resolve(self._settings.keys, variables)
        if resolution.key is None:
            self._metrics.key_failed()
            log.warning("no history key: %s; continuing with the messages of the state", ", ".join(resolution.refused))
            return LoadedHistory(thread.newest(self._settings.messages_max))
        response = await self._load(resolution.key, thread)
        if response is None:
            return LoadedHistory(thread.newest(self._settings.messages_max), resolution.key)
        if response.truncated:
            self._metrics.truncated()
        return LoadedHistory(thread.merged(response.messages), resolution.key, response.version)

    async def record(self, loaded: LoadedHistory, messages: Iterable[Any]) -> int:
        """Records the turns that the history does not have, and returns their number."""
        turns = [turn.recorded for turn in Thread.of(list(messages)).turns][-MESSAGES_MAX:]
        if not self._settings.enabled or loaded.key is None or not turns:
            return 0
        key, version, idempotency_keys = loaded.key, loaded.version, [uuid7()]

        async def attempt() -> RecordHistoryResponse:
            response = await self._client.record_history(
                key,
                turns,
                namespace=self._settings.namespace,
                loaded_version=version,
                idempotency_key=idempotency_keys[-1],
                timeout=self._settings.timeout,
            )
            if any(warning.code == "CONFLICT" for warning in response.warnings):
                # A part may be recorded: the next attempt is another record.
                idempotency_keys.append(uuid7())
            return response

        response = await self._retried("record", attempt)
        return response.appended_count if response is not None else 0

    async def _load(self, key: str, thread: Thread) -> LoadHistoryResponse | None:
        turns = [turn.recorded for turn in thread.turns][-MESSAGES_MAX:]

        async def attempt() -> LoadHistoryResponse:
            return await self._client.load_history(
                key,
                turns,
                namespace=self._settings.namespace,
                messages_max=self._settings.messages_max,
                timeout=self._settings.timeout,
            )

        response: LoadHistoryResponse | None = await self._retried("load", attempt)
        return response

    async def _retried(self, operation: str, attempt: Callable[[], Awaitable[Any]]) -> Any:
        """The response without warnings. `None`: it failed at each attempt, or cannot succeed."""
        started_at = time.monotonic()
        reason = ""
        for number in range(1, self._settings.attempts_max + 1):
            try:
                response = await attempt()
                reason = next((str(warning.code) for warning in response.warnings), "")
                is_transient = reason in TRANSIENT
            except HansardError as error:
                response, reason = None, error.reason or type(error).__name__
                is_transient = isinstance(error, (Unavailable, RateLimited))
            if not reason:
                self._metrics.ended(operation, "ok", started_at)
                return response
            if not is_transient or number == self._settings.attempts_max:
                break
            await sleep(self._settings.backoff * 2 ** (number - 1))
        self._metrics.ended(operation, reason, started_at)
        log.warning("the %s of a history failed: %s; continuing without it", operation, reason)
        return None
