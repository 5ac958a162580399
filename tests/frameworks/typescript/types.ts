/** That what the client gives fits where the frameworks take it; compiled, and never run. */

import type { InputProcessor } from "@mastra/core/processors";
import type { Plugin } from "@opencode-ai/plugin";
import type { LanguageModelMiddleware } from "ai";
import { AgentMemory } from "memoir-client";
import { memoirMiddleware } from "memoir-client/ai";
import { MemoirProcessor } from "memoir-client/mastra";
import { MemoirPlugin } from "memoir-client/opencode";

const memory = new AgentMemory();
export const middleware: LanguageModelMiddleware = memoirMiddleware(memory, { maxTokens: 2_000 });
export const processor: InputProcessor = new MemoirProcessor(memory);
export const plugin: Plugin = MemoirPlugin;
