"""Calls for documents as requests of the HTTP API, and its answers as responses of the protocol. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import Message

from hansard import _methods
from hansard._json import dumps as compact
from hansard._proto.hansard.document.v1 import document_pb2 as document_pb
from hansard._transports.event_json import Verbatim, dumps, timestamp
from hansard._transports.http_request import AGENT, KEY, POSITION, HttpRequest

PATH = "/v1/documents"


def _scope(scope: document_pb.DocumentScope) -> dict[str, str]:
    if scope.WhichOneof("kind") == "conversation_id":
        return {"conversationId": scope.conversation_id}
    owner = scope.owner
    ids = {"userId": owner.user_id, "sessionId": owner.session_id, "channelId": owner.channel_id}
    return {name: value for name, value in ids.items() if value}


def _body(message: Any, **members: Any) -> str:
    """The body of a request: whose documents, and the members that are given."""
    given = {"scope": _scope(message.scope), **members}
    return dumps({name: value for name, value in given.items() if value is not None})


def _name(message: Any) -> dict[str, Any]:
    return {"namespace": list(message.namespace), "key": message.key}


def _version(message: Any) -> int | None:
    return message.expected_version if message.HasField("expected_version") else None


def _put(message: document_pb.PutDocumentRequest) -> HttpRequest:
    body = _body(
        message,
        **_name(message),
        value=Verbatim(message.value_json),
        ttlSeconds=message.ttl_seconds or None,
        expectedVersion=_version(message),
    )
    return HttpRequest("PUT", PATH, {AGENT: message.scope.agent_id, KEY: message.idempotency_key}, body=body)


def _get(message: document_pb.GetDocumentRequest) -> HttpRequest:
    return HttpRequest("POST", f"{PATH}/get", {AGENT: message.scope.agent_id}, body=_body(message, **_name(message)))


def _delete(message: document_pb.DeleteDocumentRequest) -> HttpRequest:
    body = _body(message, **_name(message), expectedVersion=_version(message))
    headers = {AGENT: message.scope.agent_id, KEY: message.idempotency_key}
    return HttpRequest("POST", f"{PATH}/delete", headers, body=body)


def _search(message: document_pb.SearchDocumentsRequest) -> HttpRequest:
    body = _body(
        message,
        namespacePrefix=list(message.namespace_prefix),
        filter=Verbatim(message.filter_json) if message.filter_json else None,
        limit=message.limit or None,
        offset=message.offset,
    )
    return HttpRequest("POST", f"{PATH}/search", _page_headers(message), body=body)


def _namespaces(message: document_pb.ListDocumentNamespacesRequest) -> HttpRequest:
    body = _body(
        message,
        prefix=list(message.prefix),
        suffix=list(message.suffix),
        maxDepth=message.max_depth or None,
        limit=message.limit or None,
        offset=message.offset,
    )
    return HttpRequest("POST", f"{PATH}/namespaces", _page_headers(message), body=body)


def _page_headers(message: Any) -> dict[str, str]:
    return {AGENT: message.scope.agent_id, POSITION: ",".join(message.position_tokens)}


def _versions(message: document_pb.ListDocumentVersionsRequest) -> HttpRequest:
    body = _body(message, **_name(message), beforeVersion=message.before_version or None, limit=message.limit or None)
    return HttpRequest("POST", f"{PATH}/versions", {AGENT: message.scope.agent_id}, body=body)


REQUESTS: dict[str, Callable[[Any], HttpRequest]] = {
    _methods.PUT_DOCUMENT.name: _put,
    _methods.GET_DOCUMENT.name: _get,
    _methods.DELETE_DOCUMENT.name: _delete,
    _methods.SEARCH_DOCUMENTS.name: _search,
    _methods.LIST_DOCUMENT_NAMESPACES.name: _namespaces,
    _methods.LIST_DOCUMENT_VERSIONS.name: _versions,
}


def _put_of_json(body: Mapping[str, Any], _: Mapping[str, str]) -> document_pb.PutDocumentResponse:
    return document_pb.PutDocumentResponse(
        version=body["version"], conversation_id=body["conversationId"], position_token=body["positionToken"]
    )


def _document_of_json(body: Mapping[str, Any]) -> document_pb.Document:
    return document_pb.Document(
        namespace=body["namespace"],
        key=body["key"],
        value_json=compact(body["value"]),
        version=body["version"],
        created_at=timestamp(body["createdAt"]),
        updated_at=timestamp(body["updatedAt"]),
        expires_at=timestamp(body["expiresAt"]) if "expiresAt" in body else None,
        conversation_id=body["conversationId"],
    )


def _get_of_json(body: Mapping[str, Any], _: Mapping[str, str]) -> document_pb.GetDocumentResponse:
    document = body.get("document")
    return document_pb.GetDocumentResponse(document=None if document is None else _document_of_json(document))


def _delete_of_json(body: Mapping[str, Any], headers: Mapping[str, str]) -> document_pb.DeleteDocumentResponse:
    version = body.get("version", 0)
    return document_pb.DeleteDocumentResponse(deleted=body["deleted"], version=version, position_token=headers.get(POSITION, ""))


def _search_of_json(body: Mapping[str, Any], _: Mapping[str, str]) -> document_pb.SearchDocumentsResponse:
    documents = [_document_of_json(document) for document in body["documents"]]
    return document_pb.SearchDocumentsResponse(documents=documents, has_more=body["hasMore"])


def _namespaces_of_json(body: Mapping[str, Any], _: Mapping[str, str]) -> document_pb.ListDocumentNamespacesResponse:
    namespaces = [document_pb.DocumentNamespace(labels=labels) for labels in body["namespaces"]]
    return document_pb.ListDocumentNamespacesResponse(namespaces=namespaces, has_more=body["hasMore"])


def _versions_of_json(body: Mapping[str, Any], _: Mapping[str, str]) -> document_pb.ListDocumentVersionsResponse:
    versions = [
        document_pb.DocumentVersion(
            version=version["version"],
            recorded_at=timestamp(version["recordedAt"]),
            value_json="" if version["isDeleted"] else compact(version.get("value")),
            ttl_seconds=version.get("ttlSeconds", 0),
        )
        for version in body["versions"]
    ]
    return document_pb.ListDocumentVersionsResponse(versions=versions, next_before_version=body.get("nextBeforeVersion", 0))


RESPONSES: dict[str, Callable[[Any, Mapping[str, str]], Message]] = {
    _methods.PUT_DOCUMENT.name: _put_of_json,
    _methods.GET_DOCUMENT.name: _get_of_json,
    _methods.DELETE_DOCUMENT.name: _delete_of_json,
    _methods.SEARCH_DOCUMENTS.name: _search_of_json,
    _methods.LIST_DOCUMENT_NAMESPACES.name: _namespaces_of_json,
    _methods.LIST_DOCUMENT_VERSIONS.name: _versions_of_json,
}
