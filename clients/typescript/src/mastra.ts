/** Memoir for Mastra: an input processor that gives an agent its memory before its first call of the model. */

import { contextText, type ContextSource } from "./context.js";

/** What this reads of a processor's arguments; Mastra's own have more. */
interface Input<Message, System> {
  messages: Message[];
  systemMessages: System[];
}

/** For `inputProcessors` of an agent. */
export class MemoirProcessor {
  readonly id = "memoir";
  readonly name = "Memoir";
  readonly #memory: ContextSource;
  readonly #maxTokens: number | undefined;

  constructor(memory: ContextSource, options: { maxTokens?: number } = {}) {
    this.#memory = memory;
    this.#maxTokens = options.maxTokens;
  }

  /**
   * Adds the memory behind the system messages that are there.
   *
   * @throws {MemoirError} From the agent's run, where the memory cannot be read.
   */
  async processInput<Message, System>(
    input: Input<Message, System>,
  ): Promise<{ messages: Message[]; systemMessages: (System | { role: "system"; content: string })[] }> {
    const content = await contextText(this.#memory, this.#maxTokens);
    const added = content === "" ? [] : [{ role: "system" as const, content }];
    return { messages: input.messages, systemMessages: [...input.systemMessages, ...added] };
  }
}
