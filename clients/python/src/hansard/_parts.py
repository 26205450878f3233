"""Parts of contents, in the forms of OpenAI: `image_url` of chat completions, `input_image` of Responses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from hansard._json import dumps
from hansard.types import File, Image, MediaSource, Part, ProviderItem

PROVIDER = "openai"


def content_parts(content: object) -> list[Part]:
    """The parts of a content: a text, or a list of OpenAI's parts. An empty text has none."""
    if content is None:
        return []
    if isinstance(content, str):
        return [Part(text=content)] if content else []
    if not isinstance(content, list):
        raise ValueError("a content is a text or a list of parts")
    return [_part(part) for part in cast("list[object]", content)]


def _part(given: object) -> Part:
    if not isinstance(given, Mapping):
        raise ValueError("a part of a content is an object")
    part = cast("Mapping[str, Any]", given)
    kind = part.get("type")
    text = part.get("text")
    if kind in ("text", "input_text", "output_text") and isinstance(text, str) and text:
        return Part(text=text)
    if kind == "refusal" and isinstance(part.get("refusal"), str) and part["refusal"]:
        return Part(refusal=part["refusal"])
    image = _image(part) if kind in ("image_url", "input_image") else None
    file = _file(part) if kind in ("file", "input_file") else None
    if image is not None:
        return Part(image=image)
    if file is not None:
        return Part(file=file)
    return provider_part(part)


def provider_part(item: Mapping[str, Any]) -> Part:
    """An item without a canonical form, verbatim."""
    return Part(provider_item=ProviderItem(provider=PROVIDER, item_json=dumps(item)))


def _image(part: Mapping[str, Any]) -> Image | None:
    source = part.get("image_url")
    if isinstance(source, Mapping):
        chat = cast("Mapping[str, Any]", source)
        return Image(source=MediaSource(url=chat.get("url") or ""), detail=chat.get("detail") or "")
    if isinstance(source, str):
        return Image(source=MediaSource(url=source), detail=part.get("detail") or "")
    if isinstance(part.get("file_id"), str):
        return Image(source=MediaSource(file_id=part["file_id"]), detail=part.get("detail") or "")
    return None


def _file(part: Mapping[str, Any]) -> File | None:
    inner: Any = part.get("file")
    values = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else part
    filename = values.get("filename") or ""
    if values.get("file_id"):
        return File(source=MediaSource(file_id=values["file_id"]), filename=filename)
    url = values.get("file_data") or values.get("file_url")
    return File(source=MediaSource(url=url), filename=filename) if url else None


def provider_item(part: Part) -> Any:
    """The item of a part of OpenAI's; `None`: it is none."""
    if part.WhichOneof("kind") != "provider_item" or part.provider_item.provider != PROVIDER:
        return None
    return json.loads(part.provider_item.item_json)
