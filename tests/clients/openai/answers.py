"""Answers of OpenAI's APIs, validated strictly against the types of OpenAI's library."""

import json

from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.conversations import Conversation, ConversationItem, ConversationItemList
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, ConfigDict, ValidationError
from strict import adapter

ITEM_LIST = (ConversationItemList, None)
# Items that clients send, and that the types of answers do not have.
NOT_IN_ANSWERS = {"compaction_trigger"}
# The type of an answer, and the type of the events of its stream.
ANSWERS = {
    "/chat/completions": (ChatCompletion, ChatCompletionChunk),
    "/conversations": (Conversation, None),
    "/conversations/{id}": (Conversation, None),
    "/conversations/{id}/items": ITEM_LIST,
    "/responses": (Response, ResponseStreamEvent),
}


class Fault(Exception):
    """The answer is wrong."""


class ErrorDetail(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    message: str
    type: str
    param: str | None
    code: str


class ErrorBody(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    error: ErrorDetail


def validated(kind, text):
    try:
        return adapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        details = [f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors()[:3]]
        raise Fault(f"not of its type: {details}") from error


def validate_error(body):
    return validated(ErrorBody, body).error


def validate(kinds, answer):
    """The answer, or the last event of the stream. An answer that begins late may be an error."""
    whole, event = kinds
    if answer.content_type.startswith("text/event-stream"):
        return validate_stream(event, answer.body.decode())
    parsed = json.loads(answer.body)
    if set(parsed) == {"error"}:
        validate_error(answer.body)
    elif whole is ConversationItemList:
        validate_items(parsed)
    else:
        validated(whole, answer.body)
    return parsed


def validate_items(page):
    """A list; a fault names the wrong item. An empty list has no first and no last id, which the type does not allow."""
    known = [item for item in page["data"] if item.get("type") not in NOT_IN_ANSWERS]
    for item in known:
        try:
            validated(ConversationItem, json.dumps(item))
        except Fault as fault:
            raise Fault(f"{item.get('type')} is {json.dumps(item)[:300]}: {fault}") from fault
    ids = {"first_id": page["first_id"] or "", "last_id": page["last_id"] or ""}
    validated(ConversationItemList, json.dumps({**page, **ids, "data": known}))


def validate_stream(kind, text):
    """Every event; the last one ends with a blank line."""
    if not text.endswith("\n\n"):
        raise Fault("the last event does not end with a blank line")
    lines = [line.removeprefix("data: ") for line in text.split("\n") if line.startswith("data: ")]
    events = [line for line in lines if line != "[DONE]" and not line.startswith('{"error"')]
    if not events:
        raise Fault("the stream has no event")
    for event in events:
        validated(kind, event)
    return json.loads(events[-1])
