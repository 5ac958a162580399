"""The official Python SDK gets its tokens by OAuth, as a program that knows the address alone.

A person agrees in the console: signs in with a name and a password, chooses the agent, and presses
the button.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from memoir_person import PASSWORD, Browser
from memoir_service import Service, binary

CALLBACK = "http://127.0.0.1:9/callback"


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Service() as running:
        subprocess.run(
            [binary(), "user", "add", "Ada"],
            env={**running.environment, "MEMOIR_PASSWORD": PASSWORD},
            check=True,
            capture_output=True,
        )
        yield running


class Kept:
    """What the SDK keeps between runs."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def session(service: Service, kept: Kept, agent: str) -> tuple[OAuthToken, OAuthToken]:
    """Saves two memories, the second with renewed tokens; both pairs of tokens."""
    sent: dict[str, str] = {}
    asked: list[str] = []

    async def go(url: str) -> None:
        asked.append(url)
        back = await asyncio.to_thread(Browser(service.url).agree, url, agent)
        assert back.startswith(f"{CALLBACK}?"), back
        sent.update(parse_qsl(urlsplit(back).query))

    async def come_back() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(
            code=sent["code"], state=sent.get("state"), iss=sent.get("iss")
        )

    metadata = OAuthClientMetadata(client_name="A program", redirect_uris=[CALLBACK])
    provider = OAuthClientProvider(f"{service.url}/mcp", metadata, kept, go, come_back)
    async with httpx2.AsyncClient(auth=provider, timeout=30) as http:
        transport = streamable_http_client(f"{service.url}/mcp", http_client=http)
        async with Client(transport) as client:

            async def save(text: str) -> OAuthToken:
                answer = await client.call_tool("save_memory", {"content": text, "kind": "core"})
                assert not answer.is_error
                assert kept.tokens is not None
                return kept.tokens

            assert "save_memory" in {tool.name for tool in (await client.list_tools()).tools}
            first = await save("Ada keeps bees.")
            # As once its ten minutes are over.
            provider.context.token_expiry_time = 1.0
            second = await save("Ada lives in Leeds.")
            wanted = {"query": "Ada", "kind": "core"}
            found = await client.call_tool("recall_memories", wanted)
            assert found.structured_content["count"] == 2
    assert len(asked) == 1, "a person is asked once"
    return first, second


def test_spec_5_5_a_program_is_connected_renews_its_tokens_and_is_revoked(service: Service) -> None:
    service.post("/v1/agents", {"name": "wren"})
    kept = Kept()
    first, second = asyncio.run(session(service, kept, "wren"))
    assert kept.client is not None
    assert kept.client.token_endpoint_auth_method == "none"
    assert first.access_token != second.access_token
    assert first.refresh_token != second.refresh_token

    listed = service.memoir("token", "list")["items"]
    connected = [token for token in listed if token.get("connection")]
    assert [of["connection"]["client"] for of in connected] == ["A program"]
    assert connected[0]["connection"]["connected_by"] == "Ada"
    service.memoir("token", "revoke", connected[0]["id"])
    # The agent has memories: nobody connects a program to it without its leave.
    with pytest.RaisesGroup(AssertionError, flatten_subgroups=True):
        asyncio.run(session(service, kept, "wren"))
