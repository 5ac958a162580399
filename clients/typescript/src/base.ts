/** What agents and administrators have in common. */

import { watch, type WatchOptions } from "./live.js";
import type {
  AccessRequest,
  HandedOver,
  LiveEvent,
  Memory,
  Message,
  Page,
  Reflection,
  Session,
  Time,
  Transcripts,
} from "./models.js";
import { Transport, type RequestContent } from "./transport.js";

/** Milliseconds: the agent's model reads and thinks meanwhile. */
const REFLECTING = 600_000;

/** How to reach the service. */
export interface DoorOptions {
  /** The service; `MEMOIR_URL`, else `http://127.0.0.1:8750`, where it is left out. */
  url?: string | undefined;
  /** The token; `MEMOIR_TOKEN` where it is left out. */
  token?: string | undefined;
  /** Milliseconds for one attempt; 30,000 where it is left out. */
  timeout?: number | undefined;
  /** How often a request is sent at most; 4 where it is left out. */
  attempts?: number | undefined;
  /** Another `fetch`, with a proxy for instance. */
  fetch?: typeof fetch | undefined;
}

/** Requests with one token. */
export class Base {
  readonly #transport: Transport;

  protected constructor(options: DoorOptions) {
    const token = options.token ?? fromEnvironment("MEMOIR_TOKEN");
    if (!token) throw new TypeError("there is no token: give one, or set MEMOIR_TOKEN");
    this.#transport = transportOf(options, token);
  }

  /** One session. */
  session(id: string): Promise<Session> {
    return this.send("GET", `/v1/sessions/${segment(id)}`);
  }

  /**
   * A session's events as they happen, from its beginning until it has ended.
   *
   * Every record comes once, in its order; of the states in between, some may be passed over. A stream that
   * breaks off resumes where it was, in as many attempts as a request has.
   */
  watch(id: string, options: WatchOptions = {}): AsyncGenerator<LiveEvent, void> {
    return watch(this.#transport, `/v1/sessions/${segment(id)}/events`, options);
  }

  /** Ends a running session; its edits stay. */
  cancel(id: string): Promise<Session> {
    return this.send("POST", `/v1/sessions/${segment(id)}/cancel`);
  }

  /** Applies the result of a rehearsal: the edits that still hold. The session that it made. */
  apply(id: string): Promise<Session> {
    return this.send("POST", `/v1/sessions/${segment(id)}/apply`);
  }

  /**
   * Undoes an ended session: any, for an administrator; its last one, for an agent.
   *
   * @throws {Problem} With the code `in_the_way` and its `obstacles` where memories were changed again since;
   * `cascade` undoes these changes too.
   */
  rollback(id: string, options: { cascade?: boolean } = {}): Promise<Session> {
    const body = { cascade: options.cascade ?? false };
    return this.send("POST", `/v1/sessions/${segment(id)}/rollback`, { body });
  }

  /** One access request to an agent. */
  accessRequest(id: string): Promise<AccessRequest> {
    return this.send("GET", `/v1/access-requests/${segment(id)}`);
  }

  /** Revokes a request, answered or not: what it granted ends immediately. */
  revokeAccess(id: string): Promise<AccessRequest> {
    return this.send("POST", `/v1/access-requests/${segment(id)}/revoke`);
  }

  protected send<T>(method: string, path: string, wanted?: RequestContent): Promise<T> {
    return this.#transport.send(method, path, wanted);
  }

  protected handOverTo(agent: string, messages: readonly Message[], options: HandOver): Promise<HandedOver> {
    const each = messages.map((message) => ({ ...message, at: moment(message.at) }));
    const wanted = { body: { messages: each, now: options.now ?? false }, key: options.idempotencyKey };
    return this.send("POST", `${Base.agentPath(agent)}/transcripts`, wanted);
  }

  protected transcriptsOf(agent: string): Promise<Transcripts> {
    return this.send("GET", `${Base.agentPath(agent)}/transcripts`);
  }

  protected reflectionOf(agent: string): Promise<Reflection> {
    return this.send("POST", `${Base.agentPath(agent)}/reflections`, { timeout: REFLECTING });
  }

  /** Every item of a list, page after page as they are asked for. */
  protected async *pages<T>(path: string, query: RequestContent["query"], pageSize = 100): AsyncGenerator<T, void> {
    let cursor: string | null = null;
    do {
      const wanted: RequestContent = { query: { ...query, limit: pageSize, cursor } };
      const page: Page<T> = await this.send("GET", path, wanted);
      yield* page.items;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  protected promoted(agent: string, number: number): Promise<Memory> {
    return this.send("POST", `${Base.memoryPath(agent, number)}/promote`);
  }

  protected static memoryPath(agent: string, number: number): string {
    return `${Base.agentPath(agent)}/memories/${segment(String(number))}`;
  }

  protected static agentPath(agent: string): string {
    return `/v1/agents/${segment(agent)}`;
  }
}

/** Sends requests as the options say. */
export function transportOf(options: DoorOptions, token: string | undefined): Transport {
  return new Transport({
    url: options.url ?? fromEnvironment("MEMOIR_URL") ?? "http://127.0.0.1:8750",
    token,
    timeout: options.timeout ?? 30_000,
    attempts: options.attempts ?? 4,
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
  });
}

/** How a conversation is handed over. */
export interface HandOver {
  /** Whether it is read immediately, instead of when nothing was added for six hours. */
  now?: boolean | undefined;
  idempotencyKey?: string | undefined;
}

/** Memories to look for, without words. */
export interface Listing {
  kind?: Memory["kind"] | undefined;
  since?: Time | Date | undefined;
  until?: Time | Date | undefined;
  /** Constitutional ones only, or others only; not beside a query or a tag. */
  protected?: boolean | undefined;
  /** Journal entries only that have expired from the prompt, or all others; not beside a query or a tag. */
  faded?: boolean | undefined;
  /** The archival memories directly under that one only. */
  under?: number | undefined;
  /** Also what was discarded. */
  includeDiscarded?: boolean | undefined;
  pageSize?: number | undefined;
}

/** Records to look for. */
export interface AuditListing {
  sessionId?: string | undefined;
  /** One, or several with commas between them. */
  action?: string | undefined;
  /** What kind of actor, such as `agent`. */
  actor?: string | undefined;
  /** A part of the actor's name. */
  actorName?: string | undefined;
  memory?: number | undefined;
  since?: Time | Date | undefined;
  until?: Time | Date | undefined;
  pageSize?: number | undefined;
}

/** What a list of memories is narrowed or widened by, for the wire. */
export function listed(options: Listing): RequestContent["query"] {
  const include = options.includeDiscarded ? "discarded" : undefined;
  const { under } = options;
  return { protected: options.protected?.toString(), faded: options.faded?.toString(), under, include };
}

/** What a list of records is narrowed by, for the wire. */
export function recorded(options: AuditListing): RequestContent["query"] {
  const { sessionId: session, action, actor, actorName: actor_name, memory, since, until } = options;
  return { session, action, actor, actor_name, memory, since: moment(since), until: moment(until) };
}

/** A time for the wire. */
export function moment(time: Time | Date | undefined): Time | undefined {
  return time instanceof Date ? time.toISOString() : time;
}

/** One segment of a path. `.` and `..` would lead to another path. */
export function segment(text: string): string {
  if (text === "." || text === "..") throw new TypeError("`.` and `..` name nothing");
  return encodeURIComponent(text);
}

/** A variable of the environment, where there is one. */
export function fromEnvironment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}
