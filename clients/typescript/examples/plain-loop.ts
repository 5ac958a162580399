/**
 * A plain loop: an agent that remembers, reads its context, and refines with a model of its own.
 *
 * `ask` replaces a model. This one is a script, so that the example runs without a network or a key; the
 * comment in it has the same for a real model.
 *
 *     MEMOIR_URL=http://127.0.0.1:8750 MEMOIR_AGENT=wren MEMOIR_TOKEN=… npm run example
 */

import { AgentMemory, forOpenAI, type Step, type ToolCall } from "memoir-client";

interface Message {
  role: "user" | "assistant" | "tool";
  content: string;
  tool_call_id?: string;
  tool_calls?: ToolCall[];
}

const memory = new AgentMemory();

// Remember.
await memory.remember("Marta prefers linen thread.");
await memory.remember("Marta prefers linen thread", { tags: ["craft"] });
await memory.remember("The workshop opens at nine; on Fridays at ten.");
await memory.remember("Deliveries go to the back door, never to the shop.");
await memory.remember("Ilse binds the blank books; Marta sews them.");

// Read the context, for the prompt of the next conversation.
console.error((await memory.context()).text);

// Refine.
const messages: Message[] = [];

const step: Step = async (turn) => {
  if (turn.number === 1) messages.push({ role: "user", content: turn.prompt });
  for (const { call, text } of turn.outcomes) {
    messages.push({ role: "tool", tool_call_id: call.id ?? "", content: text });
  }
  if (turn.reminder !== undefined) messages.push({ role: "user", content: turn.reminder });
  const answer = await ask(messages, turn.tools.map(forOpenAI));
  messages.push(answer);
  return answer.tool_calls;
};

const session = await memory.refine(step);
console.log(`${session.state}: ${session.edits} edit, ${session.pre_session_tokens} -> ${session.post_session_tokens} tokens`);

/** The model's answer: here a script that finds the duplicate. */
async function ask(messages: readonly Message[], _tools: readonly object[]): Promise<Message> {
  // With a real model, OpenAI's for instance:
  //
  //     const { choices } = await openai.chat.completions.create({ model, messages, tools });
  //     const { content, tool_calls } = choices[0].message;
  //     return { role: "assistant", content, tool_calls: tool_calls.map(({ id, function: f }) => ({ id, ...f })) };
  const done = messages.some((message) => message.role === "tool");
  const call: ToolCall = done
    ? { id: "2", name: "complete_refinement", arguments: { summary: "One line was there twice." } }
    : { id: "1", name: "delete_memory", arguments: { id: 2 } };
  return { role: "assistant", content: "", tool_calls: [call] };
}
