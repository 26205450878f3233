"""Answers of the HTTP API as responses of the protocol. No I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

from hansard import _methods, _problems
from hansard._methods import Method, Response
from hansard._proto.hansard.history.v1 import history_pb2 as history
from hansard._proto.hansard.read.v1 import read_pb2 as read
from hansard._proto.hansard.write.v1 import write_pb2 as write
from hansard._transports import http_documents
from hansard._transports.event_json import event_of_json, fork_of_json, message_of_json, owner_of_json, timestamp
from hansard._transports.http_request import POSITION
from hansard.messages import ROLES
from hansard.types import CommitResult, Conversation, ConversationStatus, SearchResult, Totals

STATUSES = {
    "active": ConversationStatus.CONVERSATION_STATUS_ACTIVE,
    "archived": ConversationStatus.CONVERSATION_STATUS_ARCHIVED,
}
RESULT_KINDS = {
    "title": read.SEARCH_RESULT_KIND_TITLE,
    "message": read.SEARCH_RESULT_KIND_MESSAGE,
    "tool_call": read.SEARCH_RESULT_KIND_TOOL_CALL,
    "tool_result": read.SEARCH_RESULT_KIND_TOOL_RESULT,
}


def response_of(method: Method[Any, Response], status: int, headers: Mapping[str, str], body: bytes) -> Response:
    """The response of a call, or its error."""
    if status >= 300:
        raise _problems.of_http(status, body, headers)
    return cast("Response", _RESPONSES[method.name](json.loads(body), headers))


def _commit(body: Mapping[str, Any]) -> CommitResult:
    return CommitResult(
        conversation_id=body["conversationId"],
        commit_id=body.get("commitId", ""),
        first_version=body.get("firstVersion", 0),
        version=body["version"],
        recorded_at=timestamp(body["recordedAt"]) if "recordedAt" in body else None,
        position_token=body["positionToken"],
        replayed=body["replayed"],
    )


def _conversation(body: Mapping[str, Any], headers: Mapping[str, str]) -> read.GetConversationResponse:
    totals = body["totals"]
    conversation = Conversation(
        conversation_id=body["id"],
        agent_id=body["agentId"],
        owner=owner_of_json(body.get("owner", {})),
        status=STATUSES.get(body["status"], ConversationStatus.CONVERSATION_STATUS_UNSPECIFIED),
        version=body["version"],
        title=body.get("title", ""),
        metadata_json=json.dumps(body["metadata"]) if "metadata" in body else "",
        created_at=timestamp(body["createdAt"]),
        last_event_at=timestamp(body["lastEventAt"]),
        active_run_id=body.get("activeRunId", ""),
        forked_from=fork_of_json(body.get("forkedFrom")),
        totals=Totals(
            messages=totals["messages"],
            input_tokens=totals["inputTokens"],
            output_tokens=totals["outputTokens"],
            cached_tokens=totals["cachedTokens"],
        ),
    )
    return read.GetConversationResponse(conversation=conversation, position_token=headers.get(POSITION, ""))


def _events_page(body: Mapping[str, Any], _: Mapping[str, str]) -> read.ListEventsResponse:
    return read.ListEventsResponse(
        events=[event_of_json(event) for event in body["events"]],
        version=body["version"],
        next_page_token=str(body.get("next", "")),
    )


def _assembled(body: Mapping[str, Any], _: Mapping[str, str]) -> read.AssembleContextResponse:
    receipt = ParseDict(body["receipt"], read.Receipt(), ignore_unknown_fields=True)
    text = json.dumps(body["body"], ensure_ascii=False)
    return read.AssembleContextResponse(
        body=text.encode(), receipt=receipt, version=body["version"], position_token=body["positionToken"]
    )


def _search_page(body: Mapping[str, Any], _: Mapping[str, str]) -> read.SearchConversationsResponse:
    results = [_search_result(result) for result in body["results"]]
    return read.SearchConversationsResponse(results=results, next_page_token=body.get("nextCursor", ""))


def _search_result(body: Mapping[str, Any]) -> SearchResult:
    return SearchResult(
        conversation_id=body["conversationId"],
        agent_id=body.get("agentId", ""),
        user_id=body.get("userId", ""),
        title=body.get("title", ""),
        status=STATUSES.get(body["status"], ConversationStatus.CONVERSATION_STATUS_UNSPECIFIED),
        kind=RESULT_KINDS.get(body["kind"], read.SEARCH_RESULT_KIND_UNSPECIFIED),
        version=body.get("version", 0),
        role=ROLES.get(body.get("role", "")),
        tool_name=body.get("toolName", ""),
        recorded_at=timestamp(body["time"]),
        is_rewound=body["isRewound"],
        snippet=[read.SnippetPart(text=part["text"], is_match=part["isMatch"]) for part in body["snippet"]],
    )


def _warnings(body: Mapping[str, Any]) -> list[history.HistoryWarning]:
    return [history.HistoryWarning(code=one["code"], message=one["message"]) for one in body["warnings"]]


def _loaded(body: Mapping[str, Any], _: Mapping[str, str]) -> history.LoadHistoryResponse:
    return history.LoadHistoryResponse(
        messages=[message_of_json(message) for message in body["messages"]],
        truncated=body["truncated"],
        history_key=body["key"],
        conversation_id=body.get("conversationId", ""),
        channel_id=body.get("channelId", ""),
        version=body["version"],
        warnings=_warnings(body),
    )


def _recorded(body: Mapping[str, Any], _: Mapping[str, str]) -> history.RecordHistoryResponse:
    return history.RecordHistoryResponse(
        appended_count=body["appendedCount"],
        history_key=body["key"],
        conversation_id=body.get("conversationId", ""),
        channel_id=body.get("channelId", ""),
        version=body["version"],
        warnings=_warnings(body),
    )


_RESPONSES: dict[str, Callable[[Any, Mapping[str, str]], Message]] = {
    _methods.CREATE.name: lambda body, _: write.CreateConversationResponse(result=_commit(body)),
    _methods.APPEND.name: lambda body, _: write.AppendEventsResponse(result=_commit(body)),
    _methods.UPDATE.name: lambda body, _: write.UpdateConversationResponse(result=_commit(body)),
    _methods.GET.name: _conversation,
    _methods.LIST_EVENTS.name: _events_page,
    _methods.CONTEXT.name: _assembled,
    _methods.SEARCH.name: _search_page,
    _methods.LOAD_HISTORY.name: _loaded,
    _methods.RECORD_HISTORY.name: _recorded,
    **http_documents.RESPONSES,
}
