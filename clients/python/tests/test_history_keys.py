"""Keys of histories: the rules and the channels of `crates/keyed-history`."""

from __future__ import annotations

from typing import Any

import pytest

from hansard._history_keys import (
    BAD_CHARACTERS,
    CANDIDATES,
    EMPTY,
    KEY_CHARS_MAX,
    TELEGRAM,
    THREAD,
    TOO_LONG,
    UNRESOLVED,
    RefusedKeyError,
    parse,
    render,
    resolve,
)

TELEGRAM_EVENT = {
    "results": {"telegram_events_parser": {"chat_id": -1001234567890, "text": "hi {{thread_id}}"}},
    "thread_id": "run-1",
}
WECOM_CS_EVENT = {
    "results": {
        "wecom_cs_sync": {
            "open_kf_id": "wkAJ2GCAAASSm4_FhToWMFea0xAFfd3Q",
            "external_userid": "wmAJ2GCAAAme1XQRC-NI-q0_ZM9ukoAw",
            "messages": [{"msgid": "1"}],
        }
    },
    "thread_id": "run-2",
}
WECOM_AIBOT_EVENT = {
    "results": {"wecom_ai_bot_events_parser": {"chat_type": "single", "user": "ZhangSan"}},
    "thread_id": "run-3",
}
WECOM_DM_EVENT = {"results": {"wecom_events_parser": {"user": "\u5f20\u4e09"}}, "thread_id": "run-4"}
EXPLICIT_EVENT = {
    "results": {"resolve_history_key": {"session_key": "vip:1"}, "telegram_events_parser": {"chat_id": 7}},
    "configurable": {"history_key": "configured"},
    "inputs": {"history_key": "given"},
}


@pytest.mark.parametrize(
    ("event", "refused", "key"),
    [
        (TELEGRAM_EVENT, 3, "telegram:-1001234567890"),
        (WECOM_CS_EVENT, 4, "wecom_cs:wkAJ2GCAAASSm4_FhToWMFea0xAFfd3Q:wmAJ2GCAAAme1XQRC-NI-q0_ZM9ukoAw"),
        (WECOM_AIBOT_EVENT, 5, "wecom_aibot:single:ZhangSan"),
        (WECOM_DM_EVENT, 6, "wecom_dm:\u5f20\u4e09"),
        ({"thread_id": "manual-7"}, 7, "manual-7"),
        ({}, 8, None),
    ],
)
def test_each_channel_has_its_key(event: dict[str, Any], refused: int, key: str | None) -> None:
    resolution = resolve(CANDIDATES, event)
    assert (resolution.key, resolution.refused) == (key, (UNRESOLVED,) * refused)


@pytest.mark.parametrize(("first", "key"), [(0, "vip:1"), (1, "configured"), (2, "given"), (3, "telegram:7")])
def test_an_explicit_key_comes_first(first: int, key: str) -> None:
    assert resolve(CANDIDATES[first:], EXPLICIT_EVENT).key == key


def test_literals_and_each_refusal() -> None:
    assert resolve(["support-room-1", THREAD], TELEGRAM_EVENT).key == "support-room-1"
    variables = {
        "inputs": {"history_key": ""},
        "long": "x" * 257,
        "evil": "{{thread_id}}",
        "spaced": "a b",
        "results": {"telegram_events_parser": {"chat_id": None}},
        "thread_id": "t",
    }
    candidates = ["", "{{inputs.history_key}}", TELEGRAM, "{{evil}}", "{{long}}", "x" * 257, "{{spaced}}", THREAD]
    resolution = resolve(candidates, variables)
    assert resolution.key == "t"
    assert resolution.refused == (EMPTY, EMPTY, UNRESOLVED, UNRESOLVED, TOO_LONG, TOO_LONG, BAD_CHARACTERS)
    assert resolve([], TELEGRAM_EVENT).key is None


VARIABLES: dict[str, Any] = {
    "a": {"b": "v", "c.d": "w"},
    "n": -100,
    "big": 123456789012345678901234567890,
    "yes": True,
    "none": None,
    "list": [1],
    "empty": "",
    "blank": " ",
    "template": "{{a.b}}",
    "open": "{{",
    "long": "x" * KEY_CHARS_MAX,
    "longer": "x" * (KEY_CHARS_MAX + 1),
    "__x__": "u",
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("", ""),
        ("literal", "literal"),
        ("{{a.b}}", "v"),
        ("{{ a . b }}", "v"),
        ("{{\ta.b\n}}", "v"),
        ("k:{{a.b}}:{{n}}:{{yes}}:end", "k:v:-100:true:end"),
        ("{{big}}", "123456789012345678901234567890"),
        ("{{a.b}}{{a.b}}", "vv"),
        ("{{__x__}}", "u"),
        ("{a.b}", "{a.b}"),
        ("}}", "}}"),
        ("{{long}}", "x" * KEY_CHARS_MAX),
    ],
)
def test_values_stand_where_their_paths_stood(template: str, expected: str) -> None:
    assert render(template, VARIABLES) == expected


UNRESOLVED_TEMPLATES = ["{{missing}}", "k:{{a.missing}}", "{{a}}", "{{a.b.c}}", "{{a.c.d}}", "{{none}}", "{{list}}", "{{list.0}}"]
UNRESOLVED_TEMPLATES += ["{{}}", "{{ }}", "{{a.b", "{{{a.b}}}", "{{a.{{b}}}}", "{{template}}", "{{open}}"]


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        *((template, UNRESOLVED) for template in UNRESOLVED_TEMPLATES),
        *((template, EMPTY) for template in ["{{empty}}", "k:{{empty}}", "{{blank}}:x"]),
        ("{{longer}}", TOO_LONG),
    ],
)
def test_a_missing_value_is_refused(template: str, reason: str) -> None:
    with pytest.raises(RefusedKeyError, match=reason):
        render(template, VARIABLES)


KEYS = [
    "a",
    "support-room-1",
    "telegram:-100200",
    "a_b.c@d/e+f=",
    "\u7528\u6237:7",
    "\u00e9",
    "\u0928\u092e\u0938\u094d\u0924\u0947",
]
BAD_KEYS = ["a b", " a", "a\n", "a\0", "a{b}", "a'b", "a\u200bb", "a\u202eb", "a*", "a>"]


@pytest.mark.parametrize("key", [*KEYS, "x" * KEY_CHARS_MAX, "\u7528" * KEY_CHARS_MAX])
def test_valid_keys(key: str) -> None:
    assert parse(key) == key


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        *((key, BAD_CHARACTERS) for key in BAD_KEYS),
        ("", EMPTY),
        (" \n", EMPTY),
        *((letter * (KEY_CHARS_MAX + 1), TOO_LONG) for letter in "x\u00e9\u7528"),
    ],
)
def test_invalid_keys(key: str, reason: str) -> None:
    with pytest.raises(RefusedKeyError, match=reason):
        parse(key)
