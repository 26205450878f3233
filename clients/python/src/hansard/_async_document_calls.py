# `generate.py sync` makes the blocking form of this file.
"""The calls of a client for documents: JSON values under a namespace and a key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hansard import _document_requests, _methods
from hansard._async_calls import AsyncCalls
from hansard._document_requests import DOCUMENTS_PAGE_MAX, NAMESPACES_PAGE_MAX, DocumentOwnerIds, DocumentScopeIds
from hansard._ids import uuid7
from hansard._json import dumps
from hansard._positions import SEARCH_TOKENS_MAX
from hansard._proto.hansard.document.v1 import document_pb2 as document_pb
from hansard.results import Document, DocumentVersion
from hansard.types import PutDocumentResponse

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncDocumentCalls(AsyncCalls):
    """Sends the calls for documents.

    A document belongs to the owner that `user_id`, `session_id` or `channel_id` names; without one, to the agent. Reads may
    name a `conversation_id` instead, whose documents are events that `append` adds.
    """

    async def put_document(
        self,
        namespace: Sequence[str],
        key: str,
        value: Any,
        *,
        ttl_seconds: int | None = None,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        **owner: Unpack[DocumentOwnerIds],
    ) -> PutDocumentResponse:
        """Records a JSON value of at most 64 KiB. It is read for `ttl_seconds`; without them, for ever.

        `expected_version` rejects the value with `VersionConflict` if the document has another version; 0: if it exists.
        """
        request = document_pb.PutDocumentRequest(
            scope=_document_requests.owner_scope(self.agent_id, owner),
            namespace=namespace,
            key=key,
            value_json=dumps(value),
            ttl_seconds=ttl_seconds or 0,
            expected_version=expected_version,
            idempotency_key=idempotency_key or uuid7(),
        )
        response = await self._call(_methods.PUT_DOCUMENT, request, timeout=timeout)
        self._unread.remember(response.position_token)
        return response

    async def get_document(
        self, namespace: Sequence[str], key: str, *, timeout: float | None = None, **scope: Unpack[DocumentScopeIds]
    ) -> Document | None:
        """Returns a document with its latest value; `None`: it does not exist. The answer includes every earlier write."""
        request = document_pb.GetDocumentRequest(
            scope=_document_requests.scope(self.agent_id, scope), namespace=namespace, key=key
        )
        response = await self._call(_methods.GET_DOCUMENT, request, scope.get("conversation_id") or "", timeout)
        return Document.of(response.document) if response.HasField("document") else None

    async def delete_document(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        **owner: Unpack[DocumentOwnerIds],
    ) -> bool:
        """Deletes a document, and returns whether there was one. Its earlier values stay in its history."""
        request = document_pb.DeleteDocumentRequest(
            scope=_document_requests.owner_scope(self.agent_id, owner),
            namespace=namespace,
            key=key,
            expected_version=expected_version,
            idempotency_key=idempotency_key or uuid7(),
        )
        response = await self._call(_methods.DELETE_DOCUMENT, request, timeout=timeout)
        self._unread.remember(response.position_token)
        return response.deleted

    async def search_documents(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        timeout: float | None = None,
        **scope: Unpack[DocumentScopeIds],
    ) -> list[Document]:
        """Returns the documents below a namespace whose values match, the last updated first. Includes this client's writes.

        Every member of `filter` must match: a value, or an object with `$eq`, `$ne`, `$gt`, `$gte`, `$lt` or `$lte`. A `limit`
        over 100 takes several requests.
        """
        tokens = await self._position_tokens(scope, timeout)
        found: list[Document] = []
        while len(found) < limit:
            request = document_pb.SearchDocumentsRequest(
                scope=_document_requests.scope(self.agent_id, scope),
                namespace_prefix=namespace_prefix,
                filter_json=dumps(filter) if filter else "",
                limit=min(limit - len(found), DOCUMENTS_PAGE_MAX),
                offset=offset + len(found),
                position_tokens=tokens,
            )
            page = await self._call(_methods.SEARCH_DOCUMENTS, request, scope.get("conversation_id") or "", timeout)
            self._unread.forget(tokens)
            found += [Document.of(document) for document in page.documents]
            if not page.has_more:
                break
        return found

    async def list_document_namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
        timeout: float | None = None,
        **scope: Unpack[DocumentScopeIds],
    ) -> list[tuple[str, ...]]:
        """Returns the namespaces of documents, in the order of their labels. Includes this client's writes.

        `*` in `prefix` and `suffix` matches every label. `max_depth` keeps this number of first labels.
        """
        tokens = await self._position_tokens(scope, timeout)
        found: list[tuple[str, ...]] = []
        while len(found) < limit:
            request = document_pb.ListDocumentNamespacesRequest(
                scope=_document_requests.scope(self.agent_id, scope),
                prefix=prefix,
                suffix=suffix,
                max_depth=max_depth or 0,
                limit=min(limit - len(found), NAMESPACES_PAGE_MAX),
                offset=offset + len(found),
                position_tokens=tokens,
            )
            page = await self._call(_methods.LIST_DOCUMENT_NAMESPACES, request, scope.get("conversation_id") or "", timeout)
            self._unread.forget(tokens)
            found += [tuple(namespace.labels) for namespace in page.namespaces]
            if not page.has_more:
                break
        return found

    async def list_document_versions(
        self, namespace: Sequence[str], key: str, *, page_size: int = 0, **scope: Unpack[DocumentScopeIds]
    ) -> AsyncIterator[DocumentVersion]:
        """Iterates over the values and deletions of a document, the newest first."""
        request = document_pb.ListDocumentVersionsRequest(
            scope=_document_requests.scope(self.agent_id, scope), namespace=namespace, key=key, limit=page_size
        )
        while True:
            page = await self._call(_methods.LIST_DOCUMENT_VERSIONS, request, scope.get("conversation_id") or "")
            for version in page.versions:
                yield DocumentVersion.of(version)
            if not page.next_before_version:
                return
            request.before_version = page.next_before_version

    async def _position_tokens(self, scope: DocumentScopeIds, timeout: float | None) -> list[str]:
        """The tokens of this client's writes that no search has included. More than a request may have are waited for here."""
        tokens = self._unread.tokens()
        if conversation_id := scope.get("conversation_id"):
            own = self._positions.of(conversation_id)
            tokens = [own, *tokens] if own else tokens
        while len(tokens) > SEARCH_TOKENS_MAX:
            first, tokens = tokens[:SEARCH_TOKENS_MAX], tokens[SEARCH_TOKENS_MAX:]
            request = document_pb.ListDocumentNamespacesRequest(
                scope=_document_requests.scope(self.agent_id, {}), limit=1, position_tokens=first
            )
            await self._call(_methods.LIST_DOCUMENT_NAMESPACES, request, timeout=timeout)
            self._unread.forget(first)
        return tokens
