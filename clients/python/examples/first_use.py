"""A conversation, and what a model reads next."""

from hansard import Hansard

with Hansard.from_environment() as hansard:
    chat = hansard.create_conversation(user_id="ada").conversation_id
    hansard.append(chat, [{"role": "user", "content": "Where is my parcel?"}])
    body = hansard.context(chat, format="openai-chat").body
    print(body["messages"])
