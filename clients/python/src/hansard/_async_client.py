# `generate.py sync` makes the blocking form of this file.
"""The asynchronous client."""

from __future__ import annotations

import datetime
import json
import os
from asyncio import sleep
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hansard import _methods, _requests
from hansard._async_document_calls import AsyncDocumentCalls
from hansard._ids import uuid7
from hansard._proto.hansard.history.v1 import history_pb2 as history_pb
from hansard._proto.hansard.read.v1 import read_pb2 as read
from hansard._proto.hansard.write.v1 import write_pb2 as write
from hansard._requests import UNSET, Unset
from hansard._rewinds import Rewinds
from hansard._transports.address import grpc_url
from hansard.errors import HansardError, Unavailable
from hansard.messages import messages_of_events
from hansard.results import Context
from hansard.types import (
    CommitResult,
    Conversation,
    ConversationStatus,
    Event,
    EventKind,
    ForkPoint,
    HistoryRewound,
    LoadHistoryResponse,
    MessageAppended,
    Owner,
    RecordedEvent,
    RecordHistoryResponse,
    SearchResult,
)

if TYPE_CHECKING:
    from typing_extensions import Self

# Most events of a page, as the service allows.
PAGE_SIZE_MAX = 1000


class AsyncHansard(AsyncDocumentCalls):
    """A client of a deployment. Threads, tasks and event loops may share it.

    `url` is the address of a gateway: `grpc://host:port`, `grpcs://host:port`, or `https://host` with a secret key where only
    HTTP is reachable. `writer_url` names a writer for calls that write, if they should not go through the gateway.
    `agent_id` is required unless the token is bound to one agent. `timeout` bounds each call with all of its attempts, in
    seconds.
    """

    @classmethod
    def from_environment(cls) -> Self:
        """A client of the deployment that `hansard dev` prints the variables of, as the commands of `hansard` read them.

        `HANSARD_GATEWAY_URL` is the gRPC address of a gateway, `HANSARD_TOKEN` the token; `HANSARD_WRITER_URL` and
        `HANSARD_AGENT` are optional.
        """
        if "HANSARD_GATEWAY_URL" not in os.environ:
            raise ValueError("HANSARD_GATEWAY_URL is not set: run `hansard dev`, and copy the `export` that it prints")
        url, writer_url = (grpc_url(os.environ.get(f"HANSARD_{role}_URL", "")) for role in ("GATEWAY", "WRITER"))
        token, agent_id = os.environ.get("HANSARD_TOKEN", ""), os.environ.get("HANSARD_AGENT", "")
        return cls(url, token, agent_id=agent_id, writer_url=writer_url or None)

    # Writes. Each one returns after its commit is on disk.

    async def create_conversation(
        self,
        conversation_id: str = "",
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        title: str = "",
        metadata: Mapping[str, Any] | None = None,
        provider_conversation_id: str = "",
        forked_from: ForkPoint | None = None,
        occurred_at: datetime.datetime | None = None,
        messages: Iterable[Mapping[str, Any]] | None = None,
        events: Iterable[Event] | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> CommitResult:
        """Creates a conversation of a user or a session, with its first messages or events. Without an id it gets a new one.

        `occurred_at` is the original time of an imported conversation.
        """
        request = write.CreateConversationRequest(
            agent_id=self.agent_id,
            conversation_id=conversation_id,
            idempotency_key=idempotency_key or uuid7(),
            owner=_requests.owner(user_id, session_id),
            title=title,
            metadata_json=_requests.metadata_json(metadata),
            provider_conversation_id=provider_conversation_id,
            forked_from=forked_from,
            occurred_at=occurred_at,
            events=_requests.events(messages, events),
        )
        return self._written((await self._call(_methods.CREATE, request, conversation_id, timeout)).result)

    async def append(
        self,
        conversation_id: str,
        messages: Iterable[Mapping[str, Any]] | None = None,
        *,
        events: Iterable[Event] | None = None,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> CommitResult:
        """Appends OpenAI chat messages or events as one commit: 1 to 500 events, all of them or none.

        `expected_version` rejects the commit with `VersionConflict` if somebody else was faster.
        """
        request = write.AppendEventsRequest(
            target=self._command(conversation_id, idempotency_key, expected_version),
            events=_requests.events(messages, events),
        )
        return self._written((await self._call(_methods.APPEND, request, conversation_id, timeout)).result)

    async def rewind(
        self,
        conversation_id: str,
        to_version: int,
        *,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> CommitResult:
        """Continues a conversation from an earlier version. The record keeps the later events; reads of the history skip them."""
        events = [Event(history_rewound=HistoryRewound(to_version=to_version))]
        return await self.append(
            conversation_id,
            events=events,
            expected_version=expected_version,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )

    async def update(
        self,
        conversation_id: str,
        *,
        title: str | Unset | None = UNSET,
        metadata: Mapping[str, Any] | Unset | None = UNSET,
        provider_conversation_id: str | Unset | None = UNSET,
        last_response_id: str | Unset | None = UNSET,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> CommitResult:
        """Changes the given fields; `None` clears one. `metadata` replaces all metadata."""
        target = self._command(conversation_id, idempotency_key, expected_version)
        request = _requests.update(target, title, metadata, provider_conversation_id, last_response_id)
        return self._written((await self._call(_methods.UPDATE, request, conversation_id, timeout)).result)

    async def archive(
        self, conversation_id: str, *, idempotency_key: str | None = None, timeout: float | None = None
    ) -> CommitResult:
        """Closes a conversation for events."""
        request = write.ArchiveConversationRequest(target=self._command(conversation_id, idempotency_key))
        return self._written((await self._call(_methods.ARCHIVE, request, conversation_id, timeout)).result)

    async def restore(
        self, conversation_id: str, *, idempotency_key: str | None = None, timeout: float | None = None
    ) -> CommitResult:
        """Opens an archived conversation again."""
        request = write.RestoreConversationRequest(target=self._command(conversation_id, idempotency_key))
        return self._written((await self._call(_methods.RESTORE, request, conversation_id, timeout)).result)

    async def change_owner(
        self,
        conversation_id: str,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        expected_owner: Owner | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> CommitResult:
        """Gives a conversation to a user or a session, for example to the user who signed in."""
        request = write.ChangeOwnerRequest(
            target=self._command(conversation_id, idempotency_key),
            owner=_requests.owner(user_id, session_id),
            expected_owner=expected_owner,
        )
        return self._written((await self._call(_methods.CHANGE_OWNER, request, conversation_id, timeout)).result)

    async def erase(
        self,
        conversation_id: str,
        *,
        sever_forks: bool = False,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> CommitResult:
        """Erases a conversation permanently. Its id cannot be used again. Needs the scope `erase`.

        A conversation with forks is rejected with `Conflict` and `HAS_FORKS`; `sever_forks` makes the forks unreadable instead.
        """
        request = write.EraseConversationRequest(
            target=self._command(conversation_id, idempotency_key, expected_version),
            forks=write.FORK_RULE_SEVER if sever_forks else write.FORK_RULE_REFUSE,
        )
        return self._written((await self._call(_methods.ERASE, request, conversation_id, timeout)).result)

    async def fork(
        self,
        conversation_id: str,
        version: int | None = None,
        *,
        fork_id: str = "",
        user_id: str | None = None,
        session_id: str | None = None,
        title: str = "",
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> CommitResult:
        """Creates a conversation that continues another one from a version, without one from its last. Nothing is copied.

        Without an owner the fork gets the owner of the other conversation.
        """
        if version is None or (user_id is None and session_id is None):
            parent = await self.get_conversation(conversation_id, timeout=timeout)
            version = parent.version if version is None else version
            if user_id is None and session_id is None:
                user_id, session_id = parent.owner.user_id or None, parent.owner.session_id or None
        return await self.create_conversation(
            fork_id,
            user_id=user_id,
            session_id=session_id,
            title=title,
            forked_from=ForkPoint(conversation_id=conversation_id, version=version),
            idempotency_key=idempotency_key,
            timeout=timeout,
        )

    # Reads. Each one includes this client's own writes.

    async def get_conversation(self, conversation_id: str, *, timeout: float | None = None) -> Conversation:
        """Returns a conversation without its events."""
        request = read.GetConversationRequest(target=self._target(conversation_id))
        response = await self._call(_methods.GET, request, conversation_id, timeout)
        self._positions.remember(conversation_id, response.position_token)
        return response.conversation

    async def list_conversations(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        status: ConversationStatus = ConversationStatus.CONVERSATION_STATUS_UNSPECIFIED,
        page_size: int = 0,
    ) -> AsyncIterator[Conversation]:
        """Iterates over the conversations of a user, of a session or of the agent, the one with the latest event first.

        A listing is as fresh as the read model: a conversation of a moment ago may be missing.
        """
        request = read.ListConversationsRequest(agent_id=self.agent_id, status=status, page_size=page_size)
        if user_id is not None:
            request.user_id = user_id
        elif session_id is not None:
            request.session_id = session_id
        else:
            request.whole_agent.SetInParent()
        while True:
            page = await self._call(_methods.LIST, request)
            for conversation in page.conversations:
                yield conversation
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def list_events(
        self,
        conversation_id: str,
        *,
        from_version: int = 0,
        to_version: int = 0,
        newest_first: bool = False,
        kinds: Iterable[EventKind] = (),
        page_size: int = 0,
        from_leader: bool = False,
    ) -> AsyncIterator[RecordedEvent]:
        """Iterates over everything that was recorded in a range of versions, including what a rewind hides.

        `from_leader` includes every earlier write of anybody, also where the record has several replicas; over HTTP it has no
        effect.
        """
        target = self._target(conversation_id)
        if from_leader:
            target.consistency = read.CONSISTENCY_LEADER
        request = read.ListEventsRequest(
            target=target,
            from_version=from_version,
            to_version=to_version,
            direction=read.DIRECTION_BACKWARD if newest_first else read.DIRECTION_FORWARD,
            kinds=kinds,
            page_size=page_size,
        )
        while True:
            page = await self._call(_methods.LIST_EVENTS, request, conversation_id)
            for event in page.events:
                yield event
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def history(self, conversation_id: str, limit: int | None = None, *, at_version: int = 0) -> list[RecordedEvent]:
        """Returns the messages, tool calls and results that are still read, oldest first: without what a rewind hides.

        `limit` keeps the newest ones only. `at_version` returns the history as it was at that version.
        """
        rewinds = Rewinds(limit)
        request = read.ListEventsRequest(
            target=self._target(conversation_id),
            to_version=at_version,
            direction=read.DIRECTION_BACKWARD,
            kinds=Rewinds.KINDS,
            page_size=PAGE_SIZE_MAX if limit is None else min(limit + 8, PAGE_SIZE_MAX),
        )
        while limit != 0:
            page = await self._call(_methods.LIST_EVENTS, request, conversation_id)
            jump = rewinds.add_page(page.events)
            if rewinds.is_complete or (jump is None and not page.next_page_token):
                break
            if jump is None:
                request.page_token = page.next_page_token
            else:
                # A page token belongs to its query.
                request.page_token, request.to_version = "", jump
        return rewinds.oldest_first()

    async def messages(self, conversation_id: str, limit: int | None = None) -> list[dict[str, Any]]:
        """Returns the history as OpenAI chat messages, oldest first. `limit` bounds the events, the newest ones."""
        return messages_of_events(await self.history(conversation_id, limit))

    async def context(
        self,
        conversation_id: str,
        *,
        format: str = "openai-chat",
        messages_max: int | None = None,
        at_version: int | None = None,
        policy: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Context:
        """Assembles what a model reads next, in a provider's format, by the agent's policy or the given one.

        Formats: `openai-chat`, `openai-responses`, `anthropic`, `gemini`, `ollama`, `canonical`.
        """
        request = _requests.context(self._target(conversation_id), format, messages_max, at_version, policy)
        response = await self._call(_methods.CONTEXT, request, conversation_id, timeout)
        self._positions.remember(conversation_id, response.position_token)
        return Context(body=json.loads(response.body), receipt=response.receipt)

    async def search(
        self, query: str, *, whole_tenant: bool = False, by_relevance: bool = False, page_size: int = 0
    ) -> AsyncIterator[SearchResult]:
        """Iterates over the messages, tool calls, tool results and titles that match, the newest first."""
        request = read.SearchConversationsRequest(
            agent_id=self.agent_id,
            whole_tenant=whole_tenant,
            query=query,
            order=read.SEARCH_ORDER_RELEVANCE if by_relevance else read.SEARCH_ORDER_NEWEST,
            page_size=page_size,
            position_tokens=self._positions.latest(),
        )
        while True:
            page = await self._call(_methods.SEARCH, request)
            for result in page.results:
                yield result
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def watch(self, conversation_id: str, from_version: int = 1) -> AsyncIterator[RecordedEvent]:
        """Iterates over the events from a version and then over each new one, without gaps or repeats, until it is stopped.

        A lost connection is opened again after the last event.
        """
        attempt, next_version = 0, from_version
        while True:
            request = read.WatchConversationRequest(
                agent_id=self.agent_id, conversation_id=conversation_id, from_version=next_version
            )
            failure: HansardError = Unavailable("the stream has ended")
            try:
                async for response in self._transport.stream(_methods.WATCH, request):
                    attempt = 0
                    if response.WhichOneof("item") == "event":
                        next_version = response.event.version + 1
                        yield response.event
            except HansardError as error:
                failure = error
            attempt += 1
            delay = self._retries.next_delay(failure, attempt, self._timeout)
            if delay is None:
                raise failure
            await sleep(delay)

    # Histories under a caller's key.

    async def load_history(
        self,
        key: str,
        messages: Iterable[MessageAppended] = (),
        *,
        namespace: str = "",
        messages_max: int = 0,
        timeout: float | None = None,
    ) -> LoadHistoryResponse:
        """Merges the history of a key, for example `telegram:42`, with the caller's messages. Nothing is recorded."""
        request = history_pb.LoadHistoryRequest(
            key=self._history_key(key, namespace), messages=messages, messages_max=messages_max
        )
        return await self._call(_methods.LOAD_HISTORY, request, timeout=timeout)

    async def record_history(
        self,
        key: str,
        messages: Iterable[MessageAppended],
        *,
        namespace: str = "",
        loaded_version: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> RecordHistoryResponse:
        """Appends the messages that the history of a key does not have. The first call creates it."""
        request = history_pb.RecordHistoryRequest(
            key=self._history_key(key, namespace),
            messages=messages,
            loaded_version=loaded_version,
            idempotency_key=idempotency_key or uuid7(),
        )
        return await self._call(_methods.RECORD_HISTORY, request, timeout=timeout)
