"""Checks the chat completions of a gateway with OpenAI's Python client; only base URL and key are set.

Usage: completions.py HANSARD. Needs the packages of requirements.txt (pip install --require-hashes -r …).
Every answer and every chunk is validated strictly against the client's own types.
"""

import pathlib
import subprocess
import sys

import openai
from openai.types import Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from recorded import recorded

sys.path.append(str(pathlib.Path(__file__).parents[1]))

from hansard_dev import data_folder, gateway  # noqa: E402

AGENT = "demo"
MESSAGES = [
    {"role": "system", "content": "You repeat."},
    {"role": "user", "content": "Where is my parcel?"},
]
ANSWER = "echo: Where is my parcel?"


def check(is_right, what):
    if not is_right:
        sys.exit(f"wrong: {what}")


def valid(kind, value):
    """The value is of its type, also where the client does not check it."""
    kind.model_validate(value.model_dump(exclude_unset=True), strict=True)
    return value


def expect(kind, request, **fields):
    """The request fails with this class of error and these fields."""
    try:
        request()
    except kind as error:
        for name, value in fields.items():
            check(getattr(error, name) == value, f"{name} of {error!r}")
        return
    sys.exit(f"no {kind.__name__}")


def secret_key(hansard, environment):
    command = [hansard, "token", "create", "--name", "openai", "--scope", "append", "--scope", "read", "--agent", AGENT]
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return made.stdout.strip()


def check_models(client):
    models = [valid(Model, model) for model in client.models.list()]
    check([model.id for model in models] == [AGENT], models)
    check(valid(Model, client.models.retrieve(AGENT)).id == AGENT, "a model")


def check_completions(client):
    create = client.chat.completions.create
    whole = valid(ChatCompletion, create(model=AGENT, messages=MESSAGES))
    check(whole.choices[0].message.content == ANSWER, whole)
    check(whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens, whole.usage)
    options = {"stream_options": {"include_usage": True}, "temperature": 0, "user": "ada"}
    chunks = [valid(ChatCompletionChunk, chunk) for chunk in create(model=AGENT, messages=MESSAGES, stream=True, **options)]
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    check(text == ANSWER, chunks)
    check(chunks[-1].usage == whole.usage, chunks[-1])
    with client.chat.completions.stream(model=AGENT, messages=MESSAGES) as stream:
        final = stream.get_final_completion()
    check(final.choices[0].message.content == ANSWER, final)
    check(final.choices[0].finish_reason == "stop", final)


def check_errors(client):
    create = client.chat.completions.create
    expect(openai.NotFoundError, lambda: create(model="gpt-4o", messages=MESSAGES), code="AGENT_NOT_FOUND", param="model")
    expect(openai.BadRequestError, lambda: create(model=AGENT, messages=MESSAGES, n=2), code="FIELD_UNSUPPORTED", param="n")
    expect(openai.BadRequestError, lambda: create(model=AGENT, messages=[]), code="FIELD_MISSING", param="messages")
    stranger = client.with_options(api_key="hsk_unknown")
    expect(openai.AuthenticationError, lambda: stranger.models.list(), code="UNAUTHENTICATED", type="authentication_error")


def main(hansard):
    with data_folder() as data, gateway(hansard, data) as (url, _, environment):
        client = openai.OpenAI(base_url=url + "/openai/v1", api_key=secret_key(hansard, environment))
        check_models(client)
        check_completions(client)
        check_errors(client)
        recorded(client, AGENT)
    print(f"openai {openai.__version__}: models, completions, streams, errors and recorded completions")


if __name__ == "__main__":
    main(*sys.argv[1:])
