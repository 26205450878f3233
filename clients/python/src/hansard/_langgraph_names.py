"""Names of the documents that a thread of LangGraph has in its conversation. No I/O."""

from __future__ import annotations

from hansard._ids import derived

# The first label of every namespace.
ROOT = "langgraph"
CHECKPOINTS, LATEST, WRITES, VALUES, GENERATIONS = "checkpoints", "latest", "writes", "values", "generations"
# Longer names, empty ones and those with reserved characters are replaced by a hash.
LABEL_BYTES_MAX = 200
HASH = "~"
RESERVED = {HASH, "#", "\0"}

# A document: its namespace and its key.
Name = tuple[tuple[str, ...], str]


def label(text: str) -> str:
    """A text as a label or a key."""
    is_label = text and not set(text) & RESERVED and len(text.encode()) <= LABEL_BYTES_MAX
    return text if is_label else HASH + derived(ROOT, text)


def checkpoint(checkpoint_ns: str, checkpoint_id: str) -> Name:
    """The document of a checkpoint."""
    return (ROOT, CHECKPOINTS, label(checkpoint_ns)), label(checkpoint_id)


def latest(checkpoint_ns: str) -> Name:
    """The document that names the latest checkpoint of a namespace."""
    return (ROOT, LATEST), label(checkpoint_ns)


def writes(checkpoint_ns: str, checkpoint_id: str) -> tuple[str, ...]:
    """The namespace of the pending writes of a checkpoint."""
    return ROOT, WRITES, label(checkpoint_ns), label(checkpoint_id)


def value(checkpoint_ns: str, key: str) -> Name:
    """The document of a channel's value."""
    return (ROOT, VALUES, label(checkpoint_ns)), key


def conversation(agent_id: str, user_id: str | None, thread_id: str, generation: int) -> str:
    """The conversation of a thread. Each deletion of the thread is followed by a new generation."""
    names = (ROOT, agent_id, user_id or "", thread_id)
    return derived(*names, str(generation)) if generation else derived(*names)


def generation(agent_id: str, user_id: str | None, thread_id: str) -> Name:
    """The agent's document that has the generation of a thread that was deleted."""
    return (ROOT, GENERATIONS), derived(ROOT, agent_id, user_id or "", thread_id)
