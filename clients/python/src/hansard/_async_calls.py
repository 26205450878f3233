# `generate.py sync` makes the blocking form of this file.
"""The calls of a client: its connection, its retries and its positions."""

from __future__ import annotations

import time
from asyncio import sleep
from types import TracebackType
from typing import TYPE_CHECKING

from hansard import _requests
from hansard._methods import Method, Request, Response
from hansard._positions import Positions, UnreadPositions
from hansard._proto.hansard.history.v1 import history_pb2 as history_pb
from hansard._proto.hansard.read.v1 import read_pb2 as read
from hansard._proto.hansard.write.v1 import write_pb2 as write
from hansard._telemetry import span
from hansard._transports import AsyncTransport, asyncio_transport
from hansard._transports.address import Address
from hansard.errors import HansardError
from hansard.retry import RetryPolicy
from hansard.types import CommitResult

if TYPE_CHECKING:
    from typing_extensions import Self

# Most seconds of one attempt. A connection that is lost without a sign is found by it.
ATTEMPT_TIMEOUT = 10.0


class AsyncCalls:
    """Sends the calls of a client."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        agent_id: str = "",
        writer_url: str | None = None,
        timeout: float = 30.0,
        retries: RetryPolicy | None = None,
        root_certificates: bytes | None = None,
    ) -> None:
        address = Address(url, token, writer_url, root_certificates)
        self.agent_id = agent_id
        self._transport: AsyncTransport = asyncio_transport(address)
        self._timeout = timeout
        self._retries = retries or RetryPolicy()
        self._positions = Positions()
        self._unread = UnreadPositions()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def _call(
        self,
        method: Method[Request, Response],
        request: Request,
        conversation_id: str = "",
        timeout: float | None = None,
    ) -> Response:
        """Sends a request until it succeeds, the error is final or the time is over."""
        ends_at = time.monotonic() + (self._timeout if timeout is None else timeout)
        attempt = 0
        with span(method.service, method.name, conversation_id):
            while True:
                attempt += 1
                remaining = ends_at - time.monotonic()
                try:
                    return await self._transport.call(method, request, min(remaining, ATTEMPT_TIMEOUT))
                except HansardError as error:
                    delay = self._retries.next_delay(error, attempt, ends_at - time.monotonic())
                    if delay is None:
                        raise
                await sleep(delay)

    def _written(self, result: CommitResult) -> CommitResult:
        self._positions.remember(result.conversation_id, result.position_token)
        return result

    def _target(self, conversation_id: str) -> read.ReadTarget:
        return read.ReadTarget(
            agent_id=self.agent_id, conversation_id=conversation_id, position_token=self._positions.of(conversation_id)
        )

    def _command(self, conversation_id: str, key: str | None, expected_version: int | None = None) -> write.CommandTarget:
        return _requests.command_target(self.agent_id, conversation_id, key, expected_version)

    def _history_key(self, key: str, namespace: str) -> history_pb.HistoryKey:
        return history_pb.HistoryKey(agent_id=self.agent_id, namespace=namespace, history_key_candidates=[key])
