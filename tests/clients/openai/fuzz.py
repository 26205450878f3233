"""Sends generated requests to OpenAI's APIs: of the types of OpenAI's library, and mutated ones.

No answer may be a server error. A request of the types succeeds, or its error names the parameter. Every answer is validated strictly
against the types. Usage: fuzz.py HANSARD [SECONDS [SEED]]; the same seed sends the same requests. Needs the packages of requirements.txt.
"""

import collections
import dataclasses
import http.client
import json
import pathlib
import random
import sys
import time
import urllib.parse

from answers import ANSWERS, ITEM_LIST, Fault, validate, validate_error
from generate import mutated, value
from openai.types.chat import completion_create_params as completions
from openai.types.conversations import (
    ItemCreateParams,
    ItemListParams,
    conversation_create_params,
    conversation_update_params,
)
from openai.types.responses import response_create_params as responses

sys.path.append(str(pathlib.Path(__file__).parents[1]))

from hansard_dev import DEADLINE_S, ask  # noqa: E402
from openai_gateway import openai_gateway  # noqa: E402

# How many of 100 requests of the types succeed at least; fewer would test little.
ACCEPTED_MIN = 10
# After so many requests they are for a new conversation.
REQUESTS_OF_CONVERSATION = 30
FAULTS_MAX = 20

# The path, and the types of its requests.
OPERATIONS = {
    "/chat/completions": [completions.CompletionCreateParamsNonStreaming, completions.CompletionCreateParamsStreaming],
    "/conversations": [conversation_create_params.ConversationCreateParams],
    "/conversations/{id}": [conversation_update_params.ConversationUpdateParams],
    "/conversations/{id}/items": [ItemCreateParams],
    "/responses": [responses.ResponseCreateParamsNonStreaming, responses.ResponseCreateParamsStreaming],
}


class Gateway:
    """A connection that stays open, and the current conversations: of requests of the types, and of mutated ones."""

    def __init__(self, base_url, key):
        self.url = urllib.parse.urlsplit(base_url)
        self.headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        self.connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=DEADLINE_S)
        self.renew()

    def renew(self):
        self.conversations = [json.loads(self.send("POST", "/conversations", "{}").body)["id"] for _ in range(2)]

    def send(self, method, path, text=None):
        body = None if text is None else text.encode("utf-8", "surrogatepass")
        try:
            self.connection.request(method, self.url.path + path, body, self.headers)
            answer = self.connection.getresponse()
            return Answer(answer.status, answer.getheader("content-type", ""), answer.read())
        except (http.client.HTTPException, OSError) as error:
            self.connection.close()
            return Answer(0, "", repr(error).encode())


@dataclasses.dataclass
class Answer:
    """`status` is 0 if the connection was lost."""

    status: int
    content_type: str
    body: bytes


def check(path, request, answer):
    """`request`: None if it was mutated. Returns the answer to a request of the types, if it succeeded."""
    if answer.status == 0 or answer.status >= 500:
        raise Fault("a server error")
    if answer.status == 200:
        return None if request is None else validate(ANSWERS[path], answer)
    error = validate_error(answer.body)
    if request is not None and (answer.status not in (400, 404) or error.param is None):
        raise Fault(f"no parameter is named: {error.code}")
    return None


def read_response(gateway, answered):
    """A stored response is read as it was answered, after its end."""
    response = answered.get("response", answered)
    if not response.get("store") or response["status"] != "completed":
        return
    read = gateway.send("GET", f"/responses/{response['id']}")
    if read.status != 200 or json.loads(read.body) != response:
        raise Fault(f"the response is read as {read}")


def list_items(gateway, conversation, random):
    """A page of a conversation with generated options, and its last item alone."""
    query = value(random, ItemListParams)
    query.pop("after", None)
    path = f"/conversations/{conversation}/items"
    listed = gateway.send("GET", f"{path}?{urllib.parse.urlencode(query, doseq=True)}")
    if listed.status != 200:
        if validate_error(listed.body).param not in query:
            raise Fault(f"items were not listed: {listed}")
        return
    page = validate(ITEM_LIST, listed)
    if page["data"]:
        one = gateway.send("GET", f"{path}/{urllib.parse.quote(page['last_id'], safe='')}")
        if one.status != 200 or json.loads(one.body) != page["data"][-1]:
            raise Fault(f"the last item is {one}")


def run(gateway, operations, seconds, seed):
    """Returns counts of (path, whether of the types, status), and faults by their text."""
    counts, faults = collections.Counter(), {}
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end and len(faults) < FAULTS_MAX:
        number += 1
        chance = random.Random(f"{seed} {number}")
        if number % REQUESTS_OF_CONVERSATION == 0:
            gateway.renew()
        path = chance.choice(operations)
        request = value(chance, chance.choice(OPERATIONS[path]))
        is_mutated = chance.random() < 0.5
        text = mutated(chance, request) if is_mutated else json.dumps(request)
        conversation = gateway.conversations[is_mutated]
        answer = gateway.send("POST", path.format(id=conversation), text)
        counts[path, is_mutated, answer.status] += 1
        try:
            answered = check(path, None if is_mutated else request, answer)
            if answered and path == "/conversations/{id}/items":
                list_items(gateway, conversation, chance)
            if answered and path == "/responses":
                read_response(gateway, answered)
        except Fault as fault:
            faults.setdefault((path, str(fault)[:100]), f"request {number} of seed {seed}\n{text[:3000]}\n{answer}"[:6000])
    return counts, faults


def main(hansard, seconds="20", seed="1"):
    with openai_gateway(hansard) as (base_url, key):
        described = ask(base_url.removesuffix("/openai/v1") + "/openapi.json")["paths"]
        operations = [path for path in OPERATIONS if "/openai/v1" + path in described]
        counts, faults = run(Gateway(base_url, key), operations, float(seconds), seed)
    for (path, summary), example in faults.items():
        print(f"POST {path}: {summary}\n{example}\n")
    for path in operations:
        total = sum(count for (of, is_mutated, _), count in counts.items() if of == path and not is_mutated)
        print(f"{path}: {total} requests of the types, {counts[path, False, 200]} succeeded")
        if counts[path, False, 200] * 100 < ACCEPTED_MIN * total:
            sys.exit(f"fewer than {ACCEPTED_MIN} of 100 succeeded: seed {seed}")
    if faults:
        sys.exit(f"{len(faults)} faults, seed {seed}")
    print(f"{counts.total()} requests, half of them mutated: no server error, every answer is of its type")


if __name__ == "__main__":
    main(*sys.argv[1:])
