"""Errors of calls. `reason` is stable: branch on the class or on the reason, never on the message."""

from __future__ import annotations

from collections.abc import Mapping


class HansardError(Exception):
    """A call failed. The message says what to do next."""

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        field: str | None = None,
        retry_after: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        #: The stable reason, for example `CONVERSATION_NOT_FOUND`. Empty: the server gave none.
        self.reason = reason
        #: The path of the invalid field, for example `events[0].message_appended.role`.
        self.field = field
        #: The seconds after which the same call may succeed. `None`: the server gave none.
        self.retry_after = retry_after
        #: Values of the reason, for example `current_version`.
        self.metadata = dict(metadata or {})

    def __str__(self) -> str:
        message = super().__str__()
        return f"{self.reason}: {message}" if self.reason else message


class InvalidRequest(HansardError):
    """A field of the request is invalid: change the request."""


class Unauthenticated(HansardError):
    """The token is missing, unknown or revoked."""


class PermissionDenied(HansardError):
    """The token does not have the scope that the call needs."""


class NotFound(HansardError):
    """What the call names does not exist, or belongs to somebody else."""


class Conflict(HansardError):
    """The state of the conversation does not allow the request, for example because it exists, is archived or erased."""


class VersionConflict(Conflict):
    """The conversation does not have the expected version: read it, and decide again."""

    @property
    def current_version(self) -> int | None:
        """The version of the conversation, if the server gave it."""
        text = self.metadata.get("current_version", "")
        return int(text) if text.isdecimal() else None


class RateLimited(HansardError):
    """A quota or a rate is exceeded: try again after `retry_after`."""


class Unavailable(HansardError):
    """The service did not answer at any attempt. A write may be recorded: repeat it with the same idempotency key."""


class DeadlineExceeded(Unavailable):
    """The call took longer than its timeout. A write may be recorded: repeat it with the same idempotency key."""


class NotSupported(HansardError):
    """The address does not have the call: use a `grpc://` address, or name the writer of an older gateway by `writer_url`."""
