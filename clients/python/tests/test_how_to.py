"""The Python code of docs/how-to/use-langgraph.md."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("langgraph")

from conftest import REPOSITORY
from langgraph.store.memory import InMemoryStore

from hansard.langgraph import HansardStore

PAGE = REPOSITORY / "docs/how-to/use-langgraph.md"


def test_the_code_runs_in_order(deployment, blocking, monkeypatch: pytest.MonkeyPatch, new_id: str) -> None:
    names = {"GATEWAY_URL": deployment.grpc_url.replace("grpc:", "http:"), "TOKEN": deployment.token, "AGENT": "demo"}
    for name, value in names.items():
        monkeypatch.setenv(f"HANSARD_{name}", value)
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
    # The histories of another run of this test have other keys.
    page: dict[str, Any] = {}
    exec(compile(code.replace("telegram:42", new_id), str(PAGE), "exec"), page)
    with page["client"]:
        assert [item.key for item in page["found"]] == ["tea"]
        assert page["state"]["messages"][-1].content == "1 messages"
        config = {"configurable": {"history_key": new_id}}
        assert page["graph"].invoke({"messages": [("user", "And?")]}, config)["messages"][-1].content == "3 messages"
    old, new = InMemoryStore(), HansardStore(blocking, user_id=new_id)
    for number in range(120):
        old.put(("a", str(number % 3)), str(number), {"n": number})
    for _ in range(2):
        assert page["copy"](old, new) == 120
    assert {(item.namespace, item.key): item.value for item in new.search((), limit=300)} == {
        (item.namespace, item.key): item.value for item in old.search((), limit=300)
    }
