"""How calls reach the services: gRPC or HTTP, asynchronous or blocking."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Iterator
from typing import Protocol

from hansard._methods import Method, Request, Response
from hansard._transports.address import Address


class AsyncTransport(Protocol):
    """Sends one attempt of a call. Errors are those of `hansard.errors`."""

    async def call(self, method: Method[Request, Response], request: Request, timeout: float) -> Response:
        """Sends a request, and returns its response within the timeout, in seconds."""
        ...

    def stream(self, method: Method[Request, Response], request: Request) -> AsyncIterator[Response]:
        """Sends a request, and returns its responses as they arrive."""
        ...

    async def close(self) -> None:
        """Closes the connections."""
        ...


class Transport(Protocol):
    """The blocking form of `AsyncTransport`."""

    def call(self, method: Method[Request, Response], request: Request, timeout: float) -> Response:
        """Sends a request, and returns its response within the timeout, in seconds."""
        ...

    def stream(self, method: Method[Request, Response], request: Request) -> Iterator[Response]:
        """Sends a request, and returns its responses as they arrive."""
        ...

    def close(self) -> None:
        """Closes the connections."""
        ...


def asyncio_transport(address: Address) -> AsyncTransport:
    """The transport of the address's scheme, for `asyncio`."""
    if address.is_http:
        _require_http()
        from hansard._transports.http_asyncio import HttpAsyncTransport

        return HttpAsyncTransport(address)
    from hansard._transports.grpc_asyncio import GrpcAsyncTransport

    return GrpcAsyncTransport(address)


def blocking_transport(address: Address) -> Transport:
    """The transport of the address's scheme, for threads."""
    if address.is_http:
        _require_http()
        from hansard._transports.http_blocking import HttpTransport

        return HttpTransport(address)
    from hansard._transports.grpc_blocking import GrpcTransport

    return GrpcTransport(address)


def _require_http() -> None:
    if importlib.util.find_spec("httpx2") is None:
        raise ImportError("addresses with http need the package httpx2: install `hansard[http]`")
