# `generate.py sync` makes the blocking form of this file.
"""Records a checkpoint with its new messages: as one commit, unless they are too large for one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from langgraph.checkpoint.serde.base import SerializerProtocol

from hansard._async_document_log import OPEN_CALL_REASONS
from hansard._async_langgraph_conversation import RACES_MAX
from hansard._async_langgraph_thread import AsyncThread
from hansard._documents import pack, with_open_calls
from hansard._langgraph_commits import MessageCommits, last_commit, latest_events
from hansard._langgraph_draft import BYTES_MAX, EVENTS_MAX, Draft, chunks, with_messages_as_value
from hansard._langgraph_messages import Change, StateMessageFormat, change, document_of, is_message
from hansard._langgraph_records import CheckpointRecord, Latest
from hansard.errors import Conflict, VersionConflict
from hansard.types import CommitResult, Event, OpenCall

# The reason of a conflict with the deletion of a thread.
ERASED = "CONVERSATION_ERASED"


async def put_checkpoint(thread: AsyncThread, serde: SerializerProtocol, draft: Draft, parent: CheckpointRecord | None) -> None:
    """Records a checkpoint. Others may change the thread meanwhile.

    `VersionConflict` with the reason `CONVERSATION_ERASED`: the thread was deleted meanwhile, with the parent.
    """
    open_calls: Iterable[OpenCall] | None = None
    for _ in range(RACES_MAX):
        version, latest = await thread.known_latest(draft.record.namespace)
        is_latest = draft.record.checkpoint_id >= (latest.checkpoint_id or "")
        if not is_latest:
            # The history of the conversation is that of the latest checkpoint.
            draft = with_messages_as_value(serde, draft)
        planned = await _planned(thread, draft, parent, latest)
        if planned is None or not all(map(is_message, planned.new)):
            draft, planned = with_messages_as_value(serde, draft), None
        try:
            await _record_large_values(thread, draft)
            if planned is None:
                await _record_checkpoint(thread, draft, version, latest if is_latest else None)
            else:
                commits = MessageCommits(draft, planned, latest, _groups(serde, planned, open_calls))
                await _record_messages(thread, version, commits)
            return
        except VersionConflict as error:
            if error.reason == ERASED:
                raise
        except Conflict as error:
            if error.reason not in OPEN_CALL_REASONS:
                raise
            open_calls = await thread.open_calls()
    raise thread.too_many_races()


async def _record_large_values(thread: AsyncThread, draft: Draft) -> None:
    """Records the large values before the checkpoint, if they have no room beside it. Until then nothing refers to them."""
    events = draft.value_events
    if len(events) < EVENTS_MAX // 2 and sum(event.ByteSize() for event in events) < BYTES_MAX // 2:
        return
    for chunk in chunks([[event] for event in events]):
        thread.cache.committed(await thread.append(chunk))
    draft.value_events = []


async def _record_checkpoint(thread: AsyncThread, draft: Draft, version: int, latest: Latest | None) -> None:
    """Records a checkpoint without messages. Without `latest`, a later checkpoint remains the latest one."""
    commit = last_commit(draft, latest, None, version)
    result = await thread.append_at(version, commit.events)
    made = commit.latest and dataclasses.replace(commit.latest, version=result.version)
    thread.cache.put(result, version, (commit.record.namespace, made) if made else None)
    thread.begin(commit.record, made.checkpoint_version if made else result.version, version)


async def _planned(thread: AsyncThread, draft: Draft, parent: CheckpointRecord | None, latest: Latest) -> Change | None:
    """The change from the messages of the parent. `None`: the draft has none."""
    messages = draft.messages
    if messages is None:
        return None
    ranges = (parent.messages if parent else None) or ()
    await thread.load(ranges)
    return thread.cache.with_log(lambda log: change(log, ranges, messages, latest))


def _groups(serde: SerializerProtocol, planned: Change, open_calls: Iterable[OpenCall] | None) -> list[list[Event]]:
    """The events of each new message. `open_calls` are those of the conversation, if the service has rejected the events."""
    format, documents = StateMessageFormat(), [document_of(serde, message) for message in planned.new]
    groups = [pack(format, document) for document in documents]
    if open_calls is None:
        return groups
    to_version = planned.rewind_to
    still_open = [call for call in open_calls if to_version is None or call.version <= to_version]
    return with_open_calls(format, documents, groups, still_open)


async def _record_messages(thread: AsyncThread, version: int, commits: MessageCommits) -> None:
    """Records a checkpoint after its new messages."""
    earlier, body = commits.events()
    versions: list[int] = []
    unfinished: Latest | None = None
    for part in earlier:
        events = part if unfinished else [*part, *latest_events("", commits.unfinished())]
        result, before = await _append_after(thread, version, unfinished, _same(events))
        versions += _versions(before, part)
        unfinished = unfinished or dataclasses.replace(commits.unfinished(), version=result.version)
        thread.cache.put(result, before, ("", unfinished))
        version = result.version

    def all_versions(before: int) -> list[int]:
        return [*versions, *_versions(before, body)]

    def last_events(before: int) -> list[Event]:
        return commits.last(all_versions(before), body, before).events

    result, before = await _append_after(thread, version, unfinished, last_events)
    commit = commits.last(all_versions(before), body, before)
    assert commit.latest is not None
    thread.cache.put(result, before, ("", dataclasses.replace(commit.latest, version=result.version)))
    thread.begin(commit.record, commit.latest.checkpoint_version, before)
    if recorded := commits.recorded(all_versions(before)):
        thread.cache.add_messages(*recorded)


async def _append_after(
    thread: AsyncThread, version: int, unfinished: Latest | None, events: Callable[[int], Sequence[Event]]
) -> tuple[CommitResult, int]:
    """Appends the events for a version, and returns the version before them.

    After the first of several commits, others may record pending writes between them, but no checkpoint.
    """
    for _ in range(RACES_MAX):
        try:
            return await thread.append_at(version, events(version)), version
        except VersionConflict as error:
            version, latest = await thread.known_latest("")
            if unfinished is None or error.reason == ERASED or latest.version != unfinished.version:
                raise
    raise thread.too_many_races()


def _same(events: Sequence[Event]) -> Callable[[int], Sequence[Event]]:
    """The same events after any version."""
    return lambda _: events


def _versions(version: int, events: Sequence[Event]) -> list[int]:
    """The versions of events after a version."""
    first = version + 1
    return list(range(first, first + len(events)))
