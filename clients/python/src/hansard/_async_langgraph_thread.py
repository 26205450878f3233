# `generate.py sync` makes the blocking form of this file.
"""A thread of LangGraph: reads of its checkpoints, writes and messages, and commits at a known version."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from hansard import _langgraph_names as names
from hansard._async_langgraph_conversation import AsyncThreadConversation
from hansard._documents import unpack
from hansard._langgraph_cache import DocumentChange
from hansard._langgraph_documents import is_later_part, joined, part_key, parts_count
from hansard._langgraph_messages import StateMessageFormat, message_of
from hansard._langgraph_names import Name
from hansard._langgraph_pending import writes_values
from hansard._langgraph_records import CREATED, NO_LATEST, RUN_ID, CheckpointRecord, Latest, Range
from hansard.errors import HansardError, NotFound, VersionConflict
from hansard.types import CommitResult, Event, EventKind, RecordedEvent

# Most pending writes of a checkpoint, in calls and their parts, as the service allows.
WRITES_MAX = 10_000
MESSAGE_KINDS = [
    EventKind.EVENT_KIND_MESSAGE_APPENDED,
    EventKind.EVENT_KIND_TOOL_CALLED,
    EventKind.EVENT_KIND_TOOL_RETURNED,
]
DOCUMENT_KINDS = [EventKind.EVENT_KIND_DOCUMENT_PUT, EventKind.EVENT_KIND_DOCUMENT_DELETED]
PAGE_SIZE = 1_000
# Most changes of documents that are read after a known version. With more, the documents that are needed are read instead.
CHANGES_MAX = 200


class AsyncThread(AsyncThreadConversation):
    """A thread."""

    # Reads.

    async def refresh(self) -> bool:
        """Reads what others have recorded since the last read. `False`: there is too much, or nothing was read before."""
        cache = self.cache
        facts = cache.facts("")
        if facts.version is None:
            return False
        changes: list[DocumentChange] = []
        try:
            async for recorded in self._client.list_events(
                cache.conversation_id,
                from_version=facts.version + 1,
                kinds=DOCUMENT_KINDS,
                page_size=CHANGES_MAX,
                from_leader=True,
            ):
                changes.append(change_of(recorded))
                if len(changes) == CHANGES_MAX:
                    cache.forget()
                    return False
        except NotFound:
            cache.forget()
            return False
        return cache.apply(changes, facts.epoch)

    async def latest(self, checkpoint_ns: str) -> Latest:
        """The latest checkpoint of a namespace, including every earlier write of anybody."""
        known = self.cache.facts(checkpoint_ns).latest if await self.refresh() else None
        return await self._read_latest(checkpoint_ns) if known is None else known

    async def known_latest(self, checkpoint_ns: str) -> tuple[int, Latest]:
        """The version of the conversation, which is created if there is none, and the latest checkpoint at that version."""
        while True:
            facts = self.cache.facts(checkpoint_ns)
            if facts.latest is None:
                await self._read_latest(checkpoint_ns)
            elif facts.version is None:
                await self.create()
            else:
                return facts.version, facts.latest

    async def record(self, checkpoint_ns: str, checkpoint_id: str) -> CheckpointRecord | None:
        """A checkpoint, including every earlier write of anybody; `None`: there is none."""
        if await self.refresh():
            return await self.known_record(checkpoint_ns, checkpoint_id)
        return await self._read_record(checkpoint_ns, checkpoint_id)

    async def known_record(self, checkpoint_ns: str, checkpoint_id: str, version: int | None = None) -> CheckpointRecord | None:
        """A checkpoint that this process may know already."""
        known = self.cache.record(names.checkpoint(checkpoint_ns, checkpoint_id), version)
        return known or await self._read_record(checkpoint_ns, checkpoint_id)

    async def record_of(self, name: Name, value: dict[str, Any]) -> CheckpointRecord | None:
        """The checkpoint of a document. `None`: the document is a later part of one."""
        return None if is_later_part(value) else CheckpointRecord.of(await self._whole(name, value))

    async def has_runs(self, run_ids: Iterable[str]) -> bool:
        """Whether the thread has checkpoints of runs."""
        for run_id in run_ids:
            prefix, conversation_id = (names.ROOT, names.CHECKPOINTS), self.cache.conversation_id
            if await self._client.search_documents(prefix, filter={RUN_ID: run_id}, limit=1, conversation_id=conversation_id):
                return True
        return False

    async def large_value(self, checkpoint_ns: str, key: str) -> Sequence[str]:
        """The serialized form of a large value."""
        cache = self.cache
        name = names.value(checkpoint_ns, key)
        known = cache.value(name)
        if known is None:
            found = await self._client.get_document(*name, conversation_id=cache.conversation_id)
            if found is None:
                raise NotFound(
                    f"the value {key} of a checkpoint was deleted: read the checkpoint again", reason="VALUE_NOT_FOUND"
                )
            known = (await self._whole(name, found.value))["typed"]
            cache.add_value(name, known)
        return known

    async def messages(self, ranges: Sequence[Range]) -> list[Any]:
        """The messages of ranges of versions, as a new list. The process shares the messages themselves."""
        cache = self.cache
        await self.load(ranges)
        return cache.with_log(lambda log: log.messages(ranges))

    async def load(self, ranges: Sequence[Range]) -> None:
        """Reads the messages of ranges that are not known."""
        cache = self.cache
        for first, last in cache.with_log(lambda log: log.missing(ranges)):
            events = [
                event
                async for event in self._client.list_events(
                    cache.conversation_id, from_version=first, to_version=last, kinds=MESSAGE_KINDS, page_size=PAGE_SIZE
                )
            ]
            documents = unpack(StateMessageFormat(), events)
            recorded = [(one.first_version, one.last_version, message_of(self._serde, one.value)) for one in documents]
            cache.add_messages((first, last), recorded)

    async def writes(self, checkpoint_ns: str, checkpoint_id: str) -> list[dict[str, Any]]:
        """The pending writes of a checkpoint, by the calls that recorded them, the oldest call first."""
        namespace = names.writes(checkpoint_ns, checkpoint_id)
        cache = self.cache
        known = cache.writes(namespace)
        if known is None:
            epoch = cache.facts(checkpoint_ns).epoch
            found = await self._client.search_documents(namespace, limit=WRITES_MAX, conversation_id=cache.conversation_id)
            documents = {document.key: (document.version, document.value) for document in found}
            cache.add_writes(namespace, documents, epoch)
            known = writes_values(documents)
        return known

    async def documents(self) -> AsyncIterator[DocumentChange]:
        """Iterates over the documents of the conversation, the one with the last change first."""
        seen: set[Name] = set()
        try:
            async for recorded in self._client.list_events(self.cache.conversation_id, newest_first=True, kinds=DOCUMENT_KINDS):
                change = change_of(recorded)
                if change.name[0][0] == names.ROOT and change.name not in seen:
                    seen.add(change.name)
                    if change.value is not None:
                        yield change
        except NotFound:
            return

    # Commits.

    async def append_at(self, version: int, events: Sequence[Event]) -> CommitResult:
        """Appends events as one commit to a conversation with a version.

        `VersionConflict`: it has another version, which this process knows from then on.
        """
        cache = self.cache
        try:
            return await self._client.append(cache.conversation_id, events=events, expected_version=version)
        except VersionConflict as error:
            version = error.current_version or await self.current_version()
            if not await self.refresh() or (cache.facts("").version or 0) < version:
                cache.moved(version)
            raise
        except HansardError as error:
            await self._after(error)
            raise VersionConflict(str(error), reason=error.reason) from None

    def begin(self, record: CheckpointRecord, version: int, before: int) -> None:
        """Keeps a checkpoint that was recorded after a version. Its writes are known if all since the start of the call are."""
        if before == CREATED or self._since.version is not None:
            self.cache.begin(record, version, self._since)

    async def _read_latest(self, checkpoint_ns: str) -> Latest:
        while True:
            cache = self.cache
            epoch = cache.facts(checkpoint_ns).epoch
            found = await self._client.get_document(*names.latest(checkpoint_ns), conversation_id=cache.conversation_id)
            latest = NO_LATEST if found is None else Latest.of(found.value, found.version)
            # A namespace below the root may have none in a conversation that exists.
            if found is not None or (checkpoint_ns and cache.exists) or not await self._changed_generation():
                cache.add_latest(checkpoint_ns, latest, epoch)
                return latest

    async def _read_record(self, checkpoint_ns: str, checkpoint_id: str) -> CheckpointRecord | None:
        name = names.checkpoint(checkpoint_ns, checkpoint_id)
        while True:
            cache = self.cache
            epoch = cache.facts(checkpoint_ns).epoch
            found = await self._client.get_document(*name, conversation_id=cache.conversation_id)
            if found is not None:
                record = CheckpointRecord.of(await self._whole(name, found.value))
                cache.add_record(name, record, found.version, epoch)
                return record
            if not await self._changed_generation():
                return None

    async def _whole(self, name: Name, first: dict[str, Any]) -> dict[str, Any]:
        """The value of a document, with its later parts."""
        namespace, key = name
        parts = [first]
        for index in range(1, parts_count(first)):
            part = await self._client.get_document(namespace, part_key(key, index), conversation_id=self.cache.conversation_id)
            if part is None:
                raise NotFound(f"the document {key} was deleted: read the checkpoint again", reason="DOCUMENT_NOT_FOUND")
            parts.append(part.value)
        return joined(parts)


def change_of(recorded: RecordedEvent) -> DocumentChange:
    """The change of a document that an event records."""
    if recorded.event.WhichOneof("fact") == "document_put":
        put = recorded.event.document_put
        return DocumentChange((tuple(put.namespace), put.key), json.loads(put.value_json), recorded.version)
    deleted = recorded.event.document_deleted
    return DocumentChange((tuple(deleted.namespace), deleted.key), None, recorded.version)
