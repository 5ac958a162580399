/** Memoir for Vercel's AI SDK: a middleware that gives every call of the model the agent's memory. */

import { contextText, type ContextSource } from "./context.js";

/** What this reads and adds of a message; the SDK's own have more. */
interface SystemMessage {
  role: "system";
  content: string;
}

/** What a middleware changes of a call; the SDK's own parameters have more. */
interface Call {
  prompt: readonly { role: string }[];
}

/** A middleware for `wrapLanguageModel`. */
export interface MemoirMiddleware {
  readonly specificationVersion: "v4";
  transformParams<Params extends Call>(call: { params: Params }): Promise<Params>;
}

/**
 * The memory as a system message, behind those that the call has. It is read anew for each call, so that what was
 * saved in one step is known in the next.
 *
 * @throws {MemoirError} From the call of the model, where the memory cannot be read.
 */
export function memoirMiddleware(memory: ContextSource, options: { maxTokens?: number } = {}): MemoirMiddleware {
  return {
    specificationVersion: "v4",
    async transformParams({ params }) {
      const content = await contextText(memory, options.maxTokens);
      if (content === "") return params;
      const message: SystemMessage = { role: "system", content };
      const first = params.prompt.findIndex(({ role }) => role !== "system");
      const at = first === -1 ? params.prompt.length : first;
      return { ...params, prompt: [...params.prompt.slice(0, at), message, ...params.prompt.slice(at)] };
    },
  };
}
