"""The pending writes that a process knows. No I/O, and no lock."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, cast

from hansard._langgraph_documents import base_key, joined, part_key, parts_count
from hansard.types import Event

# Most documents of a thread's writes, and most characters of their values. Those of the checkpoints that were used last are kept.
DOCUMENTS_MAX, CHARS_MAX = 4_096, 8 * 1024 * 1024
# Most checkpoints that are kept as those with dropped documents. With more, the writes of every new checkpoint are read.
DROPPED_MAX = 4_096

# The documents of a checkpoint's writes by key, with their versions.
Documents = Mapping[str, tuple[int, dict[str, Any]]]


class PendingWrites:
    """Documents of writes by their namespace, which is that of a checkpoint."""

    def __init__(self) -> None:
        self._documents: OrderedDict[tuple[str, ...], dict[str, tuple[int, dict[str, Any]]]] = OrderedDict()
        self._complete: set[tuple[str, ...]] = set()
        self._count = 0
        #: The characters of the values.
        self.chars = 0
        # The checkpoints of which some documents were dropped. `None`: too many to be kept.
        self._dropped: set[tuple[str, ...]] | None = set()

    def add(self, namespace: tuple[str, ...], documents: Documents) -> None:
        """Adds documents."""
        if namespace not in self._documents:
            self._documents[namespace] = {}
            self._count += 1
        known = self._documents[namespace]
        self._documents.move_to_end(namespace)
        self._count -= _count(known)
        self.chars -= _chars(known)
        known.update(documents)
        self._count += _count(known)
        self.chars += _chars(known)
        while self._count > DOCUMENTS_MAX or self.chars > CHARS_MAX:
            self._drop()

    def clear(self) -> None:
        """Drops all documents."""
        while self._documents:
            self._drop()

    def begin(self, namespace: tuple[str, ...]) -> None:
        """A checkpoint is new: the documents that this process has recorded for it are all, unless some were dropped."""
        if self._dropped is not None and namespace not in self._dropped:
            self.complete(namespace, {})

    def complete(self, namespace: tuple[str, ...], documents: Documents) -> None:
        """Adds documents, after which all of the checkpoint are known."""
        self._complete.add(namespace)
        self.add(namespace, documents)

    def values(self, namespace: tuple[str, ...]) -> list[dict[str, Any]] | None:
        """The values of a checkpoint's writes, the oldest first. `None`: they are not all known."""
        if namespace not in self._complete:
            return None
        self._documents.move_to_end(namespace)
        return writes_values(self._documents[namespace])

    def _drop(self) -> None:
        namespace, documents = self._documents.popitem(last=False)
        self._count -= _count(documents)
        self.chars -= _chars(documents)
        if namespace in self._complete:
            self._complete.discard(namespace)
        elif self._dropped is not None:
            # Writes may be recorded before their checkpoint, which would seem to have no others.
            self._dropped.add(namespace)
            if len(self._dropped) > DROPPED_MAX:
                self._dropped = None


def _count(documents: Documents) -> int:
    # A checkpoint without writes counts too.
    return max(len(documents), 1)


def _chars(documents: Documents) -> int:
    return sum(map(value_chars, (value for _, value in documents.values())))


def value_chars(value: Any) -> int:
    """The characters of a JSON value, without its numbers and its signs."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(key) + value_chars(member) for key, member in cast("dict[str, Any]", value).items())
    if isinstance(value, list):
        entries = cast("list[Any]", value)  # type: ignore[redundant-cast]
        return sum([value_chars(entry) for entry in entries])
    return 0


def documents_of(events: Sequence[Event], version: int) -> Documents:
    """The documents of a commit whose last version is known."""
    first = version - len(events) + 1
    puts = [event.document_put for event in events]
    return {put.key: (first + index, json.loads(put.value_json)) for index, put in enumerate(puts)}


def writes_values(documents: Documents) -> list[dict[str, Any]]:
    """The values of documents with all their parts, the oldest first."""
    made: list[tuple[int, dict[str, Any]]] = []
    for key, (version, value) in documents.items():
        later = [part_key(key, index) for index in range(1, parts_count(value))]
        if base_key(key) == key and all(part in documents for part in later):
            made.append((version, joined([value, *(documents[part][1] for part in later)])))
    return [value for _, value in sorted(made, key=lambda one: one[0])]
