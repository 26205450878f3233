"""A chat engine of LlamaIndex that remembers a conversation, also in another process."""

import sys

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer

from hansard import Hansard
from hansard.llama_index import HansardChatStore


def main(question: str) -> None:
    with Hansard.from_environment() as client:
        store = HansardChatStore(client)
        memory = ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="ada-1", token_limit=8000)
        engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory)  # or any model
        print(engine.chat(question))
        print(len(store.get_messages("ada-1")), "messages")


if __name__ == "__main__":
    main(*sys.argv[1:])
