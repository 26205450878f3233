"""A chain of LangChain that remembers a conversation, also in another process."""

import sys

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langchain_core.runnables.history import RunnableWithMessageHistory

from hansard import Hansard
from hansard.langchain import HansardChatMessageHistory


def main(question: str) -> None:
    with Hansard.from_environment() as client:
        model = FakeListChatModel(responses=["In Leeds."])  # or any chat model
        chain = RunnableWithMessageHistory(model, lambda session_id: HansardChatMessageHistory(session_id, client))
        answer = chain.invoke([HumanMessage(question)], {"configurable": {"session_id": "ada-1"}})
        print(answer.content)
        print(len(HansardChatMessageHistory("ada-1", client).messages), "messages")


if __name__ == "__main__":
    main(*sys.argv[1:])
