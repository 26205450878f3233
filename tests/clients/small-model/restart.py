"""Two turns, a restart of every process, and a third turn with the first two in it."""

import sys

from fixture import Proxy, gateway

from hansard_dev import ask, data_folder

TURNS = ["My name is Ada. Say hello.", "What is two plus two?", "What is my name?"]


def check(hansard, model_url):
    answers = []
    with data_folder() as data:
        with gateway(hansard, data, model_url) as (url, who, _):
            session = ask(url + "/v1/chat/sessions", {}, who)["session_id"]
            for message in TURNS[:2]:
                answer = ask(url + "/v1/chat", {"message": message, "session_id": session}, who)
                answers.append(answer["response"])
        # The caller's session is still valid.
        with gateway(hansard, data, model_url) as (url, _, _):
            answer = ask(url + "/v1/chat", {"message": TURNS[2], "session_id": session}, who)
            answers.append(answer["response"])
    expected = [text for pair in zip(TURNS, answers) for text in pair][:-1]
    messages, _ = Proxy.seen[-1]
    received = [text for role, text in messages if role in ("user", "assistant")]
    if received != expected or not all(answers):
        sys.exit(f"the model received {received!r}, not {expected!r}")
    print(f"the third turn reached the model with the first two in it; it answered {len(answers[2])} characters")
