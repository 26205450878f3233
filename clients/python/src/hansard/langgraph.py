"""Adapters of LangGraph. Need `hansard[langgraph]`.

graph = builder.compile(checkpointer=HansardSaver(Hansard("grpc://127.0.0.1:7302", token)))
"""

from hansard._async_langgraph_saver import AsyncHansardSaver
from hansard._sync_langgraph_saver import HansardSaver

__all__ = ["AsyncHansardSaver", "HansardSaver"]
