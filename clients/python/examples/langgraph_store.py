"""A graph of LangGraph that remembers what a user said, also in another process."""

import sys
from uuid import uuid4

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from hansard import Hansard
from hansard.langgraph import HansardStore


def answer(state: MessagesState, runtime: Runtime) -> MessagesState:
    memories = ("memories", "ada")
    runtime.store.put(memories, str(uuid4()), {"text": state["messages"][-1].content})
    known = runtime.store.search(memories, limit=100)
    return {"messages": [AIMessage(f"{len(known)} memories")]}  # or the answer of a model that reads them


def main(question: str) -> None:
    builder = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer")
    with Hansard.from_environment() as client:
        graph = builder.compile(store=HansardStore(client))
        print(graph.invoke({"messages": [("user", question)]})["messages"][-1].content)


if __name__ == "__main__":
    main(*sys.argv[1:])
