"""Ids that clients mint."""

from __future__ import annotations

import json
import secrets
import time
import uuid

# The namespace of conversation ids that are derived from the names of a framework.
_NAMESPACE = uuid.UUID("6b1f5f1e-54d3-5c6f-9a1c-0f1b5d0c8f3a")


def uuid7() -> str:
    """A UUIDv7: the time in milliseconds, and 74 random bits (RFC 9562)."""
    value = (time.time_ns() // 1_000_000) << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=value))


def derived(*names: str) -> str:
    """The same id in every process for the same names."""
    return str(uuid.uuid5(_NAMESPACE, json.dumps(names)))


def time_of(text: str) -> float:
    """The seconds of a UUIDv7. 0: the text is none."""
    try:
        value = uuid.UUID(text)
    except ValueError:
        return 0.0
    return (value.int >> 80) / 1000 if value.version == 7 else 0.0
