"""What the benchmarks of this folder share: a running deployment, a database of peers on its Postgres server, and figures.

It starts `hansard dev`, which runs its own NATS and Postgres. Both sync each commit to disk. Peers use a database of their own
on the same Postgres server, over TCP like the client.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import inspect
import math
import pathlib
import sys
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterator, Sequence

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(REPOSITORY / "tests/clients"))

from hansard_dev import AGENT, data_folder, gateway, secret_key

from hansard import AsyncHansard, Hansard
from hansard._transports.address import grpc_url

DEFAULT_PROGRAM = REPOSITORY / "target/release/hansard"
SETTLED_TIMEOUT_S = 120.0


@dataclasses.dataclass(frozen=True)
class Stack:
    """A running deployment, and the Postgres database of the peers. Writes go to the writer directly."""

    grpc_url: str
    writer_url: str
    token: str
    postgres_url: str

    def asynchronous(self) -> AsyncHansard:
        """An asynchronous client of the demo agent."""
        return AsyncHansard(self.grpc_url, self.token, agent_id=AGENT, writer_url=self.writer_url)

    def blocking(self) -> Hansard:
        """A blocking client of the demo agent."""
        return Hansard(self.grpc_url, self.token, agent_id=AGENT, writer_url=self.writer_url)


@contextlib.contextmanager
def running_stack(program: str, postgres_url: str | None = None) -> Iterator[Stack]:
    """Runs a deployment. Without `postgres_url`, the peers get a new database on the Postgres server of the deployment."""
    with data_folder() as data, gateway(program, data) as (_, _, names):
        token = secret_key(program, names, "append", "read", "erase")
        peers_url = postgres_url or create_database(over_tcp(names["HANSARD_READ_MODEL__DATABASE_URL"]))
        gateway_url, writer_url = (grpc_url(names[f"HANSARD_{role}_URL"]) for role in ("GATEWAY", "WRITER"))
        yield Stack(gateway_url, writer_url, token, peers_url)


def over_tcp(url: str) -> str:
    """The URL without its Unix socket."""
    return urllib.parse.urlsplit(url)._replace(query="").geturl()


def create_database(server_url: str) -> str:
    """Creates an empty database, and returns its URL."""
    import psycopg

    name = f"peers_{uuid.uuid4().hex}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return urllib.parse.urlsplit(server_url)._replace(path=f"/{name}").geturl()


def settle(client: Hansard, conversation_id: str) -> None:
    """Waits until the rows of the read model have all events of a conversation, so that no read folds a backlog."""
    version = client.get_conversation(conversation_id).version
    ends_at = time.monotonic() + SETTLED_TIMEOUT_S
    while time.monotonic() < ends_at:
        for row in client.list_conversations():
            if row.conversation_id == conversation_id and row.version >= version:
                return
        time.sleep(0.02)
    sys.exit(f"the rows of {conversation_id} did not reach version {version} within {SETTLED_TIMEOUT_S} s")


async def milliseconds(call: Callable[[], object]) -> float:
    """The time of one call of a blocking function or of a coroutine function."""
    start = time.perf_counter()
    result = call()
    if inspect.isawaitable(result):
        await result
    return 1000 * (time.perf_counter() - start)


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least this share of the samples does not exceed."""
    return sorted(samples)[max(math.ceil(share * len(samples)), 1) - 1]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown with aligned columns."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])


def parser(description: str, example: str) -> argparse.ArgumentParser:
    """The options that all benchmarks have."""
    made = argparse.ArgumentParser(
        description=description, epilog=f"example:\n  {example}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--hansard", default=str(DEFAULT_PROGRAM), metavar="PROGRAM", help="default: %(default)s")
    made.add_argument("--rounds", type=int, default=5, help="rounds; the backends take turns in each (default: %(default)s)")
    own = "an empty database of the peers (default: a new one on the stack's own server)"
    made.add_argument("--postgres-url", metavar="URL", help=own)
    made.add_argument("--json", action="store_true", help="print one JSON object for each figure instead of a table")
    return made
