"""Documents as items of LangGraph's stores, and operations of those stores as documents. No I/O."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from typing import Any, cast

from langgraph.store.base import InvalidNamespaceError, Item, ListNamespacesOp, Op, PutOp, SearchItem, validate_op_namespace

from hansard.errors import HansardError
from hansard.results import Document

# A read of a document refreshes its ttl after this part of it has passed. Each refresh is a write.
REFRESH_AFTER = 0.1
# Most levels of lists and objects in a value, as the service allows.
LEVELS_MAX = 128
# The namespace and the key of a document.
Name = tuple[tuple[str, ...], str]


def check(op: Op) -> None:
    """Checks the namespace and the value of an operation. Raises `InvalidNamespaceError` or `ValueError`."""
    validate_op_namespace(op)
    if not isinstance(op, PutOp):
        return
    if not op.namespace:
        raise InvalidNamespaceError("Namespace cannot be empty.")
    check_value(op.namespace, op.key, op.value)
    if op.ttl is not None and op.ttl <= 0:
        raise ValueError(f"the ttl of {_name(op.namespace, op.key)} is {op.ttl}: give minutes above 0, or None")


def check_value(namespace: tuple[str, ...], key: str, value: Any) -> None:
    """Checks that a value is an object of JSON; `None` is a deletion."""
    if value is None:
        return
    is_object = isinstance(value, Mapping)
    problem = _problem(dict(cast("Mapping[str, Any]", value)), "value", 1) if is_object else "it is no dictionary"
    if problem:
        raise ValueError(f"the value of {_name(namespace, key)} is not JSON: {problem}")


def _problem(value: Any, path: str, level: int) -> str:
    """Where a value is not JSON, and why; empty: it is JSON."""
    if value is None or isinstance(value, (str, int)):
        return ""
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"{path} is {value}"
    if level > LEVELS_MAX:
        return f"it has more than {LEVELS_MAX} levels"
    if isinstance(value, dict):
        members: Iterable[tuple[Any, Any]] = cast("Any", value).items()
    elif isinstance(value, (list, tuple)):
        members = enumerate(cast("Iterable[Any]", value))
    else:
        return f"{path} is a {type(value).__name__}: use texts, numbers, booleans, None, lists and dictionaries"
    for name, member in members:
        if isinstance(value, dict) and not isinstance(name, str):
            return f"{path} has the name {name!r}: names are texts"
        if problem := _problem(member, f"{path}[{name!r}]", level + 1):
            return problem
    return ""


def with_name(error: HansardError, namespace: tuple[str, ...], key: str) -> HansardError:
    """The error of a call, which names the document: a batch has many."""
    return type(error)(
        f"{error.args[0]} (the document {_name(namespace, key)})",
        reason=error.reason,
        field=error.field,
        retry_after=error.retry_after,
        metadata=error.metadata,
    )


def _name(namespace: Iterable[str], key: str) -> str:
    return f"{key!r} in {'/'.join(namespace)!r}"


def last_puts(ops: Iterable[Op]) -> dict[Name, PutOp]:
    """The last change of each document."""
    return {(tuple(op.namespace), str(op.key)): op for op in ops if isinstance(op, PutOp)}


def labels(op: ListNamespacesOp, match_type: str) -> tuple[str, ...]:
    """The first or last labels that an operation asks for."""
    paths = [tuple(condition.path) for condition in op.match_conditions or () if condition.match_type == match_type]
    if len(paths) > 1:
        raise ValueError(f"the operation has {len(paths)} conditions of the type {match_type}: give one")
    return paths[0] if paths else ()


def ttl_seconds(minutes: float | None) -> int | None:
    """The whole seconds of a ttl in minutes, at least one."""
    return None if minutes is None else math.ceil(minutes * 60)


def refreshed_ttl(document: Document, now: datetime.datetime) -> int | None:
    """The ttl in seconds with which a read records a document again. `None`: it has no end, or is fresh enough."""
    if document.expires_at is None:
        return None
    ttl = (document.expires_at - document.updated_at).total_seconds()
    passed = (now - document.updated_at).total_seconds()
    return round(ttl) if passed >= ttl * REFRESH_AFTER else None


def item(document: Document) -> Item:
    """The item of a document."""
    return Item(
        value=document.value,
        key=document.key,
        namespace=document.namespace,
        created_at=document.created_at,
        updated_at=document.updated_at,
    )


def search_item(document: Document) -> SearchItem:
    """The item of a document that a search found. It has no score: documents have no index."""
    return SearchItem(
        namespace=document.namespace,
        key=document.key,
        value=document.value,
        created_at=document.created_at,
        updated_at=document.updated_at,
    )
