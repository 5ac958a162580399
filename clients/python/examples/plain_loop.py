"""A plain loop: an agent that remembers, reads its context, and refines with a model of its own.

`ask` replaces a model. This one is a script, so that the example runs without a network or a key;
the comment in it has the same for a real model.

    MEMOIR_URL=http://127.0.0.1:8750 MEMOIR_AGENT=wren MEMOIR_TOKEN=... python plain_loop.py
"""

from __future__ import annotations

import sys
from typing import Any

from memoir_client import AgentMemory, Reply, ToolCall, Turn

memory = AgentMemory()

# Remember.
memory.remember("Marta prefers linen thread.")
memory.remember("Marta prefers linen thread", tags=["craft"])
memory.remember("The workshop opens at nine; on Fridays at ten.")
memory.remember("Deliveries go to the back door, never to the shop.")
memory.remember("Ilse binds the blank books; Marta sews them.")

# Read the context, for the prompt of the next conversation.
print(memory.context().text, file=sys.stderr)

# Refine.
messages: list[dict[str, Any]] = []


def step(turn: Turn) -> Reply:
    """Sends the model the results of its calls, and asks it for more."""
    if turn.number == 1:
        messages.append({"role": "user", "content": turn.prompt})
    for outcome in turn.outcomes:
        told = {"role": "tool", "tool_call_id": outcome.call.id, "content": outcome.text}
        messages.append(told)
    if turn.reminder:
        messages.append({"role": "user", "content": turn.reminder})
    answer = ask(messages, [tool.openai() for tool in turn.tools])
    messages.append(answer)
    return [
        ToolCall(call["function"]["name"], call["function"]["arguments"], call["id"])
        for call in answer.get("tool_calls", [])
    ]


def ask(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """The model's answer: here a script that finds the duplicate."""
    # With a real model, OpenAI's for instance:
    #
    #     answer = OpenAI().chat.completions.create(model=MODEL, messages=messages, tools=tools)
    #     return answer.choices[0].message.model_dump(exclude_none=True)
    if any(message["role"] == "tool" for message in messages):
        name, arguments = "complete_refinement", '{"summary": "One line was there twice."}'
    else:
        name, arguments = "delete_memory", '{"id": 2}'
    call = {"id": name, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "tool_calls": [call]}


if __name__ == "__main__":
    session = memory.refine(step)
    before, after = session.pre_session_tokens, session.post_session_tokens
    print(f"{session.state}: {session.edits} edit, {before} -> {after} tokens")
