"""Turns of an agent of `openai-agents` that calls a tool. The checks of each API run it."""

from agents import Agent, Runner, function_tool

ANSWER = "the tool says: Oslo is cold."
# What a turn adds to a history: the question, the call, its output, the answer.
TYPES = ["message", "function_call", "function_call_output", "message"]


@function_tool
def weather(city: str) -> str:
    """Tells the weather."""
    return f"{city} is cold."


def agent(model):
    return Agent(name="guide", tools=[weather], model=model)


async def turn(model, number, **options):
    """One turn, every other one streamed; returns its result."""
    question = f"The weather, turn {number}?"
    if number % 2:
        result = Runner.run_streamed(agent(model), question, **options)
        assert [event async for event in result.stream_events()]
    else:
        result = await Runner.run(agent(model), question, **options)
    assert result.final_output == ANSWER, result
    return result


async def turns(model, numbers, session):
    """Turns of a session, which holds `numbers.stop` turns afterwards."""
    for number in numbers:
        await turn(model, number, session=session)
    items = await session.get_items()
    assert [item.get("type", "message") for item in items] == TYPES * numbers.stop, items
    questions = [item["content"] for item in items[:: len(TYPES)]]
    texts = [content if isinstance(content, str) else content[0]["text"] for content in questions]
    assert texts == [f"The weather, turn {number}?" for number in range(numbers.stop)], texts
