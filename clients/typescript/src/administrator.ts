/** The agents of an account, for an administrator, who sees numbers, dates and codes, never words. */

import { Door, moment, type AuditListing, type DoorOptions, type Listing } from "./door.js";
import type {
  AccessRequest,
  Agent,
  AgentSettings,
  AuditRecord,
  Checkpoint,
  ErasedAgent,
  MadeToken,
  Memory,
  Mode,
  NewMemory,
  Rewound,
  SavedMemory,
  Session,
  Time,
  Verified,
} from "./models.js";

/** An account's administrator. Agents are named by their name or identifier. */
export class Administrator extends Door {
  constructor(options: DoorOptions = {}) {
    super(options);
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
    return this.send("GET", Door.agentPath(agent));
  }

  /** Changes settings; null returns one to its default. */
  updateAgent(agent: string, settings: AgentSettings): Promise<Agent> {
    return this.send("PATCH", Door.agentPath(agent), { body: settings });
  }

  /** Destroys the agent's key: nothing of it can be read again, by anybody. */
  eraseAgent(agent: string): Promise<ErasedAgent> {
    return this.send("DELETE", Door.agentPath(agent));
  }

  /** Makes an agent's first token, while it has no memories. */
  createToken(agent: string, options: { expiresAt?: Time | Date } = {}): Promise<MadeToken> {
    const body = { expires_at: moment(options.expiresAt) ?? null };
    return this.send("POST", `${Door.agentPath(agent)}/tokens`, { body });
  }

  /** Gives an agent a memory; a constitutional one is beyond deleting and merging. */
  remember(
    agent: string,
    content: string,
    options: Omit<NewMemory, "content"> & { constitutional?: boolean; idempotencyKey?: string } = {},
  ): Promise<SavedMemory> {
    const { idempotencyKey: key, created_at, ...fields } = options;
    const body = { content, ...fields, created_at: moment(created_at) };
    return this.send("POST", `${Door.agentPath(agent)}/memories`, { body, key });
  }

  /** An agent's memories, without their words. */
  memories(agent: string, options: Listing = {}): AsyncGenerator<Memory, void> {
    const { kind, since, until } = options;
    const include = options.includeDiscarded ? "discarded" : undefined;
    const query = { kind, since: moment(since), until: moment(until), include };
    return this.pages(`${Door.agentPath(agent)}/memories`, query, options.pageSize);
  }

  /** Makes a memory constitutional. */
  protect(agent: string, number: number): Promise<Memory> {
    return this.send("PUT", `${Door.memoryPath(agent, number)}/protection`);
  }

  /** Lifts that again. */
  unprotect(agent: string, number: number): Promise<Memory> {
    return this.send("DELETE", `${Door.memoryPath(agent, number)}/protection`);
  }

  /** Gives one discarded memory back. */
  restore(agent: string, number: number): Promise<Memory> {
    return this.send("POST", `${Door.memoryPath(agent, number)}/restore`);
  }

  /** Discards one memory; it can be restored. */
  discard(agent: string, number: number): Promise<Memory> {
    return this.send("POST", `${Door.memoryPath(agent, number)}/discard`);
  }

  /** An agent's sessions, newest first. */
  sessions(agent: string, options: { pageSize?: number } = {}): AsyncGenerator<Session, void> {
    return this.pages(`${Door.agentPath(agent)}/sessions`, {}, options.pageSize);
  }

  /** Has Memoir ask the agent's model and drive a session; it is queued. */
  queueSession(
    agent: string,
    options: { mode?: Mode; rehearsal?: boolean; model?: string } = {},
  ): Promise<Session> {
    const body = { driver: "model", ...options };
    return this.send("POST", `${Door.agentPath(agent)}/sessions`, { body });
  }

  /**
   * Asks an agent to be let in to look: it answers through its model or its own client. `scope` is `core`,
   * `all`, or `session:` and the identifier of a session; `minutes`, 1 to 60, count from its answer on.
   */
  requestAccess(
    agent: string,
    options: { purpose: string; scope: "core" | "all" | `session:${string}`; minutes: number },
  ): Promise<AccessRequest> {
    const body = { kind: "read", ...options };
    return this.send("POST", `${Door.agentPath(agent)}/access-requests`, { body });
  }

  /** Asks an agent for one more token of it; once granted, `createToken` makes it. */
  requestToken(agent: string, options: { purpose: string; expiresAt?: Time | Date }): Promise<AccessRequest> {
    const body = { kind: "token", purpose: options.purpose, expires_at: moment(options.expiresAt) };
    return this.send("POST", `${Door.agentPath(agent)}/access-requests`, { body });
  }

  /** The requests to an agent, newest first. */
  accessRequests(agent: string, options: { pageSize?: number } = {}): AsyncGenerator<AccessRequest, void> {
    return this.pages(`${Door.agentPath(agent)}/access-requests`, {}, options.pageSize);
  }

  /** Returns all of an agent's memories to that moment. */
  rewind(agent: string, to: Time | Date): Promise<Rewound> {
    return this.send("POST", `${Door.agentPath(agent)}/rewind`, { body: { to: moment(to) } });
  }

  /** The records of what was changed, by whom, oldest first, without words. */
  audit(agent: string, options: AuditListing = {}): AsyncGenerator<AuditRecord, void> {
    const query = { session: options.sessionId, action: options.action, since: moment(options.since) };
    return this.pages(`${Door.agentPath(agent)}/audit`, query, options.pageSize);
  }

  /** Recomputes an agent's audit and compares it with what is stored. */
  verify(agent: string): Promise<Verified> {
    return this.send("GET", `${Door.agentPath(agent)}/audit/verify`);
  }

  /** Signs what all audits come to now; keep it elsewhere. */
  checkpoint(): Promise<Checkpoint> {
    return this.send("GET", "/v1/audit/checkpoint");
  }
}
