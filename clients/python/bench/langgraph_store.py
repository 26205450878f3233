"""Measures HansardStore beside LangGraph's PostgresStore, on the same Postgres, in one run: p50 and p99 of each call.

Usage: langgraph_store.py HANSARD [CALLS]. Needs `hansard[langgraph]`, langgraph-checkpoint-postgres and psycopg[binary].
"""

import contextlib
import pathlib
import statistics
import sys
import time
import uuid

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "tests/clients"))

from hansard_dev import AGENT, data_folder, gateway, secret_key
from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore
from psycopg import Connection

from hansard import Hansard
from hansard._transports.address import grpc_url
from hansard.langgraph import HansardStore

# Items of a namespace, of which a search returns ten.
ITEMS = 100
# Puts of one batch.
BATCH = 16
VALUE = {"text": "Ada drinks green tea in the morning, and coffee after lunch. " * 4, "kind": "drink"}


class Subject:
    """A store, and the times of its calls in milliseconds."""

    def __init__(self, store):
        self.store, self.times = store, {}
        # A new namespace, so that both stores have the same items.
        self.namespace = ("bench", uuid.uuid4().hex)
        for start in range(0, ITEMS, BATCH):
            store.batch([PutOp(self.namespace, str(n), {**VALUE, "n": n}) for n in range(start, min(start + BATCH, ITEMS))])

    def measure(self, name, call):
        started_at = time.perf_counter()
        call()
        self.times.setdefault(name, []).append((time.perf_counter() - started_at) * 1000)

    def round(self, number):
        """One call of each kind."""
        store, namespace, key = self.store, self.namespace, str(number % ITEMS)
        found = {"filter": {"kind": "drink"}}
        self.measure("put", lambda: store.put(namespace, key, {**VALUE, "n": number}))
        self.measure("get", lambda: store.get(namespace, key))
        self.measure("search after a put", lambda: store.search(namespace, **found))
        self.measure("search of 10 in 100, by a filter", lambda: store.search(namespace, **found))
        puts = [PutOp(namespace, str(n), {**VALUE, "n": number}) for n in range(BATCH)]
        self.measure(f"batch of {BATCH} puts", lambda: store.batch(puts))
        self.measure("search after the batch", lambda: store.search(namespace, **found))


@contextlib.contextmanager
def subjects(program):
    """Both stores, on the Postgres of one deployment."""
    with data_folder() as data, gateway(program, data) as (_, _, names):
        token = secret_key(program, names, "append", "read")
        url = names["HANSARD_READ_MODEL__DATABASE_URL"]
        with Connection.connect(url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE langgraph")
        with (
            Hansard(grpc_url(names["HANSARD_GATEWAY_URL"]), token, agent_id=AGENT) as client,
            PostgresStore.from_conn_string(url.replace("/hansard?", "/langgraph?")) as postgres,
        ):
            postgres.setup()
            yield {"HansardStore": Subject(HansardStore(client)), "PostgresStore": Subject(postgres)}


def main(program, calls="200"):
    with subjects(program) as compared:
        for number in range(int(calls)):
            for subject in compared.values():
                subject.round(number)
    print(f"| call, p50, p99 in ms of {calls} | {' | '.join(compared)} |\n|---|---|---|")
    for name in next(iter(compared.values())).times:
        cells = (statistics.quantiles(subject.times[name], n=100) for subject in compared.values())
        print(f"| {name} | {' | '.join(f'{one[49]:.2f}, {one[98]:.2f}' for one in cells)} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
