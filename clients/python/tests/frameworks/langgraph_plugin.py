"""A plugin of pytest that runs the tests which LangGraph ships for its own stores with `HansardStore` and `AsyncHansardStore`.

Tests of an index of embeddings, of SQLite itself, of filters that only SQLite has, and of its sweeper are left out; all others
run unmodified.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import uuid

import langgraph.store.memory
import langgraph.store.sqlite
import langgraph.store.sqlite.aio
import pytest

from hansard import AsyncHansard, Hansard
from hansard.langgraph import AsyncHansardStore, HansardStore

# Parts of names of tests that are about an index, about SQLite, or about the number of rows that a sweep deletes.
LEFT_OUT = (
    "vector",
    "embed",
    "scores",
    "migrations",
    "escape_glob",
    "match_pattern",
    "indexable_condition",
    "non_ascii",
    # Names with dots that mean paths, U+0000, infinities and NaN, which JSON does not have.
    "sql_injection",
    "keys_with_hyphens",
    "numeric_filter_safety",
    # The rows that a sweep deletes, and its thread; a default ttl that is rounded down to 0 minutes, and so not refreshed.
    "test_ttl_refresh",
    "async_ttl_refresh",
    "ttl_override_default",
    "ttl_sweeper",
)
# Tests of another run have other owners.
RUN, NUMBERS = uuid.uuid4().hex, itertools.count()


def owner(database: str) -> str:
    """The owner of a store's documents: a store in memory has its own, those of a file and a test have one."""
    name = f"{os.environ['PYTEST_CURRENT_TEST'].rsplit(' ', 1)[0]} {database}"
    number = next(NUMBERS) if database == ":memory:" else 0
    return f"{RUN} {number} {name}"[:250]


class SqliteStore(HansardStore):
    """A store with the methods of `SqliteStore`."""

    client = Hansard.from_environment()

    def __init__(self, database: str = ":memory:", ttl=None) -> None:
        super().__init__(self.client, user_id=owner(database), ttl=ttl)

    @classmethod
    @contextlib.contextmanager
    def from_conn_string(cls, database, *, index=None, ttl=None):
        yield cls(database, ttl)

    def setup(self) -> None:
        """Nothing: documents need none."""

    # Expired documents are not read.
    sweep_ttl = start_ttl_sweeper = stop_ttl_sweeper = setup


class AsyncSqliteStore(AsyncHansardStore):
    """A store with the methods of `AsyncSqliteStore`."""

    client = AsyncHansard.from_environment()

    @classmethod
    @contextlib.asynccontextmanager
    async def from_conn_string(cls, database, *, index=None, ttl=None):
        yield cls(cls.client, user_id=owner(database), ttl=ttl)

    async def setup(self) -> None:
        """Nothing: documents need none."""

    # Expired documents are not read.
    sweep_ttl = start_ttl_sweeper = stop_ttl_sweeper = setup


langgraph.store.memory.InMemoryStore = SqliteStore
langgraph.store.sqlite.SqliteStore = SqliteStore
langgraph.store.sqlite.AsyncSqliteStore = langgraph.store.sqlite.aio.AsyncSqliteStore = AsyncSqliteStore


def pytest_configure(config: pytest.Config) -> None:
    # A marker of a plugin that the tests do not need here.
    config.addinivalue_line("markers", "flaky(retries)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = [item for item in items if not any(part in item.name for part in LEFT_OUT)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
