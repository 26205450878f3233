"""Requests from the types of OpenAI's library: valid ones, and mutated ones. All of it depends on the given random numbers only."""

import collections.abc
import copy
import functools
import json
import types
import typing

import typing_extensions

# Most entries of a list, and most optional members of an object.
ENTRIES_MAX = 3
OPTIONAL_MAX = 4
# Members that no type requires, and that a value means nothing without.
ALWAYS = {"detail", "file_data", "image_url", "input"}
# Below this depth only required members are made.
DEPTH_MAX = 7
TEXTS = ["", "Oslo", "How is the weather in Oslo?", "ä😀\u2028", "call_1", "{\"city\": \"Oslo\"}", "https://example.org/i.png", "x" * 600]
MODEL = "demo"
# Texts by the name of their member, so that many requests are accepted.
NAMED = {
    "name": ["weather", "look_2"],
    "call_id": ["call_1", "call_2", "call_3"],
    "tool_call_id": ["call_1", "call_2", "call_3"],
    "url": ["https://example.org/i.png", "data:image/png;base64,AAAA"],
    "image_url": ["https://example.org/i.png", "data:image/png;base64,AAAA"],
    "file_data": ["data:application/pdf;base64,AAAA"],
    "arguments": ["{}", "{\"city\": \"Oslo\"}", "[1]"],
}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
# Documents by the name of their member.
DOCUMENTS = {"parameters": SCHEMA, "schema": SCHEMA, "input_schema": SCHEMA}


@functools.cache
def members(kind):
    """The members of a TypedDict: name, type, whether it is required."""
    hints = typing_extensions.get_type_hints(kind, include_extras=True)
    required = {name for name, hint in hints.items() if typing.get_origin(hint) is typing_extensions.Required}
    return [(name, typing.get_args(hint)[0] if name in required else hint, name in required) for name, hint in hints.items()]


def value(random, kind, name="", depth=0):
    """A value of the type, for a member of this name."""
    if name == "model":
        return MODEL
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        given = [one for one in arguments if name not in ALWAYS or one is not type(None)]
        return value(random, random.choice(given), name, depth)
    if origin is typing.Annotated:
        return value(random, arguments[0], name, depth)
    if origin is typing.Literal:
        return random.choice(arguments)
    if origin is dict:
        return copy.deepcopy(DOCUMENTS[name]) if name in DOCUMENTS else entries(random, arguments[1], depth)
    if isinstance(origin, type) and issubclass(origin, collections.abc.Iterable):
        return [value(random, arguments[0], name, depth + 1) for _ in range(random.randrange(ENTRIES_MAX + 1))]
    if typing_extensions.is_typeddict(kind):
        return document(random, kind, depth)
    return scalar(random, kind, name)


def document(random, kind, depth):
    """An object with its required members and a few of the others."""
    listed = members(kind)
    optional = [name for name, _, required in listed if not required and name not in ALWAYS]
    count = 0 if depth > DEPTH_MAX else random.randrange(min(OPTIONAL_MAX, len(optional)) + 1)
    chosen = set(random.sample(optional, count))
    # `async_` is sent as `async`.
    return {
        name.removesuffix("_"): value(random, hint, name, depth + 1) for name, hint, required in listed if required or name in chosen | ALWAYS
    }


def entries(random, kind, depth):
    return {random.choice(["a", "b", "topic"]): value(random, kind, "", depth + 1) for _ in range(random.randrange(ENTRIES_MAX))}


def scalar(random, kind, name):
    if kind is str and name == "id":
        # Ids of items are unique.
        return f"id_{random.getrandbits(64):x}"
    if kind is str:
        return random.choice(NAMED.get(name, TEXTS))
    if kind is bool:
        return random.random() < 0.5
    if kind is int:
        return random.choice([0, 1, 2, 20, 1000])
    if kind is float:
        return random.choice([0, 0.5, 1, 2])
    if kind is type(None):
        return None
    if kind in (object, typing.Any):
        return random.choice([None, 1, "text", [], {"a": [1.5, None]}])
    raise TypeError(f"{kind} of {name}")


# Values that few programs expect. The last ones are written as they are.
RAW = ["1e999", "-0", "9" * 400, '"\\ud800"', '"\\u0000"', "[" * 300 + "]" * 300, '{"a": 1, "a": 2}', "NaN"]
ODD = [None, True, -1, 2**63, 0.1, "", "x" * 5_000, [], {}, [[]], {"": None}, {"type": "unknown"}]
# Longer requests are cut: servers end the connection of a body that is too large.
CHARS_MAX = 2_000_000
MARK = "\ue000raw"


def paths(tree, path=()):
    """The places of all values."""
    yield path
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, child in pairs:
        yield from paths(child, (*path, key))


def mutated(random, request):
    """The text of the request with one to three changes; it need not be JSON."""
    tree, raw = [copy.deepcopy(request)], random.choice(RAW)
    for _ in range(random.randrange(1, 4)):
        *parents, key = random.choice([path for path in paths(tree) if path])
        change(random, functools.reduce(lambda node, step: node[step], parents, tree), key)
    text = json.dumps(tree[0] if tree else None).replace(json.dumps(MARK), raw)
    return text[: random.randrange(len(text)) if random.random() < 0.05 else CHARS_MAX]


def change(random, parent, key):
    """Replaces, removes, repeats or adds a value."""
    action = random.randrange(5)
    if action == 0 and len(parent) > 1:
        del parent[key]
    elif action == 1 and isinstance(parent, list):
        parent.extend([parent[key]] * random.choice([1, 600]))
    elif action == 2 and isinstance(parent[key], dict):
        parent[key][random.choice(["unknown", "type", "id", "role", "content"])] = copy.deepcopy(random.choice(ODD))
    elif action == 3:
        parent[key] = MARK
    else:
        parent[key] = copy.deepcopy(random.choice(ODD))
