"""An agent of LangGraph that continues its thread, also in another process."""

import sys

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from hansard import Hansard
from hansard.langgraph import HansardSaver


def answer(state: MessagesState) -> MessagesState:
    return {"messages": [AIMessage("In Leeds.")]}  # or the answer of a model that reads state["messages"]


def main(question: str) -> None:
    builder = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer")
    with Hansard.from_environment() as client:
        graph = builder.compile(checkpointer=HansardSaver(client))
        state = graph.invoke({"messages": [("user", question)]}, {"configurable": {"thread_id": "ada-1"}})
        print(state["messages"][-1].content)
        print(len(state["messages"]), "messages")


if __name__ == "__main__":
    main(*sys.argv[1:])
