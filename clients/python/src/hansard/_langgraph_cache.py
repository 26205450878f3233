"""What a process knows of the threads of a saver. No I/O. Threads may share it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from hansard import _langgraph_names as names
from hansard._langgraph_documents import is_later_part, parts_count
from hansard._langgraph_log import MessageLog, Recorded
from hansard._langgraph_names import Name
from hansard._langgraph_pending import Documents, PendingWrites, value_chars
from hansard._langgraph_records import NO_LATEST, CheckpointRecord, Latest, Range
from hansard.types import CommitResult

# Most threads, and most messages and characters of all of them together. The threads that were used last are kept, at least one.
THREADS_MAX, MESSAGES_MAX, CHARS_MAX = 1_000, 200_000, 256 * 1024 * 1024
# The messages and characters are counted at every use of this number.
USES_BETWEEN_COUNTS = 16
# Most checkpoints of a thread, most characters of each, and of the thread's large values.
RECORDS_MAX, RECORD_CHARS_MAX, VALUE_CHARS_MAX = 64, 64 * 1024, 8 * 1024 * 1024
# Most commits of a thread whose predecessors this process does not know.
EARLY_MAX = 1_000

Result = TypeVar("Result")


class DocumentChange(NamedTuple):
    """A change of a document that a conversation has recorded."""

    name: Name
    #: `None`: the document was deleted.
    value: dict[str, Any] | None
    version: int


class Facts(NamedTuple):
    """What is known at a version of a conversation; `None`: not known."""

    epoch: int
    version: int | None
    latest: Latest | None


# Facts of no epoch.
UNKNOWN = Facts(-1, None, None)


class ThreadCache:
    """What is known of a thread.

    All changes of documents up to `version` of its conversation are known, of those that are known at all. So a commit that
    expects that version may rely on them. An epoch ends when the changes up to a later version are not known.
    """

    def __init__(self, conversation_id: str, generation: int) -> None:
        self.conversation_id = conversation_id
        self.generation = generation
        #: Whether the conversation was seen.
        self.exists = False
        self._lock = threading.Lock()
        self._epoch = 0
        self._version: int | None = None
        self._log = MessageLog()
        self._latest: dict[str, Latest] = {}
        self._pending = PendingWrites()
        self._early: dict[int, int] = {}
        self._records: OrderedDict[Name, tuple[int, CheckpointRecord]] = OrderedDict()
        self._values: OrderedDict[Name, Sequence[str]] = OrderedDict()
        self._value_chars = 0

    # The version, and what is known at it.

    def facts(self, checkpoint_ns: str) -> Facts:
        """The version, and the latest checkpoint of a namespace."""
        with self._lock:
            return Facts(self._epoch, self._version, self._latest.get(names.latest(checkpoint_ns)[1]))

    def add_latest(self, checkpoint_ns: str, latest: Latest, epoch: int) -> None:
        """Keeps what a read of the epoch returned."""
        with self._lock:
            if epoch != self._epoch:
                return
            self.exists = self.exists or latest != NO_LATEST
            if self._version is None and latest.version:
                self._version = latest.version
            key = names.latest(checkpoint_ns)[1]
            if latest.version >= self._latest.get(key, NO_LATEST).version:
                self._latest[key] = latest

    def created(self, result: CommitResult) -> None:
        """This process has created the conversation."""
        with self._lock:
            self.exists = True
            if self._version is None:
                self._version = result.version

    def moved(self, version: int) -> None:
        """The conversation has a version whose changes are not known."""
        with self._lock:
            if self._version is None or self._version < version:
                self._end_epoch()
                self.exists = True
                self._version = version

    def forget(self) -> None:
        """Forgets the documents."""
        with self._lock:
            self._end_epoch()

    def apply(self, changes: Iterable[DocumentChange], epoch: int) -> bool:
        """Keeps all changes after the version, the oldest first. Returns whether the epoch has not ended meanwhile."""
        with self._lock:
            if epoch != self._epoch or self._version is None:
                return False
            for change in changes:
                if change.version <= self._version:
                    continue
                if change.value is None:
                    # A read that was sent before may return the document after this.
                    self._end_epoch()
                    return False
                self._change(change.name, change.value, change.version)
                self._version = change.version
            self._early = {first: last for first, last in self._early.items() if first > self._version}
            self._advance()
            return True

    def wrote(self, result: CommitResult, namespace: tuple[str, ...], documents: Documents) -> None:
        """Keeps pending writes that this process has recorded."""
        with self._lock:
            self.exists = True
            self._pending.add(namespace, documents)
            self._commit(result)

    def committed(self, result: CommitResult) -> None:
        """Keeps the versions of a commit of this process, which no reader knows of yet."""
        with self._lock:
            self.exists = True
            self._commit(result)

    def put(self, result: CommitResult, expected: int, latest: tuple[str, Latest] | None) -> None:
        """Keeps a commit that expected a version, and the latest checkpoint of a namespace."""
        with self._lock:
            self.exists = True
            if self._version == expected:
                self._version = result.version
                if latest is not None:
                    self._latest[names.latest(latest[0])[1]] = latest[1]

    # Checkpoints, their values and their writes.

    def record(self, name: Name, version: int | None = None) -> CheckpointRecord | None:
        """A checkpoint whose document has a version; `None` as version: any."""
        with self._lock:
            found = self._records.get(name)
            return found[1] if found and version in (None, found[0]) else None

    def add_record(self, name: Name, record: CheckpointRecord, version: int, epoch: int) -> None:
        """Keeps a checkpoint that a read of the epoch returned."""
        with self._lock:
            if epoch == self._epoch:
                self._add_record(name, record, version)

    def begin(self, record: CheckpointRecord, version: int, since: Facts) -> None:
        """Keeps a checkpoint that this process has recorded. All writes since then are known, so that it has no others."""
        with self._lock:
            if since.epoch == self._epoch:
                self._add_record(names.checkpoint(record.namespace, record.checkpoint_id), record, version)
                self._pending.begin(names.writes(record.namespace, record.checkpoint_id))

    def writes(self, namespace: tuple[str, ...]) -> list[dict[str, Any]] | None:
        """The values of a checkpoint's pending writes; `None`: they are not all known."""
        with self._lock:
            return self._pending.values(namespace)

    def add_writes(self, namespace: tuple[str, ...], documents: Documents, epoch: int) -> None:
        """Keeps all pending writes of a checkpoint that a read of the epoch returned."""
        with self._lock:
            # Without a version, later writes would not be read.
            if epoch == self._epoch and self._version is not None:
                self._pending.complete(namespace, documents)

    def value(self, name: Name) -> Sequence[str] | None:
        """The serialized form of a large value; `None`: not known."""
        with self._lock:
            return self._values.get(name)

    def add_value(self, name: Name, typed: Sequence[str]) -> None:
        """Keeps a large value. Its name never gets another one."""
        with self._lock:
            if name not in self._values:
                self._values[name] = typed
                self._value_chars += len(typed[1])
            while self._value_chars > VALUE_CHARS_MAX:
                self._value_chars -= len(self._values.popitem(last=False)[1][1])

    # Messages.

    def add_messages(self, known: Range, recorded: Sequence[Recorded]) -> None:
        """Keeps all messages of a range of versions."""
        with self._lock:
            self._log.add(known, recorded)

    def with_log(self, use: Callable[[MessageLog], Result]) -> Result:
        """What a function makes of the messages."""
        with self._lock:
            return use(self._log)

    @property
    def size(self) -> tuple[int, int]:
        """The number of known messages, and most characters of the rest."""
        return len(self._log), self._value_chars + self._pending.chars + RECORD_CHARS_MAX * len(self._records)

    def _change(self, name: Name, value: dict[str, Any], version: int) -> None:
        namespace, key = name
        kind = namespace[1] if namespace[0] == names.ROOT else ""
        if kind == names.LATEST:
            self._latest[key] = Latest.of(value, version)
        elif kind == names.WRITES:
            self._pending.add(namespace, {key: (version, value)})
        elif kind == names.CHECKPOINTS:
            self._records.pop(name, None)
            if not is_later_part(value) and parts_count(value) == 1:
                self._add_record(name, CheckpointRecord.of(value), version)

    def _add_record(self, name: Name, record: CheckpointRecord, version: int) -> None:
        if value_chars(record.value()) > RECORD_CHARS_MAX:
            self._records.pop(name, None)
            return
        self._records[name] = (version, record)
        self._records.move_to_end(name)
        if len(self._records) > RECORDS_MAX:
            self._records.popitem(last=False)

    def _commit(self, result: CommitResult) -> None:
        if self._version is not None and result.first_version > self._version and len(self._early) < EARLY_MAX:
            self._early[result.first_version] = result.version
            self._advance()

    def _advance(self) -> None:
        while self._version is not None and self._version + 1 in self._early:
            self._version = self._early.pop(self._version + 1)

    def _end_epoch(self) -> None:
        self._epoch += 1
        self._version = None
        self._latest.clear()
        self._records.clear()
        self._early.clear()
        self._pending.clear()


class ThreadCaches:
    """The threads of a saver."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: OrderedDict[str, ThreadCache] = OrderedDict()
        self._uses = 0

    def get(self, thread_id: str, new: Callable[[], ThreadCache]) -> ThreadCache:
        """What is known of a thread."""
        with self._lock:
            if thread_id not in self._threads:
                self._threads[thread_id] = new()
            self._threads.move_to_end(thread_id)
            self._uses += 1
            if len(self._threads) > THREADS_MAX:
                self._threads.popitem(last=False)
            if self._uses % USES_BETWEEN_COUNTS == 0:
                self._drop()
            return self._threads[thread_id]

    def _drop(self) -> None:
        sizes = [(0, 0), *(thread.size for thread in self._threads.values())]
        messages, chars = map(sum, zip(*sizes, strict=True))
        while len(self._threads) > 1 and (messages > MESSAGES_MAX or chars > CHARS_MAX):
            dropped = self._threads.popitem(last=False)[1].size
            messages, chars = messages - dropped[0], chars - dropped[1]

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
