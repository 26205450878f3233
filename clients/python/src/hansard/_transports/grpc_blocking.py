"""Calls over gRPC, for threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import grpc

from hansard._methods import Method, Request, Response
from hansard._transports import grpc_channel
from hansard._transports.address import Address
from hansard.errors import HansardError


class GrpcTransport:
    """Calls over gRPC. Threads may share it."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._channels: dict[str, grpc.Channel] = {}

    def call(self, method: Method[Request, Response], request: Request, timeout: float) -> Response:
        """Sends a request, and returns its response within the timeout, in seconds."""
        unary: Any = self._channel(method).unary_unary(
            method.path,
            request_serializer=type(request).SerializeToString,
            response_deserializer=method.response.FromString,
        )
        try:
            response: Response = unary(request, timeout=timeout, metadata=grpc_channel.headers(self._address))
        except grpc.RpcError as error:
            raise _error(error) from None
        return response

    def stream(self, method: Method[Request, Response], request: Request) -> Iterator[Response]:
        """Sends a request, and returns its responses as they arrive."""
        open_stream: Any = self._channel(method).unary_stream(
            method.path,
            request_serializer=type(request).SerializeToString,
            response_deserializer=method.response.FromString,
        )
        call = open_stream(request, metadata=grpc_channel.headers(self._address))
        try:
            yield from call
        except grpc.RpcError as error:
            raise _error(error) from None
        finally:
            call.cancel()

    def close(self) -> None:
        """Closes the channels."""
        with self._lock:
            channels, self._channels = self._channels, {}
        for channel in channels.values():
            channel.close()

    def _channel(self, method: Method[Any, Any]) -> grpc.Channel:
        url = self._address.url_of(is_write=method.is_write)
        with self._lock:
            if url not in self._channels:
                secure, target = grpc_channel.credentials(self._address, url), grpc_channel.target(url)
                self._channels[url] = (
                    grpc.secure_channel(target, secure, grpc_channel.OPTIONS)
                    if secure
                    else grpc.insecure_channel(target, grpc_channel.OPTIONS)
                )
            return self._channels[url]


def _error(error: grpc.RpcError) -> HansardError:
    # A failed call is an error and a call at the same time.
    call: Any = error
    return grpc_channel.error(call.code(), call.details(), call.trailing_metadata())
