"""Makes errors of gRPC statuses and of HTTP problems."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import grpc
from google.rpc import error_details_pb2 as _details  # type: ignore[import-untyped, unused-ignore]  # pyright: ignore[reportMissingTypeStubs]
from google.rpc import status_pb2 as _status  # pyright: ignore[reportMissingTypeStubs]

from hansard.errors import (
    Conflict,
    DeadlineExceeded,
    HansardError,
    InvalidRequest,
    NotFound,
    NotSupported,
    PermissionDenied,
    RateLimited,
    Unauthenticated,
    Unavailable,
    VersionConflict,
)

# The package has no types.
error_details_pb2: Any = _details
status_pb2: Any = _status

DETAILS_KEY = "grpc-status-details-bin"
# Reasons whose class does not follow from the code alone.
BY_REASON: dict[str, type[HansardError]] = {
    "VERSION_CONFLICT": VersionConflict,
    "OVERLOADED": Unavailable,
    "CONTENTION": Unavailable,
}
BY_CODE: dict[grpc.StatusCode, type[HansardError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.OUT_OF_RANGE: InvalidRequest,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.ALREADY_EXISTS: Conflict,
    grpc.StatusCode.ABORTED: Conflict,
    grpc.StatusCode.FAILED_PRECONDITION: Conflict,
    grpc.StatusCode.RESOURCE_EXHAUSTED: RateLimited,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.UNIMPLEMENTED: NotSupported,
}
BY_STATUS: dict[int, type[HansardError]] = {
    400: InvalidRequest,
    401: Unauthenticated,
    403: PermissionDenied,
    404: NotFound,
    408: Unavailable,
    409: Conflict,
    413: InvalidRequest,
    415: InvalidRequest,
    429: RateLimited,
    502: Unavailable,
    503: Unavailable,
    504: DeadlineExceeded,
}


def of_grpc(code: grpc.StatusCode, message: str, trailers: Mapping[str, str | bytes]) -> HansardError:
    """The error of a gRPC status with the details in its trailers."""
    info = error_details_pb2.ErrorInfo()
    field: str | None = None
    retry_after: float | None = None
    details = trailers.get(DETAILS_KEY, b"")
    status = status_pb2.Status.FromString(details if isinstance(details, bytes) else details.encode())
    for detail in status.details:
        bad, retry = error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
        if detail.Unpack(bad) and bad.field_violations:
            field = bad.field_violations[0].field
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
        else:
            detail.Unpack(info)
    kind = BY_REASON.get(info.reason) or BY_CODE.get(code, HansardError)
    return kind(message, reason=info.reason, field=field, retry_after=retry_after, metadata=dict(info.metadata))


def of_http(status: int, body: bytes, headers: Mapping[str, str]) -> HansardError:
    """The error of an HTTP answer: a problem as `application/problem+json`, or an answer of a proxy."""
    problem = _object(body)
    reason, detail = str(problem.get("code", "")), str(problem.get("detail", f"HTTP status {status}"))
    metadata = cast("dict[str, Any]", problem.get("metadata") or {})
    kind = BY_REASON.get(reason) or BY_STATUS.get(status, HansardError)
    return kind(
        detail,
        reason=reason,
        field=cast("str | None", problem.get("field")),
        retry_after=_retry_after(problem, headers),
        metadata={name: str(value) for name, value in metadata.items()},
    )


def _object(body: bytes) -> dict[str, Any]:
    try:
        problem: Any = json.loads(body)
    except ValueError:
        return {}
    return cast("dict[str, Any]", problem) if isinstance(problem, dict) else {}


def _retry_after(problem: dict[str, Any], headers: Mapping[str, str]) -> float | None:
    milliseconds = problem.get("retry_after_ms")
    if isinstance(milliseconds, (int, float)):
        return milliseconds / 1000
    seconds = headers.get("retry-after", "")
    return float(seconds) if seconds.isdecimal() else None
