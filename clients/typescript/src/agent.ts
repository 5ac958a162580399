/** An agent's own memory. */

import {
  Base,
  fromEnvironment,
  listed,
  moment,
  recorded,
  segment,
  type AuditListing,
  type DoorOptions,
  type HandOver,
  type Listing,
} from "./base.js";
import type {
  AccessRequest,
  Agent,
  AuditRecord,
  Context,
  HandedOver,
  Kind,
  MadeToken,
  Meaning,
  Memory,
  Message,
  Mode,
  NewMemory,
  OpenSession,
  OwnField,
  Page,
  Recalled,
  Reflection,
  SavedMemory,
  Session,
  Setting,
  SettingVersion,
  ShreddedMemory,
  Time,
  Transcripts,
  Verified,
} from "./models.js";
import { run, type Step, type ToolResult } from "./refine.js";

/** How to reach an agent's memory. */
export interface AgentOptions extends DoorOptions {
  /** The agent's name or identifier; `MEMOIR_AGENT` where it is left out. */
  agent?: string | undefined;
}

/** Which memories to look for. */
export interface Filters {
  kind?: Kind | undefined;
  tag?: string | undefined;
  /** `agent`, `administrator`, `conversation`, `import` or `external`. */
  origin?: string | undefined;
  since?: Time | Date | undefined;
  until?: Time | Date | undefined;
}

/** Which context is wanted. */
export interface ContextOptions {
  /** Most tokens of the whole. */
  maxTokens?: number | undefined;
  /** Whether constitutional memories do not exceed it either. */
  hard?: boolean | undefined;
  /** Whether the result has what each part costs, and what is left out and why. */
  explain?: boolean | undefined;
}

/** How a session is run. */
export interface RefineOptions {
  mode?: Mode | undefined;
  /** On a copy: the session's `changes` say what it came to, and `apply` does it. */
  rehearsal?: boolean | undefined;
  /** 40 where it is left out. */
  maxTurns?: number | undefined;
}

/**
 * The memory of one agent, with that agent's token.
 *
 * What changes something carries an idempotency key, so that it is carried out once, however often it is sent.
 * Every method can throw `Problem` and `ConnectionFailed`.
 */
export class AgentMemory extends Base {
  /** The agent's name or identifier. */
  readonly agent: string;

  constructor(options: AgentOptions = {}) {
    super(options);
    const agent = options.agent ?? fromEnvironment("MEMOIR_AGENT");
    if (!agent) throw new TypeError("there is no agent: give its name, or set MEMOIR_AGENT");
    this.agent = agent;
  }

  /**
   * Saves one memory, in place of the core memories that it `replaces`. What cannot be replaced stays where it is, and
   * `not_replaced` names it with the reason.
   *
   * A program that may be killed between the request and its answer gives an `idempotencyKey` of its own, and
   * the same one when it tries again.
   */
  remember(
    content: string,
    options: Omit<NewMemory, "content"> & { idempotencyKey?: string } = {},
  ): Promise<SavedMemory> {
    const { idempotencyKey: key, ...fields } = options;
    return this.send("POST", this.#at("/memories"), { body: wire({ content, ...fields }), key });
  }

  /** Saves up to 1,000 memories, all or none. */
  async rememberAll(
    memories: readonly (NewMemory | string)[],
    options: { idempotencyKey?: string } = {},
  ): Promise<readonly SavedMemory[]> {
    const each = memories.map((memory) => wire(typeof memory === "string" ? { content: memory } : memory));
    const wanted = { body: { memories: each }, key: options.idempotencyKey };
    const saved = await this.send<{ memories: readonly SavedMemory[] }>("POST", this.#at("/memories/batch"), wanted);
    return saved.memories;
  }

  /**
   * The text for the prompt, after the system prompt; whole entries are left out to fit `maxTokens`. With `hard` it is
   * a limit that constitutional memories do not exceed either. `explain` adds what each part costs, and what is left
   * out and why.
   */
  context(options: ContextOptions = {}): Promise<Context> {
    const query = { max_tokens: options.maxTokens, hard: options.hard, explain: options.explain };
    return this.send("GET", this.#at("/context"), { query });
  }

  /**
   * The memories that match best: words or a whole question, what must occur in quotes. Archival memories are found
   * like others. One that was replaced comes directly after the one that replaced it, with `until` and `now`. With
   * `explain` each has a `match`, which reports why it was found. The list's `meaning` reports whether they were
   * searched by their meaning too.
   */
  async recall(query: string, options: Filters & { limit?: number; explain?: boolean } = {}): Promise<Recalled> {
    const explain = options.explain ? "true" : undefined;
    const wanted = { query: { ...filters(options), q: query, limit: options.limit ?? 20, explain } };
    const page = await this.send<Page<Memory> & { meaning?: Meaning }>("GET", this.#at("/memories"), wanted);
    const { items, meaning } = page;
    return meaning === undefined ? items : Object.assign([...items], { meaning });
  }

  /** Every active memory that fits, page after page as they are requested. */
  memories(options: Filters & Listing & { query?: string | undefined } = {}): AsyncGenerator<Memory, void> {
    const query = { ...filters(options), ...listed(options), q: options.query };
    return this.pages(this.#at("/memories"), query, options.pageSize);
  }

  /** One memory, also a discarded one. */
  memory(number: number): Promise<Memory> {
    return this.send("GET", Base.memoryPath(this.agent, number));
  }

  /**
   * Moves an archival memory back into the prompt, at any time and without limit.
   *
   * @throws {Problem} With the code `not_archival` where it is of another kind.
   */
  promote(number: number): Promise<Memory> {
    return this.promoted(this.agent, number);
  }

  /**
   * Hands a conversation over, up to 10,000 messages, for the agent's model to read when nothing was added for
   * six hours. Messages that the agent had before are passed over.
   */
  handOver(messages: readonly Message[], options: HandOver = {}): Promise<HandedOver> {
    return this.handOverTo(this.agent, messages, options);
  }

  /** The state of the conversations that were handed over. */
  transcripts(): Promise<Transcripts> {
    return this.transcriptsOf(this.agent);
  }

  /** Lets the agent's model read its journal of the last week, and name what becomes core. */
  reflect(): Promise<Reflection> {
    return this.reflectionOf(this.agent);
  }

  /** The agent: settings and counts. */
  about(): Promise<Agent> {
    return this.send("GET", this.#at(""));
  }

  /** One of the agent's own settings. */
  setting(field: OwnField): Promise<Setting> {
    return this.send("GET", this.#at(`/self/${segment(field)}`));
  }

  /**
   * Sets one of the agent's own settings; null returns to the default.
   *
   * @throws {Problem} With the code `confirmation_required` where a prompt looks like a mistake; the same text
   * given again sets it.
   */
  changeSetting(field: OwnField, value: string | null): Promise<Setting> {
    return this.send("PUT", this.#at(`/self/${segment(field)}`), { body: { value } });
  }

  /** The values that one of the agent's own settings had, newest first. */
  async settingHistory(field: OwnField): Promise<readonly SettingVersion[]> {
    const path = this.#at(`/self/${segment(field)}/history`);
    return (await this.send<{ items: readonly SettingVersion[] }>("GET", path)).items;
  }

  /** Gives a setting the value back that it had before its last change. */
  undoSetting(field: OwnField): Promise<Setting> {
    return this.send("POST", this.#at(`/self/${segment(field)}/undo`));
  }

  /**
   * Runs a refinement session with the agent's own model, and gives the session as it ended.
   *
   * Each turn calls `step`. It returns the tool calls that the model wants; or a text, the summary to complete
   * with; or nothing, after which the model is reminded once. The calls are carried out by the service; a
   * refusal is an ordinary outcome for the model to read. An open session of its own is resumed.
   *
   * The session ends `completed`; `rolled_back` where too much was gone; or `abandoned`, with the edits that
   * were made, where the model stopped, `maxTurns` were reached, or `step` threw, which is then thrown here.
   */
  refine(step: Step, options: RefineOptions = {}): Promise<Session> {
    const { mode = "full", rehearsal = false, maxTurns = 40 } = options;
    return run(this, step, { mode, rehearsal }, maxTurns);
  }

  /** Opens a session that the agent drives, or takes its own open one up again. */
  openSession(options: { mode?: Mode; rehearsal?: boolean; resume?: boolean } = {}): Promise<OpenSession> {
    const { mode = "full", rehearsal = false, resume = true } = options;
    return this.send("POST", this.#at("/sessions"), { body: { driver: "agent", mode, rehearsal, resume } });
  }

  /** Calls a tool of an open session; refusals are results like any other. */
  callTool(session: string, tool: string, args: unknown): Promise<ToolResult> {
    return this.send("POST", `/v1/sessions/${segment(session)}/tools/${segment(tool)}`, { body: args });
  }

  /** Has Memoir ask the agent's model and drive the session; it is queued. */
  queueSession(options: { mode?: Mode; rehearsal?: boolean; model?: string } = {}): Promise<Session> {
    return this.send("POST", this.#at("/sessions"), { body: { driver: "model", ...options } });
  }

  /** The agent's sessions, newest first. */
  sessions(options: { pageSize?: number } = {}): AsyncGenerator<Session, void> {
    return this.pages(this.#at("/sessions"), {}, options.pageSize);
  }

  /**
   * Removes the text of one memory from everywhere, permanently; with `derived` also its copies, the summaries that
   * were written over it, and the session reports that rest on it.
   */
  shred(number: number, reason: string, options: { derived?: boolean } = {}): Promise<ShreddedMemory> {
    const body = { reason, derived: options.derived ?? false };
    return this.send("POST", `${Base.memoryPath(this.agent, number)}/shred`, { body });
  }

  /** The records of what was changed, by whom, oldest first. */
  audit(options: AuditListing = {}): AsyncGenerator<AuditRecord, void> {
    return this.pages(this.#at("/audit"), recorded(options), options.pageSize);
  }

  /** Recomputes the audit and compares it with what is stored. */
  verify(): Promise<Verified> {
    return this.send("GET", this.#at("/audit/verify"));
  }

  /** The access requests to the agent, newest first. */
  accessRequests(options: { pageSize?: number } = {}): AsyncGenerator<AccessRequest, void> {
    return this.pages(this.#at("/access-requests"), {}, options.pageSize);
  }

  /** The agent's own answer to a request; not to answer is no. */
  answerAccessRequest(id: string, granted: boolean, reason?: string): Promise<AccessRequest> {
    return this.send("POST", `/v1/access-requests/${segment(id)}/answer`, { body: { granted, reason } });
  }

  /** Makes another token for this agent. */
  createToken(options: { expiresAt?: Time | Date } = {}): Promise<MadeToken> {
    return this.send("POST", this.#at("/tokens"), { body: { expires_at: moment(options.expiresAt) ?? null } });
  }

  #at(path: string): string {
    return Base.agentPath(this.agent) + path;
  }
}

function wire(memory: NewMemory): object {
  return { ...memory, created_at: moment(memory.created_at) };
}

function filters(options: Filters): Record<string, string | undefined> {
  const { kind, tag, origin, since, until } = options;
  return { kind, tag, origin, since: moment(since), until: moment(until) };
}
