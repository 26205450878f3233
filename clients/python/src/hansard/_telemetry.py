"""Spans of calls, if the package `opentelemetry-api` is installed. They have no content of conversations."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Generator
from typing import Any


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_trace, _propagate = _module("opentelemetry.trace"), _module("opentelemetry.propagate")


@contextlib.contextmanager
def span(service: str, name: str, conversation_id: str) -> Generator[None]:
    """The span of one call with all of its attempts."""
    if _trace is None:
        yield
        return
    attributes = {"rpc.service": f"hansard.{service}", "rpc.method": name}
    if conversation_id:
        attributes["conversation.id"] = conversation_id
    tracer = _trace.get_tracer("hansard")
    with tracer.start_as_current_span(f"hansard.{name}", kind=_trace.SpanKind.CLIENT, attributes=attributes):
        yield


def trace_headers() -> dict[str, str]:
    """The headers that continue the caller's trace; none without `opentelemetry-api`."""
    headers: dict[str, str] = {}
    if _propagate is not None:
        _propagate.inject(headers)
    return headers
