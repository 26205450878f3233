"""Whose documents a call names. No I/O."""

from __future__ import annotations

from typing import TypedDict, cast

from hansard._proto.hansard.document.v1.document_pb2 import DocumentScope
from hansard.types import Owner

# Most documents and namespaces of an answer, as the service allows.
DOCUMENTS_PAGE_MAX, NAMESPACES_PAGE_MAX = 100, 1000


class DocumentOwnerIds(TypedDict, total=False):
    """The owner of a document: at most one of these ids. Without one, the agent."""

    user_id: str | None
    session_id: str | None
    channel_id: str | None


class DocumentScopeIds(DocumentOwnerIds, total=False):
    """The owner of a document, or the conversation that contains it."""

    conversation_id: str | None


def owner_scope(agent_id: str, ids: DocumentOwnerIds) -> DocumentScope:
    """The scope of a change. A conversation has none: its documents are events that `append` adds."""
    if "conversation_id" in ids:
        raise ValueError("documents of a conversation are changed by `append` with DocumentPut and DocumentDeleted")
    return scope(agent_id, cast("DocumentScopeIds", ids))


def scope(agent_id: str, ids: DocumentScopeIds) -> DocumentScope:
    """The scope of a read."""
    given = {name: value for name, value in ids.items() if value is not None}
    unknown = given.keys() - DocumentScopeIds.__annotations__
    if unknown:
        raise TypeError(f"unexpected argument {unknown.pop()!r}")
    if len(given) > 1:
        raise ValueError("documents have one owner: give one of user_id, session_id, channel_id and conversation_id")
    if "conversation_id" in given:
        return DocumentScope(agent_id=agent_id, conversation_id=ids.get("conversation_id"))
    if not given:
        return DocumentScope(agent_id=agent_id)
    owner = Owner(user_id=ids.get("user_id"), session_id=ids.get("session_id"), channel_id=ids.get("channel_id"))
    return DocumentScope(agent_id=agent_id, owner=owner)
