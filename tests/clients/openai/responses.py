"""Checks the Responses API with OpenAI's Python library; only base URL and key are set.

Usage: responses.py HANSARD. Needs the packages of requirements.txt. Every response and every event is validated strictly against the
library's types.
"""

import json
import pathlib
import sys

from openai import BadRequestError, NotFoundError, OpenAI
from openai.types.responses import Response, ResponseItem, ResponseStreamEvent
from pydantic import BaseModel
from strict import strict

sys.path.append(str(pathlib.Path(__file__).parents[1]))

import scripted_model  # noqa: E402
from hansard_dev import AGENT, wait_for  # noqa: E402
from openai_gateway import openai_gateway  # noqa: E402
from report import python_client  # noqa: E402
from scripted_model import ARGUMENTS, COUNT, FORMATTED  # noqa: E402

QUESTION, ANSWER = "Where is my parcel?", "echo: Where is my parcel?"
WEATHER, COLD = "How is the weather in Oslo?", "the tool says: It is cold."
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
TOOL = {"type": "function", "name": "weather", "description": "Tells the weather.", "parameters": SCHEMA, "strict": True}
# The events of a text, around its deltas.
BEFORE = [
    "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
]
DELTA = "response.output_text.delta"
AFTER = ["response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed"]


class Weather(BaseModel):
    city: str
    degrees: int


def rejected(kind, request, **fields):
    """The request fails with this class of error and these fields."""
    try:
        request()
    except kind as error:
        assert all(getattr(error, name) == value for name, value in fields.items()), (fields, error)
        return
    raise AssertionError(f"no {kind.__name__}: {fields}")


def events_of(stream):
    """All events; their numbers have no gap."""
    events = [strict(ResponseStreamEvent, event) for event in stream]
    first = events[0].sequence_number
    assert [event.sequence_number for event in events] == list(range(first, first + len(events))), events
    return events


def whole(client, create):
    """Create, read, list the input, delete."""
    response = create(input=QUESTION, instructions="Repeat.", metadata={"a": "b"}, temperature=0)
    assert (response.output_text, response.status, response.metadata) == (ANSWER, "completed", {"a": "b"}), response
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens > 0, response.usage
    assert strict(Response, client.responses.retrieve(response.id)) == response
    [item] = [strict(ResponseItem, item) for item in client.responses.input_items.list(response.id)]
    assert item.content[0].text == QUESTION, item
    client.responses.delete(response.id)
    rejected(NotFoundError, lambda: client.responses.retrieve(response.id))
    lost = create(input=QUESTION, store=False)
    assert lost.output_text == ANSWER, lost
    rejected(NotFoundError, lambda: client.responses.retrieve(lost.id))


def streamed(client):
    """Events in order; the helper; the replay; the events after a number."""
    events = events_of(client.responses.create(model=AGENT, input=QUESTION, stream=True))
    types = [event.type for event in events]
    assert types[:4] == BEFORE and types[-4:] == AFTER and set(types[4:-4]) == {DELTA}, types
    assert events[0].sequence_number == 0 and "".join(event.delta for event in events[4:-4]) == ANSWER, events
    response = events[-1].response
    assert strict(Response, client.responses.retrieve(response.id)) == response
    replay = events_of(client.responses.retrieve(response.id, stream=True))
    assert replay[0].type == "response.created" and replay[-1].response == response, replay
    rest = events_of(client.responses.retrieve(response.id, stream=True, starting_after=3))
    assert rest[0].sequence_number == 4 and rest == [event for event in replay if event.sequence_number > 3], rest
    with client.responses.stream(model=AGENT, input=QUESTION) as stream:
        assert stream.get_final_response().output_text == ANSWER
    with client.responses.stream(response_id=response.id, starting_after=3) as stream:
        assert stream.get_final_response().output_text == ANSWER


def chained(client, create):
    """Each response continues an earlier one, not only the last; both branches have their own history."""
    first = create(input=QUESTION)
    second = create(input=COUNT, previous_response_id=first.id)
    assert (second.output_text, second.previous_response_id) == ("3 messages", first.id), second
    third = create(input=COUNT, previous_response_id=second.id, instructions="Count.")
    branch = create(input=COUNT, previous_response_id=first.id)
    assert branch.output_text == "3 messages", branch
    # The instructions of the response before are not inherited: the message more is the answer and the question.
    fourth = create(input=COUNT, previous_response_id=third.id)
    assert (third.output_text, fourth.output_text) == ("6 messages", "7 messages"), (third, fourth)
    rejected(BadRequestError, lambda: create(input="x", previous_response_id="resp_none"), param="previous_response_id")


def in_conversation(client, create):
    conversation = client.conversations.create(items=[{"role": "user", "content": "one"}])
    first = create(input=QUESTION, conversation=conversation.id)
    assert first.conversation.id == conversation.id, first
    assert create(input=COUNT, conversation={"id": conversation.id}).output_text == "4 messages"
    texts = [item.content[0].text for item in client.conversations.items.list(conversation.id, order="asc")]
    assert texts == ["one", QUESTION, ANSWER, COUNT, "4 messages"], texts
    rejected(NotFoundError, lambda: create(input="x", conversation="conv_none"), param="conversation")
    both = {"conversation": conversation.id, "previous_response_id": first.id}
    rejected(BadRequestError, lambda: create(input="x", **both))


def tools(client, create):
    """The result of a call comes in the chain, in the conversation, and in an input with the whole history."""
    asked = create(input=WEATHER, tools=[TOOL])
    [call] = asked.output
    assert (call.type, call.name, json.loads(call.arguments)) == ("function_call", "weather", ARGUMENTS), asked
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "It is cold."}
    assert create(input=[result], previous_response_id=asked.id, tools=[TOOL]).output_text == COLD
    history = [{"role": "user", "content": WEATHER}, call.to_dict(), result]
    assert create(input=history, tools=[TOOL]).output_text == COLD
    reference = [{"role": "user", "content": WEATHER}, {"type": "item_reference", "id": call.id}, result]
    assert create(input=reference, tools=[TOOL]).output_text == COLD
    conversation = client.conversations.create()
    [call] = create(input=WEATHER, tools=[TOOL], conversation=conversation.id).output
    result["call_id"] = call.call_id
    assert create(input=[result], conversation=conversation.id, tools=[TOOL]).output_text == COLD
    types = [item.type for item in client.conversations.items.list(conversation.id, order="asc")]
    assert types == ["message", "function_call", "function_call_output", "message"], types
    events = [event.type for event in events_of(client.responses.create(model=AGENT, input=WEATHER, tools=[TOOL], stream=True))]
    assert "response.function_call_arguments.delta" in events and "response.function_call_arguments.done" in events, events
    forced = create(input=QUESTION, tools=[TOOL], tool_choice={"type": "function", "name": "weather"})
    assert forced.output[0].type == "function_call", forced
    assert create(input=WEATHER, tools=[TOOL], tool_choice="none").output[0].type == "message"


def background(client, create):
    """A response that is polled, one whose stream is resumed, and one that is cancelled."""
    scripted_model.released.clear()
    held = create(input="a b hold c", background=True)
    assert held.status in ("queued", "in_progress"), held
    scripted_model.released.set()
    ended = wait_for("the end of the response", lambda: ended_response(client, held.id))
    assert (ended.status, ended.output_text) == ("completed", "echo: a b hold c"), ended
    scripted_model.released.clear()
    stream = client.responses.create(model=AGENT, input="a b hold c", background=True, stream=True)
    seen = [strict(ResponseStreamEvent, next(stream)) for _ in range(len(BEFORE) + 1)]
    stream.close()
    scripted_model.released.set()
    rest = events_of(client.responses.retrieve(seen[0].response.id, stream=True, starting_after=seen[-1].sequence_number))
    assert rest[0].sequence_number == seen[-1].sequence_number + 1 and rest[-1].type == "response.completed", rest
    deltas = [event.delta for event in [*seen, *rest] if event.type == DELTA]
    assert "".join(deltas) == "echo: a b hold c", deltas
    scripted_model.released.clear()
    held = create(input="a b hold c", background=True)
    cancelled = strict(Response, client.responses.cancel(held.id))
    assert cancelled.status == "cancelled", cancelled
    assert wait_for("the end", lambda: ended_response(client, held.id)).status == "cancelled"
    scripted_model.released.set()


def ended_response(client, response):
    found = strict(Response, client.responses.retrieve(response))
    return found if found.status not in ("queued", "in_progress") else None


def not_supported(create, report):
    """Features that would change the answer are rejected by their name."""
    for feature, param, fields in [
        ("hosted tools", "tools[0]", {"tools": [{"type": "web_search"}]}),
        ("log probabilities", "include", {"include": ["message.output_text.logprobs"]}),
        ("prompts of OpenAI", "prompt", {"prompt": {"id": "pmpt_1"}}),
    ]:
        try:
            create(input=QUESTION, **fields)
        except BadRequestError as error:
            assert (error.param or "").startswith(param), (feature, error)
            report.does_not("Responses", feature, f"400 `{error.code}`")
        else:
            raise AssertionError(feature)


def main(hansard):
    report = python_client("openai")
    with openai_gateway(hansard) as (base_url, key), OpenAI(base_url=base_url, api_key=key) as client:
        def create(**fields):
            return strict(Response, client.responses.create(model=AGENT, **fields))

        whole(client, create)
        report.works("Responses", "create, retrieve and delete", "`store: false`", "input items")
        streamed(client)
        report.works("Responses", "streamed", "resumed streams")
        chained(client, create)
        in_conversation(client, create)
        report.works("Responses", "`previous_response_id`, with branches", "`conversation`")
        tools(client, create)
        parsed = client.responses.parse(model=AGENT, input=WEATHER, text_format=Weather)
        assert parsed.output_parsed == Weather(**FORMATTED), parsed
        report.works("Responses", "tools", "`item_reference`", "output by a schema")
        background(client, create)
        report.works("Responses", "background responses", "cancel")
        not_supported(create, report)
    print("the Responses API works with openai")


if __name__ == "__main__":
    main(*sys.argv[1:])
