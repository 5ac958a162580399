/**
 * A refinement session that the agent drives with its own model.
 *
 * `AgentMemory.refine` opens the session and calls a function of the author's, the *step*, turn after turn.
 * The step asks any model, in any way, and says which tools the model wants to call; they are carried out by
 * the service, under its rules, and what came of them goes to the next step.
 */

import type { AgentMemory } from "./agent.js";
import { veiled } from "./discreet.js";
import { MemoirError, Problem } from "./errors.js";
import type { Mode, OpenSession, Session, Stats, Tool } from "./models.js";

const REMINDER =
  "The session is still open. Call `complete_refinement` with a summary when you are done; " +
  "finishing with zero edits is a good outcome.";

/** A call that the model wants. */
export interface ToolCall {
  /** The tool's name, as the model gave it. */
  name: string;
  /**
   * An object, or its JSON text as some models give it; whatever it is, the service answers it with an
   * ordinary refusal where it is wrong.
   */
  arguments: Readonly<Record<string, unknown>> | string;
  /** The model's own name for the call, for matching the outcome; nothing here needs it. */
  id?: string | undefined;
}

/** One memory that a search found. */
export interface SearchHit {
  readonly number: number;
  readonly kind: "core" | "archival";
  readonly content: string;
  readonly created_at: string;
  readonly tokens: number;
  readonly constitutional: boolean;
  readonly tags: readonly string[];
  /** Left out where it is the agent's own. */
  readonly origin?: string;
  readonly is_summary: boolean;
  readonly under: number | null;
}

/** What every result of an edit reports of the session. */
export interface AfterEdit {
  readonly edits_left: number;
  /** Tokens that the session can still take away; the age rule may permit less. */
  readonly removable_tokens: number;
  readonly core_tokens: number;
  readonly budget: number;
}

/** The result of a tool; `type` names it. A refusal is an `error`. */
export type ToolResult =
  | { readonly type: "search_results"; query: string | null; count: number; results: readonly SearchHit[]; note?: string }
  | ({
      readonly type: "consolidated";
      merged_count: number;
      /** The summary, or the member that stays. */
      number: number;
      content: string;
      is_summary: boolean;
      archived: readonly number[];
    } & AfterEdit)
  | ({
      readonly type: "updated";
      /** The new number where the words changed. */
      number: number;
      content: string;
      is_summary: boolean;
      archived: readonly number[];
    } & AfterEdit)
  | ({
      readonly type: "deleted";
      /** The first of them. */
      number: number;
      under: number | null;
      archived: readonly number[];
    } & AfterEdit)
  | { readonly type: "protected"; number: number }
  | {
      readonly type: "refinement_complete";
      summary: string;
      stats: Stats;
      archived: number;
      summaries: number;
      pre_session_tokens: number;
      post_session_tokens: number;
    }
  | {
      readonly type: "refinement_rolled_back";
      reason: string;
      stats: Stats;
      pre_session_tokens: number;
      /** The core size after the rollback. */
      post_session_tokens: number;
      summary?: string;
    }
  | {
      readonly type: "error";
      code: string;
      error: string;
      /** Of `unsupported`: what no source has. */
      added?: readonly string[];
      /** The memories at fault, as of `age_limit`. */
      members?: readonly number[];
    };

/** What came of a call, refusals included. */
export interface Outcome {
  readonly call: ToolCall;
  readonly result: ToolResult;
  /** The result for the model to read, quoted so that no memory passes for anything else. */
  readonly text: string;
}

/** What a step is given. */
export interface Turn {
  /** 1 for the first turn. */
  readonly number: number;
  /** The session as it was opened. */
  readonly session: OpenSession;
  /** The whole text for the model, the same in every turn: who it is, the rules, and its memories. */
  readonly prompt: string;
  /** The tools; `forOpenAI` and `forAnthropic` put them in the form of these interfaces. */
  readonly tools: readonly Tool[];
  /** What came of the calls that the step before asked for, in their order. */
  readonly outcomes: readonly Outcome[];
  /** A message for a model that called nothing. */
  readonly reminder: string | undefined;
}

/**
 * What a step answers: the calls that the model wants; or a text, the summary to complete with; or nothing,
 * after which the model is reminded once and the session then left as it is.
 */
export type Reply = readonly ToolCall[] | string | null | undefined | void;

/** A function of the author's that asks the model. */
export type Step = (turn: Turn) => Reply | Promise<Reply>;

/** Runs a session. However it is left, it is not left open: it is cancelled unless it has ended. */
export async function run(
  memory: AgentMemory,
  step: Step,
  options: { mode: Mode; rehearsal: boolean },
  most: number,
): Promise<Session> {
  const opened = await memory.openSession(options);
  try {
    let outcomes: readonly Outcome[] = [];
    let reminder: string | undefined;
    for (let number = 1; number <= most; number++) {
      const { prompt, tools } = opened;
      const calls = callsOf(await step(veiled({ number, session: opened, prompt, tools, outcomes, reminder })));
      if (calls.length === 0 && reminder !== undefined) break;
      reminder = calls.length === 0 ? REMINDER : undefined;
      const done: Outcome[] = [];
      for (const call of calls) {
        const outcome = await carryOut(memory, opened.id, call);
        if (ends(outcome.result)) return await memory.session(opened.id);
        done.push(outcome);
      }
      outcomes = done;
    }
  } catch (error) {
    try {
      await memory.cancel(opened.id);
    } catch (second) {
      // What brought us here is what the author needs to see.
      if (!(second instanceof MemoirError)) throw second;
    }
    throw error;
  }
  return memory.cancel(opened.id);
}

function callsOf(reply: Reply): readonly ToolCall[] {
  if (typeof reply !== "string") return reply ?? [];
  return reply.trim() === "" ? [] : [{ name: "complete_refinement", arguments: { summary: reply } }];
}

function ends(result: ToolResult): boolean {
  return (
    result.type === "refinement_complete" ||
    result.type === "refinement_rolled_back" ||
    (result.type === "error" && result.code === "session_over")
  );
}

async function carryOut(memory: AgentMemory, session: string, call: ToolCall): Promise<Outcome> {
  // No name of a tool may lead to another path.
  const name = /^[A-Za-z0-9_-]{1,100}$/.test(call.name) ? call.name : "-";
  try {
    return outcomeOf(call, await memory.callTool(session, name, argumentsOf(call.arguments)));
  } catch (error) {
    // Nothing that a model sends ends its session: what cannot be read is refused as well.
    if (!(error instanceof Problem) || (error.status !== 400 && error.status !== 413)) throw error;
    const code = error.status === 413 ? "too_long" : "invalid_argument";
    return outcomeOf(call, { type: "error", code, error: error.detail });
  }
}

function outcomeOf(call: ToolCall, result: ToolResult): Outcome {
  return veiled({ call: veiled({ ...call }), result, text: quote(result) });
}

/** As JSON has it; a text that is no JSON goes as the text that it is not, and is refused. */
function argumentsOf(given: ToolCall["arguments"]): unknown {
  try {
    const value: unknown = typeof given === "string" ? JSON.parse(given === "" ? "{}" : given) : given;
    return JSON.stringify(value) === undefined ? "not JSON" : value;
  } catch {
    return "not JSON";
  }
}

/**
 * `<`, control characters, line breaks of every script, and characters that are invisible or turn the
 * direction of writing.
 */
const DECEPTIVE =
  /[<\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** `value` as one line of JSON in which no text can pass for a tag, a line or a rule. */
export function quote(value: unknown): string {
  return JSON.stringify(value).replace(DECEPTIVE, (found) =>
    found
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** A tool as an entry of `tools` in a request for OpenAI chat completions. */
export function forOpenAI(tool: Tool): {
  type: "function";
  function: { name: string; description: string; parameters: Record<string, unknown> };
} {
  const { name, description, parameters } = tool;
  return { type: "function", function: { name, description, parameters: { ...parameters } } };
}

/** A tool as an entry of `tools` in a request for Anthropic messages. */
export function forAnthropic(tool: Tool): {
  name: string;
  description: string;
  input_schema: { type: "object" } & Record<string, unknown>;
} {
  const { name, description, parameters } = tool;
  return { name, description, input_schema: { ...parameters, type: "object" } };
}
