"""A history that passes its threshold is summarised by the model; the next context has the summary in place of the turns."""

import json
import pathlib
import subprocess
import sys
import tempfile

from fixture import MODEL, Proxy, gateway

from hansard_dev import SERVER, ask, data_folder, wait_for

# Both in tokens; the minimum of the settings, so that the history fits into the model's context.
TOKENS_MIN, TOKENS_KEPT = 1_000, 200
# Enough to exceed the threshold exactly once.
TURNS = 4
# The beginning of the gateway's request for a summary.
REQUEST = "Summarise our conversation so far"


def settings(answer_tokens_max):
    model = {"server": SERVER, "model": MODEL, "outputTokensMax": answer_tokens_max, "temperature": 0}
    return {"model": model, "summaries": {"model": model, "tokensMin": TOKENS_MIN, "tokensKept": TOKENS_KEPT}}


def report(number):
    """About 280 tokens that are unique to a turn."""
    line = "Parcel {} of report {}, with woollen socks and a winter coat, has left the warehouse in Graz by train this morning."
    return f"Report {number}. " + " ".join(line.format(parcel, number) for parcel in range(11)) + " Note it."


def events(url, who, chat):
    return ask(f"{url}/api/chats/{chat}/export?format=json", None, who)["events"]


def summaries(url, who, chat):
    return [event for event in events(url, who, chat) if event["type"] == "HistorySummarised"]


def set_agent(hansard, operator):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "settings.json")
        file.write_text(json.dumps(settings(answer_tokens_max=24)))
        command = [hansard, "agent", "set", "demo", "--settings-file", str(file)]
        subprocess.run(command, env=operator, check=True, stdout=subprocess.DEVNULL)


def explained(hansard, operator, chat, version):
    command = [hansard, "context", "explain", chat, "--format", "openai-chat", "--at", str(version), "--json"]
    return json.loads(subprocess.run(command, env=operator, check=True, capture_output=True).stdout)


def check(hansard, model_url):
    Proxy.seen.clear()
    with data_folder() as data, gateway(hansard, data, model_url) as (url, who, operator):
        set_agent(hansard, operator)
        chat = ask(url + "/v1/chat/sessions", {}, who)["session_id"]
        for number in range(1, TURNS + 1):
            ask(url + "/v1/chat", {"message": report(number), "session_id": chat}, who)
        summary = wait_for("a summary", lambda: summaries(url, who, chat))[0]
        ask(url + "/v1/chat", {"message": "Thank you.", "session_id": chat}, who)
        thanked = [event["version"] for event in events(url, who, chat) if event.get("role") == "user"][-1]
        receipt = explained(hansard, operator, chat, thanked)
    asked, written = next(seen for seen in Proxy.seen if REQUEST in seen[0][-1][1])
    if summary["text"] != written or report(1) not in asked[0][1] + asked[1][1]:
        sys.exit(f"the event holds {summary!r}; the model was asked {asked!r}, and wrote {written!r}")
    messages = next(messages for messages, _ in Proxy.seen if messages[-1][1] == "Thank you.")
    context = "\n".join(text for _, text in messages)
    if written not in context or report(1) in context or report(TURNS) not in context:
        sys.exit(f"the next context is {context!r}, the summary {written!r}")
    if int(receipt["summarisedThrough"]) != summary["through"]:
        sys.exit(f"the receipt names the version {receipt['summarisedThrough']}, the event {summary['through']}")
    print(
        f"after {TURNS} turns the model summarised those up to version {summary['through']} in {len(written)} characters; "
        "the next context has them in place of the turns"
    )
