"""Calls over HTTP, for `asyncio`."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import httpx2

from hansard._methods import Method, Request, Response
from hansard._transports.address import Address
from hansard._transports.event_stream import EventStream
from hansard._transports.http_errors import STREAM_TIMEOUT, error, verification
from hansard._transports.http_request import HttpRequest
from hansard._transports.http_requests import base_url, request_of
from hansard._transports.http_responses import response_of


class HttpAsyncTransport:
    """Calls over HTTP. Connections belong to the event loop that uses them, so each loop gets its own."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient]
        self._clients = weakref.WeakKeyDictionary()

    async def call(self, method: Method[Request, Response], request: Request, timeout: float) -> Response:
        """Sends a request, and returns its response within the timeout, in seconds."""
        made = request_of(self._address, method, request)
        try:
            answer = await asyncio.wait_for(self._send(made, timeout), timeout)
        except (httpx2.HTTPError, asyncio.TimeoutError) as failure:
            raise error(failure) from None
        return response_of(method, answer.status_code, answer.headers, answer.content)

    async def stream(self, method: Method[Request, Response], request: Request) -> AsyncIterator[Response]:
        """Sends a request, and returns its responses as they arrive."""
        made = request_of(self._address, method, request)
        events = EventStream()
        try:
            async with self._client().stream(made.method, made.target, headers=made.headers, timeout=STREAM_TIMEOUT) as answer:
                if answer.status_code >= 300:
                    response_of(method, answer.status_code, answer.headers, await answer.aread())
                async for chunk in answer.aiter_bytes():
                    responses: Any = events.responses(chunk)
                    for response in cast("Iterator[Response]", responses):
                        yield response
        except httpx2.HTTPError as failure:
            raise error(failure) from None

    async def close(self) -> None:
        """Closes the connections of the running loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def _send(self, request: HttpRequest, timeout: float) -> httpx2.Response:
        return await self._client().request(
            request.method, request.target, headers=request.headers, content=request.body, timeout=timeout
        )

    def _client(self) -> httpx2.AsyncClient:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            trust = verification(self._address)
            self._clients[loop] = httpx2.AsyncClient(base_url=base_url(self._address), verify=trust)
        return self._clients[loop]
