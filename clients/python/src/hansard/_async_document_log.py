# `generate.py sync` makes the blocking form of this file.
"""A conversation as a log of a framework's documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hansard._async_client import AsyncHansard
from hansard._documents import Document, Format, pack, unpack, with_open_calls
from hansard.errors import Conflict, HansardError, NotFound, VersionConflict
from hansard.types import Event, HistoryRewound

# Bounds of one commit: the service allows 500 events, and 8 MB as deployed.
EVENTS_MAX, BYTES_MAX = 499, 3 * 1024 * 1024
# Attempts of a change that depends on the newest document, while others change the conversation.
RACES_MAX = 20
# The version of a conversation's creation.
CREATED = 1
# Documents with their events.
_Commit = list[tuple[Any, list[Event]]]
OPEN_CALL_REASONS = {"TOOL_CALL_NOT_OPEN", "TOOL_CALL_ALREADY_OPEN", "TOOL_MISMATCH", "TOO_MANY_OPEN_CALLS"}


class AsyncDocumentLog:
    """Documents of one conversation, which the first append creates for its owner."""

    def __init__(
        self,
        client: AsyncHansard,
        format: Format,
        conversation_id: str,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._client = client
        self._format = format
        self._owner = (user_id, session_id)
        self._metadata = metadata
        self.conversation_id = conversation_id

    async def append(self, documents: Sequence[Any], *, expected_version: int | None = None) -> None:
        """Appends documents, in order. Up to 499 events are one commit: all of them or none."""
        for commit in _commits(self._format, documents):
            version = await self._append(commit, [], expected_version)
            expected_version = None if expected_version is None else version

    async def replace(self, documents: Sequence[Any]) -> None:
        """Replaces all documents. The record keeps the previous ones."""
        await self._replace_after(CREATED, documents, None)

    async def documents(self, limit: int | None = None, *, at_version: int = 0) -> list[Document]:
        """Returns the newest documents, oldest first."""
        if limit == 0:
            return []
        # A document may have several events, and the oldest event may be in the middle of one.
        events_max = None if limit is None else limit + 8
        while True:
            try:
                events = await self._client.history(self.conversation_id, events_max, at_version=at_version)
            except NotFound:
                return []
            documents = unpack(self._format, events)
            is_whole = events_max is None or len(events) < events_max
            if limit is None or len(documents) > limit or is_whole:
                return documents if limit is None else documents[-limit:]
            events_max = 2 * len(events)

    async def pop(self) -> Document | None:
        """Removes the newest document, and returns it. The record keeps it."""
        for attempt in range(1, RACES_MAX + 1):
            try:
                version = (await self._client.get_conversation(self.conversation_id)).version
            except NotFound:
                return None
            documents = await self.documents(1)
            if not documents:
                return None
            try:
                to_version = documents[-1].first_version - 1
                await self._client.rewind(self.conversation_id, to_version, expected_version=version)
            except VersionConflict:
                if attempt == RACES_MAX:
                    raise
                continue
            return documents[-1]
        raise AssertionError("unreachable")

    async def remove(self, index: int) -> Document | None:
        """Removes one document, and returns it. The later ones are recorded again."""
        for attempt in range(1, RACES_MAX + 1):
            try:
                version = (await self._client.get_conversation(self.conversation_id)).version
            except NotFound:
                return None
            documents = await self.documents()
            if not -len(documents) <= index < len(documents):
                return None
            removed, later = documents[index], documents[index:][1:]
            try:
                await self._replace_after(removed.first_version - 1, [document.value for document in later], version)
            except VersionConflict:
                if attempt == RACES_MAX:
                    raise
                continue
            return removed
        raise AssertionError("unreachable")

    async def clear(self) -> None:
        """Removes all documents. The record keeps them; the log can be used again."""
        try:
            await self._client.rewind(self.conversation_id, CREATED)
        except NotFound:
            return

    async def _replace_after(self, version: int, documents: Sequence[Any], expected_version: int | None) -> None:
        rewound = [Event(history_rewound=HistoryRewound(to_version=version))]
        for commit in list(_commits(self._format, documents)) or [[]]:
            await self._append(commit, rewound, expected_version)
            rewound, expected_version = [], None

    async def _append(self, commit: _Commit, before: list[Event], expected_version: int | None) -> int:
        """Appends the documents of one commit after other events, and returns the version."""
        documents, groups = [document for document, _ in commit], [events for _, events in commit]
        for attempt in range(1, RACES_MAX + 1):
            events = [*before, *(event for group in groups for event in group)]
            try:
                return await self._append_or_create(events, expected_version)
            except Conflict as error:
                if error.reason not in OPEN_CALL_REASONS or attempt == RACES_MAX:
                    raise
            open_calls = (await self._client.get_conversation(self.conversation_id)).open_calls
            # The calls that are open after a rewind are not known.
            groups = with_open_calls(self._format, documents, groups, [] if before else open_calls)
        raise AssertionError("unreachable")

    async def _append_or_create(self, events: list[Event], expected_version: int | None) -> int:
        append = self._client.append
        try:
            return (await append(self.conversation_id, events=events, expected_version=expected_version)).version
        except NotFound as error:
            if error.reason != "CONVERSATION_NOT_FOUND":
                raise
        await self._create()
        return (await append(self.conversation_id, events=events, expected_version=expected_version)).version

    async def _create(self) -> None:
        user_id, session_id = self._owner
        try:
            await self._client.create_conversation(
                self.conversation_id, user_id=user_id, session_id=session_id, metadata=self._metadata
            )
        except HansardError as error:
            # Another process was faster.
            if error.reason != "CONVERSATION_EXISTS":
                raise


def _commits(format: Format, documents: Sequence[Any]) -> Iterator[_Commit]:
    """The documents of each commit."""
    commit: _Commit = []
    events_count = bytes_count = 0
    for document in documents:
        events = pack(format, document)
        size = sum(event.ByteSize() for event in events)
        if commit and (events_count + len(events) > EVENTS_MAX or bytes_count + size > BYTES_MAX):
            yield commit
            commit, events_count, bytes_count = [], 0, 0
        commit.append((document, events))
        events_count, bytes_count = events_count + len(events), bytes_count + size
    if commit:
        yield commit
