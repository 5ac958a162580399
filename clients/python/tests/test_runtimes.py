"""Agent Framework, ADK and OpenAI's Agents SDK with their own packages, and scripted models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
from agent_framework import Agent as FrameworkAgent
from agent_framework import BaseChatClient, ChatResponse
from agent_framework import Message as FrameworkMessage
from agents import Agent as OpenAIAgent
from agents import Model, ModelResponse, RunConfig, SQLiteSession, Usage
from agents import Runner as OpenAIRunner
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types
from memoir_client import AgentMemory, AsyncAgentMemory, Refused
from memoir_client.adk import MemoirMemoryService, MemoirPlugin
from memoir_client.agent_framework import MemoirContextProvider
from memoir_client.openai_agents import MemoirSession, memoir_instructions
from memoir_service import Service
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

REMEMBERED = "Marta prefers linen thread."


@pytest.fixture
def waited(service: Service, memory: AgentMemory) -> AsyncAgentMemory:
    """The same memory for asyncio."""
    memory.remember(REMEMBERED)
    return AsyncAgentMemory(service.url, memory.agent, memory.create_token().token)


class ScriptedClient(BaseChatClient[Any]):
    """A client that says one thing, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        texts = [message.text for message in messages]
        self.asked.append("\n".join([options.get("instructions") or "", *texts]))

        async def answer() -> ChatResponse:
            return ChatResponse(messages=[FrameworkMessage("assistant", ["Linen."])])

        return answer()


def test_agent_framework_sends_the_memory_and_hands_over(
    memory: AgentMemory, waited: AsyncAgentMemory
) -> None:
    client = ScriptedClient()
    providers = [MemoirContextProvider(waited, hand_over=True)]
    agent = FrameworkAgent(client, "You are Wren.", context_providers=providers)

    async def talk() -> None:
        session = agent.create_session()
        for _ in range(2):
            assert (await agent.run("Which thread?", session=session)).text == "Linen."

    asyncio.run(talk())
    assert "You are Wren." in client.asked[0] and REMEMBERED in client.asked[0]
    assert memory.transcripts().pending == 4


def test_agent_framework_hands_nothing_over_unasked(
    memory: AgentMemory, waited: AsyncAgentMemory
) -> None:
    agent = FrameworkAgent(ScriptedClient(), context_providers=[MemoirContextProvider(waited)])

    async def talk() -> None:
        await agent.run("Which thread?")

    asyncio.run(talk())
    assert memory.transcripts().pending == 0


class ScriptedLlm(BaseLlm):
    """A model that says one thing, and keeps what it was asked."""

    model: str = "scripted"
    asked: list[LlmRequest] = []

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.asked.append(llm_request)
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Linen.")]))


def adk(waited: AsyncAgentMemory, **options: Any) -> tuple[ScriptedLlm, MemoirMemoryService]:
    """A question to an agent of ADK's, whose session is added to the memory afterwards."""
    model = ScriptedLlm(asked=[])
    service = MemoirMemoryService(lambda app, user: {("bindery", "marta"): waited}[app, user])
    plugins: list[BasePlugin] = [MemoirPlugin(service)] if options.pop("plugin", False) else []
    sessions = InMemorySessionService()
    runner = Runner(
        app=App(
            name="bindery",
            root_agent=LlmAgent(name="wren", model=model, instruction="You are Wren.", **options),
            plugins=plugins,
        ),
        session_service=sessions,
        memory_service=service,
    )

    async def talk() -> None:
        session = await sessions.create_session(app_name="bindery", user_id="marta")
        question = types.Content(role="user", parts=[types.Part(text="Which thread?")])
        async for _ in runner.run_async(
            user_id="marta", session_id=session.id, new_message=question
        ):
            pass
        ended = await sessions.get_session(
            app_name="bindery", user_id="marta", session_id=session.id
        )
        assert ended is not None
        await service.add_session_to_memory(ended)
        await service.add_session_to_memory(ended)

    asyncio.run(talk())
    return model, service


def test_adk_sends_the_memory_and_hands_a_session_over_once(
    memory: AgentMemory, waited: AsyncAgentMemory
) -> None:
    model, _ = adk(waited, plugin=True)
    sent = str(model.asked[0].config.system_instruction)
    assert "You are Wren." in sent and REMEMBERED in sent
    assert memory.transcripts().pending == 2


def test_adks_own_tool_finds_the_memory(waited: AsyncAgentMemory) -> None:
    model, _ = adk(waited, tools=[PreloadMemoryTool()])
    assert REMEMBERED in model.asked[0].model_dump_json()


def test_adk_saves_searches_and_deletes_nothing(
    memory: AgentMemory, waited: AsyncAgentMemory
) -> None:
    _, service = adk(waited)
    said = types.Content(role="user", parts=[types.Part(text="Ilse binds.")])

    async def use() -> None:
        whose: Any = {"app_name": "bindery", "user_id": "marta"}
        await service.add_memory(
            **whose, memories=[MemoryEntry(content=said, timestamp="2026-03-01T12:00:00Z")]
        )
        (found,) = (await service.search_memory(**whose, query="Who binds?")).memories
        assert (found.id, found.timestamp) == ("2", "2026-03-01T12:00:00+00:00")
        assert found.content.parts and found.content.parts[0].text == "Ilse binds."
        with pytest.raises(Refused, match="refine"):
            await service.delete_memory(**whose, memory_id="2")

    asyncio.run(use())
    assert memory.memory(2).discarded_at is None


class ScriptedModel(Model):
    """A model that says one thing, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str | None, Any]] = []

    async def get_response(
        self, system_instructions: str | None, input: Any, *_: Any, **__: Any
    ) -> ModelResponse:
        self.asked.append((system_instructions, input))
        said = ResponseOutputText(annotations=[], text="Linen.", type="output_text")
        message = ResponseOutputMessage(
            id=f"msg_{len(self.asked)}",
            content=[said],
            role="assistant",
            status="completed",
            type="message",
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def test_openais_agents_send_the_memory_and_hand_over(
    memory: AgentMemory, waited: AsyncAgentMemory
) -> None:
    model = ScriptedModel()
    instructions = memoir_instructions(waited, "You are Wren.")
    agent: OpenAIAgent[Any] = OpenAIAgent(name="Wren", instructions=instructions, model=model)
    quiet = RunConfig(tracing_disabled=True)

    async def talk() -> None:
        session = MemoirSession(SQLiteSession("42"), waited)
        for _ in range(2):
            done = await OpenAIRunner.run(agent, "Which?", session=session, run_config=quiet)
            assert done.final_output == "Linen."
        assert len(await session.get_items()) == 4
        assert await session.pop_item() is not None
        await session.clear_session()
        assert await session.get_items() == []

    asyncio.run(talk())
    system, _ = model.asked[0]
    assert system is not None and system.startswith("You are Wren.\n\n# Your memory")
    assert REMEMBERED in system
    assert len(model.asked[1][1]) == 3, "the second question has the first conversation before it"
    # Clearing a conversation is not about the memory.
    assert memory.transcripts().pending == 4
    assert [each.content for each in memory.memories()] == [REMEMBERED]
