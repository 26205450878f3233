# `generate.py sync` makes the blocking form of this file.
"""Lists the checkpoints of a thread, and the threads of a saver."""

from __future__ import annotations

import json
from bisect import insort
from collections.abc import AsyncIterator

from hansard import _langgraph_names as names
from hansard._async_client import AsyncHansard
from hansard._async_langgraph_conversation import GENERATION, THREAD_ID
from hansard._async_langgraph_thread import AsyncThread
from hansard._langgraph_cache import ThreadCaches
from hansard._langgraph_records import CheckpointRecord

# Checkpoints that were recorded in another order than that of their ids are sorted, if no more than this number are between.
REORDERED_MAX = 64


async def checkpoints(
    thread: AsyncThread, checkpoint_ns: str | None, checkpoint_id: str | None, before_id: str | None
) -> AsyncIterator[CheckpointRecord]:
    """Iterates over the checkpoints of a namespace, or of all, by their ids, the newest first."""
    if checkpoint_id and checkpoint_ns is not None:
        record = await thread.record(checkpoint_ns, checkpoint_id)
        if record is not None and (not before_id or checkpoint_id < before_id):
            yield record
        return
    waiting: list[tuple[str, str]] = []
    records: dict[tuple[str, str], CheckpointRecord] = {}
    async for record in recorded_checkpoints(thread, checkpoint_ns):
        place = (record.checkpoint_id, record.namespace)
        if (checkpoint_id and record.checkpoint_id != checkpoint_id) or (before_id and record.checkpoint_id >= before_id):
            continue
        insort(waiting, place)
        records[place] = record
        if len(waiting) > REORDERED_MAX:
            yield records.pop(waiting.pop())
    for place in reversed(waiting):
        yield records[place]


async def recorded_checkpoints(thread: AsyncThread, checkpoint_ns: str | None) -> AsyncIterator[CheckpointRecord]:
    """Iterates over the checkpoints of a namespace, or of all, the one that was recorded last first."""
    wanted = None if checkpoint_ns is None else names.label(checkpoint_ns)
    async for name, value, _ in thread.documents():
        if name[0][1] != names.CHECKPOINTS or wanted not in (None, name[0][2]) or value is None:
            continue
        record = await thread.record_of(name, value)
        if record is not None:
            yield record


async def thread_ids(client: AsyncHansard, caches: ThreadCaches, user_id: str | None) -> list[str]:
    """The threads of a saver: those that this process knows, then the others, as fresh as the read model."""
    found = dict.fromkeys(caches.existing())
    async for conversation in client.list_conversations(user_id=user_id):
        if f'"{THREAD_ID}"' not in conversation.metadata_json:
            continue
        metadata = json.loads(conversation.metadata_json)
        thread_id = str(metadata[THREAD_ID])
        # The agent's conversations include those of savers with an owner.
        own = names.conversation(client.agent_id, user_id, thread_id, int(metadata[GENERATION]))
        if own == conversation.conversation_id:
            found[thread_id] = None
    return list(found)
