"""Checks LangChain's `ChatOpenAI` over the Responses API; only base URL and key are set.

Usage: responses.py HANSARD. Needs the packages of requirements.txt (pip install --require-hashes -r …).
"""

import pathlib
import sys

from check import ANSWER, HISTORY, structured, tools
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

sys.path.append(str(pathlib.Path(__file__).parents[1]))

from hansard_dev import AGENT  # noqa: E402
from openai_gateway import openai_gateway  # noqa: E402
from report import python_client  # noqa: E402
from scripted_model import COUNT  # noqa: E402


def answers(chat):
    message = chat.invoke(HISTORY)
    assert (message.text, message.response_metadata["status"]) == (ANSWER, "completed"), message
    assert message.usage_metadata["total_tokens"] > 0, message
    chunks = list(chat.stream(HISTORY))
    assert len(chunks) > 2 and "".join(chunk.text for chunk in chunks) == ANSWER, chunks


def chained(chat):
    """Only the new messages are sent: the history is that of the previous response."""
    first = chat.invoke([HumanMessage("one")])
    second = chat.bind(previous_response_id=first.response_metadata["id"]).invoke([HumanMessage(COUNT)])
    assert second.text == "3 messages", second


def main(hansard):
    report = python_client("langchain-openai")
    with openai_gateway(hansard) as (base_url, key):
        options = {"model": AGENT, "base_url": base_url, "api_key": key, "use_responses_api": True}
        chat = ChatOpenAI(**options)
        answers(chat)
        report.works("Responses", "`invoke` and `stream`", "usage")
        tools(chat)
        report.works("Responses", "`bind_tools`")
        structured(chat)
        report.works("Responses", "`with_structured_output`")
        chained(chat)
        history = ChatOpenAI(**options, use_previous_response_id=True)
        answer = history.invoke("one")
        assert history.invoke([HumanMessage("one"), answer, HumanMessage(COUNT)]).text == "3 messages"
        report.works("Responses", "`previous_response_id`")
    print("LangChain over the Responses API: answers, streams, tools and structured output")


if __name__ == "__main__":
    main(*sys.argv[1:])
