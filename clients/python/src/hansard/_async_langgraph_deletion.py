# `generate.py sync` makes the blocking form of this file.
"""Deletes checkpoints of a thread with their writes and values, and copies writes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

from hansard import _langgraph_names as names
from hansard._async_langgraph_conversation import RACES_MAX
from hansard._async_langgraph_thread import AsyncThread
from hansard._langgraph_commits import latest_events
from hansard._langgraph_documents import base_key, delete_event, put_event
from hansard._langgraph_draft import chunks
from hansard._langgraph_names import Name
from hansard._langgraph_records import CREATED, HIDDEN, CheckpointRecord, Latest, decode
from hansard.errors import VersionConflict
from hansard.types import Event, HistoryRewound

# Members of the metadata of graphs with a channel that a checkpoint does not contain whole.
DELTA_MEMBERS = ("counters_since_delta_snapshot", "delta_writes_versioned")


@dataclasses.dataclass(frozen=True)
class Scan:
    """The live documents of a thread."""

    names: list[Name]
    #: The checkpoints with the versions of their documents.
    records: list[tuple[CheckpointRecord, int]]


async def keep_latest(thread: AsyncThread, serde: SerializerProtocol) -> None:
    """Deletes all checkpoints but the latest one of each namespace."""
    scan = await _scan(thread)
    metadata: Iterable[Mapping[str, Any]] = (decode(serde, record.metadata) for record, _ in scan.records)
    if any(member in one for one in metadata for member in DELTA_MEMBERS):
        raise NotImplementedError(f"the thread {thread.thread_id} has a DeltaChannel, which needs earlier checkpoints")
    last: dict[str, str] = {}
    for record, _ in scan.records:
        last[record.namespace] = max(last.get(record.namespace, ""), record.checkpoint_id)
    await _delete(thread, scan, lambda record: record.checkpoint_id < last[record.namespace])


async def delete_runs(thread: AsyncThread, run_ids: Collection[str]) -> None:
    """Deletes the checkpoints of runs. The history of the conversation becomes that of the latest remaining one."""
    if not await thread.has_runs(run_ids):
        return
    for _ in range(RACES_MAX):
        version, root = await thread.known_latest("")
        scan = await _scan(thread)
        events = _latest_after(scan, root, run_ids)
        try:
            if events:
                await thread.append_at(version, events)
            await _delete(thread, scan, lambda record: record.run_id in run_ids)
            return
        except VersionConflict:
            continue
    raise thread.too_many_races()


async def copy_writes(source: AsyncThread, target: AsyncThread) -> None:
    """Copies the pending writes of all checkpoints of a thread."""
    changes = [change async for change in source.documents() if change.name[0][1] == names.WRITES]
    copies = [[put_event(name, value)] for name, value, _ in reversed(changes) if value is not None]
    for chunk in chunks(copies) if copies else []:
        target.cache.committed(await target.append(chunk))
    target.cache.forget()


async def _scan(thread: AsyncThread) -> Scan:
    scan = Scan([], [])
    async for name, value, version in thread.documents():
        scan.names.append(name)
        record = await thread.record_of(name, value) if value is not None and name[0][1] == names.CHECKPOINTS else None
        if record is not None:
            scan.records.append((record, version))
    return scan


def _latest_after(scan: Scan, root: Latest, run_ids: Collection[str]) -> list[Event]:
    """The events that make the latest remaining checkpoint of each namespace the latest one."""
    events: list[Event] = []
    for checkpoint_ns in {record.namespace for record, _ in scan.records}:
        own = [(record, version) for record, version in scan.records if record.namespace == checkpoint_ns]
        kept = [one for one in own if one[0].run_id not in run_ids]
        last, _ = max(own, key=lambda one: one[0].checkpoint_id)
        if last.run_id not in run_ids:
            continue
        record, version = max(kept, key=lambda one: one[0].checkpoint_id, default=(None, 0))
        latest = Latest(record.checkpoint_id if record else None, version)
        if not checkpoint_ns:
            ranges = (record.messages if record else None) or [(CREATED, CREATED)]
            tail = ranges[-1][1]
            latest = dataclasses.replace(latest, tail=tail, after_tail=root.after_tail)
            if tail != root.tail:
                events.insert(0, Event(history_rewound=HistoryRewound(to_version=tail)))
                latest = dataclasses.replace(latest, after_tail=HIDDEN)
        events += latest_events(checkpoint_ns, latest)
    return events


async def _delete(thread: AsyncThread, scan: Scan, is_deleted: Callable[[CheckpointRecord], bool]) -> None:
    """Deletes checkpoints with their writes, and the values that no other checkpoint has."""
    deleted = [record for record, _ in scan.records if is_deleted(record)]
    kept = [record for record, _ in scan.records if not is_deleted(record)]
    bases = {names.checkpoint(record.namespace, record.checkpoint_id) for record in deleted}
    bases |= _values(deleted) - _values(kept)
    writes = {names.writes(record.namespace, record.checkpoint_id) for record in deleted}
    events = [delete_event(name) for name in scan.names if name[0] in writes or (name[0], base_key(name[1])) in bases]
    for chunk in chunks([[event] for event in events]) if events else []:
        await thread.append(chunk)
    thread.cache.forget()


def _values(records: Iterable[CheckpointRecord]) -> set[Name]:
    return {names.value(record.namespace, key) for record in records for key in record.keys.values()}
