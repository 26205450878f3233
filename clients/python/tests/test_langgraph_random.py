"""The checkpoint saver of LangGraph against the one in memory: random changes by two processes that take turns."""

from __future__ import annotations

import os
import random
import uuid
from typing import Any

import pytest

pytest.importorskip("langgraph.checkpoint.base")

from conftest import Deployment
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver

from hansard import Hansard, _sync_langgraph_thread
from hansard.langgraph import HansardSaver

SEEDS = int(os.environ.get("SEEDS", "4"))
STEPS = 40
NAMESPACES = ["", "", "", "child:1"]


class Model:
    """The saver in memory, and what its next checkpoint is made of."""

    def __init__(self, numbers: random.Random, thread_id: str) -> None:
        self.numbers = numbers
        self.memory = InMemorySaver()
        self.thread_id = thread_id
        self.count = 0
        # The namespaces and ids of checkpoints that have writes and are not recorded yet.
        self.early: dict[HansardSaver, tuple[str, str]] = {}

    def place(self, checkpoint_ns: str, checkpoint_id: str | None = None) -> Any:
        place = {"thread_id": self.thread_id, "checkpoint_ns": checkpoint_ns}
        return {"configurable": {**place, "checkpoint_id": checkpoint_id} if checkpoint_id else place}

    def parent(self, checkpoint_ns: str, saver: HansardSaver) -> Any:
        """The latest checkpoint, or an earlier one, as the saver returns it."""
        ids = [one.checkpoint["id"] for one in self.memory.list(self.place(checkpoint_ns))]
        if not ids:
            return None
        chosen = self.numbers.choice([None, None, None, ids[0], self.numbers.choice(ids)])
        return saver.get_tuple(self.place(checkpoint_ns, chosen))

    def next_place(self) -> tuple[str, str]:
        return self.numbers.choice(NAMESPACES), str(uuid6(clock_seq=self.count))

    def message(self) -> Any:
        self.count += 1
        text, kind = f"message {self.count}", self.numbers.randrange(4)
        if kind == 0:
            return HumanMessage(text, id=f"m-{self.count}")
        if kind == 1:
            call = {"name": "look", "args": {"text": text}, "id": f"c-{self.count}", "type": "tool_call"}
            return AIMessage(text, tool_calls=[call], id=f"m-{self.count}")
        if kind == 2:
            return ToolMessage(text, tool_call_id=f"c-{self.count - 1}", id=f"m-{self.count}", artifact={1})
        return AIMessage(text)

    def changed(self, messages: list[Any]) -> list[Any]:
        numbers, made = self.numbers, list(messages)
        kind = numbers.randrange(9)
        if kind == 0 and made:
            made = made[numbers.randrange(len(made)) :]
        elif kind == 1 and made:
            made = made[: numbers.randrange(len(made))]
        elif kind == 2 and made:
            index = numbers.randrange(len(made))
            self.count += 1
            made[index] = made[index].model_copy(update={"content": f"changed {self.count}"})
        elif kind == 3 and made:
            del made[numbers.randrange(len(made))]
        elif kind == 4 and len(made) > 1:
            numbers.shuffle(made)
        return made + [self.message() for _ in range(numbers.randrange(3))]

    def put(self, saver: HansardSaver) -> None:
        checkpoint = empty_checkpoint()
        checkpoint_ns, checkpoint["id"] = self.early.pop(saver, None) or self.next_place()
        parent = self.parent(checkpoint_ns, saver)
        values = dict(parent.checkpoint["channel_values"]) if parent else {}
        versions = dict(parent.checkpoint["channel_versions"]) if parent else {}
        new_versions = {}
        for channel in self.numbers.sample(["messages", "small", "large"], self.numbers.randrange(4)):
            values[channel] = {
                "messages": lambda: self.changed(values.get("messages", [])),
                "small": lambda: self.numbers.random(),
                "large": lambda: str(self.numbers.random()) * self.numbers.choice([500, 20_000]),
            }[channel]()
            versions[channel] = new_versions[channel] = saver.get_next_version(versions.get(channel), None)
        checkpoint |= {"channel_values": values, "channel_versions": versions}
        config = parent.config if parent else self.place(checkpoint_ns)
        metadata: Any = {"source": "loop", "step": self.count, "run_id": self.numbers.choice("abc")}
        assert saver.put(config, checkpoint, metadata, new_versions) == self.memory.put(
            config, checkpoint, metadata, new_versions
        )

    def put_early_writes(self, saver: HansardSaver) -> None:
        """The writes of the next checkpoint of the process: LangGraph does not wait for it. Others may be faster."""
        self.early.setdefault(saver, self.next_place())
        self.put_writes_of(self.place(*self.early[saver]), saver)

    def put_writes(self, saver: HansardSaver) -> None:
        parent = self.parent(self.numbers.choice(NAMESPACES), saver)
        if parent is not None:
            self.put_writes_of(parent.config, saver)

    def put_writes_of(self, config: Any, saver: HansardSaver) -> None:
        channels = self.numbers.choice([["a", "b"], ["a"], ["__interrupt__"], ["__error__", "__resume__"]])
        writes = [(channel, self.numbers.random()) for channel in channels]
        task = self.numbers.choice("xyz")
        for one in (saver, self.memory):
            one.put_writes(config, writes, f"task-{task}", f"path-{task}")

    def check(self, saver: HansardSaver, client: Hansard) -> None:
        for checkpoint_ns in set(NAMESPACES):
            place = self.place(checkpoint_ns)
            expected, found = list(self.memory.list(place)), list(saver.list(place))
            assert [one.config for one in found] == [one.config for one in expected]
            for ours, theirs in zip(found, expected, strict=True):
                assert ours == theirs
                assert saver.get_tuple(theirs.config) == theirs
            latest = self.memory.get_tuple(place)
            assert saver.get_tuple(place) == latest
            if latest and not checkpoint_ns and "messages" in latest.checkpoint["channel_values"]:
                self.check_conversation(latest.checkpoint["channel_values"]["messages"], saver, client)

    def check_conversation(self, messages: list[Any], saver: HansardSaver, client: Hansard) -> None:
        """The history ends with the last message, and has all messages in their order."""
        chat = client.messages(saver.conversation_id(self.thread_id))
        texts = iter(message["content"] for message in chat)
        # The result of a call that is not open, and a call that is open already, have no form in a chat.
        shown = [message for message in messages if message.type != "tool" and not getattr(message, "tool_calls", None)]
        own = [message["content"] for message in chat if message["content"] is not None]
        assert len(own) == len(set(own))
        assert all(message.content in texts for message in shown)
        if messages and messages[-1] in shown:
            assert chat[-1]["content"] == messages[-1].content
        if not messages:
            assert chat == []


@pytest.mark.parametrize("seed", range(int(os.environ.get("FIRST", "0")), SEEDS))
def test_random_changes(deployment: Deployment, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = random.Random(seed)
    # With few, the processes forget what they know now and then.
    monkeypatch.setattr(_sync_langgraph_thread, "CHANGES_MAX", numbers.choice([4, 200]))
    model = Model(numbers, f"random-{uuid.uuid4()}")
    with deployment.blocking() as one, deployment.blocking() as other:
        savers = [HansardSaver(one), HansardSaver(other)]
        for step in range(STEPS):
            saver = numbers.choice(savers)
            numbers.choice([model.put, model.put, model.put, model.put_writes, model.put_early_writes])(saver)
            if step % 10 == 9:
                for client, saver in ((one, savers[0]), (other, savers[1]), (other, HansardSaver(other))):
                    model.check(saver, client)
