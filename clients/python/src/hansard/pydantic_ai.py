"""Conversations of Pydantic AI. Needs `hansard[pydantic-ai]`.

store = HansardConversationStore(AsyncHansard("grpc://127.0.0.1:7302", token))
conversation = await store.load("c-1") or Conversation(conversation_id="c-1")
result = await agent.run("Where is my parcel?", conversation=conversation)
await store.save(result)
"""

from __future__ import annotations

import dataclasses
import time
from collections import OrderedDict
from collections.abc import Sequence

from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)

from hansard._async_client import AsyncHansard
from hansard._async_document_log import CREATED, OPEN_CALL_REASONS, RACES_MAX, AsyncDocumentLog
from hansard._documents import Document, pack, unpack, with_open_calls
from hansard._ids import derived, time_of
from hansard._pydantic_commit import TOPIC, Save, StoredRecord, deleted, rewound
from hansard._pydantic_messages import EntryFormat
from hansard._pydantic_places import Places
from hansard.errors import Conflict, NotFound, VersionConflict
from hansard.types import Event, EventKind, ForkPoint

# The member of a conversation's metadata that names it.
NAME = "pydantic_ai_conversation_id"
# How long a listing may miss a conversation that this store has written, in seconds.
LISTING_LAG = 60.0
# Conversations whose state is kept from the read to the write of a save, the latest ones.
STATES_MAX = 256
_ENTRY_KINDS = [
    EventKind.EVENT_KIND_MESSAGE_APPENDED,
    EventKind.EVENT_KIND_TOOL_CALLED,
    EventKind.EVENT_KIND_TOOL_RETURNED,
]

_FORMAT = EntryFormat()


@dataclasses.dataclass(frozen=True)
class _State:
    """A conversation as it is recorded."""

    #: `None`: it does not exist.
    version: int | None = None
    #: `None`: it does not exist, or is deleted.
    record: ConversationRecord | None = None

    @property
    def revision(self) -> str | None:
        """The revision of the record."""
        return None if self.record is None else self.record.revision


class HansardConversationStore(ConversationStore):
    """A store whose conversations are conversations of Hansard.

    A save is one commit, and compares and sets the revision. Messages are recorded once: a branch is a rewind, a fork is a fork
    of the conversation. So contexts and pages of Hansard show the history that the record's head names. The scope of a
    conversation is the user who owns it; without one, `session_id` does.

    `delete` hides a conversation and its entries; the record keeps them, and the id can be used again.
    `AsyncHansard.erase(store.hansard_id(conversation_id))` erases them permanently, and the id cannot be used again.
    """

    def __init__(self, client: AsyncHansard, *, session_id: str = "pydantic-ai") -> None:
        self._client = client
        self._session_id = session_id
        self._places = Places()
        # Conversations that this store has written, with the time.
        self._written: OrderedDict[str, float] = OrderedDict()
        # What `read_record` has returned, for the write that follows it. The commit compares the version.
        self._states: OrderedDict[str, _State] = OrderedDict()

    def hansard_id(self, conversation_id: str) -> str:
        """The id of the conversation in Hansard."""
        return derived("pydantic-ai", self._client.agent_id, conversation_id)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """The record for a conversation, or `None` if the store doesn't have it."""
        home = self.hansard_id(conversation_id)
        state = await self._state(home)
        self._states[home] = state
        if len(self._states) > STATES_MAX:
            self._states.popitem(last=False)
        # The caller may change its copy.
        return None if state.record is None else dataclasses.replace(state.record)

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """The stored records, or those with the given scope, newest `updated_at` first, and at most `limit` of them."""
        found: dict[str, ConversationRecord] = {}
        for home in self._recently_written():
            await self._add_record(found, home, scope)
        listed = 0
        async for conversation in self._client.list_conversations(user_id=scope):
            if limit is not None and listed >= limit:
                break
            if conversation.conversation_id in found:
                listed += 1
            elif f'"{NAME}"' in conversation.metadata_json:
                listed += await self._add_record(found, conversation.conversation_id, scope)
        records = sorted(found.values(), key=lambda record: record.updated_at, reverse=True)
        return records[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Stores a record and its new entries as one commit, replacing the record with `expected_revision`."""
        home = self.hansard_id(record.conversation_id)
        for attempt in range(1, RACES_MAX + 1):
            state = self._states.pop(home, None)
            if state is None or state.revision != expected_revision:
                state = await self._state(home)
            if state.revision != expected_revision:
                raise ConversationConflict(record.conversation_id)
            try:
                await self._write(home, state, record, new_entries)
            except KeyError:
                # Neither the store nor the new entries have an entry that the record names.
                raise ConversationConflict(record.conversation_id) from None
            except Conflict as error:
                # Somebody else was faster: with another event, or with another record.
                is_race = isinstance(error, VersionConflict) or error.reason == "CONVERSATION_EXISTS"
                if not is_race or attempt == RACES_MAX:
                    raise
                continue
            return

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Deletes a conversation's record. Its entries stay in the record of Hansard, for the forks that share them."""
        home = self.hansard_id(conversation_id)
        for attempt in range(1, RACES_MAX + 1):
            state = await self._state(home)
            if state.revision != expected_revision:
                raise ConversationConflict(conversation_id)
            try:
                await self._client.append(home, events=[rewound(CREATED), deleted()], expected_version=state.version)
            except VersionConflict:
                if attempt == RACES_MAX:
                    raise
                continue
            return

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """The entry with this identifier."""
        return (await self.read_history(entry_id, limit=1))[-1]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """The entries from the first one up to `head_id`, in order, or only the last `limit` of them."""
        if head_id is None:
            return []
        home = self._places.home_of(head_id) or await self._find_home(head_id)
        version = None if home is None else await self._version_in(home, head_id)
        if home is None or version is None:
            raise KeyError(head_id)
        documents = await self._log(home).documents(limit, at_version=version)
        return [self._entry(home, document) for document in documents]

    # The commit of a save.

    async def _write(
        self, home: str, state: _State, record: ConversationRecord, new_entries: Sequence[ConversationEntry]
    ) -> None:
        entries = list(new_entries)
        # The entry of the store that the save continues from.
        base_id = entries[0].parent_id if entries else record.head_id
        fork = None
        if base_id is not None and await self._version_in(home, base_id, is_known=state.version is None) is None:
            fork = await self._fork_point(record, base_id) if state.version is None else None
            if fork is None:
                # The entries of another conversation are recorded again if it cannot be forked.
                entries = [*await self.read_history(base_id), *entries]
        tip = base_id if fork else None if state.record is None else state.record.head_id
        documents = [_FORMAT.document(entry) for entry in entries]
        groups = [pack(_FORMAT, document) for document in documents]
        try:
            await self._commit(home, Save(state.version, fork, tip), record, list(zip(entries, groups, strict=True)))
        except Conflict as error:
            if error.reason not in OPEN_CALL_REASONS:
                raise
            groups = with_open_calls(_FORMAT, documents, groups, [])
            await self._commit(home, Save(state.version, fork, tip), record, list(zip(entries, groups, strict=True)))

    async def _commit(
        self,
        home: str,
        save: Save,
        record: ConversationRecord,
        entries: Sequence[tuple[ConversationEntry, list[Event]]],
    ) -> None:
        for entry, events in entries:
            if entry.parent_id != save.tip:
                save.rewind(entry.parent_id, await self._version_of(home, save, entry.parent_id))
            save.add(entry.id, events)
        if record.head_id != save.tip:
            save.rewind(record.head_id, await self._version_of(home, save, record.head_id))
        tips = filter(None, [record.head_id, *record.branches])
        save.finish(StoredRecord(record, {tip: await self._version_of(home, save, tip) for tip in tips}))
        if save.version is None:
            await self._client.create_conversation(
                home,
                user_id=record.scope,
                session_id=self._session_id if record.scope is None else None,
                metadata={NAME: record.conversation_id},
                forked_from=save.fork,
                occurred_at=record.updated_at,
                events=save.events,
            )
        else:
            await self._client.append(home, events=save.events, expected_version=save.version)
        for entry_id, version in save.versions.items():
            self._places.remember(home, entry_id, version)
        self._written[home] = time.monotonic()

    async def _version_of(self, home: str, save: Save, entry_id: str | None) -> int:
        """The version that ends with an entry. The history of no entry ends with the creation."""
        if entry_id is None:
            return CREATED
        version = save.versions.get(entry_id) or await self._version_in(home, entry_id)
        if version is None:
            raise KeyError(entry_id)
        return version

    async def _fork_point(self, record: ConversationRecord, entry_id: str) -> ForkPoint | None:
        """Where a new conversation leaves the one that it is forked from. `None`: that one does not have the entry."""
        if record.forked_from is None:
            return None
        source = self.hansard_id(record.forked_from)
        version = await self._version_in(source, entry_id)
        return None if version is None else ForkPoint(conversation_id=source, version=version)

    # Reads.

    async def _state(self, home: str) -> _State:
        """A conversation with its latest record."""
        try:
            version = (await self._client.get_conversation(home)).version
        except NotFound:
            return _State()
        events = self._client.list_events(
            home, to_version=version, newest_first=True, kinds=[EventKind.EVENT_KIND_SYSTEM_NOTED], page_size=8
        )
        async for event in events:
            note = event.event.system_noted
            if note.topic == TOPIC:
                return _State(version, self._record(home, note.text))
        return _State(version)

    def _record(self, home: str, text: str) -> ConversationRecord | None:
        stored = StoredRecord.parse(text)
        if stored is None:
            return None
        for entry_id, version in stored.versions.items():
            self._places.remember(home, entry_id, version)
        return stored.record

    async def _add_record(self, found: dict[str, ConversationRecord], home: str, scope: str | None) -> bool:
        record = (await self._state(home)).record
        if record is None or (scope is not None and record.scope != scope):
            return False
        found[home] = record
        return True

    def _recently_written(self) -> list[str]:
        """The conversations that a listing may miss."""
        now = time.monotonic()
        for home, written_at in list(self._written.items()):
            if now - written_at > LISTING_LAG:
                del self._written[home]
        return list(self._written)

    def _log(self, home: str) -> AsyncDocumentLog:
        return AsyncDocumentLog(self._client, _FORMAT, home)

    def _entry(self, home: str, document: Document) -> ConversationEntry:
        entry = _FORMAT.entry(document.value)
        self._places.remember(home, entry.id, document.last_version)
        return entry

    async def _version_in(self, home: str, entry_id: str, *, is_known: bool = False) -> int | None:
        """The version of an entry's last event in a conversation. `None`: the conversation does not have the entry."""
        version = self._places.version_in(home, entry_id)
        if version is not None or is_known:
            return version
        try:
            events = [event async for event in self._client.list_events(home, kinds=_ENTRY_KINDS, page_size=1000)]
        except NotFound:
            return None
        for document in unpack(_FORMAT, events):
            self._entry(home, document)
        return self._places.version_in(home, entry_id)

    async def _find_home(self, entry_id: str) -> str | None:
        """The conversation of an entry that this store has not read yet: one that was active at the time of its id."""
        minted_at = time_of(entry_id)
        async for conversation in self._client.list_conversations():
            # A conversation has its entries before its last event.
            if conversation.last_event_at.seconds < minted_at - LISTING_LAG:
                return None
            if f'"{NAME}"' not in conversation.metadata_json:
                continue
            if await self._version_in(conversation.conversation_id, entry_id) is not None:
                return conversation.conversation_id
        return None
