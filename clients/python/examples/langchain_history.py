"""A chat model of LangChain that remembers a conversation, also in another process."""

import sys

from langchain_core.language_models import FakeListChatModel

from hansard import Hansard
from hansard.langchain import HansardChatMessageHistory


def main(question: str) -> None:
    with Hansard.from_environment() as client:
        history = HansardChatMessageHistory("ada-1", client)
        history.add_user_message(question)
        model = FakeListChatModel(responses=["In Leeds."])  # or any chat model
        answer = model.invoke(history.messages)
        history.add_message(answer)
        print(answer.content)
        print(len(history.messages), "messages")


if __name__ == "__main__":
    main(*sys.argv[1:])
