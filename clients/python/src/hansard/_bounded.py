"""Runs several calls at once, with a bound."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")
# Most calls of one batch at the same time.
CALLS_MAX = 16


async def gather_bounded(calls: Sequence[Callable[[], Awaitable[Result]]]) -> list[Result]:
    """The results of calls, in their order. Every call ends before the first error is raised."""
    free = asyncio.Semaphore(CALLS_MAX)

    async def run(call: Callable[[], Awaitable[Result]]) -> Result:
        async with free:
            return await call()

    ended = await asyncio.gather(*(run(call) for call in calls), return_exceptions=True)
    results: list[Result] = []
    for result in ended:
        if isinstance(result, BaseException):
            raise result
        results.append(result)
    return results


def run_bounded(calls: Sequence[Callable[[], Result]]) -> list[Result]:
    """The blocking form of `gather_bounded`, in threads."""
    if len(calls) < 2:
        return [call() for call in calls]
    with ThreadPoolExecutor(min(len(calls), CALLS_MAX), "hansard") as threads:
        # Each thread continues the caller's trace.
        started = [threads.submit(contextvars.copy_context().run, call) for call in calls]
    return [call.result() for call in started]
