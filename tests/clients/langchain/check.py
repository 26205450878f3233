"""Checks LangChain's `ChatOpenAI` over Chat Completions; only base URL and key are set.

Usage: check.py HANSARD. Needs the packages of requirements.txt (pip install --require-hashes -r …).
"""

import asyncio
import pathlib
import sys

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai import BadRequestError
from pydantic import BaseModel

sys.path.append(str(pathlib.Path(__file__).parents[1]))

from hansard_dev import AGENT  # noqa: E402
from openai_gateway import openai_gateway  # noqa: E402
from report import python_client  # noqa: E402
from scripted_model import ARGUMENTS, FORMATTED  # noqa: E402

HISTORY = [SystemMessage("You repeat."), HumanMessage("one"), AIMessage("echo: one"), HumanMessage("Where is my parcel?")]
ANSWER = "echo: Where is my parcel?"
QUESTION = "How is the weather in Oslo?"


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    degrees: int


@tool
def weather(city: str) -> str:
    """Tells the weather."""
    return f"{city} is cold."


async def answers(chat):
    """Whole and streamed, with and without asyncio, several at once."""
    for message in (chat.invoke(HISTORY), await chat.ainvoke(HISTORY)):
        assert (message.text, message.response_metadata["finish_reason"]) == (ANSWER, "stop"), message
        usage = message.usage_metadata
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0, usage
    chunks = list(chat.stream(HISTORY))
    assert len(chunks) > 2 and "".join(chunk.text for chunk in chunks) == ANSWER, chunks
    assert "".join([chunk.text async for chunk in chat.astream(HISTORY)]) == ANSWER
    batch = chat.batch(["one", "two", "three"])
    assert [message.text for message in batch] == ["echo: one", "echo: two", "echo: three"], batch


def tools(chat):
    """A call, whole and streamed; its result comes back to the model."""
    bound = chat.bind_tools([weather])
    streamed = None
    for chunk in bound.stream(QUESTION):
        streamed = chunk if streamed is None else streamed + chunk
    for message in (bound.invoke(QUESTION), streamed):
        [call] = message.tool_calls
        assert (call["name"], call["args"]) == ("weather", ARGUMENTS), message
        result = weather.invoke(call)
        assert isinstance(result, ToolMessage), result
        answer = bound.invoke([HumanMessage(QUESTION), message, result])
        assert answer.text == "the tool says: Oslo is cold.", answer
    forced = chat.bind_tools([weather], tool_choice="weather").invoke("Where is my parcel?")
    assert forced.tool_calls, forced


def structured(chat):
    for method in ("json_schema", "json_mode"):
        assert chat.with_structured_output(Weather, method=method).invoke("How is Oslo?") == Weather(**FORMATTED), method


def rejected(chat):
    try:
        chat.bind(n=2).invoke("one")
    except BadRequestError as error:
        assert (error.code, error.param) == ("FIELD_UNSUPPORTED", "n"), error
        return
    raise AssertionError("two answers were given")


def main(hansard):
    report = python_client("langchain-openai")
    with openai_gateway(hansard) as (base_url, key):
        chat = ChatOpenAI(model=AGENT, base_url=base_url, api_key=key, temperature=0, stream_usage=True)
        asyncio.run(answers(chat))
        report.works("Chat Completions", "`invoke`, `stream` and `batch`, with asyncio too", "usage")
        tools(chat)
        report.works("Chat Completions", "`bind_tools`")
        structured(chat)
        report.works("Chat Completions", "`with_structured_output`")
        rejected(chat)
        report.does_not("Chat Completions", "several answers (`n`)", "400 `FIELD_UNSUPPORTED`")
    print("LangChain: answers, streams, tools and structured output")


if __name__ == "__main__":
    main(*sys.argv[1:])
