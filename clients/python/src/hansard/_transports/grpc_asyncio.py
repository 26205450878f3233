"""Calls over gRPC, for `asyncio`."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio

from hansard._methods import Method, Request, Response
from hansard._transports import grpc_channel
from hansard._transports.address import Address
from hansard.errors import HansardError


class GrpcAsyncTransport:
    """Calls over gRPC. A channel belongs to the event loop that uses it, so each loop gets its own."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._channels: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, grpc.aio.Channel]]
        self._channels = weakref.WeakKeyDictionary()

    async def call(self, method: Method[Request, Response], request: Request, timeout: float) -> Response:
        """Sends a request, and returns its response within the timeout, in seconds."""
        unary: Any = self._channel(method).unary_unary(
            method.path,
            request_serializer=type(request).SerializeToString,
            response_deserializer=method.response.FromString,
        )
        try:
            response: Response = await unary(request, timeout=timeout, metadata=grpc_channel.headers(self._address))
        except grpc.aio.AioRpcError as error:
            raise _error(error) from None
        return response

    async def stream(self, method: Method[Request, Response], request: Request) -> AsyncIterator[Response]:
        """Sends a request, and returns its responses as they arrive."""
        open_stream: Any = self._channel(method).unary_stream(
            method.path,
            request_serializer=type(request).SerializeToString,
            response_deserializer=method.response.FromString,
        )
        call = open_stream(request, metadata=grpc_channel.headers(self._address))
        try:
            async for response in call:
                yield response
        except grpc.aio.AioRpcError as error:
            raise _error(error) from None
        finally:
            call.cancel()

    async def close(self) -> None:
        """Closes the channels of the running loop."""
        for channel in self._channels.pop(asyncio.get_running_loop(), {}).values():
            await channel.close()

    def _channel(self, method: Method[Any, Any]) -> grpc.aio.Channel:
        channels = self._channels.setdefault(asyncio.get_running_loop(), {})
        url = self._address.url_of(is_write=method.is_write)
        if url not in channels:
            secure, target = grpc_channel.credentials(self._address, url), grpc_channel.target(url)
            channels[url] = (
                grpc.aio.secure_channel(target, secure, grpc_channel.OPTIONS)
                if secure
                else grpc.aio.insecure_channel(target, grpc_channel.OPTIONS)
            )
        return channels[url]


def _error(error: grpc.aio.AioRpcError) -> HansardError:
    trailers: Any = error.trailing_metadata()
    return grpc_channel.error(error.code(), error.details(), trailers)
