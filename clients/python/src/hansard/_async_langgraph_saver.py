# `generate.py sync` makes the blocking form of this file.
"""The checkpoint saver of LangGraph: the asynchronous form."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from hansard import _langgraph_names as names
from hansard._async_client import AsyncHansard
from hansard._async_langgraph_conversation import RACES_MAX
from hansard._async_langgraph_deletion import copy_writes, delete_runs, keep_latest
from hansard._async_langgraph_list import checkpoints, thread_ids
from hansard._async_langgraph_put import ERASED, put_checkpoint
from hansard._async_langgraph_thread import AsyncThread
from hansard._ids import uuid7
from hansard._langgraph_cache import ThreadCaches
from hansard._langgraph_documents import put_events
from hansard._langgraph_draft import chunks, configurable, draft
from hansard._langgraph_messages import CHANNEL
from hansard._langgraph_pending import documents_of
from hansard._langgraph_records import CheckpointRecord, decode, pending_writes, writes_value
from hansard.errors import VersionConflict


class AsyncHansardSaver(BaseCheckpointSaver[str]):
    """Keeps the checkpoints of graphs. A thread is a conversation: the same one in every process with the same agent and owner.

    The messages of the channel `messages` of the root graph are the messages of the conversation. Everything else is documents
    of it. A put and a read send only what is new: the process keeps the messages of the threads that it used last, and the states
    that it returns share them. Nodes must return new messages, and not change those of the state.

    With `user_id`, the user owns all threads; without one, each thread is the session that owns its conversation.
    """

    def __init__(self, client: AsyncHansard, *, user_id: str | None = None, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._client = client
        self._user_id = user_id
        self._caches = ThreadCaches()

    def conversation_id(self, thread_id: str) -> str:
        """The id of a thread's conversation in Hansard. It changes when the thread is deleted."""
        return self._thread(thread_id).cache.conversation_id

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """A checkpoint with its pending writes; without an id, the latest one. Includes every earlier write of anybody."""
        place = configurable(config)
        thread = self._thread(place["thread_id"])
        checkpoint_ns, checkpoint_id = place.get("checkpoint_ns") or "", place.get("checkpoint_id")
        if checkpoint_id:
            record = await thread.record(checkpoint_ns, checkpoint_id)
        else:
            record = await _latest_record(thread, checkpoint_ns)
        return None if record is None else await self._tuple(thread, record)

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Records a checkpoint and its new messages, as one commit."""
        place = configurable(config)
        thread = self._thread(place["thread_id"])
        checkpoint_ns, parent_id = place.get("checkpoint_ns") or "", place.get("checkpoint_id")
        for _ in range(RACES_MAX):
            parent = await thread.known_record(checkpoint_ns, parent_id) if parent_id else None
            made = draft(self.serde, config, checkpoint, metadata, parent)
            try:
                await put_checkpoint(thread, self.serde, made, parent)
            except VersionConflict as error:
                # The thread was deleted: the parent is not in its next conversation.
                if error.reason != ERASED:
                    raise
                continue
            return _config(place["thread_id"], checkpoint_ns, checkpoint["id"])
        raise thread.too_many_races()

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Records the writes of a task of the step after a checkpoint."""
        if not writes:
            return
        place = configurable(config)
        name = names.writes(place.get("checkpoint_ns") or "", place["checkpoint_id"]), uuid7()
        value = writes_value(self.serde, writes, task_id, task_path)
        thread = self._thread(place["thread_id"])
        for chunk in chunks([[event] for event in put_events(name, value, f"the writes of the task {task_id}")]):
            result = await thread.append(chunk)
            thread.cache.wrote(result, name[0], documents_of(chunk, result.version))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Iterates over the checkpoints of a thread, the newest first; without a config, over all threads, one by one."""
        place = configurable(config) if config else {}
        before_id = configurable(before).get("checkpoint_id") if before else None
        given = [self._thread(place["thread_id"])] if config else await self._threads()
        count = 0
        for thread in given:
            await thread.refresh()
            async for record in checkpoints(thread, place.get("checkpoint_ns"), place.get("checkpoint_id"), before_id):
                if limit is not None and count >= limit:
                    return
                if not filter or _contains(decode(self.serde, record.metadata), filter):
                    count += 1
                    yield await self._tuple(thread, record)

    async def adelete_thread(self, thread_id: str) -> None:
        """Erases the conversation of a thread. The next write begins another one. Needs a token with the scope `erase`."""
        await self._thread(thread_id).erase()

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints and writes of runs in all threads. The record keeps them until their thread is deleted."""
        if run_ids:
            for thread in await self._threads():
                await delete_runs(thread, set(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies the checkpoints and writes of a thread to another thread, which has its own conversation."""
        source, target = self._thread(source_thread_id), self._thread(target_thread_id)
        records = [record async for record in checkpoints(source, None, None, None)]
        known: dict[tuple[str, str], CheckpointRecord] = {}
        for record in reversed(records):
            found = await self._tuple(source, record)
            config = _config(target_thread_id, record.namespace, record.parent_id)
            parent = known.get((record.namespace, record.parent_id or ""))
            made = draft(self.serde, config, found.checkpoint, found.metadata, parent)
            await put_checkpoint(target, self.serde, made, parent)
            copied = await target.known_record(record.namespace, record.checkpoint_id)
            assert copied is not None
            known[record.namespace, record.checkpoint_id] = copied
        await copy_writes(source, target)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Deletes all checkpoints of threads but the latest one of each namespace, or with `delete` the threads.

        The record keeps deleted checkpoints until their thread is deleted.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"{strategy!r} is no strategy: use keep_latest or delete")
        if isinstance(thread_ids, str):
            raise TypeError("thread_ids is a sequence of ids")
        for thread_id in thread_ids:
            if strategy == "delete":
                await self.adelete_thread(thread_id)
            else:
                await keep_latest(self._thread(thread_id), self.serde)

    def get_next_version(self, current: str | int | float | None, channel: None) -> str:
        """The version after another one. Branches of a thread have different versions."""
        number = int(str(current).split(".")[0]) if current is not None else 0
        return f"{number + 1:032}.{random.random():016}"

    async def _tuple(self, thread: AsyncThread, record: CheckpointRecord) -> CheckpointTuple:
        checkpoint: Checkpoint = decode(self.serde, record.checkpoint)
        values = checkpoint["channel_values"] = {channel: decode(self.serde, typed) for channel, typed in record.values.items()}
        for channel, key in record.keys.items():
            values[channel] = decode(self.serde, await thread.large_value(record.namespace, key))
        if record.messages is not None:
            values[CHANNEL] = await thread.messages(record.messages)
        writes = await thread.writes(record.namespace, record.checkpoint_id)
        parent = _config(thread.thread_id, record.namespace, record.parent_id) if record.parent_id else None
        return CheckpointTuple(
            config=_config(thread.thread_id, record.namespace, record.checkpoint_id),
            checkpoint=checkpoint,
            metadata=decode(self.serde, record.metadata),
            parent_config=parent,
            pending_writes=pending_writes(self.serde, writes),
        )

    def _thread(self, thread_id: object) -> AsyncThread:
        return AsyncThread(self._client, self._caches, self.serde, self._user_id, str(thread_id))

    async def _threads(self) -> Sequence[AsyncThread]:
        ids = await thread_ids(self._client, self._caches, self._user_id)
        return [self._thread(thread_id) for thread_id in ids]


async def _latest_record(thread: AsyncThread, checkpoint_ns: str) -> CheckpointRecord | None:
    latest = await thread.latest(checkpoint_ns)
    if latest.checkpoint_id is None:
        return None
    return await thread.known_record(checkpoint_ns, latest.checkpoint_id, latest.checkpoint_version)


def _config(thread_id: str, checkpoint_ns: str, checkpoint_id: str | None) -> RunnableConfig:
    place = {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns, "checkpoint_id": checkpoint_id}
    return {"configurable": place}


def _contains(value: Any, wanted: Any) -> bool:
    """Whether a value has all members of another one."""
    if not isinstance(wanted, dict) or not isinstance(value, dict):
        return bool(value == wanted)
    members, wanted_members = cast("dict[str, Any]", value), cast("dict[str, Any]", wanted)
    return all(key in members and _contains(members[key], member) for key, member in wanted_members.items())
