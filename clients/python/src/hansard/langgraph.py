"""Adapters of LangGraph. Need `hansard[langgraph]`.

client = Hansard("grpc://127.0.0.1:7302", token)
graph = builder.compile(checkpointer=HansardSaver(client), store=HansardStore(client))
"""

from hansard._async_keyed_history import AsyncKeyedHistory
from hansard._async_langgraph_saver import AsyncHansardSaver
from hansard._history_messages import LoadedHistory
from hansard._history_settings import HistorySettings
from hansard._langgraph_store import AsyncHansardStore, HansardStore
from hansard._sync_keyed_history import KeyedHistory
from hansard._sync_langgraph_saver import HansardSaver

__all__ = [
    "AsyncHansardSaver",
    "AsyncHansardStore",
    "AsyncKeyedHistory",
    "HansardSaver",
    "HansardStore",
    "HistorySettings",
    "KeyedHistory",
    "LoadedHistory",
]
