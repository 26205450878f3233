"""Metrics of keyed histories, if the package `opentelemetry-api` is installed. They have no key and no content."""

from __future__ import annotations

import importlib
import time
from typing import Any


def _meter() -> Any:
    try:
        return importlib.import_module("opentelemetry.metrics").get_meter("hansard")
    except ImportError:
        return None


class HistoryMetrics:
    """Counts what the histories of one process do."""

    def __init__(self) -> None:
        meter = _meter()
        self._is_on = meter is not None
        if not self._is_on:
            return
        self._duration = meter.create_histogram("hansard.history.duration", "s", "Loads and records, by operation and outcome")
        self._key_failures = meter.create_counter("hansard.history.key_failures", "1", "Calls without a valid key")
        self._truncations = meter.create_counter("hansard.history.truncations", "1", "Loads that left older messages out")

    def ended(self, operation: str, outcome: str, started_at: float) -> None:
        """A load or a record ended: `ok`, or the reason of its failure."""
        if self._is_on:
            attributes = {"hansard.history.operation": operation, "hansard.history.outcome": outcome}
            self._duration.record(time.monotonic() - started_at, attributes)

    def key_failed(self) -> None:
        """No candidate was a valid key."""
        if self._is_on:
            self._key_failures.add(1)

    def truncated(self) -> None:
        """Older messages were left out."""
        if self._is_on:
            self._truncations.add(1)
