"""Checks models and chat completions with OpenAI's Python library; only base URL and key are set.

Usage: completions.py HANSARD. Needs the packages of requirements.txt (pip install --require-hashes -r …).
Every answer and every chunk is validated strictly against the library's own types.
"""

import json
import pathlib
import sys

import openai
from openai.types import Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import BaseModel
from recorded import recorded
from strict import strict

sys.path.append(str(pathlib.Path(__file__).parents[1]))

from hansard_dev import AGENT  # noqa: E402
from openai_gateway import openai_gateway  # noqa: E402
from report import python_client  # noqa: E402
from scripted_model import ARGUMENTS, FORMATTED  # noqa: E402

MESSAGES = [
    {"role": "system", "content": "You repeat."},
    {"role": "user", "content": "Where is my parcel?"},
]
ANSWER = "echo: Where is my parcel?"
WEATHER = {"role": "user", "content": "How is the weather in Oslo?"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
TOOL = {"type": "function", "function": {"name": "weather", "description": "Tells the weather.", "parameters": SCHEMA, "strict": True}}


class Weather(BaseModel):
    city: str
    degrees: int


def expect(kind, request, **fields):
    """The request fails with this class of error and these fields."""
    try:
        request()
    except kind as error:
        for name, value in fields.items():
            assert getattr(error, name) == value, (name, error)
        return
    raise AssertionError(f"no {kind.__name__}")


def models(client):
    listed = [strict(Model, model) for model in client.models.list()]
    assert [model.id for model in listed] == [AGENT], listed
    assert strict(Model, client.models.retrieve(AGENT)).id == AGENT


def completions(client):
    create = client.chat.completions.create
    whole = strict(ChatCompletion, create(model=AGENT, messages=MESSAGES))
    assert whole.choices[0].message.content == ANSWER, whole
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens, whole.usage
    options = {"stream_options": {"include_usage": True}, "temperature": 0, "user": "ada"}
    chunks = [strict(ChatCompletionChunk, chunk) for chunk in create(model=AGENT, messages=MESSAGES, stream=True, **options)]
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert text == ANSWER, chunks
    assert chunks[-1].usage == whole.usage, chunks[-1]
    with client.chat.completions.stream(model=AGENT, messages=MESSAGES) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.content == ANSWER, final
    assert final.choices[0].finish_reason == "stop", final
    parsed = client.chat.completions.parse(model=AGENT, messages=[WEATHER], response_format=Weather)
    assert parsed.choices[0].message.parsed == Weather(**FORMATTED), parsed


def tools(client):
    """A call, whole and streamed; its result comes back to the model."""
    create = client.chat.completions.create
    whole = strict(ChatCompletion, create(model=AGENT, messages=[WEATHER], tools=[TOOL])).choices[0]
    assert whole.finish_reason == "tool_calls", whole
    call = whole.message.tool_calls[0]
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", ARGUMENTS), call
    with client.chat.completions.stream(model=AGENT, messages=[WEATHER], tools=[TOOL]) as stream:
        streamed = stream.get_final_completion().choices[0]
    assert streamed.message.tool_calls[0].function.parsed_arguments == ARGUMENTS, streamed
    history = [WEATHER, whole.message, {"role": "tool", "tool_call_id": call.id, "content": "It is cold."}]
    answer = strict(ChatCompletion, create(model=AGENT, messages=history, tools=[TOOL]))
    assert answer.choices[0].message.content == "the tool says: It is cold.", answer
    none = create(model=AGENT, messages=[WEATHER], tools=[TOOL], tool_choice="none")
    assert not none.choices[0].message.tool_calls, none
    named = {"type": "function", "function": {"name": "weather"}}
    forced = create(model=AGENT, messages=MESSAGES, tools=[TOOL], tool_choice=named, parallel_tool_calls=False)
    assert forced.choices[0].message.tool_calls, forced


def errors(client):
    create = client.chat.completions.create
    expect(openai.NotFoundError, lambda: create(model="gpt-4o", messages=MESSAGES), code="AGENT_NOT_FOUND", param="model")
    expect(openai.BadRequestError, lambda: create(model=AGENT, messages=[]), code="FIELD_MISSING", param="messages")
    stranger = client.with_options(api_key="hsk_unknown")
    expect(openai.AuthenticationError, lambda: stranger.models.list(), code="UNAUTHENTICATED", type="authentication_error")


def not_supported(client, report):
    """Fields that would change the answer are rejected by their name."""
    audio = {"modalities": ["text", "audio"], "audio": {"format": "wav", "voice": "alloy"}}
    for feature, param, fields in [
        ("several answers (`n`)", "n", {"n": 2}),
        ("`logprobs`", "logprobs", {"logprobs": True}),
        ("`logit_bias`", "logit_bias", {"logit_bias": {"1": 1}}),
        ("audio", "modalities", audio),
        ("`web_search_options`", "web_search_options", {"web_search_options": {}}),
        ("`functions`", "functions", {"functions": [{"name": "f"}]}),
    ]:
        def create(fields=fields):
            return client.chat.completions.create(model=AGENT, messages=MESSAGES, **fields)

        expect(openai.BadRequestError, create, code="FIELD_UNSUPPORTED", param=param)
        report.does_not("Chat Completions", feature, "400 `FIELD_UNSUPPORTED`")


def main(hansard):
    report = python_client("openai")
    with openai_gateway(hansard) as (base_url, key), openai.OpenAI(base_url=base_url, api_key=key) as client:
        models(client)
        report.works("Models", "list", "retrieve")
        completions(client)
        report.works("Chat Completions", "whole", "streamed", "usage", "output by a schema")
        tools(client)
        report.works("Chat Completions", "tools")
        recorded(client, AGENT)
        report.works("Chat Completions", "recorded, with `store` or a header", "edits and repeated answers", "managed context")
        errors(client)
        report.works("Chat Completions", "errors as exceptions")
        not_supported(client, report)
    print(f"openai {openai.__version__}: models, completions, streams, tools and errors")


if __name__ == "__main__":
    main(*sys.argv[1:])
