"""What both gRPC transports share: options of channels, headers and errors."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

import grpc

from hansard import _problems
from hansard._telemetry import trace_headers
from hansard._transports.address import Address
from hansard.errors import HansardError

# A page has at most 3 MiB, a context more.
MESSAGE_BYTES_MAX = 64 * 1024 * 1024
OPTIONS = [
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    # The client repeats calls by itself, with the delay that the server asks for.
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 10_000),
]


def target(url: str) -> str:
    """The host and port of a channel."""
    return urlsplit(url).netloc


def credentials(address: Address, url: str) -> grpc.ChannelCredentials | None:
    """The credentials of a TLS channel; `None`: the address has no TLS."""
    if urlsplit(url).scheme != "grpcs":
        return None
    return grpc.ssl_channel_credentials(address.root_certificates)


def headers(address: Address) -> tuple[tuple[str, str], ...]:
    """The metadata of a call."""
    return (("authorization", f"Bearer {address.token}"), *trace_headers().items())


def error(code: grpc.StatusCode, details: str | None, trailers: Iterable[tuple[str, str | bytes]] | None) -> HansardError:
    """The error of a failed call."""
    # The metadata of asyncio is no mapping in older versions of gRPC.
    return _problems.of_grpc(code, details or code.name, dict(tuple(trailers or ())))
