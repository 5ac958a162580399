"""The examples and the pages' Python run as copied, and LangGraph's own client of MCP works."""

from __future__ import annotations

import ast
import asyncio
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_mcp_adapters.client import MultiServerMCPClient
from memoir_client import AgentMemory, ToolCall
from memoir_service import Service, binary

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_runs(example: str, service: Service, memory: AgentMemory) -> None:
    environment = {
        "PATH": "",
        "MEMOIR_URL": service.url,
        "MEMOIR_AGENT": memory.agent,
        "MEMOIR_TOKEN": memory.create_token().token,
    }
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / example)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"completed: 1 edit, \d+ -> \d+ tokens\n", done.stdout)
    assert memory.memory(2).discarded_at is not None


def python_of(page: str) -> list[str]:
    text = (EXAMPLES.parents[2] / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)


def run_blocks(page: str, service: Service, memory: AgentMemory, names: dict[str, Any]) -> None:
    """Runs a page's blocks from top to bottom, with this service and agent in place of its own."""
    server = f'"command": {binary()!r}, "env": {service.environment!r}'
    for block in python_of(page):
        # The agent that a page creates is another one than that whose token it has.
        wren = f"{memory.agent}-new" if "create_agent" in block else memory.agent
        block = block.replace("http://127.0.0.1:8750", service.url).replace('"wren"', repr(wren))
        block = block.replace('"robin"', repr(memory.agent)).replace('"command": "memoir"', server)
        code = compile(block, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        waits = eval(code, names)
        if waits is not None:
            asyncio.run(waits)


def completes(turn: Any) -> list[ToolCall]:
    return [ToolCall("complete_refinement", {"summary": "Done."})]


def test_the_python_of_the_page_of_frameworks_runs(
    service: Service, memory: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOIR_TOKEN", memory.create_token().token)
    names: dict[str, Any] = {"step": completes}
    run_blocks("docs/frameworks.md", service, memory, names)
    assert "Marta prefers linen thread." in names["prompt"]
    assert names["session"].state == "completed"


def test_the_python_of_the_page_of_mcp_runs(service: Service, memory: AgentMemory) -> None:
    names: dict[str, Any] = {"MultiServerMCPClient": MultiServerMCPClient}
    run_blocks("docs/mcp.md", service, memory, names)
    assert "get_context" in {tool.name for tool in names["tools"]}


def test_the_python_of_the_readme_runs(service: Service, memory: AgentMemory) -> None:
    asked: list[dict[str, Any]] = []

    def create(**request: Any) -> Any:
        asked.append(request)
        function = SimpleNamespace(name="complete_refinement", arguments='{"summary": "Done."}')
        message = SimpleNamespace(tool_calls=[SimpleNamespace(id="a", function=function)])
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])

    model = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    names: dict[str, Any] = {
        "token": memory.create_token().token,
        "admin_token": service.admin,
        "system_prompt": "You are Wren.",
        "step": completes,
        "messages": [],
        "MODEL": "scripted",
        "openai": model,
        "ToolCall": ToolCall,
    }
    run_blocks("clients/python/README.md", service, memory, names)
    assert names["session"].state == "completed"
    # The `step` of the page, with a script in place of its model.
    assert names["memory"].refine(names["step"]).state == "completed"
    assert asked[0]["tools"][0]["type"] == "function"


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_langgraph_reaches_memoir_over_mcp(
    transport: str, service: Service, memory: AgentMemory
) -> None:
    connection: Any = (
        {
            "transport": "stdio",
            "command": binary(),
            "args": ["mcp", "--agent", memory.agent],
            "env": service.environment,
        }
        if transport == "stdio"
        else {
            "transport": "streamable_http",
            "url": f"{service.url}/mcp",
            "headers": {"Authorization": f"Bearer {memory.create_token().token}"},
        }
    )

    async def run() -> None:
        client = MultiServerMCPClient({"memoir": connection})
        tools = {tool.name: tool for tool in await client.get_tools()}
        await tools["save_memory"].ainvoke(
            {"content": "Marta prefers linen thread.", "kind": "core"}
        )
        opened = await tools["open_refinement"].ainvoke({})
        assert "Marta prefers linen thread." in str(opened)
        done = await tools["complete_refinement"].ainvoke({"summary": "Nothing to do."})
        assert "refinement_complete" in str(done)

    asyncio.run(run())
    assert memory.recall("linen")[0].number == 1
    (session,) = memory.sessions()
    assert session.state == "completed"
