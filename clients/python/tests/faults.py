"""Faults of a deployment and of its connections: killed processes, lost requests and lost answers."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol

from hansard import AsyncHansard, Hansard, Unavailable
from hansard._methods import Method

Loss = Literal["request", "answer", "neither"]


class KilledDeployment:
    """A deployment that is killed and started again on the same ports."""

    def __init__(self, program: str, data: str, port: int) -> None:
        self.command = [program, "dev", "--import", "none", "--data-dir", data, "--port-base", str(port)]
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "Ctrl-C" in line:
                return
        raise AssertionError("hansard dev did not start")

    def kill(self) -> float:
        """Sends SIGKILL to the process of all roles, the writer too, and returns the time."""
        assert self.process is not None
        killed_at = time.monotonic()
        self.process.send_signal(signal.SIGKILL)
        return killed_at

    def restart(self) -> None:
        """Starts the killed process again."""
        assert self.process is not None
        self.process.wait()
        self.start()

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)


class Writes(Protocol):
    """What happens to the attempts of a client's writes."""

    def attempt(self) -> contextlib.AbstractContextManager[None]:
        """Surrounds one attempt."""
        ...


class Attempts:
    """Keeps the attempts that fail."""

    def __init__(self) -> None:
        self.in_flight = 0
        #: When each failed attempt was sent, and when it failed.
        self.failed: list[tuple[float, float]] = []

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        sent_at = time.monotonic()
        self.in_flight += 1
        try:
            yield
        except Unavailable:
            self.failed.append((sent_at, time.monotonic()))
            raise
        finally:
            self.in_flight -= 1

    def interrupted_by(self, killed_at: float) -> int:
        """The number of attempts that were in flight at the time of a kill, and failed."""
        return sum(sent_at <= killed_at <= failed_at for sent_at, failed_at in self.failed)


class Losses:
    """Loses requests before they are sent, and answers after the commit: as planned for each attempt."""

    def __init__(self, plan: Iterable[Loss]) -> None:
        self.plan = iter(plan)
        self.lost = 0

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        loss = next(self.plan, "neither")
        if loss == "request":
            self._lose(loss)
        yield
        if loss == "answer":
            self._lose(loss)

    def _lose(self, loss: Loss) -> None:
        self.lost += 1
        raise Unavailable(f"the {loss} is lost")


def with_writes(client: AsyncHansard | Hansard, writes: Writes) -> Any:
    """The client, whose writes pass through `writes`."""
    transport: Any = _AsyncTransport if isinstance(client, AsyncHansard) else _Transport
    client._transport = transport(client._transport, writes)
    return client


class _AsyncTransport:
    def __init__(self, inner: Any, writes: Writes) -> None:
        self._inner, self._writes = inner, writes

    async def call(self, method: Method[Any, Any], request: Any, timeout: float) -> Any:
        with self._writes.attempt() if method.is_write else contextlib.nullcontext():
            return await self._inner.call(method, request, timeout)

    async def close(self) -> None:
        await self._inner.close()


class _Transport:
    def __init__(self, inner: Any, writes: Writes) -> None:
        self._inner, self._writes = inner, writes

    def call(self, method: Method[Any, Any], request: Any, timeout: float) -> Any:
        with self._writes.attempt() if method.is_write else contextlib.nullcontext():
            return self._inner.call(method, request, timeout)

    def close(self) -> None:
        self._inner.close()
