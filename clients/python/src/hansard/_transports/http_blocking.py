"""Calls over HTTP, for threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import httpx2

from hansard._methods import Method, Request, Response
from hansard._transports.address import Address
from hansard._transports.event_stream import EventStream
from hansard._transports.http_errors import STREAM_TIMEOUT, error, verification
from hansard._transports.http_requests import base_url, request_of
from hansard._transports.http_responses import response_of


class HttpTransport:
    """Calls over HTTP. Threads may share it."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._client = httpx2.Client(base_url=base_url(address), verify=verification(address))

    def call(self, method: Method[Request, Response], request: Request, timeout: float) -> Response:
        """Sends a request, and returns its response. The timeout bounds each wait for the network, in seconds."""
        made = request_of(self._address, method, request)
        try:
            answer = self._client.request(made.method, made.target, headers=made.headers, content=made.body, timeout=timeout)
        except httpx2.HTTPError as failure:
            raise error(failure) from None
        return response_of(method, answer.status_code, answer.headers, answer.content)

    def stream(self, method: Method[Request, Response], request: Request) -> Iterator[Response]:
        """Sends a request, and returns its responses as they arrive."""
        made = request_of(self._address, method, request)
        events = EventStream()
        try:
            with self._client.stream(made.method, made.target, headers=made.headers, timeout=STREAM_TIMEOUT) as answer:
                if answer.status_code >= 300:
                    response_of(method, answer.status_code, answer.headers, answer.read())
                for chunk in answer.iter_bytes():
                    responses: Any = events.responses(chunk)
                    yield from cast("Iterator[Response]", responses)
        except httpx2.HTTPError as failure:
            raise error(failure) from None

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()
