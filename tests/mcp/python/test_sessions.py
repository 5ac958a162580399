"""The official Python SDK runs whole sessions, over stdio and over streamable HTTP.

At the present version of the protocol, which has no handshake, and at the one before it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from memoir_service import Service, binary

PRESENT, BEFORE = "2026-07-28", "2025-11-25"
OLDER = ["2024-11-05", "2025-03-26", "2025-06-18"]
NUMBERS = itertools.count(1)
EVERY_DOOR = [(door, version) for door in ("stdio", "http") for version in (PRESENT, BEFORE)]
KNOWN = {
    "save_memory", "recall_memories", "get_context", "view_config", "update_config",
    "open_refinement", "search_memories", "consolidate_memories", "update_memory",
    "delete_memory", "protect_memory", "complete_refinement", "answer_access_request",
    "reflect", "absorb_transcript", "read_messages",
}  # fmt: skip


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


class Session:
    """A client of one agent, and the tools by name."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The tool's structured content, which its text says too; the context is a text itself."""
        answer = await self.client.call_tool(tool, arguments)
        structured: dict[str, Any] = answer.structured_content
        assert answer.is_error == (structured.get("type") == "error"), (
            "a refusal is an error of the tool"
        )
        if tool == "get_context":
            assert answer.content[0].text == structured["text"]
        else:
            assert len(answer.content) == 1
            assert json.loads(answer.content[0].text) == structured
        return structured


@asynccontextmanager
async def connected(service: Service, door: str, version: str) -> AsyncIterator[Session]:
    """A new agent's client at exactly that version."""
    name = f"agent-{next(NUMBERS)}"
    token = service.agent(name)
    mode = PRESENT if version == PRESENT else "legacy"
    if door == "stdio":
        parameters = StdioServerParameters(
            command=binary(), args=["mcp", "--agent", name], env=service.environment
        )
        async with Client(parameters, mode=mode) as client:
            assert client.protocol_version == version
            yield Session(client)
    else:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
            transport = streamable_http_client(f"{service.url}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                assert client.protocol_version == version
                yield Session(client)


async def whole_session(session: Session) -> None:
    for number in range(1, 9):
        saved = await session.call(
            "save_memory",
            content=f"Customer {number} ordered {number * 7} blue notebooks.",
            kind="core",
        )
        assert saved["number"] == number
    closed = await session.call("delete_memory", id=1)
    assert closed["code"] == "session_over"

    # Three of eight are more than the breaker lets go.
    opened = await session.call("open_refinement")
    assert "Customer 3" in opened["prompt"]
    for number in (1, 2):
        assert (await session.call("delete_memory", id=number))["type"] == "deleted"
    tripped = await session.call("delete_memory", id=3)
    assert tripped["type"] == "refinement_rolled_back"
    assert (await session.call("delete_memory", id=4))["code"] == "session_over"
    found = await session.call("recall_memories", query="notebooks", kind="core")
    assert found["count"] == 8

    opened = await session.call("open_refinement")
    again = await session.call("open_refinement")
    assert again["id"] == opened["id"], "an agent that restarted gets its own session back"
    hits = await session.call("search_memories", query="customer 5")
    assert [hit["number"] for hit in hits["results"]] == [5]
    merged = await session.call(
        "consolidate_memories",
        ids=[1, "#2"],
        content="Customer 1 ordered 7 blue notebooks. Customer 2 ordered 14 blue notebooks.",
    )
    assert merged["type"] == "consolidated"
    updated = await session.call(
        "update_memory", id=3, content="Customer 3 ordered 21 blue notebooks"
    )
    assert updated["type"] == "updated"
    assert (await session.call("protect_memory", id=4))["type"] == "protected"
    assert (await session.call("delete_memory", id=4))["code"] == "constitutional"
    assert (await session.call("delete_memory", id="many"))["code"] == "invalid_argument"
    done = await session.call("complete_refinement", summary="Two orders on one line.")
    assert done["type"] == "refinement_complete"
    assert done["stats"] == {"consolidated": 2, "updated": 1, "deleted": 0, "protected": 1}

    context = await session.call("get_context")
    assert "Customer 8" in context["text"]
    assert "Two orders on one line." in context["text"]
    set_ = await session.call("update_config", field="refinement_threshold", value="0.85")
    assert (set_["value"], set_["is_default"]) == (0.85, False)
    viewed = await session.call("view_config", field="refinement_threshold")
    assert viewed == set_


@pytest.mark.parametrize(("door", "version"), EVERY_DOOR)
def test_spec_3_18_a_whole_session_with_the_breaker_tripped_once(
    service: Service, door: str, version: str
) -> None:
    async def run() -> None:
        async with connected(service, door, version) as session:
            await whole_session(session)

    asyncio.run(run())


@pytest.mark.parametrize(("door", "version"), EVERY_DOOR)
def test_tools_say_truthfully_what_they_do(service: Service, door: str, version: str) -> None:
    async def tools() -> dict[str, Any]:
        async with connected(service, door, version) as session:
            listed = (await session.client.list_tools()).tools
            return {tool.name: tool.annotations for tool in listed}

    annotations = asyncio.run(tools())
    assert set(annotations) >= KNOWN
    reads = {name for name in KNOWN if annotations[name].read_only_hint}
    destroys = {name for name in KNOWN if annotations[name].destructive_hint}
    repeatable = {name for name in KNOWN if annotations[name].idempotent_hint}
    assert reads == {"recall_memories", "get_context", "view_config", "search_memories"}
    # Only what adds destroys nothing.
    assert destroys == KNOWN - reads - {"save_memory", "protect_memory", "absorb_transcript"}
    settles = {
        "protect_memory", "delete_memory", "answer_access_request", "absorb_transcript",
        "read_messages",
    }  # fmt: skip
    assert repeatable == reads | settles
    assert all(of.open_world_hint is False for of in annotations.values())


@pytest.mark.parametrize("version", [PRESENT, BEFORE])
def test_without_a_good_token_nothing_is_reached(service: Service, version: str) -> None:
    async def reach(token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
            transport = streamable_http_client(f"{service.url}/mcp", http_client=http)
            mode = PRESENT if version == PRESENT else "legacy"
            async with Client(transport, mode=mode) as client:
                await client.list_tools()

    # An administrator speaks for no agent.
    for token in ("memoir_none", service.admin):
        with pytest.RaisesGroup(MCPError, flatten_subgroups=True):
            asyncio.run(reach(token))


@pytest.mark.parametrize("version", OLDER)
def test_older_versions_are_agreed_to(service: Service, version: str) -> None:
    token = service.agent(f"older-{version}")
    client = {"name": "test", "version": "1"}
    parameters = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}
    request = urllib.request.Request(
        f"{service.url}/mcp",
        data=json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert json.load(answer)["result"]["protocolVersion"] == version
