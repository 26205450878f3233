"""Keyed histories of graphs, against a deployment and without one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langgraph")

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from hansard import Hansard, PermissionDenied, RetryPolicy, Unavailable
from hansard._history_messages import Thread, added_messages, variables_of
from hansard.langgraph import AsyncKeyedHistory, HistorySettings, KeyedHistory
from hansard.types import LoadHistoryResponse, MessageAppended, Part, RecordHistoryResponse, Role

CALL = {"name": "look", "args": {"parcel": 1}, "id": "c1", "type": "tool_call"}
SETTINGS = HistorySettings(enabled=True, namespace="test")


def texts(messages: list[AnyMessage]) -> list[str]:
    return [f"{message.type} {message.content}" for message in messages]


def inputs(key: str) -> dict[str, Any]:
    return {"inputs": {"history_key": key}}


@pytest.fixture(params=["grpc_url", "http_url"])
def client(request: pytest.FixtureRequest, deployment) -> Iterator[Hansard]:
    if request.param == "http_url":
        pytest.importorskip("httpx2")
    with Hansard(getattr(deployment, request.param), deployment.token, agent_id="demo") as client:
        yield client


def test_a_history_continues_in_another_thread(client: Hansard, new_id: str) -> None:
    history = KeyedHistory(client, SETTINGS)
    question = [SystemMessage("be short"), HumanMessage("Where is my parcel?")]
    loaded = history.load(question, inputs(new_id))
    assert (loaded.messages, loaded.key, loaded.version) == (question, new_id, 0)
    assert history.record(loaded, [*question, AIMessage("In Leeds.")]) == 2
    loaded = history.load([SystemMessage("be kind"), HumanMessage("Since when?")], inputs(new_id))
    assert texts(loaded.messages) == ["system be kind", "human Where is my parcel?", "ai In Leeds.", "human Since when?"]
    assert history.record(loaded, [*loaded.messages, AIMessage("Since noon.")]) == 2
    # Repeated with the whole thread, nothing is new.
    assert history.record(history.load([], inputs(new_id)), [*loaded.messages, AIMessage("Since noon.")]) == 0
    assert history.load([], inputs(f"{new_id}-other")).messages == []
    other = KeyedHistory(client, HistorySettings(enabled=True, namespace="other"))
    assert other.load([], inputs(new_id)).messages == []


def test_tool_calls_of_the_thread_stay_in_their_place(client: Hansard, new_id: str) -> None:
    history = KeyedHistory(client, SETTINGS)
    history.record(history.load([], inputs(new_id)), [HumanMessage("hi"), AIMessage("hello")])
    thread = [
        HumanMessage("Where?", id="h-1"),
        AIMessage("I look.", tool_calls=[CALL]),
        ToolMessage("Leeds", tool_call_id="c1"),
        AIMessage("", tool_calls=[{**CALL, "id": "c2"}]),
        ToolMessage("noon", tool_call_id="c2"),
    ]
    loaded = history.load(thread, inputs(new_id))
    assert loaded.messages == [HumanMessage("hi"), AIMessage("hello"), *thread]
    # Only what users and assistants said is recorded.
    assert history.record(loaded, [*thread, AIMessage("In Leeds.")]) == 3
    stored = history.load([], inputs(new_id)).messages
    assert texts(stored) == ["human hi", "ai hello", "human Where?", "ai I look.", "ai In Leeds."]


def test_the_newest_turns_are_read(client: Hansard, new_id: str) -> None:
    history = KeyedHistory(client, HistorySettings(enabled=True, messages_max=3))
    turns = [HumanMessage(str(number)) for number in range(5)]
    history.record(history.load([], inputs(new_id)), turns)
    assert texts(history.load([HumanMessage("new")], inputs(new_id)).messages) == ["human 3", "human 4", "human new"]


class State(MessagesState):
    results: dict[str, Any]


def answer(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage(f"{len(state['messages'])} messages")]}


async def answer_async(state: State, config: RunnableConfig, runtime: Runtime) -> Command:
    assert config["configurable"]["thread_id"] and runtime is not None
    return Command(update={"messages": AIMessage(f"{len(state['messages'])} messages")})


def graph(node: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node(node)
    builder.add_edge(START, node.__name__)
    return builder.compile()


def turn(text: str, chat: int) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)], "results": {"telegram_events_parser": {"chat_id": chat}}}


async def test_nodes_continue_a_chat_over_runs(deployment, blocking: Hansard, new_id: str) -> None:
    chat = -abs(hash(new_id))
    with_history = graph(KeyedHistory(blocking, SETTINGS).node(answer))
    seen = []
    for run in range(2):
        # Each webhook is a run with a thread of its own.
        config = {"configurable": {"thread_id": f"{new_id}-{run}"}}
        state = with_history.invoke(turn("hi", chat), config)
        # The state does not get the messages of earlier runs.
        assert [message.type for message in state["messages"]] == ["human", "ai"]
        seen.append(state["messages"][1].content)
    async with deployment.asynchronous() as client:
        state = await graph(AsyncKeyedHistory(client, SETTINGS).node(answer_async)).ainvoke(turn("hi", chat), config)
        seen.append(state["messages"][1].content)
    assert seen == ["1 messages", "3 messages", "5 messages"]
    other = with_history.invoke(turn("hi", chat - 1), config)
    assert other["messages"][1].content == "1 messages"


class Failing:
    """A client whose calls fail, each one with the next failure of a list; then they succeed."""

    def __init__(self, *failures: Exception | str) -> None:
        self.failures = list(failures)
        self.keys: list[str] = []

    def load_history(self, key: str, messages: Any, **options: Any) -> LoadHistoryResponse:
        return self._answer(LoadHistoryResponse(messages=messages, version=7))

    def record_history(self, key: str, messages: Any, *, idempotency_key: str, **options: Any) -> RecordHistoryResponse:
        self.keys.append(idempotency_key)
        return self._answer(RecordHistoryResponse(appended_count=len(messages)))

    def _answer(self, response: Any) -> Any:
        failure = self.failures.pop(0) if self.failures else None
        if isinstance(failure, Exception):
            raise failure
        if failure is not None:
            response.warnings.add(code=failure)
        return response


FAST = HistorySettings(enabled=True, attempts_max=3, backoff=0.0, messages_max=2)
THREAD = [SystemMessage("s"), *(HumanMessage(str(number)) for number in range(3))]
LOST = Unavailable("lost", reason="UNAVAILABLE")


@pytest.mark.parametrize(
    ("failures", "warning"),
    [
        ([], None),
        ([LOST, LOST], None),
        (["HISTORY_UNAVAILABLE", "CONFLICT"], None),
        ([LOST, LOST, LOST], "UNAVAILABLE"),
        (["HISTORY_UNAVAILABLE"] * 3, "HISTORY_UNAVAILABLE"),
        ([PermissionDenied("no scope", reason="MISSING_SCOPE")], "MISSING_SCOPE"),
        (["OWNER_MISMATCH"], "OWNER_MISMATCH"),
        (["CONVERSATION_ERASED"], "CONVERSATION_ERASED"),
    ],
)
@pytest.mark.parametrize("operation", ["load", "record"])
def test_failures(operation: str, failures: list[Any], warning: str | None, caplog: pytest.LogCaptureFixture) -> None:
    client: Any = Failing(*([] if operation == "record" else failures))
    history = KeyedHistory(client, FAST)
    loaded = history.load(THREAD, inputs("k"))
    client.failures = list(failures) if operation == "record" else []
    appended = history.record(loaded, THREAD)
    assert texts(loaded.messages) == (["system s", "human 1", "human 2"] if operation == "load" and warning else texts(THREAD))
    assert appended == (0 if operation == "record" and warning else 3)
    logged = [record.getMessage() for record in caplog.records]
    assert logged == ([f"the {operation} of a history failed: {warning}; continuing without it"] if warning else [])


def test_attempts_of_a_record_have_one_key() -> None:
    for failures, keys in ([LOST, LOST], 1), (["HISTORY_UNAVAILABLE"], 1), (["CONFLICT"], 2):
        client: Any = Failing()
        history = KeyedHistory(client, FAST)
        loaded = history.load(THREAD, inputs("k"))
        client.failures = list(failures)
        assert history.record(loaded, THREAD) == 3
        assert len(client.keys) == len(failures) + 1 and len(set(client.keys)) == keys


def test_without_a_valid_key_nothing_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    unreachable: Any = None
    history = KeyedHistory(unreachable, FAST)
    loaded = history.load(THREAD, inputs("a b"))
    assert (texts(loaded.messages), loaded.key) == (["system s", "human 1", "human 2"], None)
    assert history.record(loaded, THREAD) == 0
    (record,) = caplog.records
    assert record.getMessage().startswith("no history key: UNRESOLVED, UNRESOLVED, BAD_CHARACTERS, UNRESOLVED")
    assert "a b" not in record.getMessage()


def test_it_is_off_by_default() -> None:
    unreachable: Any = None
    history = KeyedHistory(unreachable, HistorySettings())
    thread = [HumanMessage("a"), SystemMessage("b"), *(HumanMessage("x") for _ in range(60))]
    loaded = history.load(thread, inputs("k"))
    assert loaded.messages == thread
    assert history.record(loaded, thread) == 0
    config = {"configurable": {"thread_id": "t"}}
    assert graph(history.node(answer)).invoke(turn("hi", 1), config)["messages"][1].content == "1 messages"


def test_a_graph_runs_without_the_service(caplog: pytest.LogCaptureFixture) -> None:
    from hansard_dev import free_port

    policy = RetryPolicy(attempts_max=1)
    with (
        Hansard(f"grpc://127.0.0.1:{free_port()}", "hsk_x", agent_id="demo", retries=policy) as client,
        caplog.at_level(logging.WARNING, "hansard"),
    ):
        state = graph(KeyedHistory(client, FAST).node(answer)).invoke(turn("hi", 1), {"configurable": {"thread_id": "t"}})
    assert state["messages"][1].content == "1 messages"
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ({"namespace": "a b"}, "namespace"),
        ({"namespace": "x" * 65}, "namespace"),
        ({"candidates": "{{thread_id}}"}, "list of texts"),
        ({"candidates": ["x"] * 21}, "21 entries"),
        ({"key_template": "x" * 1025}, "1024 bytes"),
        ({"candidates": ["\u00e9" * 513]}, "1024 bytes"),
        ({"messages_max": 0}, "messages_max is 0"),
        ({"messages_max": 1001}, "messages_max is 1001"),
        ({"attempts_max": 11}, "attempts_max is 11"),
        ({"attempts_max": 0}, "attempts_max is 0"),
        ({"backoff": -1}, "backoff"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_settings_out_of_bounds(setting: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        HistorySettings(**setting)


def test_settings_at_their_bounds() -> None:
    for messages_max, attempts_max in (1, 1), (1000, 10):
        settings = HistorySettings(
            namespace="x" * 64,
            key_template="x" * 1024,
            candidates=["\u00e9" * 512] * 20,
            messages_max=messages_max,
            attempts_max=attempts_max,
            backoff=0,
        )
        assert settings.keys[0] == "x" * 1024


def test_the_template_comes_before_the_candidates() -> None:
    settings = HistorySettings(enabled=True, key_template="room-1", candidates=["room-2"])
    client: Any = Failing()
    assert KeyedHistory(client, settings).load([], {}).key == "room-1"


def test_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.sdk.metrics")
    import opentelemetry.metrics
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    monkeypatch.setattr(opentelemetry.metrics, "get_meter", provider.get_meter)
    client: Any = Failing()
    history = KeyedHistory(client, FAST)
    loaded = history.load(THREAD, inputs("k"))
    client.failures = [LOST] * 3
    history.record(loaded, THREAD)
    history.load(THREAD, {})
    client.load_history = lambda *_, **__: LoadHistoryResponse(truncated=True)
    history.load([], inputs("k"))
    data = reader.get_metrics_data()
    points = {
        (metric.name, *sorted(point.attributes.values())): getattr(point, "count", getattr(point, "value", None))
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
    }
    assert points == {
        ("hansard.history.duration", "load", "ok"): 2,
        ("hansard.history.duration", "UNAVAILABLE", "record"): 1,
        ("hansard.history.key_failures",): 1,
        ("hansard.history.truncations",): 1,
    }


def user(text: str) -> MessageAppended:
    return MessageAppended(role=Role.ROLE_USER, parts=[Part(text=text)])


@pytest.mark.parametrize(
    ("thread", "history", "expected"),
    [
        ("", "", ""),
        ("", "ab", "ab"),
        ("B", "b", "B"),
        ("B", "abcb", "abcB"),
        ("BD", "abcd", "aBcD"),
        ("ABC", "bc", "BC"),
        ("AA", "aaa", "aAA"),
    ],
)
def test_turns_of_the_thread_keep_their_own_messages(thread: str, history: str, expected: str) -> None:
    """Upper case: messages of the thread."""
    own = Thread.of([HumanMessage(text.lower(), id="own") for text in thread])
    merged = own.merged([user(text) for text in history])
    assert "".join(str(one.content).upper() if one.id == "own" else str(one.content) for one in merged) == expected


def test_what_nodes_return() -> None:
    message = AIMessage("x")
    for update, expected in [
        ({"messages": message}, [message]),
        ({"messages": [message]}, [message]),
        (Command(update={"messages": [message]}), [message]),
        (Command(goto="x"), []),
        ({"other": 1}, []),
        (None, []),
    ]:
        assert added_messages(update, "messages") == expected


def test_the_variables_of_a_run() -> None:
    state, config = {"text": "t", "results": {"a": 1}}, {"configurable": {"thread_id": "t-1"}}
    assert variables_of(state, config) == {
        "results": {"a": 1},
        "inputs": state,
        "configurable": {"thread_id": "t-1"},
        "thread_id": "t-1",
    }
    assert variables_of({"inputs": {"b": 2}}, None)["inputs"] == {"b": 2}
