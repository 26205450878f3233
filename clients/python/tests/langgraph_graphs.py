"""Graphs for the tests of the LangGraph saver: an agent with a tool, an interrupt, and a subgraph. Their models are functions."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send, interrupt


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    steps: Annotated[list[str], operator.add]
    note: dict[str, Any]


def model(state: State) -> dict[str, Any]:
    """Calls the tool for a question, and answers after its result."""
    last = state["messages"][-1]
    if isinstance(last, ToolMessage):
        return {"messages": [AIMessage(f"It is {last.content}.")], "steps": ["answer"]}
    call = {"name": "look", "args": {"text": last.text}, "id": f"call-{len(state['messages'])}", "type": "tool_call"}
    return {"messages": [AIMessage("I look.", tool_calls=[call])], "steps": ["call"]}


def tool(state: State) -> dict[str, Any]:
    """Answers the last call."""
    call = state["messages"][-1].tool_calls[0]
    return {"messages": [ToolMessage("on its way", tool_call_id=call["id"])], "steps": ["tool"], "note": {"calls": (1, 2)}}


def ask(state: State) -> dict[str, Any]:
    """Waits for a person."""
    return {"messages": [AIMessage(f"You said {interrupt('May I?')}.")], "steps": ["ask"]}


def has_call(state: State) -> str:
    return "tool" if any(getattr(message, "tool_calls", None) for message in state["messages"][-1:]) else END


def agent(checkpointer: Any) -> Any:
    """A model that calls a tool."""
    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tool", tool)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", has_call, ["tool", END])
    graph.add_edge("tool", "model")
    return graph.compile(checkpointer=checkpointer)


def asking(checkpointer: Any) -> Any:
    """A graph that is interrupted once."""
    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    return graph.compile(checkpointer=checkpointer)


def nested(checkpointer: Any) -> Any:
    """A graph whose subgraph is interrupted, beside parallel tasks."""
    inner = StateGraph(State)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    graph = StateGraph(State)
    graph.add_node("inner", inner.compile())
    graph.add_node("one", lambda state: {"steps": [state["note"]["name"]]})
    graph.add_conditional_edges(START, fan_out, ["inner", "one"])
    return graph.compile(checkpointer=checkpointer)


class Deltas(TypedDict, total=False):
    log: Annotated[
        list[str],
        DeltaChannel(lambda log, writes: [*log, *(text for write in writes for text in write)], list, snapshot_frequency=3),
    ]


def delta(checkpointer: Any) -> Any:
    """A graph whose checkpoints do not contain the value of a channel."""
    graph = StateGraph(Deltas)
    graph.add_node("add", lambda state: {"log": [f"after {len(state['log'])}"]})
    graph.add_edge(START, "add")
    return graph.compile(checkpointer=checkpointer)


def fan_out(state: State) -> list[Any]:
    return ["inner", *(Send("one", {"note": {"name": str(number)}}) for number in range(8))]
