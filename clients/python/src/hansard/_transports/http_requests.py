"""Calls of the protocol as requests of the HTTP API. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

from google.protobuf.message import Message

from hansard import _methods
from hansard._methods import Method
from hansard._proto.hansard.history.v1 import history_pb2 as history
from hansard._proto.hansard.read.v1 import read_pb2 as read
from hansard._proto.hansard.write.v1 import write_pb2 as write
from hansard._requests import CONTEXT_FORMATS
from hansard._telemetry import trace_headers
from hansard._transports import http_documents
from hansard._transports.address import Address
from hansard._transports.event_json import Verbatim, dumps, event_to_json, message_to_json
from hansard._transports.http_request import AGENT, KEY, POSITION, HttpRequest
from hansard.errors import NotSupported
from hansard.types import EventKind

FORMAT_NAMES = {number: name for name, number in CONTEXT_FORMATS.items()}


def base_url(address: Address) -> str:
    """The address without a slash at its end."""
    parts = urlsplit(address.url)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def request_of(address: Address, method: Method[Any, Any], message: Message) -> HttpRequest:
    """The request of a call."""
    writer = _REQUESTS.get(method.name)
    if writer is None:
        raise NotSupported(f"the HTTP API has no {method.name}: use a grpc:// address")
    request = writer(message)
    request.headers |= {"authorization": f"Bearer {address.token}", **trace_headers()}
    if request.body is not None:
        request.headers["content-type"] = "application/json"
    request.headers = {name: value for name, value in request.headers.items() if value}
    return request


def _conversations(*path: str) -> str:
    return "/".join(["/v1/conversations", *(quote(part, safe="") for part in path)])


def _create(message: write.CreateConversationRequest) -> HttpRequest:
    if message.events or message.HasField("forked_from") or message.HasField("occurred_at"):
        raise NotSupported("the HTTP API creates conversations without events, forks and times: use a grpc:// address")
    body = {
        "id": message.conversation_id,
        "userId": message.owner.user_id,
        "sessionId": message.owner.session_id,
        "title": message.title,
        "metadata": Verbatim(message.metadata_json),
        "providerConversationId": message.provider_conversation_id,
    }
    headers = {AGENT: message.agent_id, KEY: message.idempotency_key}
    given = {name: value for name, value in body.items() if value}
    return HttpRequest("POST", _conversations(), headers, body=dumps(given))


def _command(target: write.CommandTarget) -> dict[str, str]:
    return {AGENT: target.agent_id, KEY: target.idempotency_key}


def _append(message: write.AppendEventsRequest) -> HttpRequest:
    target = message.target
    body: dict[str, Any] = {"events": [event_to_json(event) for event in message.events]}
    if target.HasField("expected_version"):
        body["expectedVersion"] = target.expected_version
    return HttpRequest("POST", _conversations(target.conversation_id, "events"), _command(target), body=dumps(body))


def _update(message: write.UpdateConversationRequest) -> HttpRequest:
    target = message.target
    names = {
        "title": "title",
        "metadata_json": "metadata",
        "provider_conversation_id": "providerConversationId",
        "last_response_id": "lastResponseId",
    }
    body: dict[str, Any] = {}
    for path in message.update_mask.paths:
        value = getattr(message, path)
        body[names[path]] = (Verbatim(value) if path == "metadata_json" else value) if value else None
    if target.HasField("expected_version"):
        body["expectedVersion"] = target.expected_version
    return HttpRequest("PATCH", _conversations(target.conversation_id), _command(target), body=dumps(body))


def _read(target: read.ReadTarget) -> dict[str, str]:
    return {AGENT: target.agent_id, POSITION: target.position_token}


def _get(message: read.GetConversationRequest) -> HttpRequest:
    return HttpRequest("GET", _conversations(message.target.conversation_id), _read(message.target))


def _list_events(message: read.ListEventsRequest) -> HttpRequest:
    is_backward = message.direction == read.DIRECTION_BACKWARD
    query = {
        "from": str(message.from_version or ""),
        "to": str(message.to_version or ""),
        "order": "desc" if is_backward else "asc",
        "limit": str(message.page_size or ""),
        "kinds": ",".join(_kind_name(kind) for kind in message.kinds),
    }
    if message.page_token:
        query["to" if is_backward else "from"] = message.page_token
    path = _conversations(message.target.conversation_id, "events")
    return HttpRequest("GET", path, _read(message.target), query)


def _kind_name(kind: EventKind) -> str:
    return EventKind.Name(kind).removeprefix("EVENT_KIND_").title().replace("_", "")


def _context(message: read.AssembleContextRequest) -> HttpRequest:
    if message.WhichOneof("policy"):
        raise NotSupported("the HTTP API takes the agent's policy: leave the policy out, or use a grpc:// address")
    query = {
        "format": FORMAT_NAMES[message.format],
        "messages": str(message.messages_max or ""),
        "version": str(message.at_version or ""),
    }
    return HttpRequest("GET", _conversations(message.target.conversation_id, "context"), _read(message.target), query)


def _search(message: read.SearchConversationsRequest) -> HttpRequest:
    query = {
        "q": message.query,
        "order": "relevance" if message.order == read.SEARCH_ORDER_RELEVANCE else "newest",
        "limit": str(message.page_size or ""),
        "cursor": message.page_token,
    }
    agent = "" if message.whole_tenant else message.agent_id
    headers = {AGENT: agent, POSITION: ",".join(message.position_tokens)}
    return HttpRequest("GET", "/v1/search", headers, query)


def _watch(message: read.WatchConversationRequest) -> HttpRequest:
    query = {"after": str(max(message.from_version, 1) - 1)}
    path = _conversations(message.conversation_id, "events", "stream")
    return HttpRequest("GET", path, {AGENT: message.agent_id, "accept": "text/event-stream"}, query)


def _history(key: history.HistoryKey, *path: str) -> str:
    return "/".join(["/v1/histories", quote(key.history_key_candidates[0], safe=""), *path])


def _load_history(message: history.LoadHistoryRequest) -> HttpRequest:
    query = {"namespace": message.key.namespace, "limit": str(message.messages_max or "")}
    body = dumps({"messages": [message_to_json(one) for one in message.messages]})
    return HttpRequest("POST", _history(message.key, "load"), {AGENT: message.key.agent_id}, query, body)


def _record_history(message: history.RecordHistoryRequest) -> HttpRequest:
    body: dict[str, Any] = {"messages": [message_to_json(one) for one in message.messages]}
    if message.HasField("loaded_version"):
        body["loadedVersion"] = message.loaded_version
    headers = {AGENT: message.key.agent_id, KEY: message.idempotency_key}
    query = {"namespace": message.key.namespace}
    return HttpRequest("POST", _history(message.key, "messages"), headers, query, dumps(body))


_REQUESTS: dict[str, Callable[[Any], HttpRequest]] = {
    _methods.CREATE.name: _create,
    _methods.APPEND.name: _append,
    _methods.UPDATE.name: _update,
    _methods.GET.name: _get,
    _methods.LIST_EVENTS.name: _list_events,
    _methods.CONTEXT.name: _context,
    _methods.SEARCH.name: _search,
    _methods.WATCH.name: _watch,
    _methods.LOAD_HISTORY.name: _load_history,
    _methods.RECORD_HISTORY.name: _record_history,
    **http_documents.REQUESTS,
}
