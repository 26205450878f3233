"""The key of a history: the first of several candidates that is valid. The rules are those of the service. No I/O."""

from __future__ import annotations

import dataclasses
import json
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, cast

# Most characters of a key, candidates, and bytes of a template before its variables are replaced, as the service allows.
KEY_CHARS_MAX, CANDIDATES_MAX, TEMPLATE_BYTES_MAX = 256, 20, 1024
# The characters that a key may contain besides letters and digits of any script.
MARKS = "_.:@/+=-"
# The reasons why a candidate is not a key.
EMPTY, UNRESOLVED, TOO_LONG, BAD_CHARACTERS = "EMPTY", "UNRESOLVED", "TOO_LONG", "BAD_CHARACTERS"

# The keys of common channels, in the order in which bots declare them: a key that a flow has set, then the chat of a channel.
EXPLICIT = ("{{results.resolve_history_key.session_key}}", "{{configurable.history_key}}", "{{inputs.history_key}}")
TELEGRAM = "telegram:{{results.telegram_events_parser.chat_id}}"
WECOM_CS = "wecom_cs:{{results.wecom_cs_sync.open_kf_id}}:{{results.wecom_cs_sync.external_userid}}"
WECOM_AIBOT = "wecom_aibot:{{results.wecom_ai_bot_events_parser.chat_type}}:{{results.wecom_ai_bot_events_parser.user}}"
WECOM_DM = "wecom_dm:{{results.wecom_events_parser.user}}"
THREAD = "{{thread_id}}"
CANDIDATES = (*EXPLICIT, TELEGRAM, WECOM_CS, WECOM_AIBOT, WECOM_DM, THREAD)


class RefusedKeyError(ValueError):
    """A candidate is not a valid key. The message is the reason."""


@dataclasses.dataclass(frozen=True)
class Resolution:
    """The key, and the reasons of the candidates before it; without a key, of all candidates."""

    key: str | None
    refused: tuple[str, ...]


def resolve(candidates: Iterable[str], variables: Mapping[str, Any]) -> Resolution:
    """The first candidate that is a valid key."""
    refused: list[str] = []
    for candidate in candidates:
        try:
            return Resolution(parse(render(candidate, variables)), tuple(refused))
        except RefusedKeyError as error:
            refused.append(str(error))
    return Resolution(None, tuple(refused))


def render(template: str, variables: Mapping[str, Any]) -> str:
    """Replaces each `{{path.to.value}}` by a text, number or boolean of the variables."""
    text, rest = "", template
    while "{{" in rest:
        literal, opened = rest.split("{{", 1)
        path, closed, rest = opened.partition("}}")
        value = _text(variables, [name.strip() for name in path.split(".")]) if closed else None
        if value is None:
            raise RefusedKeyError(UNRESOLVED)
        if not value.strip():
            raise RefusedKeyError(EMPTY)
        if "{{" in value:
            raise RefusedKeyError(UNRESOLVED)
        if len(value) > KEY_CHARS_MAX:
            raise RefusedKeyError(TOO_LONG)
        text += literal + value
    return text + rest


def parse(text: str) -> str:
    """Checks a key."""
    if not text.strip():
        raise RefusedKeyError(EMPTY)
    if len(text) > KEY_CHARS_MAX:
        raise RefusedKeyError(TOO_LONG)
    if not all(_is_allowed(character) for character in text):
        raise RefusedKeyError(BAD_CHARACTERS)
    return text


def _is_allowed(character: str) -> bool:
    # Vowel signs are letters to the service, and marks to Python.
    return character.isalnum() or character in MARKS or unicodedata.category(character) in ("Mc", "Mn")


def _text(variables: Mapping[str, Any], path: list[str]) -> str | None:
    """The text, number or boolean at a path of names. Paths do not lead through lists."""
    found: Any = variables
    for name in path:
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = cast("Mapping[str, Any]", found)[name]
    if isinstance(found, str):
        return found
    return json.dumps(found) if isinstance(found, (bool, int, float)) else None
