"""A deployment for the tests: `hansard dev`, on free ports. HANSARD names the program."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import sys
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from hansard import AsyncHansard, Hansard
from hansard._transports.address import grpc_url

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(REPOSITORY / "tests/clients"))

from hansard_dev import AGENT, data_folder, gateway, secret_key

DEFAULT_PROGRAM = REPOSITORY / "target/debug/hansard"


@dataclasses.dataclass(frozen=True)
class Deployment:
    """Where a deployment listens, and a token of its demo agent with all scopes of conversations."""

    program: str
    http_url: str
    grpc_url: str
    writer_url: str
    token: str
    environment: dict[str, str]

    def asynchronous(self, **options: object) -> AsyncHansard:
        return AsyncHansard(self.grpc_url, self.token, agent_id=AGENT, **options)

    def blocking(self, **options: object) -> Hansard:
        return Hansard(self.grpc_url, self.token, agent_id=AGENT, **options)


def _running() -> Deployment | None:
    """The deployment that tests/clients/python/check.py runs."""
    names = dict(os.environ)
    if "HANSARD_HTTP_URL" not in names:
        return None
    urls = (names[f"HANSARD_{role}_URL"] for role in ("HTTP", "GATEWAY", "WRITER"))
    http_url, gateway_url, writer_url = urls
    return Deployment(names["HANSARD"], http_url, grpc_url(gateway_url), grpc_url(writer_url), names["CLIENT_TOKEN"], names)


@pytest.fixture(scope="session")
def deployment() -> Iterator[Deployment]:
    if running := _running():
        yield running
        return
    program = os.environ.get("HANSARD", str(DEFAULT_PROGRAM))
    with data_folder() as data, gateway(program, data) as (http_url, _, environment):
        token = secret_key(program, environment, "append", "read", "erase")
        urls = (grpc_url(environment[f"HANSARD_{role}_URL"]) for role in ("GATEWAY", "WRITER"))
        yield Deployment(program, http_url, *urls, token, environment)


@pytest.fixture
async def client(deployment: Deployment) -> AsyncIterator[AsyncHansard]:
    async with deployment.asynchronous() as client:
        yield client


@pytest.fixture
def blocking(deployment: Deployment) -> Iterator[Hansard]:
    with deployment.blocking() as client:
        yield client


@pytest.fixture
def new_id() -> str:
    return f"test-{uuid.uuid4()}"
