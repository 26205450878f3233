"""The messages of a conversation that a process knows, by version. No I/O."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from hansard._langgraph_records import Range

# A message with the versions of its first and its last event.
Recorded = tuple[int, int, Any]


class MessageLog:
    """Messages in the order of their versions, and the ranges of versions that are known."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._messages: list[Any] = []
        self._known: list[Range] = []

    def __len__(self) -> int:
        return len(self._messages)

    def missing(self, ranges: Iterable[Range]) -> list[Range]:
        """The parts of ranges that are not known."""
        return [part for wanted in ranges for part in self._unknown(wanted)]

    def add(self, known: Range, recorded: Sequence[Recorded]) -> None:
        """Adds all messages of a range. Those of versions that are known already are left as they are."""
        unknown = self._unknown(known)
        for first, last, message in recorded:
            if any(start <= first <= end for start, end in unknown):
                index = bisect_left(self._firsts, first)
                self._firsts.insert(index, first)
                self._lasts.insert(index, last)
                self._messages.insert(index, message)
        self._known = _merged([*self._known, known])

    def messages(self, ranges: Iterable[Range]) -> list[Any]:
        """The messages of ranges, as a new list of the same objects."""
        parts = [self._messages[start:end] for start, end in map(self._indices, ranges)]
        return parts[0] if len(parts) == 1 else [message for part in parts for message in part]

    def view(self, ranges: Sequence[Range]) -> Sequence[Any]:
        """The messages of ranges, which the caller does not change or keep: without a copy, if these are all."""
        if len(ranges) == 1 and self._indices(ranges[0]) == (0, len(self._messages)):
            return self._messages
        return self.messages(ranges)

    def ranges_of(self, ranges: Iterable[Range], chosen: Sequence[int]) -> list[Range]:
        """The ranges of some messages of ranges, by ascending indices. Neighbours share a range."""
        made: list[Range] = []
        count = 0
        for wanted in ranges:
            start, end = self._indices(wanted)
            part = chosen[bisect_left(chosen, count) : bisect_left(chosen, count + end - start)]
            previous: int | None = None
            for index in part:
                place = start + index - count
                first = made.pop()[0] if previous == index - 1 and made else self._firsts[place]
                made.append((first, self._lasts[place]))
                previous = index
            count += end - start
        return made

    def _indices(self, wanted: Range) -> tuple[int, int]:
        return bisect_left(self._firsts, wanted[0]), bisect_right(self._firsts, wanted[1])

    def _unknown(self, wanted: Range) -> list[Range]:
        parts: list[Range] = []
        start, end = wanted
        for first, last in self._known:
            if last < start or first > end:
                continue
            if first > start:
                parts.append((start, first - 1))
            start = last + 1
        return [*parts, (start, end)] if start <= end else parts


def _merged(ranges: Iterable[Range]) -> list[Range]:
    merged: list[Range] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged
