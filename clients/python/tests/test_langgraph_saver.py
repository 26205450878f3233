"""The checkpoint saver of LangGraph."""

from __future__ import annotations

import asyncio
import json
import urllib.request
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("langgraph.graph")
pytest.importorskip("langgraph.checkpoint.conformance")

from conftest import Deployment
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command
from langgraph_graphs import agent, asking, delta, nested

from hansard import Hansard
from hansard.langgraph import AsyncHansardSaver, HansardSaver

# The tests of each capability in langgraph-checkpoint-conformance 0.0.2.
CONFORMANCE = {
    "put": 17,
    "put_writes": 10,
    "get_tuple": 10,
    "list": 16,
    "delete_thread": 5,
    "delete_for_runs": 7,
    "copy_thread": 8,
    "prune": 8,
}

# What a model reads of a conversation without messages.
EMPTY_CONTEXT = [("user", "(Nothing has been said yet.)")]


class InThreads(HansardSaver):
    """The blocking form, called by the conformance tests, which call only coroutines."""

    async def alist(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        for found in await asyncio.to_thread(lambda: list(self.list(*args, **options))):
            yield found


def in_thread(name: str) -> Any:
    async def call(self: InThreads, *args: Any, **options: Any) -> Any:
        return await asyncio.to_thread(getattr(HansardSaver, name), self, *args, **options)

    return call


for name in ("get_tuple", "put", "put_writes", "delete_thread", "delete_for_runs", "copy_thread", "prune"):
    setattr(InThreads, f"a{name}", in_thread(name))


@pytest.mark.parametrize("form", [AsyncHansardSaver, InThreads])
async def test_the_conformance_tests_pass(deployment: Deployment, form: type[Any]) -> None:
    @checkpointer_test(name=form.__name__)
    async def saver() -> AsyncIterator[Any]:
        if form is InThreads:
            with deployment.blocking() as client:
                yield InThreads(client)
        else:
            async with deployment.asynchronous() as client:
                yield AsyncHansardSaver(client)

    report = await validate(saver)
    assert {name: (result.tests_passed, result.failures) for name, result in report.results.items()} == {
        name: (count, []) for name, count in CONFORMANCE.items()
    }


def at(thread_id: str, **place: Any) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread_id, **place}}


def say(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def context_of(client: Hansard, saver: HansardSaver, thread_id: str) -> list[tuple[str, Any]]:
    body = client.context(saver.conversation_id(thread_id), format="openai-chat").body
    return [(message["role"], message.get("content")) for message in body["messages"]]


def roles(messages: list[Any]) -> list[tuple[str, Any]]:
    names = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}
    return [(names[message.type], message.content) for message in messages]


def without_system(context: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [entry for entry in context if entry[0] != "system"]


def test_a_graph_continues_in_every_process(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    expected = agent(InMemorySaver())
    for turn in range(3):
        with deployment.blocking() as client:
            graph = agent(HansardSaver(client))
            said = {"messages": [HumanMessage(f"Where is parcel {turn}?", id=f"h-{turn}")]}
            ours, theirs = graph.invoke(said, at(new_id)), expected.invoke(said, at(new_id))
            assert roles(ours["messages"]) == roles(theirs["messages"]) and ours["steps"] == theirs["steps"]
            assert ours["note"] == {"calls": (1, 2)}
    saver = HansardSaver(blocking)
    history = list(agent(saver).get_state_history(at(new_id)))
    assert [(one.metadata, one.next) for one in history] == [
        (one.metadata, one.next) for one in expected.get_state_history(at(new_id))
    ]
    assert [roles(one.values.get("messages", [])) for one in history] == [
        roles(one.values.get("messages", [])) for one in expected.get_state_history(at(new_id))
    ]
    assert without_system(context_of(blocking, saver, new_id)) == roles(ours["messages"])


def test_a_graph_over_http(deployment: Deployment, new_id: str) -> None:
    pytest.importorskip("httpx2")
    for turn in range(2):
        with Hansard(deployment.http_url, deployment.token, agent_id="demo") as client:
            graph = agent(HansardSaver(client))
            assert len(graph.invoke(say("Where is it?"), at(new_id))["messages"]) == 4 * (turn + 1)
            assert len(list(graph.get_state_history(at(new_id)))) == 5 * (turn + 1)


async def test_a_graph_continues_in_every_process_with_asyncio(deployment: Deployment, new_id: str) -> None:
    for turn in range(3):
        async with deployment.asynchronous() as client:
            graph = agent(AsyncHansardSaver(client, user_id=f"user-{new_id}"))
            state = await graph.ainvoke(say(f"Where is parcel {turn}?"), at(new_id))
            assert len(state["messages"]) == 4 * (turn + 1)
    async with deployment.asynchronous() as client:
        graph = agent(AsyncHansardSaver(client, user_id=f"user-{new_id}"))
        assert len([one async for one in graph.aget_state_history(at(new_id))]) == 15
        assert (await graph.aget_state(at(new_id))).values["steps"] == ["call", "tool", "answer"] * 3
        assert (await agent(AsyncHansardSaver(client)).aget_state(at(new_id))).values == {}


def test_an_interrupt_is_resumed_in_another_process(deployment: Deployment, new_id: str) -> None:
    with deployment.blocking() as client:
        found = asking(HansardSaver(client)).invoke(say("hi"), at(new_id))
        assert [one.value for one in found["__interrupt__"]] == ["May I?"]
    with deployment.blocking() as client:
        graph = asking(HansardSaver(client))
        assert [one.value for one in graph.get_state(at(new_id)).interrupts] == ["May I?"]
        found = graph.invoke(Command(resume="yes"), at(new_id))
        assert found["messages"][-1].content == "You said yes."


def test_a_subgraph_is_resumed_in_another_process(deployment: Deployment, new_id: str) -> None:
    with deployment.blocking() as client:
        assert "__interrupt__" in nested(HansardSaver(client)).invoke(say("hi"), at(new_id))
    with deployment.blocking() as client:
        graph = nested(HansardSaver(client))
        state = graph.get_state(at(new_id), subgraphs=True)
        inner = [task.state for task in state.tasks if task.state is not None]
        assert [roles(one.values["messages"]) for one in inner] == [[("user", "hi")]]
        found = graph.invoke(Command(resume="yes"), at(new_id))
        assert sorted(found["steps"]) == [*"01234567", "ask"]
        assert roles(found["messages"])[-1] == ("assistant", "You said yes.")


def test_time_travel_makes_the_branch_the_conversation(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    saver = HansardSaver(blocking)
    graph = agent(saver)
    for turn in range(2):
        last = graph.invoke(say(f"Where is parcel {turn}?"), at(new_id))
    before = {one.config["configurable"]["checkpoint_id"]: one.values for one in graph.get_state_history(at(new_id))}
    first = next(one for one in graph.get_state_history(at(new_id)) if len(one.values.get("messages", [])) == 4)
    # The branch leaves before the answer to the first question's call.
    called = next(one for one in graph.get_state_history(at(new_id)) if len(one.values.get("messages", [])) == 2)
    branch = graph.invoke(None, called.config)
    assert len(branch["messages"]) == 4
    assert without_system(context_of(blocking, saver, new_id)) == roles(branch["messages"])
    changed = graph.update_state(first.config, {"messages": [AIMessage("no", id=first.values["messages"][-1].id)]})
    assert roles(graph.get_state(changed).values["messages"])[-1] == ("assistant", "no")
    assert without_system(context_of(blocking, saver, new_id)) == roles(graph.get_state(at(new_id)).values["messages"])
    with deployment.blocking() as client:
        again = agent(HansardSaver(client))
        for checkpoint_id, values in before.items():
            assert again.get_state(at(new_id, checkpoint_id=checkpoint_id)).values == values
        more = again.invoke(say("and now?"), at(new_id))
        assert len(more["messages"]) == 8
    assert without_system(context_of(blocking, saver, new_id)) == roles(more["messages"])
    assert last["messages"][-1].content == "It is on its way."


def test_messages_that_leave_the_state(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    saver = HansardSaver(blocking)
    graph = agent(saver)
    whole = graph.invoke(say("Where is it?"), at(new_id))["messages"]

    def check(update: list[Any], state: list[Any], conversation: list[Any]) -> None:
        graph.update_state(at(new_id), {"messages": update})
        with deployment.blocking() as client:
            for one in (graph, agent(HansardSaver(client))):
                assert roles(one.get_state(at(new_id)).values["messages"]) == roles(state)
        assert without_system(context_of(blocking, saver, new_id)) == (roles(conversation) or EMPTY_CONTEXT)

    # Those at the beginning stay in the conversation; those at the end leave it; a changed one is recorded again.
    check([RemoveMessage(id=whole[0].id)], whole[1:], whole)
    more = HumanMessage("and the other?", id="more")
    check([more], [*whole[1:], more], [*whole, more])
    check([RemoveMessage(id="more")], whole[1:], whole)
    check([AIMessage("No.", id=whole[3].id)], [*whole[1:3], AIMessage("No.")], [*whole[:3], AIMessage("No.")])
    check([RemoveMessage(id=REMOVE_ALL_MESSAGES), more], [more], [more])
    check([RemoveMessage(id=REMOVE_ALL_MESSAGES)], [], [])
    check([more], [more], [more])


def test_the_thread_is_searched_as_a_conversation(blocking: Hansard, new_id: str) -> None:
    saver = HansardSaver(blocking)
    word = f"parcel{uuid.uuid4().hex}"
    agent(saver).invoke(say(f"Where is {word}?"), at(new_id))
    found = list(blocking.search(word))
    assert {one.conversation_id for one in found} == {saver.conversation_id(new_id)}
    assert all("$" not in part.text for one in found for part in one.snippet)
    chat = blocking.messages(saver.conversation_id(new_id))
    assert [message["role"] for message in chat] == ["user", "assistant", "tool", "assistant"]


def test_the_thread_is_exported_as_a_conversation(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    saver = HansardSaver(blocking)
    agent(saver).invoke(say("Where is it?"), at(new_id))
    url = f"{deployment.http_url}/v1/conversations/{saver.conversation_id(new_id)}/events"
    headers = {"authorization": f"Bearer {deployment.token}", "x-agent-id": "demo", "accept": "application/x-ndjson"}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
        *events, end = [json.loads(line) for line in answer]
    kinds = [event["type"] for event in events]
    messages = [kind for kind in kinds if kind in ("MessageAppended", "ToolCalled", "ToolReturned")]
    # The message with the call is two events: its text and the call.
    assert messages == ["MessageAppended", "MessageAppended", "ToolCalled", "ToolReturned", "MessageAppended"]
    # The export contains the checkpoints, too.
    assert kinds[0] == "ConversationCreated" and "DocumentPut" in kinds
    assert end["end"]["version"] == events[-1]["version"] == len(events)


def test_a_deleted_thread_is_erased_and_used_again(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    saver = HansardSaver(blocking)
    with deployment.blocking() as client:
        other = HansardSaver(client)
        for _ in range(3):
            assert len(agent(saver).invoke(say("hi"), at(new_id))["messages"]) == 4
            assert len(agent(other).invoke(say("hi"), at(new_id))["messages"]) == 8
            erased = saver.conversation_id(new_id)
            saver.delete_thread(new_id)
            for one in (saver, other, HansardSaver(client)):
                assert one.get_tuple(at(new_id)) is None and list(one.list(at(new_id))) == []
            with pytest.raises(Exception, match="NOT_FOUND"):
                blocking.get_conversation(erased)
        saver.delete_thread(new_id)
        assert len(agent(other).invoke(say("hi"), at(new_id))["messages"]) == 4


def test_a_thread_that_is_deleted_while_its_graph_runs(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    saver = HansardSaver(blocking)
    graph = agent(saver)
    whole = graph.invoke({**say("hi"), "note": {"large": "x" * 10_000}}, at(new_id))["messages"]
    before = saver.get_tuple(at(new_id))
    with deployment.blocking() as client:
        HansardSaver(client).delete_thread(new_id)
        values = {**before.checkpoint["channel_values"], "messages": [*whole, HumanMessage("more", id="more")]}
        checkpoint = {**before.checkpoint, "id": before.checkpoint["id"] + "-next", "channel_values": values}
        saver.put(before.config, checkpoint, before.metadata, {})
        for one in (saver, HansardSaver(client)):
            found = one.get_tuple(at(new_id))
            assert found.checkpoint["channel_values"] == values
            assert [entry.checkpoint["id"] for entry in one.list(at(new_id))] == [checkpoint["id"]]
        assert len(client.messages(saver.conversation_id(new_id))) == len(whole) + 1


async def test_a_channel_that_checkpoints_do_not_contain(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    expected, saver = delta(InMemorySaver()), HansardSaver(blocking)
    async with deployment.asynchronous() as client:
        for turn in range(8):
            update = {"log": [f"turn {turn}"]}
            theirs = expected.invoke(update, at(new_id))
            ours = (
                delta(saver).invoke(update, at(new_id))
                if turn % 2
                else await delta(AsyncHansardSaver(client)).ainvoke(update, at(new_id))
            )
            assert ours == theirs
        copy = f"{new_id}-copy"
        saver.copy_thread(new_id, copy)
        for thread_id in (new_id, copy):
            history = [one.values async for one in delta(AsyncHansardSaver(client)).aget_state_history(at(thread_id))]
            assert history == [one.values for one in expected.get_state_history(at(new_id))]
    with pytest.raises(NotImplementedError, match="DeltaChannel"):
        saver.prune([new_id])


def test_a_channel_that_is_no_list_of_messages(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    saver, config = HansardSaver(blocking), at(new_id, checkpoint_ns="")
    version: Any = None
    for messages in (
        ["a"],
        ["a", HumanMessage("b")],
        [HumanMessage("b"), "a"],
        "text",
        [HumanMessage("b")],
        [HumanMessage("b"), 1],
    ):
        version = saver.get_next_version(version, None)
        versions = {"messages": version}
        made = empty_checkpoint() | {"channel_values": {"messages": messages}, "channel_versions": versions}
        config = saver.put(config, made, {"source": "loop", "step": 1}, versions)
        with deployment.blocking() as client:
            for each in (saver, HansardSaver(client)):
                assert each.get_tuple(config).checkpoint["channel_values"] == {"messages": messages}


def test_values_of_any_size_and_type(deployment: Deployment, blocking: Hansard, new_id: str) -> None:
    from hansard._langgraph_documents import PART_CHARS_MAX, PARTS_MAX, ValueTooLarge

    graph = agent(HansardSaver(blocking))
    large = {"text": "é\x00\U0001f600" * 300_000, "set": {1, 2}, "bytes": b"\x00\xff" * 100_000}
    graph.update_state(at(new_id), {"note": large, "messages": say("hi")["messages"]})
    graph.update_state(at(new_id), {"steps": ["x" * 3_000]})
    strange = ToolMessage("seen", tool_call_id="c", artifact={"set": {1, 2}, "inner": HumanMessage("in it")}, id="strange")
    graph.update_state(at(new_id), {"messages": [strange]})
    with deployment.blocking() as client:
        values = agent(HansardSaver(client)).get_state(at(new_id)).values
        assert values["note"] == large and values["steps"] == ["x" * 3_000]
        serde = InMemorySaver().serde
        assert values["messages"][-1] == serde.loads_typed(serde.dumps_typed(strange))
        assert values["messages"][-1].artifact["set"] == {1, 2}
    too_large = {"bytes": b"x" * (PARTS_MAX * PART_CHARS_MAX)}
    with pytest.raises(ValueTooLarge, match="keep it in a file"):
        graph.update_state(at(new_id), {"note": too_large})
    assert graph.get_state(at(new_id)).values["note"] == large
