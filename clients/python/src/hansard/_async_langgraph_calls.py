# `generate.py sync` makes the blocking form of this file.
"""Executes the operations of LangGraph's stores: the asynchronous form."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Iterable
from functools import partial

from langgraph.store.base import GetOp, ListNamespacesOp, Op, PutOp, Result, SearchOp

from hansard import _langgraph_store_values as values
from hansard._async_client import AsyncHansard
from hansard._bounded import gather_bounded
from hansard._document_requests import DocumentOwnerIds
from hansard._langgraph_store_values import Name
from hansard.errors import Conflict, HansardError, InvalidRequest, VersionConflict
from hansard.results import Document

log = logging.getLogger("hansard.langgraph")


async def execute(client: AsyncHansard, owner: DocumentOwnerIds, ops: Iterable[Op]) -> list[Result]:
    """Executes a batch, and returns the results in its order.

    Reads see the state before the batch. The last change of a document counts. Every change ends before the first error is
    raised.
    """
    ops = list(ops)
    for op in ops:
        values.check(op)
    read: dict[Name, Document] = {}
    reads = [op for op in ops if not isinstance(op, PutOp)]
    found = iter(await gather_bounded([partial(_read, client, owner, op, read) for op in reads]))
    puts = values.last_puts(ops)
    now = datetime.datetime.now(datetime.timezone.utc)
    refreshes = [(document, values.refreshed_ttl(document, now)) for name, document in read.items() if name not in puts]
    await gather_bounded(
        [
            *(partial(_change, client, owner, name, op) for name, op in puts.items()),
            *(partial(_refresh, client, owner, document, ttl) for document, ttl in refreshes if ttl is not None),
        ]
    )
    return [None if isinstance(op, PutOp) else next(found) for op in ops]


async def _read(client: AsyncHansard, owner: DocumentOwnerIds, op: Op, read: dict[Name, Document]) -> Result:
    """The result of a read. Documents whose ttl it refreshes are added to `read`."""
    if isinstance(op, GetOp):
        document = await client.get_document(op.namespace, str(op.key), **owner)
        if document is None:
            return None
        if op.refresh_ttl:
            read[document.namespace, document.key] = document
        return values.item(document)
    if isinstance(op, SearchOp):
        found = await client.search_documents(op.namespace_prefix, filter=op.filter, limit=op.limit, offset=op.offset, **owner)
        if op.refresh_ttl:
            read.update({(document.namespace, document.key): document for document in found})
        return [values.search_item(document) for document in found]
    if isinstance(op, ListNamespacesOp):
        return await client.list_document_namespaces(
            prefix=values.labels(op, "prefix"),
            suffix=values.labels(op, "suffix"),
            max_depth=op.max_depth,
            limit=op.limit,
            offset=op.offset,
            **owner,
        )
    raise ValueError(f"{type(op).__name__} is not an operation of this store: update the package")


async def _change(client: AsyncHansard, owner: DocumentOwnerIds, name: Name, op: PutOp) -> None:
    namespace, key = name
    try:
        if op.value is None:
            await client.delete_document(namespace, key, **owner)
        else:
            await client.put_document(namespace, key, dict(op.value), ttl_seconds=values.ttl_seconds(op.ttl), **owner)
    except (InvalidRequest, Conflict) as error:
        raise values.with_name(error, namespace, key) from error


async def _refresh(client: AsyncHansard, owner: DocumentOwnerIds, document: Document, ttl: int) -> None:
    """Records a value again, so that its ttl begins again. A failure does not fail the read."""
    try:
        await client.put_document(
            document.namespace,
            document.key,
            document.value,
            ttl_seconds=ttl,
            expected_version=document.version,
            **owner,
        )
    except VersionConflict:
        # Another change was faster, and counts.
        return
    except (HansardError, ValueError) as error:
        reason = error.reason if isinstance(error, HansardError) else type(error).__name__
        log.warning("the ttl of a document was not refreshed: %s", reason)
