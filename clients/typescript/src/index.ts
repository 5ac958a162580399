/**
 * Client of Memoir, the long-term memory of LLM agents.
 *
 * `AgentMemory` is what an agent's runtime needs; `Administrator` manages the agents of an account without
 * seeing their words.
 */

export { Administrator } from "./administrator.js";
export { AgentMemory, type AgentOptions, type ContextOptions, type Filters, type RefineOptions } from "./agent.js";
export type { AuditListing, DoorOptions, HandOver, Listing } from "./base.js";
export { ConnectionFailed, MemoirError, Problem } from "./errors.js";
export type { WatchOptions } from "./live.js";
export type * from "./models.js";
export {
  forAnthropic,
  forOpenAI,
  quote,
  type Outcome,
  type Reply,
  type Step,
  type ToolCall,
  type ToolResult,
  type Turn,
} from "./refine.js";
