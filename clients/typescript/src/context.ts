/** What the modules for frameworks need of a memory. */

import type { Context } from "./models.js";

/** A memory that gives its context, as `AgentMemory` does. */
export interface ContextSource {
  context(options?: { maxTokens?: number | undefined }): Promise<Pick<Context, "text">>;
}

/** The text for the prompt; empty where there are no memories. */
export async function contextText(memory: ContextSource, maxTokens: number | undefined): Promise<string> {
  return (await memory.context({ maxTokens })).text;
}
