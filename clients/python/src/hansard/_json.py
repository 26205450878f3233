"""JSON text of documents, in the one form that every transport returns unchanged."""

from __future__ import annotations

import json


def dumps(document: object) -> str:
    """JSON text without spaces. NaN and infinities have none: ValueError."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half of a surrogate pair has no UTF-8, and remains escaped.
    return text if _has_utf8(text) else json.dumps(document, allow_nan=False, separators=(",", ":"))


def _has_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
