# `generate.py sync` makes the blocking form of this file.
"""The conversation of a thread of LangGraph: its creation, its commits, and its erasure, after which there is another one."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from langgraph.checkpoint.serde.base import SerializerProtocol

from hansard import _langgraph_names as names
from hansard._async_client import AsyncHansard
from hansard._langgraph_cache import UNKNOWN, ThreadCache, ThreadCaches
from hansard.errors import HansardError, NotFound, VersionConflict
from hansard.results import Document
from hansard.types import CommitResult, Event, OpenCall

# Attempts of a change, while others change the thread.
RACES_MAX = 50
# The members of a conversation's metadata that have its thread, and the number of deletions before it.
THREAD_ID, GENERATION = "langgraph_thread_id", "langgraph_generation"


class AsyncThreadConversation:
    """The conversation of a thread. `user_id` owns it; without one, the thread does, as a session."""

    def __init__(
        self, client: AsyncHansard, caches: ThreadCaches, serde: SerializerProtocol, user_id: str | None, thread_id: str
    ) -> None:
        self._client = client
        self._caches = caches
        self._serde = serde
        self._user_id = user_id
        self.thread_id = thread_id
        self.cache = caches.get(thread_id, lambda: self._cache(0))
        self._since = self.cache.facts("")

    async def append(self, events: Sequence[Event]) -> CommitResult:
        """Appends events as one commit, after creating the conversation if there is none."""
        for _ in range(RACES_MAX):
            if not self.cache.exists:
                await self.create()
                continue
            try:
                return await self._client.append(self.cache.conversation_id, events=events)
            except HansardError as error:
                await self._after(error)
        raise self.too_many_races()

    async def create(self) -> None:
        """Creates the conversation, unless there is one."""
        cache = self.cache
        try:
            result = await self._client.create_conversation(
                cache.conversation_id,
                user_id=self._user_id,
                session_id=None if self._user_id is not None else self.thread_id,
                metadata={THREAD_ID: self.thread_id, GENERATION: cache.generation},
            )
        except HansardError as error:
            await self._after(error)
            if error.reason == "CONVERSATION_EXISTS":
                await self._follow(cache)
        else:
            cache.created(result)

    async def open_calls(self) -> Sequence[OpenCall]:
        """The calls without a result."""
        try:
            return (await self._client.get_conversation(self.cache.conversation_id)).open_calls
        except NotFound:
            return ()

    def too_many_races(self) -> VersionConflict:
        """The error after the last attempt."""
        message = f"others changed the thread during all {RACES_MAX} attempts: try again"
        return VersionConflict(message, reason="TOO_MANY_RACES")

    async def current_version(self) -> int:
        """The version of the conversation."""
        return (await self._client.get_conversation(self.cache.conversation_id)).version

    async def erase(self) -> None:
        """Erases the conversation. The next write starts another one."""
        await self._changed_generation()
        try:
            await self._client.erase(self.cache.conversation_id)
        except HansardError as error:
            if error.reason not in ("CONVERSATION_NOT_FOUND", "CONVERSATION_ERASED"):
                raise
        self._caches.forget(self.thread_id)

    async def _follow(self, cache: ThreadCache) -> None:
        """Learns the version of a conversation that exists. One that was erased exists too, and has none."""
        try:
            cache.moved(await self.current_version())
        except NotFound:
            await self._next_generation()

    async def _after(self, error: HansardError) -> None:
        """Prepares the next attempt after an error, if another one may succeed."""
        if error.reason == "CONVERSATION_EXISTS":
            self.cache.exists = True
        elif error.reason == "CONVERSATION_ERASED":
            await self._next_generation()
        elif error.reason == "CONVERSATION_NOT_FOUND" and self.cache.exists:
            self.cache.exists = False
        else:
            raise error

    async def _changed_generation(self) -> bool:
        """Whether the thread has another conversation than the known one."""
        return self._has_generation(await self._generation())

    async def _next_generation(self) -> None:
        """Goes to the conversation after an erased one."""
        found = await self._generation()
        if self._has_generation(found):
            return
        namespace, key = names.generation(self._client.agent_id, self._user_id, self.thread_id)
        value = {"generation": self.cache.generation + 1}
        # Another process may be faster.
        with contextlib.suppress(VersionConflict):
            await self._client.put_document(namespace, key, value, expected_version=found.version if found is not None else 0)
        await self._changed_generation()

    async def _generation(self) -> Document | None:
        namespace, key = names.generation(self._client.agent_id, self._user_id, self.thread_id)
        return await self._client.get_document(namespace, key)

    def _has_generation(self, found: Document | None) -> bool:
        generation = int(found.value["generation"]) if found is not None else 0
        if generation <= self.cache.generation:
            return False
        self.cache = self._caches.replace(self.thread_id, self.cache, self._cache(generation))
        self._since = UNKNOWN
        return True

    def _cache(self, generation: int) -> ThreadCache:
        conversation_id = names.conversation(self._client.agent_id, self._user_id, self.thread_id, generation)
        return ThreadCache(conversation_id, generation)
