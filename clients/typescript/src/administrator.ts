/**
 * The agents of an account, for an administrator, who reads numbers, dates and codes, and text only while an agent
 * allows it.
 */

import {
  Base,
  listed,
  moment,
  recorded,
  transportOf,
  type AuditListing,
  type DoorOptions,
  type HandOver,
  type Listing,
} from "./base.js";
import type {
  AccessRequest,
  Agent,
  AgentSettings,
  AuditRecord,
  Checkpoint,
  ErasedAgent,
  HandedOver,
  MadeToken,
  Memory,
  Message,
  Mode,
  NewMemory,
  Reflection,
  Rewound,
  SavedMemory,
  Session,
  SignedIn,
  Time,
  Transcripts,
  Verified,
} from "./models.js";

/** An account's administrator. Agents are named by their name or identifier. */
export class Administrator extends Base {
  /** When the token of `signIn` ends; undefined for one that was given. */
  readonly signedInUntil: Time | undefined;

  constructor(options: DoorOptions = {}, signedInUntil?: Time) {
    super(options);
    this.signedInUntil = signedInUntil;
  }

  /**
   * Signs in with a name and a password, for twelve hours. The account is `default` where it is left out.
   *
   * @throws {TypeError} The password would travel over a network in the open.
   * @throws {Problem} With the code `unauthorized` where name and password do not fit.
   */
  static async signIn(
    options: Omit<DoorOptions, "token"> & { name: string; password: string; account?: string | undefined },
  ): Promise<Administrator> {
    const { name, password, account, ...reach } = options;
    const transport = transportOf(reach, undefined);
    if (!transport.isPrivate) throw new TypeError("a password goes over https only, or to this machine");
    const made = await transport.send<SignedIn>("POST", "/v1/sign-in", { body: { name, password, account } });
    return new Administrator({ ...reach, token: made.token }, made.expires_at ?? undefined);
  }

  /** Makes an agent. */
  createAgent(name: string, settings: Omit<AgentSettings, "name"> = {}): Promise<Agent> {
    return this.send("POST", "/v1/agents", { body: { ...settings, name } });
  }

  /** Every agent of the account, without prompts. */
  agents(options: { pageSize?: number } = {}): AsyncGenerator<Agent, void> {
    return this.pages("/v1/agents", {}, options.pageSize);
  }

  /** One agent, without the prompts that it has set itself. */
  agent(agent: string): Promise<Agent> {
    return this.send("GET", Base.agentPath(agent));
  }

  /** Changes settings; null returns one to its default. */
  updateAgent(agent: string, settings: AgentSettings): Promise<Agent> {
    return this.send("PATCH", Base.agentPath(agent), { body: settings });
  }

  /** Destroys the agent's key: nothing of it can ever be read again. */
  eraseAgent(agent: string): Promise<ErasedAgent> {
    return this.send("DELETE", Base.agentPath(agent));
  }

  /** Makes an agent's first token, while it is not in use; later ones, where it lets you. */
  createToken(agent: string, options: { expiresAt?: Time | Date } = {}): Promise<MadeToken> {
    const body = { expires_at: moment(options.expiresAt) ?? null };
    return this.send("POST", `${Base.agentPath(agent)}/tokens`, { body });
  }

  /**
   * Saves a memory for an agent; no session deletes, merges or archives a constitutional one. It replaces only memories
   * that administrators saved, too.
   */
  remember(
    agent: string,
    content: string,
    options: Omit<NewMemory, "content"> & { constitutional?: boolean; idempotencyKey?: string } = {},
  ): Promise<SavedMemory> {
    const { idempotencyKey: key, created_at, ...fields } = options;
    const body = { content, ...fields, created_at: moment(created_at) };
    return this.send("POST", `${Base.agentPath(agent)}/memories`, { body, key });
  }

  /** An agent's memories, without their words but where it lets you look. */
  memories(agent: string, options: Listing = {}): AsyncGenerator<Memory, void> {
    const { kind, since, until } = options;
    const query = { kind, since: moment(since), until: moment(until), ...listed(options) };
    return this.pages(`${Base.agentPath(agent)}/memories`, query, options.pageSize);
  }

  /** Makes a memory constitutional. */
  protect(agent: string, number: number): Promise<Memory> {
    return this.send("PUT", `${Base.memoryPath(agent, number)}/protection`);
  }

  /** Lifts that again. */
  unprotect(agent: string, number: number): Promise<Memory> {
    return this.send("DELETE", `${Base.memoryPath(agent, number)}/protection`);
  }

  /** Moves an archival memory back into the prompt. */
  promote(agent: string, number: number): Promise<Memory> {
    return this.promoted(agent, number);
  }

  /** Restores one discarded memory to where it was; not a summary. */
  restore(agent: string, number: number): Promise<Memory> {
    return this.send("POST", `${Base.memoryPath(agent, number)}/restore`);
  }

  /** Discards one memory; it can be restored. What it replaced stays in the archive. */
  discard(agent: string, number: number): Promise<Memory> {
    return this.send("POST", `${Base.memoryPath(agent, number)}/discard`);
  }

  /** An agent's sessions, newest first. */
  sessions(agent: string, options: { pageSize?: number } = {}): AsyncGenerator<Session, void> {
    return this.pages(`${Base.agentPath(agent)}/sessions`, {}, options.pageSize);
  }

  /** Has Memoir ask the agent's model and drive a session; it is queued. */
  queueSession(
    agent: string,
    options: { mode?: Mode; rehearsal?: boolean; model?: string } = {},
  ): Promise<Session> {
    const body = { driver: "model", ...options };
    return this.send("POST", `${Base.agentPath(agent)}/sessions`, { body });
  }

  /**
   * Sends an agent an access request, which its model or its own client answers. `scope` is `core`,
   * `all`, or `session:` and the identifier of a session; `minutes`, 1 to 60, count from its answer on.
   */
  requestAccess(
    agent: string,
    options: { purpose: string; scope: "core" | "all" | `session:${string}`; minutes: number },
  ): Promise<AccessRequest> {
    const body = { kind: "read", ...options };
    return this.send("POST", `${Base.agentPath(agent)}/access-requests`, { body });
  }

  /** Asks an agent for one more token of it; once granted, `createToken` makes it. */
  requestToken(agent: string, options: { purpose: string; expiresAt?: Time | Date }): Promise<AccessRequest> {
    const body = { kind: "token", purpose: options.purpose, expires_at: moment(options.expiresAt) };
    return this.send("POST", `${Base.agentPath(agent)}/access-requests`, { body });
  }

  /** Asks an agent whether its words may go to the server of embeddings that is configured. */
  requestEmbeddings(agent: string, purpose: string): Promise<AccessRequest> {
    return this.send("POST", `${Base.agentPath(agent)}/access-requests`, { body: { kind: "embeddings", purpose } });
  }

  /** The requests to an agent, newest first. */
  accessRequests(agent: string, options: { pageSize?: number } = {}): AsyncGenerator<AccessRequest, void> {
    return this.pages(`${Base.agentPath(agent)}/access-requests`, {}, options.pageSize);
  }

  /**
   * Asks an agent to have one memory shredded; with its consent that is done immediately. With `derived` also its
   * copies, and the summaries and session reports that rest on it.
   */
  requestShredding(
    agent: string,
    number: number,
    reason: string,
    options: { derived?: boolean } = {},
  ): Promise<AccessRequest> {
    const body = { reason, derived: options.derived ?? false };
    return this.send("POST", `${Base.memoryPath(agent, number)}/shred`, { body });
  }

  /** Hands a conversation over, up to 10,000 messages; see `AgentMemory.handOver`. */
  handOver(agent: string, messages: readonly Message[], options: HandOver = {}): Promise<HandedOver> {
    return this.handOverTo(agent, messages, options);
  }

  /** The state of the conversations that were handed over. */
  transcripts(agent: string): Promise<Transcripts> {
    return this.transcriptsOf(agent);
  }

  /** Lets the agent's model read its journal of the last week, and name what becomes core. */
  reflect(agent: string): Promise<Reflection> {
    return this.reflectionOf(agent);
  }

  /** Returns all of an agent's memories to that moment. */
  rewind(agent: string, to: Time | Date): Promise<Rewound> {
    return this.send("POST", `${Base.agentPath(agent)}/rewind`, { body: { to: moment(to) } });
  }

  /** The records of what was changed, by whom, oldest first, without words. */
  audit(agent: string, options: AuditListing = {}): AsyncGenerator<AuditRecord, void> {
    return this.pages(`${Base.agentPath(agent)}/audit`, recorded(options), options.pageSize);
  }

  /** The records of the account itself: its users and their tokens, oldest first. */
  accountAudit(options: Omit<AuditListing, "sessionId" | "memory"> = {}): AsyncGenerator<AuditRecord, void> {
    return this.pages("/v1/audit", recorded(options), options.pageSize);
  }

  /** Recomputes an agent's audit and compares it with what is stored. */
  verify(agent: string): Promise<Verified> {
    return this.send("GET", `${Base.agentPath(agent)}/audit/verify`);
  }

  /** Signs what all audits come to now; keep it elsewhere. */
  checkpoint(): Promise<Checkpoint> {
    return this.send("GET", "/v1/audit/checkpoint");
  }
}
