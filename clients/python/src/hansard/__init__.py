"""Client of Hansard, the conversation record for AI agents.

    from hansard import Hansard

    with Hansard("grpc://127.0.0.1:7302", token, agent_id="support") as hansard:
        hansard.create_conversation("c-1", user_id="ada")
        hansard.append("c-1", [{"role": "user", "content": "Where is my parcel?"}])
        body = hansard.context("c-1").body

`AsyncHansard` has the same methods for `asyncio`. Adapters of frameworks are modules of their own: `hansard.agents`,
`hansard.pydantic_ai`, `hansard.langchain`, `hansard.langgraph`, `hansard.llama_index`.
"""

from hansard._async_client import AsyncHansard
from hansard._sync_client import Hansard
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
from hansard.messages import events_of_messages, messages_of_events
from hansard.results import Context
from hansard.retry import RetryPolicy

__all__ = [
    "AsyncHansard",
    "Conflict",
    "Context",
    "DeadlineExceeded",
    "Hansard",
    "HansardError",
    "InvalidRequest",
    "NotFound",
    "NotSupported",
    "PermissionDenied",
    "RateLimited",
    "RetryPolicy",
    "Unauthenticated",
    "Unavailable",
    "VersionConflict",
    "events_of_messages",
    "messages_of_events",
]
