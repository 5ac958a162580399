"""Anthropic's SDK with its own package, and a script in the place of its service."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import httpx2
import pytest
from memoir_client import AgentMemory, Refused
from memoir_client.anthropic import AsyncMemoirMemoryTool, MemoirMemoryTool

MODEL = "claude-sonnet-5-5"
NOTES = "/memories/notes.md"


def message(*content: dict[str, Any]) -> dict[str, Any]:
    wants = any(part["type"] == "tool_use" for part in content)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": list(content),
        "stop_reason": "tool_use" if wants else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def wants(**command: Any) -> dict[str, Any]:
    return message({"type": "tool_use", "id": "toolu_1", "name": "memory", "input": command})


SAID = message({"type": "text", "text": "Linen."})


class Script(httpx2.MockTransport):
    """Answers each request with the next of some messages, and keeps what it was sent."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.sent: list[dict[str, Any]] = []
        left = iter(answers)

        def answer(request: httpx2.Request) -> httpx2.Response:
            self.sent.append(json.loads(request.content))
            return httpx2.Response(200, json=next(left))

        super().__init__(answer)

    def result(self, request: int) -> dict[str, Any]:
        """What came of the tool's call, in a request."""
        (part,) = self.sent[request]["messages"][-1]["content"]
        found: dict[str, Any] = part
        return found


def run(memory: AgentMemory, *answers: dict[str, Any]) -> Script:
    script = Script(*answers, SAID)
    client = anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=script))
    tool = MemoirMemoryTool(memory)
    client.beta.messages.tool_runner(
        model=MODEL,
        max_tokens=100,
        messages=[{"role": "user", "content": "Which thread?"}],
        tools=[tool],
        system=tool.system("You are Wren."),
    ).until_done()
    return script


def test_the_memory_is_in_the_first_request(memory: AgentMemory) -> None:
    memory.remember("Marta prefers linen thread.")
    (sent,) = run(memory).sent
    assert sent["system"].startswith("You are Wren.\n\n# Your memory")
    assert "Marta prefers linen thread." in sent["system"]
    assert sent["tools"] == [{"type": "memory_20250818", "name": "memory"}]


def test_what_the_model_writes_is_kept_and_shown(memory: AgentMemory) -> None:
    script = run(
        memory,
        wants(command="view", path="/memories"),
        wants(command="create", path=NOTES, file_text="Marta prefers linen.\nIlse binds."),
        wants(command="insert", path=NOTES, insert_line=2, insert_text="Closed on Mondays.\n"),
        wants(command="view", path=NOTES),
        wants(command="view", path=NOTES, view_range=[2, 2]),
        wants(command="view", path="/memories"),
    )
    told = [script.result(number) for number in range(1, 7)]
    assert [each.get("is_error", False) for each in told] == [False] * 6
    assert "     3\tClosed on Mondays." in str(told[3]["content"])
    assert "     2\tIlse binds." in str(told[4]["content"])
    assert "Marta" not in str(told[4]["content"])
    assert NOTES in str(told[5]["content"]) and "Ilse binds." in str(told[5]["content"])
    contents = [each.content for each in memory.memories()]
    assert sorted(map(str, contents)) == ["Closed on Mondays.", "Marta prefers linen.\nIlse binds."]
    # The next program's first request has it.
    assert "Closed on Mondays." in run(memory).sent[0]["system"]


@pytest.mark.parametrize(
    ("command", "way"),
    [
        ({"command": "delete", "path": NOTES}, "refine"),
        ({"command": "str_replace", "path": NOTES, "old_str": "a", "new_str": "b"}, "Use insert"),
        ({"command": "rename", "old_path": NOTES, "new_path": "/memories/b"}, "Use create"),
        ({"command": "create", "path": NOTES, "file_text": "Other."}, "use insert"),
        ({"command": "view", "path": "/etc/passwd"}, "must start with /memories/"),
        ({"command": "view", "path": "/memories/none"}, "does not exist"),
        ({"command": "insert", "path": NOTES, "insert_line": 9, "insert_text": "x"}, r"[0, 1]"),
        ({"command": "create", "path": "/memories/e", "file_text": " "}, "content"),
        ({"command": "create", "path": "/memories/" + "n" * 200, "file_text": "x"}, "too long"),
    ],
    ids=lambda value: str(value.get("command")) if isinstance(value, dict) else None,
)
def test_what_is_refused_tells_the_model_the_way(
    memory: AgentMemory, command: dict[str, Any], way: str
) -> None:
    MemoirMemoryTool(memory).call({"command": "create", "path": NOTES, "file_text": "Linen."})
    told = run(memory, wants(**command)).result(1)
    assert told["is_error"] and way in str(told["content"])
    assert [each.content for each in memory.memories()] == ["Linen."]


def test_nothing_clears_the_memory(memory: AgentMemory) -> None:
    with pytest.raises(Refused, match="shred"):
        MemoirMemoryTool(memory).clear_all_memory()


def test_the_asynchronous_client_has_it_too(memory: AgentMemory) -> None:
    script = Script(wants(command="create", path=NOTES, file_text="Ilse binds."), SAID)

    async def ask() -> None:
        http = httpx2.AsyncClient(transport=script)
        tool = AsyncMemoirMemoryTool(memory)
        async with anthropic.AsyncAnthropic(api_key="none", http_client=http) as client:
            await client.beta.messages.tool_runner(
                model=MODEL,
                max_tokens=100,
                messages=[{"role": "user", "content": "Who binds?"}],
                tools=[tool],
                system=await tool.system("You are Wren."),
            ).until_done()
        with pytest.raises(Refused):
            await tool.clear_all_memory()

    asyncio.run(ask())
    assert not script.result(1).get("is_error")
    assert [each.content for each in memory.memories()] == ["Ilse binds."]
