/**
 * Memoir for OpenClaw: a plugin for its memory slot. This package is one: `openclaw plugins install` takes it, and
 * chooses it with `plugins.slots.memory` set to `memoir`. `plugins.entries.memoir.hooks.allowConversationAccess` is to be
 * true, or OpenClaw keeps the prompt and the conversation from it.
 */

import { AgentMemory } from "./agent.js";
import { MemoirError } from "./errors.js";
import type { Message } from "./models.js";

/** What is read of a turn's circumstances. */
interface Turn {
  agentId?: string;
  sessionKey?: string;
  sessionId?: string;
  trigger?: string;
}

/** What is read of a message of OpenClaw's conversations. */
interface Said {
  role?: unknown;
  content?: unknown;
  timestamp?: unknown;
}

interface ToolAnswer {
  content: { type: "text"; text: string }[];
  details: unknown;
}

interface Tool {
  name: string;
  label: string;
  description: string;
  parameters: object;
  execute(id: string, given: unknown): Promise<ToolAnswer>;
}

/** What is used of OpenClaw's interface, which has more. */
interface Api {
  pluginConfig?: Record<string, unknown>;
  registerMemoryCapability(capability: { deterministicRecallToolName: string }): void;
  registerTool(toolsOf: (turn: Turn) => Tool[] | null, options: { names: string[] }): void;
  on(
    hook: "before_prompt_build",
    handler: (event: unknown, turn: Turn) => Promise<{ appendSystemContext: string } | undefined>,
  ): void;
  on(hook: "agent_end", handler: (event: { messages: unknown[] }, turn: Turn) => Promise<void>): void;
}

const UNREACHED = "Memoir cannot be reached: this answer is given without the long-term memory. Say so once.";
const KEPT =
  "Nothing was deleted: no call deletes a memory. Duplicates and outdated memories move to your archive in a refinement " +
  "session of your own (open_refinement over MCP), where nothing is lost; store what is right now beside it until " +
  "then. Text that must not exist is removed permanently with memoir shred, or in the console.";

/** The tools that OpenClaw's own plugins for this slot have, by their names. */
const NAMES = ["memory_recall", "memory_store", "memory_forget"];

/** A tool that takes one text. */
function tool(
  name: string,
  label: string,
  description: string,
  argument: string,
  call: (text: string) => Promise<string>,
): Tool {
  const properties = { [argument]: { type: "string", minLength: 1 } };
  return {
    name,
    label,
    description,
    parameters: { type: "object", properties, required: [argument], additionalProperties: false },
    async execute(_id, given) {
      const text = (given as Record<string, unknown>)[argument];
      let said: string;
      try {
        if (typeof text !== "string") throw new MemoirError(`${argument} is to be a text`);
        said = await call(text);
      } catch (error) {
        // A refusal is for the model to read; anything else is OpenClaw's to report.
        if (!(error instanceof MemoirError)) throw error;
        said = error.message;
      }
      return { content: [{ type: "text", text: said }], details: {} };
    },
  };
}

function tools(memory: AgentMemory): Tool[] {
  return [
    tool(
      "memory_recall",
      "Recall",
      "Finds memories by words or a whole question, old journal entries too.",
      "query",
      async (query) => {
        const found = await memory.recall(query, { limit: 10 });
        return found.map(({ number, content }) => `#${number} ${content}`).join("\n") || "No memory matches.";
      },
    ),
    tool(
      "memory_store",
      "Remember",
      "Saves one thing for good, in a sentence that is understood on its own.",
      "text",
      async (text) => `Saved as #${(await memory.remember(text)).number}.`,
    ),
    tool("memory_forget", "Forget", "Says how a memory is taken away; takes none away.", "query", async () => KEPT),
  ];
}

/** The text of a message, without calls and results of tools. */
function textOf({ content }: Said): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.map((part: { type?: unknown; text?: unknown }) => (part.type === "text" ? part.text : ""));
  return texts.filter((text) => typeof text === "string" && text !== "").join("\n");
}

/** What was said in the last turn of a conversation, known by when its question was asked. */
function lastTurn(messages: readonly unknown[], session: string): Message[] {
  const all = messages as readonly Said[];
  const turn = all.slice(all.map(({ role }) => role).lastIndexOf("user"));
  return turn.flatMap((said, index) => {
    const text = said.role === "user" || said.role === "assistant" ? textOf(said) : "";
    if (text === "") return [];
    const at = typeof said.timestamp === "number" ? { at: new Date(said.timestamp) } : {};
    const id = `${session}/${String(turn[0]?.timestamp)}/${index}`;
    return [{ id, speaker: said.role as string, text, ...at }];
  });
}

/** Timers and agents beneath this one have its memory, and what they say is not handed over. */
function isConversation({ trigger, sessionKey }: Turn): boolean {
  return (trigger === undefined || trigger === "user") && !sessionKey?.includes(":subagent:");
}

export default {
  id: "memoir",
  name: "Memoir",
  description: "Long-term memory that can be refined but not destroyed",

  /**
   * Takes `MEMOIR_URL`, `MEMOIR_AGENT` and `MEMOIR_TOKEN` from the environment. The memory is that of the agents of
   * OpenClaw's that the plugin's `agents` names, `main` where it names none; the others get nothing of it.
   */
  register(api: Api): void {
    const { agents = ["main"] } = (api.pluginConfig ?? {}) as { agents?: string[] };
    const isTheirs = ({ agentId }: Turn) => agentId !== undefined && agents.includes(agentId);
    // A person waits at each call: little is tried again. Made at the first, since OpenClaw also registers to look.
    let made: AgentMemory | undefined;
    const memory = () => (made ??= new AgentMemory({ timeout: 5_000, attempts: 2 }));
    api.registerMemoryCapability({ deterministicRecallToolName: "memory_recall" });
    api.registerTool((turn) => (isTheirs(turn) ? tools(memory()) : null), { names: NAMES });
    api.on("before_prompt_build", async (_event, turn) => {
      if (!isTheirs(turn)) return undefined;
      const text = await (async () => (await memory().context()).text)().catch(() => UNREACHED);
      return text === "" ? undefined : { appendSystemContext: text };
    });
    api.on("agent_end", async ({ messages }, turn) => {
      if (!isTheirs(turn) || !isConversation(turn)) return;
      const said = lastTurn(messages, turn.sessionId ?? turn.sessionKey ?? "");
      if (said.length > 0) await memory().handOver(said);
    });
  },
};
