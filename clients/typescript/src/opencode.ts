/**
 * Memoir for OpenCode: a plugin that gives every call of its model the agent's memory. OpenCode takes each function
 * that a plugin's file exports for a plugin: nothing else is exported here.
 *
 * `.opencode/plugin/memoir.js`: `export { MemoirPlugin } from "memoir-client/opencode";`
 */

import { AgentMemory } from "./agent.js";

/** The hook that is used, with what is read of its arguments. */
interface Hooks {
  "experimental.chat.system.transform"(call: unknown, output: { system: string[] }): Promise<void>;
}

const UNREACHED = "Memoir cannot be reached: this answer is given without the long-term memory. Say so once.";

/** Takes `MEMOIR_URL`, `MEMOIR_AGENT` and `MEMOIR_TOKEN` from the environment. */
export async function MemoirPlugin(_input: unknown): Promise<Hooks> {
  // A person waits at each call: little is tried again.
  const memory = new AgentMemory({ timeout: 5_000, attempts: 2 });
  return {
    async "experimental.chat.system.transform"(_call, { system }) {
      const text = await memory.context().then(
        (context) => context.text,
        () => UNREACHED,
      );
      if (text !== "") system.push(text);
    },
  };
}
