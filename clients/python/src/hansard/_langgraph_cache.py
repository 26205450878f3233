"""What a process knows of the threads of a saver. No I/O. Threads may share it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from hansard._langgraph_log import MessageLog, Recorded
from hansard._langgraph_records import NO_LATEST, CheckpointRecord, Latest, Range
from hansard.types import CommitResult

# Most threads, and most messages of all of them together. The threads that were used last are kept.
THREADS_MAX, MESSAGES_MAX = 1_000, 200_000
# Most checkpoints of a thread, and most characters of the large values of one.
RECORDS_MAX, VALUE_CHARS_MAX = 64, 8 * 1024 * 1024
# Most commits of a thread whose predecessors this process does not know.
EARLY_MAX = 1_000


class ThreadCache:
    """What is known of a thread. Its facts are true at `version` of its conversation, so that a commit that expects that version
    may rely on them."""

    def __init__(self, conversation_id: str, generation: int) -> None:
        self.conversation_id = conversation_id
        self.generation = generation
        #: Whether the conversation was seen.
        self.exists = False
        #: `None`: not known.
        self.version: int | None = None
        self.log = MessageLog()
        self.lock = threading.Lock()
        self._epoch = 0
        self._latest: dict[str, Latest] = {}
        self._early: dict[int, int] = {}
        self._records: OrderedDict[tuple[str, str], tuple[int, CheckpointRecord]] = OrderedDict()
        self._values: OrderedDict[tuple[str, str], Any] = OrderedDict()
        self._value_chars = 0

    def snapshot(self, checkpoint_ns: str) -> tuple[int, int | None, Latest | None]:
        """The epoch of the facts, the version, and the latest checkpoint of a namespace; `None`: not known."""
        with self.lock:
            return self._epoch, self.version, self._latest.get(checkpoint_ns)

    def read_latest(self, checkpoint_ns: str, latest: Latest, epoch: int) -> None:
        """Keeps what a read of the epoch returned. A later version than the known one says that another process has written."""
        with self.lock:
            known = self._latest.get(checkpoint_ns)
            if epoch != self._epoch or (known is not None and latest.version <= known.version):
                return
            self.exists = self.exists or latest != NO_LATEST
            if known is not None:
                self._forget()
            if latest.version > (self.version or 0):
                self.version = latest.version
            self._latest[checkpoint_ns] = latest

    def moved(self, version: int) -> None:
        """Others have written: what was read before is not known to be true any more, unless all commits are this process's."""
        with self.lock:
            self._advance()
            if self.version is not None and self.version >= version:
                return
            self._forget()
            self.exists = True
            self.version = version

    def committed(self, result: CommitResult) -> None:
        """Keeps the versions of a commit that changes no facts."""
        with self.lock:
            self.exists = True
            if self.version is not None and result.first_version > self.version and len(self._early) < EARLY_MAX:
                self._early[result.first_version] = result.version
                self._advance()

    def put(self, result: CommitResult, expected: int | None, checkpoint_ns: str, latest: Latest | None) -> None:
        """Keeps a commit that expected a version, and the latest checkpoint that it records."""
        with self.lock:
            self.exists = True
            if self.version != expected:
                return
            self.version = result.version
            if latest is not None:
                self._latest[checkpoint_ns] = latest

    def forget(self) -> None:
        """Forgets the facts."""
        with self.lock:
            self._forget()

    def add_messages(self, known: Range, recorded: Sequence[Recorded]) -> None:
        """Keeps the messages of a range of versions."""
        with self.lock:
            self.log.add(known, recorded)

    def with_log(self, read: Callable[[MessageLog], Any]) -> Any:
        """What a function reads in the messages."""
        with self.lock:
            return read(self.log)

    def record(self, checkpoint_ns: str, checkpoint_id: str, version: int | None) -> CheckpointRecord | None:
        """A checkpoint whose document has a version; `None` as version: any."""
        with self.lock:
            found = self._records.get((checkpoint_ns, checkpoint_id))
            return found[1] if found and version in (None, found[0]) else None

    def add_record(self, record: CheckpointRecord, version: int) -> None:
        """Keeps a checkpoint."""
        with self.lock:
            key = (record.namespace, record.checkpoint_id)
            self._records[key] = (version, record)
            self._records.move_to_end(key)
            if len(self._records) > RECORDS_MAX:
                self._records.popitem(last=False)

    def value(self, checkpoint_ns: str, key: str) -> Any:
        """The serialized form of a large value; `None`: not known."""
        with self.lock:
            return self._values.get((checkpoint_ns, key))

    def add_value(self, checkpoint_ns: str, key: str, typed: Sequence[str]) -> None:
        """Keeps a large value. Its key never gets another one."""
        with self.lock:
            if (checkpoint_ns, key) in self._values:
                return
            self._values[checkpoint_ns, key] = typed
            self._value_chars += len(typed[1])
            while self._value_chars > VALUE_CHARS_MAX:
                self._value_chars -= len(self._values.popitem(last=False)[1][1])

    def _advance(self) -> None:
        while self.version is not None and self.version + 1 in self._early:
            self.version = self._early.pop(self.version + 1)

    def _forget(self) -> None:
        self._epoch += 1
        self._latest.clear()
        self._early.clear()


class ThreadCaches:
    """The threads of a saver."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: OrderedDict[str, ThreadCache] = OrderedDict()

    def get(self, thread_id: str, new: Callable[[], ThreadCache]) -> ThreadCache:
        """What is known of a thread."""
        with self._lock:
            if thread_id not in self._threads:
                self._threads[thread_id] = new()
            self._threads.move_to_end(thread_id)
            messages = sum(len(thread.log) for thread in self._threads.values())
            while len(self._threads) > THREADS_MAX or (messages > MESSAGES_MAX and len(self._threads) > 1):
                _, oldest = self._threads.popitem(last=False)
                messages -= len(oldest.log)
            return self._threads[thread_id]

    def replace(self, thread_id: str, old: ThreadCache, new: ThreadCache) -> ThreadCache:
        """Replaces what is known, unless another thread has done so; returns what is known then."""
        with self._lock:
            if self._threads.get(thread_id, old) is old:
                self._threads[thread_id] = new
            return self._threads[thread_id]

    def existing(self) -> list[str]:
        """The threads whose conversation was seen, the one that was used last first."""
        with self._lock:
            return [thread_id for thread_id, thread in reversed(self._threads.items()) if thread.exists]

    def forget(self, thread_id: str) -> None:
        """Forgets a thread."""
        with self._lock:
            self._threads.pop(thread_id, None)
