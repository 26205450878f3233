"""Chat completions that are recorded, with OpenAI's Python library: only headers are added. For completions.py."""

from openai.types.chat import ChatCompletion

# The text that the built-in model answers with follows.
ECHO = "echo: "


def user(text):
    return {"role": "user", "content": text}


def say(client, agent, messages, headers, **options):
    """The history with the answer, and the conversation that the answer names."""
    create = client.chat.completions.with_raw_response.create
    raw = create(model=agent, messages=messages, extra_headers=headers, **options)
    whole = raw.parse()
    ChatCompletion.model_validate(whole.model_dump(exclude_unset=True), strict=True)
    message = whole.choices[0].message
    answer = {"role": "assistant", "content": message.content}
    return [*messages, answer], raw.headers["x-hansard-conversation"]


def texts(client, conversation):
    items = client.conversations.items.list(conversation, order="asc")
    return [part.text for item in items for part in item.content]


def recorded(client, agent):
    """A new conversation, the next turns of it, an answer again, an edit, and a stream."""
    ada = client.with_options(default_headers={"x-hansard-user": "ada"})
    history, conversation = say(ada, agent, [user("a")], {}, store=True, metadata={"topic": "parcels"})
    assert ada.conversations.retrieve(conversation).metadata == {"topic": "parcels"}
    assert texts(ada, conversation) == ["a", ECHO + "a"], texts(ada, conversation)
    managed = {"x-hansard-conversation": conversation, "x-hansard-context": "managed"}
    first = history
    history, same = say(ada, agent, [*first, user("b")], managed)
    assert same == conversation, (same, conversation)
    say(ada, agent, [*first, user("b")], managed)
    say(ada, agent, [*first, user("c")], managed)
    expected = ["a", ECHO + "a", "c", ECHO + "c"]
    assert texts(ada, conversation) == expected, texts(ada, conversation)
    messages = [*first, user("c"), {"role": "assistant", "content": ECHO + "c"}, user("d")]
    with ada.chat.completions.stream(model=agent, messages=messages, extra_headers=managed) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.content == ECHO + "d", final
    assert texts(ada, conversation) == [*expected, "d", ECHO + "d"]
    # The client's own id of a chat: another end user with the same id has another conversation.
    bob = client.with_options(default_headers={"x-hansard-user": "bob"})
    chat = {"x-hansard-conversation": "chat-1"}
    (_, of_ada), (_, of_bob) = (say(one, agent, [user("a")], chat) for one in (ada, bob))
    assert of_ada != of_bob
    assert say(ada, agent, [user("a")], chat)[1] == of_ada
