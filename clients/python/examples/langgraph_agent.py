"""An agent in LangGraph whose long-term memory is Memoir's.

A graph of two nodes talks: the model reads its memory in the system message, and has a tool to
remember. After the conversation the same model refines its memory in a session of its own.

The model is a script, so that the example runs without a network or a key. With
`model = init_chat_model("anthropic:claude-sonnet-4-5")` in its place the rest stays as it is.

    MEMOIR_URL=http://127.0.0.1:8750 MEMOIR_AGENT=wren MEMOIR_TOKEN=... python langgraph_agent.py
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from memoir_client import AgentMemory, Reply, ToolCall, Turn

memory = AgentMemory()


@tool
def remember(content: str) -> str:
    """Saves one thing for good, in a sentence that will be understood on its own."""
    return f"saved as #{memory.remember(content).number}"


class Scripted(GenericFakeChatModel):
    """A model with scripted answers."""

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> BaseChatModel:
        """A script knows its tools."""
        return self


def says(content: str = "", **calls: dict[str, Any]) -> AIMessage:
    """A message of the script, with a call of each tool that is named."""
    wanted = [{"name": name, "args": args, "id": name} for name, args in calls.items()]
    return AIMessage(content=content, tool_calls=wanted)


model: BaseChatModel = Scripted(
    messages=iter(
        [
            says(remember={"content": "Marta is away on Fridays."}),
            says("I will ask Ilse on Fridays, then."),
            says(delete_memory={"id": 2}),
            says(complete_refinement={"summary": "One line was there twice."}),
        ]
    )
)


def talk(state: MessagesState) -> dict[str, list[AnyMessage]]:
    """Asks the model, which reads its memory anew in every turn."""
    system = SystemMessage("You are Wren, of the bindery.\n\n" + memory.context().text)
    answer = model.bind_tools([remember]).invoke([system, *state["messages"]])
    return {"messages": [answer]}


graph = StateGraph(MessagesState)
graph.add_node("talk", talk)
graph.add_node("tools", ToolNode([remember]))
graph.add_edge(START, "talk")
graph.add_conditional_edges("talk", tools_condition)
graph.add_edge("tools", "talk")
agent = graph.compile()

refining: list[AnyMessage] = []


def step(turn: Turn) -> Reply:
    """One turn of a refinement session: the model reads what came of its calls, and calls more."""
    if turn.number == 1:
        refining.append(HumanMessage(turn.prompt))
    for outcome in turn.outcomes:
        refining.append(ToolMessage(outcome.text, tool_call_id=outcome.call.id or ""))
    if turn.reminder:
        refining.append(HumanMessage(turn.reminder))
    answer = model.bind_tools([tool.openai() for tool in turn.tools]).invoke(refining)
    assert isinstance(answer, AIMessage)
    refining.append(answer)
    return [ToolCall(call["name"], call["args"], call["id"]) for call in answer.tool_calls]


if __name__ == "__main__":
    memory.remember_all(
        [
            "Marta prefers linen thread.",
            "Marta prefers linen thread",
            "The workshop opens at nine; on Fridays at ten.",
            "Deliveries go to the back door, never to the shop.",
            "Ilse binds the blank books; Marta sews them.",
        ]
    )
    question = HumanMessage("Marta will not be in on Fridays any more.")
    talked = agent.invoke({"messages": [question]})
    print(talked["messages"][-1].content, file=sys.stderr)

    session = memory.refine(step)
    before, after = session.pre_session_tokens, session.post_session_tokens
    print(f"{session.state}: {session.edits} edit, {before} -> {after} tokens")
