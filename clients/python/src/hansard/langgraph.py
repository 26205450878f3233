"""Adapters of LangGraph. Need `hansard[langgraph]`.

graph = builder.compile(store=HansardStore(Hansard("grpc://127.0.0.1:7302", token)))
"""

from hansard._langgraph_store import AsyncHansardStore, HansardStore

__all__ = ["AsyncHansardStore", "HansardStore"]
