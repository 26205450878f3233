"""What both HTTP transports share: errors of connections, timeouts of streams, and trust."""

from __future__ import annotations

import asyncio
import ssl

import httpx2

from hansard._transports.address import Address
from hansard.errors import DeadlineExceeded, HansardError, Unavailable

# A live stream has a comment every few seconds; without one for this long it is opened again.
STREAM_TIMEOUT = httpx2.Timeout(10.0, read=60.0)


def error(failure: Exception) -> HansardError:
    """The error of a request without an answer."""
    if isinstance(failure, (httpx2.TimeoutException, asyncio.TimeoutError)):
        return DeadlineExceeded("no answer in time: try again", reason="DEADLINE_EXCEEDED")
    return Unavailable(f"the connection failed: {type(failure).__name__}", reason="UNAVAILABLE")


def verification(address: Address) -> ssl.SSLContext | bool:
    """Which certificates are trusted."""
    if address.root_certificates is None:
        return True
    return ssl.create_default_context(cadata=address.root_certificates.decode("ascii"))
