"""The examples run as copied, and LangGraph's own client of MCP works."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_mcp_adapters.client import MultiServerMCPClient
from memoir_client import AgentMemory
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
