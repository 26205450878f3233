"""When a failed call is sent again."""

from __future__ import annotations

import dataclasses
import random

from hansard.errors import HansardError, RateLimited, Unavailable


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """Bounds of the attempts of one call. Every attempt of a write has the same idempotency key."""

    #: Most attempts of one call, at least 1.
    attempts_max: int = 10
    #: The delay before the second attempt, in seconds. It doubles with each attempt.
    delay: float = 0.1
    #: The longest delay, in seconds. A delay that the server asks for may be longer.
    delay_max: float = 3.0

    def next_delay(self, error: HansardError, attempt: int, remaining: float) -> float | None:
        """The seconds to wait after this attempt, counted from 1. `None`: the error is final, or no time remains."""
        if not isinstance(error, (Unavailable, RateLimited)) or attempt >= self.attempts_max:
            return None
        backoff = min(self.delay * 2.0 ** (attempt - 1), self.delay_max)
        # Half of the delay is random, so that clients of a restarted server do not return at the same moment.
        delay = max(error.retry_after or 0.0, backoff * random.uniform(0.5, 1.0))
        return delay if delay < remaining else None
